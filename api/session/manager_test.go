package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/secret"
)

// world is one service, one store and as many processes as a test makes.
type world struct {
	*testing.T
	svc   *service
	clock *simClock
	store Store
	n     uint64
}

// inWorld runs f in virtual time.
func inWorld(t *testing.T, f func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{T: t, svc: newService(lockedRand(3, 1)), clock: newSimClock()}
		w.store = NewMemory(w.clock)
		f(w)
	})
}

func (w *world) manager(change func(*Config)) *Manager { return w.on(w.store, change) }

func (w *world) on(store Store, change func(*Config)) *Manager {
	w.n++
	return simManager(w.T, store, w.clock, w.svc, 3, 100+w.n, change)
}

// call makes one call with a deadline of a minute.
func (w *world) call(m *Manager) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	return m.Do(ctx, Route{Class: limit.General}, w.svc.send(limit.General, lockedRand(9, w.n)))
}

func (w *world) good(m *Manager) {
	w.Helper()
	if err := w.call(m); err != nil {
		w.Fatal(err)
	}
}

// kindIs checks the kind of a session error.
func (w *world) kindIs(err error, want ErrKind) *Error {
	w.Helper()
	var e *Error
	if !errors.As(err, &e) || e.Kind != want {
		w.Fatalf("%v, want an error of kind %s", err, want)
	}
	return e
}

func (w *world) counts(logins, refreshes int) {
	w.Helper()
	if len(w.svc.logins) != logins || len(w.svc.refreshes) != refreshes {
		w.Fatalf("%d logins and %d refreshes, want %d and %d", len(w.svc.logins), len(w.svc.refreshes), logins, refreshes)
	}
}

func TestWrongPassword(t *testing.T) {
	inWorld(t, func(w *world) {
		word := "wrong"
		change := func(c *Config) {
			c.Password = func(context.Context) (secret.Value, error) { return secret.New(word), nil }
		}
		a, b := w.manager(change), w.manager(change)
		e := w.kindIs(w.call(a), CredentialsRefused)
		if e.RetryAfter == 0 {
			w.Error("the confirming attempt is not reported")
		}
		w.kindIs(w.call(b), CredentialsRefused)
		w.counts(1, 0)
		time.Sleep(61 * time.Second)
		w.kindIs(w.call(b), CredentialsRefused)
		time.Sleep(5 * time.Hour)
		w.kindIs(w.call(a), CredentialsRefused)
		w.kindIs(w.call(w.manager(change)), CredentialsRefused)
		w.counts(2, 0)
		if s, err := a.Status(context.Background()); err != nil || s.State != "blocked" || len(s.Blocks) != 1 ||
			s.Blocks[0].Class != reach.Password {
			w.Fatalf("%s %+v, %v", s.State, s.Blocks, err)
		}
		if err := a.Reset(context.Background()); err != nil {
			w.Fatal(err)
		}
		w.kindIs(w.call(a), CredentialsRefused)
		w.counts(3, 0)
		word = "right"
		w.good(b) // another password is tried at once
		w.counts(4, 0)
	})
}

func TestTwoFactor(t *testing.T) {
	inWorld(t, func(w *world) {
		w.svc.twoFactor = true
		m := w.manager(nil)
		for range 4 * 58 {
			w.kindIs(w.call(m), TwoFactorDemanded)
			time.Sleep(15 * time.Second)
		}
		w.counts(1, 0)
		w.svc.twoFactor = false
		time.Sleep(3 * time.Minute)
		w.good(m)
		w.counts(2, 0)
	})
}

// A code that is demanded for a refresh says nothing about the access token.
func TestTwoFactorAtRefresh(t *testing.T) {
	inWorld(t, func(w *world) {
		m := w.manager(nil)
		w.good(m)
		w.svc.twoFactor = true
		w.kindIs(m.Refresh(context.Background()), TwoFactorDemanded)
		for range 4 {
			w.good(m)
			time.Sleep(time.Minute)
		}
		time.Sleep(time.Minute)
		w.kindIs(w.call(m), TwoFactorDemanded)
		w.counts(1, 1)
	})
}

func TestThreeSendsAtMost(t *testing.T) {
	inWorld(t, func(w *world) {
		m := w.manager(nil)
		sends := 0
		refuse := func(context.Context, Access) (int, http.Header, error) { sends++; return 401, nil, errors.New("mine") }
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		err := m.Do(ctx, Route{Class: limit.General}, refuse)
		w.kindIs(err, Unauthorized)
		if sends != 3 || !strings.Contains(err.Error(), "mine") {
			w.Fatalf("%d sends, %v", sends, err)
		}
		sends = 0
		forbid := func(context.Context, Access) (int, http.Header, error) { sends++; return 403, nil, nil }
		if err := m.Do(ctx, Route{Class: limit.General}, forbid); err != nil || sends != 1 {
			w.Fatalf("403: %d sends, %v", sends, err)
		}
	})
}

// TestNoTimeAnswersAtOnce: a caller that cannot wait for a back-off gets an error at once.
func TestNoTimeAnswersAtOnce(t *testing.T) {
	inWorld(t, func(w *world) {
		w.svc.after = func(_ int, _ bool, t *trip) { t.throttled = true }
		m := w.manager(nil)
		start := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		e := w.kindIs(m.Do(ctx, Route{Class: limit.General}, w.svc.send(limit.General, lockedRand(1, 1))), ServiceUnavailable)
		if e.RetryAfter < 50*time.Second || time.Since(start) > time.Second ||
			e.Fault.Class != reach.Throttled || !strings.HasSuffix(e.Error(), "again in 60 s)") {
			w.Fatalf("after %s: %v", time.Since(start), e)
		}
	})
}

// TestCallersWait: a caller that leaves does not end what others wait for, and
// what was announced is brought to its end (rules C5, C9).
func TestCallersWait(t *testing.T) {
	inWorld(t, func(w *world) {
		w.svc.after = func(_ int, _ bool, t *trip) { t.down = 4 * time.Second }
		m := w.manager(nil)
		short, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		w.kindIs(m.Do(short, Route{Class: limit.General}, w.svc.send(limit.General, lockedRand(1, 1))), TimedOut)
		start := time.Now()
		if err := m.Close(context.Background()); err != nil || time.Since(start) < 2*time.Second {
			w.Fatalf("closed after %s: %v", time.Since(start), err)
		}
		w.kindIs(w.call(m), Closed)
		w.good(w.manager(nil))
		w.counts(1, 0)
	})
}

func TestOperations(t *testing.T) {
	inWorld(t, func(w *world) {
		ctx := context.Background()
		a, b := w.manager(nil), w.manager(nil)
		w.good(a)
		if err := b.Refresh(ctx); err != nil {
			w.Fatal(err)
		}
		w.counts(1, 1)
		var full *limit.Exhausted
		for range 2 {
			if err := b.Refresh(ctx); !errors.As(err, &full) || full.Class != limit.Refresh || full.RetryAfter <= 0 {
				w.Fatalf("a second refresh within the minute: %v", err)
			}
		}
		w.good(a) // the pair is used all the same
		if err := a.Login(ctx); err != nil {
			w.Fatal(err)
		}
		w.counts(2, 1)
		if err := b.Reset(ctx); err != nil {
			w.Fatal(err)
		}
		if s, err := a.Status(ctx); err != nil || s.State != "none" || s.Access.TTL != 0 {
			w.Fatalf("%+v, %v", s, err)
		}
		w.good(a)
		w.counts(3, 1)
		if n := w.svc.status[401]; n != 0 {
			w.Fatalf("%d × 401", n)
		}
	})
}

// away is a store that can be switched off.
type away struct {
	Store
	off atomic.Bool
}

func (a *away) Load(ctx context.Context, k Key) (Row, error) {
	if a.off.Load() {
		return Row{}, errStore
	}
	return a.Store.Load(ctx, k)
}

func (a *away) Enter(ctx context.Context, k Key, r limit.Request, ok func(Row) bool) (Row, limit.Grant, error) {
	if a.off.Load() {
		return Row{}, limit.Grant{}, errStore
	}
	return a.Store.Enter(ctx, k, r, ok)
}

// TestWithoutStore is rule K1: without a store people go on with the pair in memory until its hand-over, nobody
// rotates, and background work waits.
func TestWithoutStore(t *testing.T) {
	inWorld(t, func(w *world) {
		st := &away{Store: w.store}
		m := w.on(st, nil)
		w.good(m)
		st.off.Store(true)
		time.Sleep(260 * time.Second)
		w.good(m) // from memory, before the hand-over
		if err := w.call(m); err != nil {
			w.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(limit.Background(context.Background()), time.Second)
		defer cancel()
		w.kindIs(m.Do(ctx, Route{Class: limit.General}, w.svc.send(limit.General, lockedRand(1, 1))), StoreUnavailable)
		time.Sleep(20 * time.Second)
		w.kindIs(w.call(m), StoreUnavailable)
		w.counts(1, 0)
		st.off.Store(false)
		w.good(m)
		w.counts(1, 1)
	})
}

// TestStoreWentBack is rule A3: a restored row is noticed, the spent refresh
// token is not presented again, and one login serves everyone.
func TestStoreWentBack(t *testing.T) {
	inWorld(t, func(w *world) {
		a, b := w.manager(nil), w.manager(nil)
		w.good(a)
		restore := w.store.(interface{ Saved(Key) func() }).Saved(a.key)
		time.Sleep(275 * time.Second)
		w.good(a)
		w.good(b)
		w.counts(1, 1)
		restore()
		w.good(a)
		w.good(b)
		w.good(w.manager(nil))
		w.counts(2, 1)
		s, err := b.Status(context.Background())
		back := slices.IndexFunc(s.History, func(e Event) bool { return e.Kind == EventRollback })
		if err != nil || back < 0 || !slices.ContainsFunc(s.History[back:], Event.Rotated) {
			w.Fatalf("%+v, %v", s.History, err)
		}
	})
}

func TestKeepAndWatch(t *testing.T) {
	inWorld(t, func(w *world) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		keeper, viewer := w.manager(nil), w.manager(nil)
		done := make(chan error)
		go func() { done <- keeper.Keep(ctx) }()
		var gens []int64
		for s := range viewer.Watch(ctx, time.Second) {
			if s.Generation > 0 && (len(gens) == 0 || gens[len(gens)-1] != s.Generation) {
				gens = append(gens, s.Generation)
			}
		}
		if err := <-done; err != nil {
			w.Fatal(err)
		}
		w.counts(1, 13)
		if len(gens) != 14 {
			w.Fatalf("the watcher saw the generations %v", gens)
		}
	})
}

// TestNothingSecretIsKept: neither the status and its history nor the log holds a token or the password.
func TestNothingSecretIsKept(t *testing.T) {
	inWorld(t, func(w *world) {
		var log bytes.Buffer
		m := w.manager(func(c *Config) {
			c.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		})
		w.good(m)
		time.Sleep(280 * time.Second)
		w.svc.after = func(_ int, login bool, t *trip) { t.lost = !login }
		w.good(m)
		s, err := m.Status(context.Background())
		if err != nil {
			w.Fatal(err)
		}
		if s.State != "live" || s.Account != "m•••@example.com" || s.Counts.Logins != 2 ||
			s.Last.Kind != ByLogin || s.Last.Outcome != OK || s.Instances != 1 {
			w.Errorf("%+v", s)
		}
		b, err := json.Marshal(s)
		if err != nil {
			w.Fatal(err)
		}
		all := fmt.Sprintf("%s %+v %#v %s", b, s, s, log.String())
		for _, word := range []string{"access-1", "refresh-1", "access-2", "refresh-2", "right"} {
			if strings.Contains(all, word) {
				w.Errorf("%q shows in %s", word, all)
			}
		}
		if !strings.Contains(log.String(), `"outcome":"unknown"`) {
			w.Errorf("the log misses the lost answer: %s", log.String())
		}
	})
}
