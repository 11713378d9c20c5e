package sshserver

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	gossh "golang.org/x/crypto/ssh"

	"opdeck/internal/system/listen/listentest"
)

// caller is a client that keeps the server waiting from its beginning on.
type caller struct {
	began time.Time
	busy  time.Duration // that it did not keep anyone waiting
	spoke bool          // it has sent something
	shown bool          // it has offered a key that is accepted
	gone  atomic.Bool
	leave func()
}

func (c *caller) waited() (time.Duration, bool) { return time.Since(c.began) - c.busy, !c.spoke }
func (c *caller) proving() bool                 { return c.shown }
func (c *caller) drop()                         { c.gone.Store(true) }
func (c *caller) lost() <-chan struct{}         { return nil }

// gate is a preAuthLimit with callers.
type gate struct {
	*preAuthLimit
	t *testing.T
}

func newGate(t *testing.T, l Limits) gate {
	l.defaults()
	return gate{newPreAuthLimit(l), t}
}

// come enters without waiting long; nil: there was no place.
func (g gate) come(from string) *caller { return g.comeAs(from, &caller{began: time.Now()}) }

func (g gate) comeAs(from string, c *caller) *caller {
	g.t.Helper()
	leave, ok := g.enter(addr(from), c, nil)
	if !ok {
		return nil
	}
	c.leave = leave
	return c
}

func TestPlacesOfOneNetwork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, Limits{Pending: 100, PendingKept: 10, PerSource: 2, PerNetwork: 5, QueueWait: 10 * time.Millisecond,
			SilentFor: time.Hour})
		for _, c := range []struct {
			from string
			ok   bool
		}{
			{"192.0.2.1", true}, {"192.0.2.1", true}, {"192.0.2.1", false}, {"::ffff:192.0.2.1", false}, // /32
			{"192.0.2.2", true}, {"192.0.2.3", true}, {"192.0.2.4", true}, {"192.0.2.5", false}, {"192.0.3.5", true}, // /24
			{"2001:db8::1", true}, {"2001:db8::2", true}, {"2001:db8::ffff:3", false}, // /64
			// /48
			{"2001:db8:0:1::1", true}, {"2001:db8:0:2::1", true}, {"2001:db8:0:3::1", true}, {"2001:db8:0:4::1", false},
			{"2001:db8:1::1", true},
		} {
			if got := g.come(c.from); (got != nil) != c.ok {
				t.Errorf("%s: %v, want %v", c.from, got != nil, c.ok)
			}
		}
		g.known.add(addr("192.0.2.9"))
		if g.come("192.0.2.9") == nil {
			t.Error("a known source is bound by its wide network")
		}
	})
}

// Who comes when all places are taken gets that of the client that kept the server
// waiting the longest; not of one that is proving who they are, nor of one that is
// quick.
func TestTheSlowestLosesItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, Limits{Pending: 4, PendingKept: 1, SilentFor: time.Second, QueueWait: 5 * time.Second})
		touch := g.comeAs("192.0.2.1", &caller{began: time.Now(), shown: true})
		time.Sleep(time.Second)
		busy := g.comeAs("192.0.2.2", &caller{began: time.Now(), busy: time.Hour})
		time.Sleep(time.Second)
		silent := g.come("192.0.2.3")
		began := time.Now()
		next := g.come("192.0.2.4")
		if next == nil || !silent.gone.Load() || touch.gone.Load() || busy.gone.Load() {
			t.Errorf("got in %v; gone: silent %v, proving %v, busy %v", next != nil, silent.gone.Load(), touch.gone.Load(),
				busy.gone.Load())
		}
		if took := time.Since(began); took < time.Second-time.Millisecond || took > 1100*time.Millisecond {
			t.Errorf("a client may keep the server waiting %s, want 1 s", took)
		}
		slow := g.comeAs("192.0.2.5", &caller{began: time.Now(), spoke: true}) // next has lost its place
		began = time.Now()
		if g.come("192.0.2.6") != nil {
			t.Error("a silent one takes the place of one that speaks")
		}
		if g.comeAs("192.0.2.6", &caller{began: time.Now(), spoke: true}) == nil || !slow.gone.Load() {
			t.Error("one that is slow for four seconds keeps its place")
		}
		if took := time.Since(began); took < 4*time.Second-time.Millisecond {
			t.Errorf("one that says something may keep the server waiting %s, want 4 s", took)
		}
		silent.leave() // its connection ends later; the place is another one's
		if n := g.count(); n != 3 {
			t.Errorf("%d are inside", n)
		}
		g.known.add(addr("198.51.100.1"))
		if g.come("198.51.100.1") == nil {
			t.Error("no place is kept for a known source")
		}
	})
}

// One who waits gets the place of one who leaves, the first came first, or gives up.
func TestWaitingForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate(t, Limits{Pending: 1, PendingKept: 0, PerSource: 1, QueueWait: time.Minute, SilentFor: time.Hour})
		g.reserved = 0
		first := g.come("192.0.2.1")
		order := make(chan int, 3)
		var wg sync.WaitGroup
		for i := range 2 {
			wg.Go(func() {
				if c := g.come("192.0.2.1"); c != nil {
					order <- i
					c.leave()
				}
			})
			synctest.Wait()
		}
		first.leave()
		first.leave() // twice is once
		wg.Wait()
		if a, b := <-order, <-order; a != 0 || b != 1 {
			t.Errorf("in the order %d, %d", a, b)
		}
		last := g.come("192.0.2.1")
		began := time.Now()
		if g.comeAs("192.0.2.1", &caller{began: time.Now(), spoke: true}) != nil || time.Since(began) != time.Minute {
			t.Errorf("a place out of nothing after %s", time.Since(began))
		}
		stop := make(chan struct{})
		close(stop)
		if _, ok := g.enter(addr("192.0.2.2"), &caller{began: time.Now()}, stop); ok {
			t.Error("somebody got in at the end of the server")
		}
		last.leave()
		if g.count() != 0 || len(g.from)+len(g.around)+g.unknown != 0 {
			t.Errorf("%d inside, %v, %v, %d", g.count(), g.from, g.around, g.unknown)
		}
	})
}

func TestKnownSources(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sources")
	k := &knownSources{max: 3, path: path}
	if err := k.load(); err != nil {
		t.Fatal(err)
	}
	for _, a := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.3", "2001:db8::1"} {
		k.add(addr(a))
	}
	k.add(netip.Addr{})
	k.add(addr("192.0.2.1"))
	if err := k.save(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil || string(b) != "192.0.2.3/32\n2001:db8::/64\n192.0.2.1/32\n" {
		t.Errorf("kept: %q, %v", b, err)
	}
	write(t, path, "rubbish\n"+string(b))
	again := &knownSources{max: 3, path: path}
	if err := again.load(); err != nil {
		t.Fatal(err)
	}
	for _, k := range []*knownSources{k, again} {
		for a, want := range map[string]bool{"192.0.2.1": true, "192.0.2.2": false, "192.0.2.3": true, "2001:db8::ffff": true,
			"2001:db8:0:1::1": false} {
			n, _ := networks(addr(a))
			if k.has(n) != want {
				t.Errorf("%s is known: %v", a, !want)
			}
		}
		if k.has(netip.Prefix{}) {
			t.Error("no address is known")
		}
	}
	if st, err := os.Stat(path); err != nil || again.dirty {
		t.Errorf("%v, %v, %v", st, err, again.dirty)
	}
}

// from dials from an address of this host; skips where there is only one.
func from(t *testing.T, source, to string) (net.Conn, error) {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: 10 * time.Second}
	return d.DialContext(t.Context(), "tcp", to)
}

// 500 silent connections from 20 sources, each made again when it is cut: people who
// were there before get in, 10 of 10, also when one of the sources is their own.
func TestLoginsAmongSilentConnections(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux has all of 127.0.0.0/8 on its loopback")
	}
	for name, sources := range map[string]struct{ first, n int }{"from elsewhere": {2, 20},
		"from their own address too": {1, 20}} {
		t.Run(name, func(t *testing.T) {
			// the network's time is not what is tested
			h := open(t, func(_ *fixture, o *Options) { o.Limits.Handshake, o.Limits.QueueWait = time.Minute, time.Minute })
			limit := 10 * time.Second
			login := func() error {
				nc, err := from(t, "127.0.0.1", h.addr)
				if err != nil {
					return err
				}
				defer nc.Close()
				_ = nc.SetDeadline(time.Now().Add(max(limit, time.Minute)))
				c, chans, reqs, err := gossh.NewClientConn(nc, h.addr,
					&gossh.ClientConfig{User: "ana", Auth: []gossh.AuthMethod{gossh.PublicKeys(h.signer("ana"))},
						HostKeyCallback: gossh.FixedHostKey(h.host)})
				if err != nil {
					return err
				}
				return gossh.NewClient(c, chans, reqs).Close()
			}
			began := time.Now()
			if err := login(); err != nil {
				t.Fatal(err)
			}
			if base := time.Since(began); base > 50*time.Millisecond { // a busy machine, or the race detector
				limit *= base / (50 * time.Millisecond)
			}
			n := scaled(500, 200)
			stop, made := listentest.Silent(t, n, func(i int) (net.Conn, error) {
				return from(t, fmt.Sprintf("127.0.0.%d", sources.first+i%sources.n), h.addr)
			})
			defer stop()
			for i := range 10 {
				began := time.Now()
				if err := login(); err != nil {
					t.Errorf("login %d: after %s: %v", i, time.Since(began).Round(time.Millisecond), err)
				} else if took := time.Since(began); took > limit {
					t.Errorf("login %d took %s, want at most %s", i, took, limit)
				} else {
					t.Logf("login %d took %s", i, took.Round(time.Millisecond))
				}
			}
			lines := strings.Count(h.log.String(), "ssh: connection refused")
			t.Logf("%d silent connections; %d lines in the log; %v", made.Load(), lines, h.srv.Refused())
			if lines > 2*20*(1+int(time.Since(began)/time.Minute)) { // reasons, sources, minutes
				t.Errorf("%d lines in the log", lines)
			}
		})
	}
}
