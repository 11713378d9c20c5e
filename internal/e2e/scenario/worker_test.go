//go:build unix

package scenario

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/seal"
)

// workerEnv holds a worker's settings as JSON.
const workerEnv = "OPDECK_SCENARIO_WORKER"

// workerSettings say how a worker is set up.
type workerSettings struct {
	Store, KeyFile    string
	BaseURL, Password string
	PerMinute         map[limit.Class]int
	Fast              bool          // short deadline and lease; see fastDeadline
	Stall             string        // point of a rotation where the worker stops
	AuthVia           string        // address that logins and refreshes go to
	Host              string        // "": the real one
	Skew              time.Duration // of the wall clock
	NoLock            bool          // no liveness lock: the lease alone decides
}

// fastDeadline and fastLease replace 10 s and 15 s where a scenario waits for
// them: 2 s and 4 s, more under the race detector.
func fastDeadline() time.Duration { return unlessRace(2*time.Second, 5*time.Second) }
func fastLease() time.Duration    { return fastDeadline() + 2*time.Second }

func fastConstants() session.Constants {
	c := session.Defaults()
	c.AuthDeadline, c.LeaseHeld, c.LeaseSent = fastDeadline(), 2100*time.Millisecond, fastLease()
	return c
}

// order is a line to a worker, reply a line from it.
type order struct {
	ID       int
	Do       string
	Calls    int           // of "calls": how many, one after the other
	For      time.Duration // of "calls": or for how long
	Gap      time.Duration // between two calls
	Parallel int           // so many at once, each doing Calls
	Deadline time.Duration // of each call
	Point    string        // of "stall"
}

type reply struct {
	ID     int
	At     string // a point was reached; ID is 0
	Err    string
	Took   time.Duration
	Calls  callReport
	Status json.RawMessage
}

// callReport is the outcome of many calls.
type callReport struct {
	OK      int
	Errors  map[string]int // by sentence
	Took    []time.Duration
	Started []time.Time // of good calls, beside Gens
	Gens    []string    // incarnation and generation of the last send
}

// worker is a process with a session and a client.
type worker struct {
	set    workerSettings
	points *points
	out    sync.Mutex // guards standard output

	once    sync.Once
	err     error
	store   *store.Store
	rows    *accounts.Store
	session *session.Manager
	client  *endpoint.Wire
}

// playWorker obeys orders until standard input ends.
func playWorker() {
	w := &worker{points: &points{goOn: make(chan struct{}, 1)}}
	if err := json.Unmarshal([]byte(os.Getenv(workerEnv)), &w.set); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	w.points.say = func(p string) { w.answer(reply{At: p}) }
	w.points.arm(w.set.Stall)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var o order
		if err := json.Unmarshal(in.Bytes(), &o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		go w.obey(o)
	}
	os.Exit(0)
}

func (w *worker) answer(r reply) {
	line, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	w.out.Lock()
	defer w.out.Unlock()
	_, _ = os.Stdout.Write(append(line, '\n'))
}

func (w *worker) obey(o order) {
	r := reply{ID: o.ID}
	defer func() { w.answer(r) }()
	began := time.Now()
	defer func() { r.Took = time.Since(began) }()
	switch o.Do {
	case "go":
		w.points.goOn <- struct{}{}
		return
	case "stall":
		w.points.arm(o.Point)
		return
	}
	ctx := api.WithActor(context.Background(), api.Actor{Name: "worker", Role: api.Admin, Via: "test"})
	w.once.Do(func() { w.err = w.open(ctx) })
	err := w.err
	if err == nil {
		err = w.act(ctx, o, &r)
	}
	if err != nil {
		r.Err = err.Error()
	}
}

func (w *worker) act(ctx context.Context, o order, r *reply) (err error) {
	if o.Deadline > 0 && o.Do != "calls" {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Deadline)
		defer cancel()
	}
	switch o.Do {
	case "open":
		return w.awaitHints(ctx)
	case "calls":
		r.Calls = w.calls(ctx, o)
		return nil
	case "refresh":
		return w.session.Refresh(ctx)
	case "reset":
		return w.session.Reset(ctx)
	case "status":
		st, err := w.session.Status(ctx)
		if err != nil {
			return err
		}
		r.Status, err = json.Marshal(statusReport{State: st.State, Generation: st.Generation, Fence: st.Fence, Holder: st.Holder,
			Premature: st.Counts.Premature, Outcomes: outcomes(st.History), Sentence: verdict.Explain(st).Sentence})
		return err
	}
	return fmt.Errorf("unknown order %q", o.Do)
}

// statusReport is what a scenario looks at.
type statusReport struct {
	State             string
	Generation, Fence int64
	Holder            *session.Owner
	Premature         int64
	Outcomes          map[string]int // of the rotations in the history, and kinds of other events
	Sentence          string
}

func outcomes(events []session.Event) map[string]int {
	n := map[string]int{}
	for _, e := range events {
		if e.Outcome != "" {
			n[string(e.Outcome)]++
		} else {
			n[string(e.Kind)]++
		}
	}
	return n
}

// open wires what internal/app wires, with the scenario's twists.
func (w *worker) open(ctx context.Context) (err error) {
	s := w.set
	if w.store, err = store.Open(ctx, store.Options{URL: s.Store}); err != nil {
		return err
	}
	log := slog.New(slog.DiscardHandler)
	key, err := seal.OpenKey(context.Background(), s.KeyFile, w.store.Core)
	if err != nil {
		return err
	}
	if w.rows, err = accounts.New(w.store.Core, accounts.Options{Key: key, Log: log}); err != nil {
		return err
	}
	name, err := session.NormalKey(s.BaseURL, account)
	if err != nil {
		return err
	}
	shared := &twistedStore{Store: w.rows, points: w.points}
	budgets, err := limit.New(limit.Config{Store: shared, Key: name, PerMinute: s.PerMinute})
	if err != nil {
		return err
	}
	cfg := session.Config{BaseURL: s.BaseURL, Account: account, Store: shared, Limits: budgets, Auth: w.auth(), Log: log,
		Password: func(context.Context) (secret.Value, error) { return secret.New(s.Password), nil },
		Clock:    skewed{session.SystemClock(), s.Skew}, Owner: session.Owner{User: "worker", Version: "test", Host: s.Host}}
	if s.Fast {
		cfg.Constants = fastConstants()
	}
	cfg.Probes = func() []session.Probe { return w.client.Probes() }
	if !s.NoLock {
		cfg.Liveness = w.rows.Liveness()
	}
	if w.session, err = session.New(cfg); err != nil {
		return err
	}
	w.client, err = endpoint.New(api.Options{BaseURL: s.BaseURL, Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Session: (&sends{m: w.session}).Do,
		Gate: &api.Gate{ReadOnly: true}, Timeout: 15 * time.Second, Now: time.Now, Log: log})
	return err
}

// auth is the transport of logins and refreshes, by another way if asked.
func (w *worker) auth() http.RoundTripper {
	return session.NewAuthTransport(nil, func(t *http.Transport) {
		if w.set.AuthVia != "" {
			t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, network, w.set.AuthVia)
			}
		}
	})
}

// awaitHints waits until the liveness hints of PostgreSQL work, a second at most.
func (w *worker) awaitHints(ctx context.Context) error {
	if strings.HasPrefix(w.set.Store, "sqlite") || w.set.NoLock {
		return nil
	}
	nobody := session.Key{BaseURL: "https://none.example", Account: "nobody"}
	for range 50 {
		if w.rows.Liveness().Gone(nobody) {
			return nil
		}
		if err := limit.Sleep(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// skewed is a host whose wall clock is off.
type skewed struct {
	session.Clock
	by time.Duration
}

func (c skewed) Wall() time.Time { return c.Clock.Wall().Add(c.by) }
