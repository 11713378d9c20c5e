package sshserver

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/vt"

	"opdeck/api/apitest"
	"opdeck/ui/paint"
)

// lineTo is a proxy to addr that delays what comes from there: by its delay, at its bandwidth, and by a round trip more
// for one piece in so many. It keeps all that waits.
func (l *slowLink) lineTo(t testing.TB, addr string) (proxy string) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var both sync.WaitGroup
	t.Cleanup(func() { stop(); _ = listener.Close(); both.Wait() })
	both.Go(func() {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", addr)
		if err != nil {
			t.Error(err)
			return
		}
		context.AfterFunc(ctx, func() { _ = client.Close(); _ = server.Close() })
		both.Go(func() { late(ctx, server, client, func(int) time.Time { return time.Now().Add(l.delay) }) })
		late(ctx, client, server, func(n int) time.Time {
			_, _ = l.Write(make([]byte, n))
			l.mu.Lock()
			defer l.mu.Unlock()
			return l.last
		})
	})
	return listener.Addr().String()
}

// late copies what arrives from one side to the other, each piece at its time.
func late(ctx context.Context, to io.Writer, from io.Reader, at func(bytes int) time.Time) {
	type piece struct {
		b  []byte
		at time.Time
	}
	pieces := make(chan piece, 1<<16)
	go func() {
		defer close(pieces)
		for {
			b := make([]byte, 1400)
			n, err := from.Read(b)
			if n > 0 {
				pieces <- piece{b[:n], at(n)}
			}
			if err != nil {
				return
			}
		}
	}()
	for p := range pieces {
		select {
		case <-time.After(time.Until(p.at)):
		case <-ctx.Done():
		}
		if _, err := to.Write(p.b); err != nil {
			return
		}
	}
}

// pages shows another page at each key.
type pages struct{ keys int }

func (p *pages) Init() tea.Cmd { return nil }

func (p *pages) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if key, is := msg.(tea.KeyMsg); is {
		p.keys += len(key.Runes) // what arrives together is one message
	}
	return p, nil
}

func (p *pages) View() string { return strings.Join(pageOf(p.keys), "\n") }

// TestHeldKeyThroughOpenSSH is TestHeldKeyOnASlowLink with the OpenSSH client, real time and real buffers. It holds the
// key for two seconds, or as long as $OPDECK_TEST_HELD says.
func TestHeldKeyThroughOpenSSH(t *testing.T) {
	needSSH(t)
	t.Parallel()
	held := 2 * time.Second
	if s := os.Getenv("OPDECK_TEST_HELD"); s != "" {
		var err error
		if held, err = time.ParseDuration(s); err != nil {
			t.Fatal(err)
		}
	}
	h := open(t, func(_ *fixture, o *Options) {
		o.Console = func(ctx context.Context, t Terminal) error {
			_, err := paint.Run(ctx, &pages{}, paint.Options{In: t.In, Out: t.Out, Size: t.Size, Resizes: t.Resizes})
			return err
		}
	})
	l := &slowLink{delay: 150 * time.Millisecond, perSecond: 16_000, loss: 100}
	h.addr = l.lineTo(t, h.addr)
	s := h.acquire("ana", "-tt", "ana@127.0.0.1")
	screen := vt.NewSafeEmulator(80, 24)
	var fed int
	shows := func(text string) bool {
		all := s.out.String()
		_, _ = screen.Write([]byte(all[fed:]))
		fed = len(all)
		return strings.Contains(screen.String(), text)
	}
	apitest.Soon(t, "the first page", func() bool { return shows(rowOf(0, 0)[:20]) })
	keys := 0
	tick := time.NewTicker(time.Second / 30)
	defer tick.Stop()
	for began := time.Now(); time.Since(began) < held; <-tick.C {
		keys++
		if _, err := s.tty.WriteString("j"); err != nil {
			t.Fatal(err)
		}
	}
	released := time.Now()
	apitest.Soon(t, "the last page", func() bool { return shows(rowOf(keys, 0)[:20]) })
	took := time.Since(released)
	// The way of the last key, its frame, and what was in flight before it with a loss.
	bound := 2*l.delay + 3*2*time.Second*24*80/16_000 + 2*l.delay
	t.Logf("held for %s: %d keys; the last frame arrived %s after the release", held, keys, took.Round(time.Millisecond))
	if took > bound {
		t.Errorf("the last frame arrived %s after the release, more than %s", took, bound)
	}
}
