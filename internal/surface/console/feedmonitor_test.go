package console

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/internal/domain/receiver"
	"opdeck/ui"
)

// inbox is deliveries of a test, oldest first.
type inbox struct {
	mu    sync.Mutex // guards the rest
	times []time.Time
	err   error
	asked int
}

func (i *inbox) newest(_ context.Context, n int) ([]time.Time, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	return append([]time.Time(nil), i.times[max(len(i.times)-n, 0):]...), i.err
}

// fail makes the store answer with err.
func (i *inbox) fail(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.err = err
}

func (i *inbox) reads() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// deliver adds n deliveries, the last one now, each a minute after the one before.
func (i *inbox) deliver(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for k := range n {
		i.times = append(i.times, time.Now().Add(-time.Duration(n-1-k)*time.Minute))
	}
}

// nextNews runs a feedMonitor until its next news, at most for d.
func nextNews(t *testing.T, next func() any, d time.Duration) (ui.BatchMsg, func() any) {
	t.Helper()
	got := make(chan any, 1)
	go func() { got <- next() }()
	select {
	case m := <-got:
		if m == nil {
			return nil, nil
		}
		fed := m.(ui.StreamMsg)
		return fed.Msg.(ui.BatchMsg), func() any { return fed.Next() }
	case <-time.After(d):
		t.Fatalf("nothing in %s", d)
		return nil, nil
	}
}

func TestEar(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		box := &inbox{}
		e := &feedMonitor{ctx: ctx, now: time.Now, times: box.newest, listens: true, wait: sleep}
		step := func(next func() any, d time.Duration, state string, say string) func() any {
			t.Helper()
			msgs, more := nextNews(t, next, d)
			if f := msgs[0].(ui.FeedFacts); f.State != state {
				t.Fatalf("the feed is %q, want %q", f.State, state)
			}
			text := ""
			if len(msgs) > 1 {
				text = msgs[1].(ui.Toast).Text
			}
			if say == "" && text != "" || !strings.Contains(text, say) {
				t.Errorf("it says %q", text)
			}
			return more
		}
		next := step(func() any { return e.next() }, time.Second, "off", "")
		box.deliver(30)
		next = step(next, 2*time.Minute, "live", "")
		began, asked := time.Now(), box.reads()
		next = step(next, 20*time.Minute, "stalled", "no events for 5 min")
		if took := time.Since(began); took < 4*time.Minute || took > 6*time.Minute+5*time.Second {
			t.Errorf("told after %s", took)
		}
		if n := box.reads() - asked; n > 3 {
			t.Errorf("the inbox was read %d times", n)
		}
		box.deliver(1)
		next = step(next, time.Minute, "live", "arrive again")
		// A store that does not answer is no silence.
		box.fail(errors.New("gone"))
		began = time.Now()
		go func() { time.Sleep(30 * time.Minute); box.fail(nil); box.deliver(1) }()
		go func() { time.Sleep(50 * time.Minute); cancel() }()
		if msgs, _ := nextNews(t, next, time.Hour); msgs != nil && msgs[0].(ui.FeedFacts).State != "stalled" {
			t.Errorf("it tells %v", msgs)
		}
		if took := time.Since(began); took < 30*time.Minute {
			t.Errorf("told after %s, while nothing could be known", took)
		}
		cancel()
	})
}

// A feed that was given up is off; where webhooks are awaited it stays stalled.
func TestForgottenFeed(t *testing.T) {
	box := &inbox{}
	box.deliver(30)
	for listens, want := range map[bool]string{true: "stalled", false: "off"} {
		e := &feedMonitor{ctx: t.Context(), now: func() time.Time { return time.Now().Add(8 * 24 * time.Hour) }, times: box.newest, listens: listens}
		if f, _, _ := e.judge(); f.State != want {
			t.Errorf("%v: %q", listens, f.State)
		}
	}
}

// The header learns of what was rejected lately and of what waits, without a toast,
// and keeps what it knew while the store does not answer.
func TestEarHearsTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var mu sync.Mutex
		now, gone := receiver.Trouble{}, error(nil)
		tell := func(x receiver.Trouble, err error) {
			mu.Lock()
			defer mu.Unlock()
			now, gone = x, err
		}
		e := &feedMonitor{ctx: ctx, now: time.Now, times: (&inbox{}).newest, listens: true, wait: sleep, trouble: func(context.Context) (receiver.Trouble, error) {
			mu.Lock()
			defer mu.Unlock()
			return now, gone
		}}
		next := func() any { return e.next() }
		step := func(d time.Duration, rejected, waiting int64) {
			t.Helper()
			var msgs ui.BatchMsg
			msgs, next = nextNews(t, next, d)
			if f := msgs[0].(ui.FeedFacts); f.Rejected != rejected || f.Waiting != waiting || len(msgs) != 1 {
				t.Fatalf("%+v", msgs)
			}
		}
		step(time.Second, 0, 0)
		tell(receiver.Trouble{Rejected: []receiver.RejectCount{{Reason: "stray", N: 9, Last: time.Now()}, {Reason: "signature", N: 3, Last: time.Now()}}}, nil)
		step(20*time.Second, 3, 0)
		bad := now
		bad.Backlog.Waiting = 2
		tell(bad, nil)
		step(20*time.Second, 3, 2)
		tell(receiver.Trouble{}, errors.New("locked"))
		go func() { time.Sleep(10 * time.Minute); bad.Backlog.Waiting = 0; tell(bad, nil) }()
		began := time.Now()
		step(11*time.Minute, 3, 0)
		if time.Since(began) < 10*time.Minute {
			t.Error("a store that does not answer is no good news")
		}
		step(time.Hour, 0, 0) // an hour later it is no news
	})
}
