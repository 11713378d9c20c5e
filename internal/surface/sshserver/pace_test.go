package sshserver

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/charmbracelet/x/vt"

	"opdeck/ui/paint"
)

// slowLink is a network with a delay, a bandwidth and losses, and a client at its end that processes bytes in order.
// Both systems have room for all bytes that wait.
type slowLink struct {
	delay     time.Duration // one way
	perSecond int           // bytes
	loss      int           // one write in so many arrives a round trip later; 0: none

	mu      sync.Mutex
	free    time.Time // when the line has sent what was written so far
	writes  int
	waiting []time.Time // when each frame arrives
	most    int         // frames in flight
	last    time.Time   // when the last frame arrives
	shown   bytes.Buffer
}

func (l *slowLink) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if l.free.Before(now) {
		l.free = now
	}
	l.free = l.free.Add(time.Duration(len(b)) * time.Second / time.Duration(l.perSecond))
	if l.writes++; l.loss > 0 && l.writes%l.loss == 0 {
		l.free = l.free.Add(2 * l.delay) // sent again; what follows waits for it
	}
	l.last = l.free.Add(l.delay)
	for len(l.waiting) > 0 && !l.waiting[0].After(now) {
		l.waiting = l.waiting[1:]
	}
	l.waiting = append(l.waiting, l.last)
	l.most = max(l.most, len(l.waiting))
	l.shown.Write(b)
	return len(b), nil
}

// processed waits until all that was written has arrived, and for the reply.
func (l *slowLink) processed() {
	l.mu.Lock()
	wait := time.Until(l.last.Add(l.delay))
	l.mu.Unlock()
	time.Sleep(wait) // simulated time
}

// TestHeldKeyOnASlowLink: a key that is held for ten seconds has its last frame on the screen a round trip after its
// release and the time that this frame and those in flight take, of which there are never more than two.
func TestHeldKeyOnASlowLink(t *testing.T) {
	t.Parallel()
	for name, l := range map[string]*slowLink{
		"300 ms, 16 kB a second, 1 % loss": {delay: 150 * time.Millisecond, perSecond: 16_000, loss: 100},
		"300 ms, fast":                     {delay: 150 * time.Millisecond, perSecond: 10_000_000},
		"1 ms, 16 kB a second":             {delay: time.Millisecond / 2, perSecond: 16_000},
		"1 ms, fast":                       {delay: time.Millisecond / 2, perSecond: 10_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := paint.New(newPacedWriter(t.Context(), l, l.processed), paint.PainterOptions{})
				p.Enter()
				frames := 0
				for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(time.Second / 30) {
					frames++
					p.Frame(pageOf(frames), 120, 40)
				}
				released := time.Now()
				for p.Busy() {
					time.Sleep(time.Millisecond)
				}
				p.Frame(pageOf(frames), 120, 40) // the same frame: all before it is written
				synctest.Wait()
				l.mu.Lock()
				took, most, writes, page := l.last.Sub(released), l.most, l.writes, l.shown.Len()/l.writes
				screen := vt.NewEmulator(120, 40)
				_, _ = screen.Write(l.shown.Bytes())
				last := strings.Contains(screen.String(), rowOf(frames, 0))
				l.mu.Unlock()
				bound := 2*l.delay + (framesInFlight+1)*time.Duration(page)*time.Second/time.Duration(l.perSecond)
				if l.loss > 0 {
					bound += 2 * l.delay
				}
				t.Logf("%d keys, %d frames of %d bytes; the last one arrived %s after the release", frames, writes, page, took)
				if most > framesInFlight || took > bound+10*time.Millisecond || !last {
					t.Errorf("%d frames in flight; the last one (written: %t) arrived after %s, more than %s", most, last, took, bound)
				}
				if err := p.Close("", 10*time.Second); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func pageOf(n int) []string {
	page := make([]string, 40)
	for i := range page {
		page[i] = rowOf(n, i)
	}
	return page
}

func rowOf(page, i int) string {
	return fmt.Sprintf("%d ", 1000*page+i) + strings.Repeat(string(rune('a'+(page+i)%26)), 100)
}

// TestClientThatDoesNotReply: the console goes on with a client that never replies, without a wait for each frame, and
// is held back again once the client replies; it ends while it waits.
func TestClientThatDoesNotReply(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		replies := make(chan struct{})
		asked := 0
		var out bytes.Buffer
		w := newPacedWriter(ctx, &out, func() { asked++; <-replies })
		write := func() time.Duration {
			began := time.Now()
			if _, err := w.Write([]byte("x")); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			return time.Since(began)
		}
		for i, want := range []time.Duration{0, replyWithin, 0, 0, 0} {
			if got := write(); got != want || out.Len() != i+1 {
				t.Errorf("frame %d: %d written after %s, not %s", i+1, out.Len(), got, want)
			}
		}
		if asked != 1 {
			t.Errorf("%d requests while one is not answered", asked)
		}
		replies <- struct{}{}
		synctest.Wait()
		write() // learns of the reply
		go func() { time.Sleep(time.Second); replies <- struct{}{} }()
		if got := write(); got != time.Second || asked != 2 {
			t.Errorf("after a reply: waited %s, %d requests", got, asked)
		}
		write()
		go func() { time.Sleep(time.Second); cancel() }()
		if got := write(); got != time.Second {
			t.Errorf("the session has ended, and it waits %s", got)
		}
		close(replies)
	})
}
