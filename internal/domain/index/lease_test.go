package index_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/internal/domain/index"
)

// processes is who lives: a mark ends with its process.
type processes struct {
	mu   sync.Mutex
	dead map[string]bool
}

func (p *processes) kill(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.dead[name] = true
}

func (p *processes) gone(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead[name]
}

// A syncer whose process was killed is replaced within max_age and five seconds where its end is noticed, else
// within half a minute; and no one says that a pass runs while none does.
func TestKilledSyncerIsReplaced(t *testing.T) {
	for _, c := range []struct {
		name   string
		marked bool
		maxAge time.Duration
		within time.Duration
	}{
		{"same host", true, time.Second, 6 * time.Second},
		{"same host, slower news", true, 30 * time.Second, 35 * time.Second},
		{"another host", false, time.Second, 30 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				x, done := open(t, time.Now)
				defer done()
				host := &processes{dead: map[string]bool{}}
				options := func(name string) index.SyncOptions {
					o := index.SyncOptions{Owner: name, PageSize: 10, MaxAge: c.maxAge, PerMinute: 600}
					if c.marked {
						o.Mark, o.Gone = func() (string, bool) { return name, true }, host.gone
					}
					return o
				}
				s := &service{ops: made(200)}
				one := index.NewSyncer(x, s, options("one"))
				if _, err := one.Step(t.Context()); err != nil { // it takes the lease, and is killed
					t.Fatal(err)
				}
				var gone func(string) bool
				if c.marked {
					gone = host.gone
				}
				if on, err := x.Running(t.Context(), gone); err != nil || !on {
					t.Errorf("running: %t, %v, while the first one works", on, err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				two := make(chan error)
				go func() { two <- index.NewSyncer(x, s, options("two")).Run(ctx) }()
				time.Sleep(3 * time.Second)
				before := callsOf(s)
				host.kill("one")
				if on, err := x.Running(t.Context(), gone); err != nil || on && c.marked {
					t.Errorf("running: %t, %v, after the kill", on, err)
				}
				time.Sleep(c.within)
				if callsOf(s) == before {
					t.Errorf("nobody read anything within %s", c.within)
				}
				cancel()
				<-two
			})
		})
	}
}

func callsOf(s *service) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls)
}
