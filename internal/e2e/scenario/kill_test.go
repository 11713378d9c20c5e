//go:build unix

package scenario

import (
	"opdeck/internal/e2e/racedetector"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// fast gives a worker a short auth deadline and lease.
func fast(s *workerSettings) { s.Fast = true }

func stalling(point string) func(*workerSettings) {
	return func(s *workerSettings) { s.Stall = point }
}

// S05 to S08: the holder is killed at each point of a rotation. Behind a pooler
// there is no liveness lock, and the lease decides.
func TestS05toS08KilledHolder(t *testing.T) {
	t.Parallel()
	for _, point := range []string{"held", "marked", "sent", "answered"} {
		t.Run(point, func(t *testing.T) {
			stores(t, true, func(t testing.TB, p place) {
				s := newService(t, serviceOptions{Access: 5 * time.Minute, Refresh: 15 * time.Minute})
				survivor := start(t, p, s, fast)
				survivor.must(order{Do: "open"})
				noErrors(t, survivor.do(order{Do: "calls"}).Calls)
				most := time.Duration(0)
				for range pick(1, 20) {
					most = max(most, killAt(t, p, s, survivor, point))
				}
				p.sound(t)
				t.Logf("the next call is served after at most %v", most.Round(time.Millisecond))
			})
		})
	}
}

// killAt kills a worker at a point of a refresh and says how long the next
// caller waited.
func killAt(t testing.TB, p place, s *service, survivor *process, point string) time.Duration {
	t.Helper()
	before, from := s.stats(), survivor.status()
	if point == "sent" {
		s.faults("delay=refresh:30s#1")
	}
	victim := start(t, p, s, fast, stalling(point))
	victim.must(order{Do: "open"})
	began := time.Now()
	victim.order(order{Do: "refresh"})
	if point == "sent" {
		until(t, "the refresh is sent", func() bool { return len(s.seen(refreshLine, began)) > 0 })
	} else {
		victim.awaitPoint(point)
	}
	if h := survivor.status().Holder; h == nil || h.PID != victim.cmd.Process.Pid {
		t.Errorf("the status names holder %+v, not process %d", h, victim.cmd.Process.Pid)
	}
	victim.kill()
	began = time.Now()
	logins := int64(1)
	if point == "held" { // the pair is untouched; somebody wants it renewed all the same
		logins = 0
		survivor.must(order{Do: "refresh", Deadline: 30 * time.Second})
	}
	noErrors(t, survivor.do(order{Do: "calls"}).Calls)
	took := time.Since(began)
	if limit := unlessRace(time.Second, 3*time.Second); took > limit && !p.pooled() {
		t.Errorf("served after %v, want at most %v", took, limit)
	} else if took > fastLease()+3*time.Second {
		t.Errorf("served after %v, want the lease's %v", took, fastLease())
	}
	s.faults("")
	after := s.stats()
	if n := after.Logins - before.Logins; n != logins {
		t.Errorf("%d logins, want %d", n, logins)
	}
	s.unrepeated(t)
	if st := survivor.status(); st.Fence <= from.Fence || st.Generation <= from.Generation {
		t.Errorf("fence %d → %d, generation %d → %d", from.Fence, st.Fence, from.Generation, st.Generation)
	}
	return took
}

// until waits for something to become true.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to pass: %s", what)
		}
	}
}

// The lock of PostgreSQL is the server's: it reports on a holder on another host.
func TestKilledHolderOnAnotherHost(t *testing.T) {
	on(t, []string{"PostgreSQL"}, func(t testing.TB, p place) {
		s := newService(t, serviceOptions{Access: 5 * time.Minute, Refresh: 15 * time.Minute})
		here, there := start(t, p, s, fast), start(t, p, s, fast, stalling("marked"), func(s *workerSettings) { s.Host = "another-host" })
		here.must(order{Do: "open"})
		there.must(order{Do: "open"})
		noErrors(t, here.do(order{Do: "calls"}).Calls)
		there.order(order{Do: "refresh"})
		there.awaitPoint("marked")
		there.kill()
		began := time.Now()
		noErrors(t, here.do(order{Do: "calls"}).Calls)
		took := time.Since(began)
		t.Logf("served after %v", took.Round(time.Millisecond))
		if took > unlessRace(time.Second, 3*time.Second) {
			t.Errorf("served after %v, want at most 1 s", took)
		}
		s.check(t, wants{logins: 2, unauthorized: -1})
	})
}

// S09: workers are killed all the time.
func TestS09KillStorm(t *testing.T) {
	stores(t, !racedetector.Enabled, func(t testing.TB, p place) {
		s := newService(t, serviceOptions{Access: 5 * time.Second, Refresh: 20 * time.Second, Faults: "delay=login:200ms,delay=refresh:200ms"})
		n, every, length := pick(unlessRace(4, 3), 16), pick(unlessRace(250*time.Millisecond, 700*time.Millisecond), 100*time.Millisecond), pick(4*time.Second, time.Minute)
		calm := storm(t, p, s, n, 0, pick(2*time.Second, 10*time.Second))
		wild := storm(t, p, s, n, every, length)
		s.unrepeated(t)
		p.sound(t)
		share := unlessRace(0.5, 0.1)
		if p.pooled() && !full() {
			share = 0.1 // a lease is most of so short a storm
		}
		if wild.rate < calm.rate*share || wild.rate == 0 {
			t.Errorf("%.1f calls/s under the storm, %.1f without", wild.rate, calm.rate)
		}
		t.Logf("%d kills in %v; %.0f calls/s, %.0f/s without kills; logins %d", wild.kills, length, wild.rate, calm.rate, s.stats().Logins)
	})
}

type stormy struct {
	kills int64
	rate  float64
}

// storm lets n workers call, one replaced every so often (0: never).
func storm(t testing.TB, p place, s *service, n int, every, length time.Duration) stormy {
	t.Helper()
	end := time.Now().Add(length)
	began := time.Now()
	var kills atomic.Int64
	before := s.stats().Requests["billing"] - s.stats().Unauthorized
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			time.Sleep(every * time.Duration(i))
			ready := func() *process { // its start is not what is measured
				w := start(t, p, s, fast)
				w.order(order{Do: "open"})
				return w
			}
			for w := ready(); time.Now().Before(end); {
				next := w
				if every > 0 {
					next = ready()
				}
				life := time.Until(end)
				if every > 0 {
					life = min(life, every*time.Duration(n))
				}
				reply := w.order(order{Do: "calls", For: time.Until(end), Gap: 150 * time.Millisecond})
				select {
				case <-time.After(life):
				case <-reply:
				}
				w.kill()
				kills.Add(1)
				w = next
			}
		})
	}
	all.Wait()
	done := s.stats().Requests["billing"] - s.stats().Unauthorized - before
	return stormy{kills: kills.Load(), rate: float64(done) / time.Since(began).Seconds()}
}

// S10: the holder is stopped beyond its lease, another takes over, and the
// stopped one wakes up.
func TestS10StoppedHolder(t *testing.T) {
	stores(t, true, func(t testing.TB, p place) {
		s := newService(t, serviceOptions{Access: 5 * time.Minute, Refresh: 15 * time.Minute})
		victim, other := start(t, p, s, fast), start(t, p, s, fast)
		victim.must(order{Do: "open"})
		other.must(order{Do: "open"})
		noErrors(t, other.do(order{Do: "calls"}).Calls)
		s.faults("late=refresh:1s#1") // processed at once, answered later
		began := time.Now()
		victim.order(order{Do: "refresh"})
		until(t, "the refresh is sent", func() bool { return len(s.seen(refreshLine, began)) > 0 })
		victim.signal(syscall.SIGSTOP)
		noErrors(t, other.do(order{Do: "calls"}).Calls)
		took := time.Since(began)
		if took < fastLease()-500*time.Millisecond || took > fastLease()+3*time.Second {
			t.Errorf("taken over after %v, want the lease's %v", took, fastLease())
		}
		st := other.status()
		victim.signal(syscall.SIGCONT)
		noErrors(t, victim.do(order{Do: "calls"}).Calls)
		if now := other.status(); now.Generation != st.Generation || now.State != "live" {
			grave(t, "the woken one changed the stored pair: generation %d, %s; it was %d", now.Generation, now.State, st.Generation)
		}
		noErrors(t, other.do(order{Do: "calls"}).Calls)
		s.check(t, wants{logins: 2, refreshes: 1, unauthorized: -1})
		t.Logf("taken over after %v", took.Round(time.Millisecond))
	})
}
