package notifytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/reach"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/verdict"
)

const scope = "https://pay.example.com machine@example.com"

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// world is three instances of opdeck serve with one receiver, and what they observe.
type world struct {
	t         *testing.T
	moved     atomic.Int64 // the clock
	stores    []notify.Store
	instances []*instance
	log       lockedBuffer
	every     time.Duration // between observations

	facts    []func(*verdict.Facts)
	requests []approval.Request

	mu      sync.Mutex
	refuses error           // guarded by mu: of the receiver
	tries   int             // guarded by mu
	got     []notify.Notice // guarded by mu: since the last want
}

// instance is one process. Its store fails while failing is set.
type instance struct {
	*notify.Notifier
	notify.Store
	w       *world
	failing atomic.Bool
	dies    atomic.Bool // once it has sent a notice
}

type lockedBuffer struct {
	mu sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.Buffer.Write(p)
}

func (i *instance) Update(ctx context.Context, scope string, change func(*notify.State, time.Time) bool) error {
	if i.failing.Load() {
		return errors.New("the store fails")
	}
	return i.Store.Update(ctx, scope, change)
}

// Send implements notify.Sender.
func (i *instance) Send(_ context.Context, n notify.Notice) error {
	i.w.mu.Lock()
	defer i.w.mu.Unlock()
	if i.w.tries++; i.w.refuses != nil {
		return i.w.refuses
	}
	i.w.got = append(i.w.got, n)
	if i.dies.Load() {
		i.failing.Store(true)
	}
	return nil
}

// Run checks that notices are told once through a store. open returns one empty store, opened three times.
func Run(t *testing.T, open func(t *testing.T, now func() time.Time) []notify.Store) {
	for name, run := range map[string]func(w *world){"BeginAndEndOnce": beginAndEnd, "FirstCauseOnly": firstOnly,
		"Remainder": remainder, "Approvals": approvals, "RestartsAndRefusals": restartsAndRefusals, "Retries": retries,
		"EndedBeforeRecord": endedBeforeRecord, "StoreFails": storeFails, "ClockSetBack": clockSetBack} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, every: 10 * time.Second}
			w.stores = open(t, w.now)
			for _, s := range w.stores {
				w.instances = append(w.instances, w.begin(s))
			}
			run(w)
		})
	}
}

func (w *world) now() time.Time { return noon.Add(time.Duration(w.moved.Load())) }

// begin starts an instance.
func (w *world) begin(s notify.Store) *instance {
	i := &instance{w: w, Store: s}
	i.Notifier = notify.New(notify.Options{Store: i, Scope: scope, Min: verdict.Warning, Sender: i,
		Log: slog.New(slog.NewTextHandler(&w.log, nil)), Observe: func(context.Context) notify.Observation {
			return notify.Observation{Context: "stage", Verdict: concluded(w.now(), w.facts...), Requests: w.requests,
				RequestsKnown: true}
		}})
	return i
}

// restart starts instance k again.
func (w *world) restart(k int) { w.instances[k] = w.begin(w.stores[k]) }

// concluded is the verdict at a time when all is good but for the changes.
func concluded(now time.Time, change ...func(*verdict.Facts)) verdict.Verdict {
	f := verdict.Facts{Now: now, Service: "pay.example.com",
		Store: verdict.Known(verdict.Store{State: verdict.StoreGood, Engine: "SQLite"}, "a read", now, time.Minute),
		Calls: []verdict.Fact[verdict.Call]{verdict.Known(verdict.Call{Class: "general", Route: "GET /a", Good: now},
			"a call", now, time.Minute)},
		Audit: verdict.Known(verdict.Audit{Writable: true}, "the trail", now, time.Minute)}
	for _, c := range change {
		c(&f)
	}
	return verdict.Conclude(f)
}

// during lets all instances observe and send now and then while the facts have these changes.
func (w *world) during(d time.Duration, change ...func(*verdict.Facts)) {
	w.facts = change
	for range int(d / w.every) {
		var all sync.WaitGroup
		for _, i := range w.instances {
			all.Go(func() { i.Step(w.t.Context()) })
		}
		all.Wait()
		w.moved.Add(int64(w.every))
	}
}

// want checks what has arrived since the last call: kind with cause or request.
func (w *world) want(want ...string) []notify.Notice {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	var got []string
	for _, n := range w.got {
		got = append(got, strings.TrimSpace(string(n.Kind)+" "+string(n.Cause)+n.Request))
	}
	if !slices.Equal(got, want) {
		w.t.Errorf("at %s: %q, want %q", w.now().Format(time.TimeOnly), got, want)
	}
	out := w.got
	w.got = nil
	return out
}

func (w *world) refuse(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refuses, w.tries = err, 0
}

func noAudit(f *verdict.Facts) { f.Audit.Value.Writable = false }

func unknownAudit(f *verdict.Facts) { f.Audit = verdict.Fact[verdict.Audit]{} }

func noStore(f *verdict.Facts) { f.Store.Value.State = verdict.StoreFull }

func doubtful(f *verdict.Facts) {
	f.Writes = verdict.Known(verdict.Writes{Doubtful: 1, Oldest: f.Now}, "the writes", f.Now, time.Minute)
}

func settled(f *verdict.Facts) {
	f.Writes = verdict.Known(verdict.Writes{}, "the writes", f.Now, time.Minute)
}

func refused(f *verdict.Facts) {
	f.Calls[0].Value = verdict.Call{Class: "general", Route: "GET /a", Failed: f.Now, Since: f.Now,
		Fault: reach.Fault{Class: reach.NoPort}}
}

// partly: of two classes of calls one still fails.
func partly(f *verdict.Facts) {
	before := f.Now.Add(-10 * time.Second)
	f.Calls = append(f.Calls, verdict.Known(verdict.Call{Class: "billing", Route: "GET /b", Failed: before, Since: before,
		Fault: reach.Fault{Class: reach.Gateway, Status: 502}}, "a call", f.Now, time.Minute))
}

// first is the first cause with a change.
func first(change func(*verdict.Facts)) string {
	f, _ := concluded(noon, change).First()
	return string(f.Cause)
}

// beginAndEnd: a first cause is told at once and once, its end when facts have shown for a minute that it is over. A
// write in doubt is a cause.
func beginAndEnd(w *world) {
	w.during(time.Minute)
	w.want()
	w.during(10*time.Second, noAudit)
	begun := w.want("cause audit_unwritable")
	w.during(5*time.Minute, noAudit)
	w.during(50 * time.Second)
	w.during(10*time.Second, noAudit) // it flaps
	w.during(time.Minute)
	w.during(10*time.Minute, unknownAudit) // not known is not over
	w.during(time.Minute)
	w.want()
	w.during(20 * time.Second)
	if end := w.want("end audit_unwritable"); len(begun) != 1 || len(end) != 1 || end[0].Ends != begun[0].ID ||
		end[0].ID == begun[0].ID || !strings.Contains(end[0].Sentence, "Resolved after") {
		w.t.Errorf("%+v, %+v", begun, end)
	}
	w.during(time.Minute, noAudit) // another episode has other IDs
	if again := w.want("cause audit_unwritable"); len(again) != 1 || again[0].ID == begun[0].ID {
		w.t.Errorf("%+v", again)
	}
	w.during(2 * time.Minute)
	w.want("end audit_unwritable")
	w.during(time.Minute, doubtful)
	w.want("cause writes_in_doubt")
	w.during(2*time.Minute, settled)
	w.want("end writes_in_doubt")
}

// firstOnly: a second cause is told when it becomes the first, and nothing below Min.
func firstOnly(w *world) {
	c := first(refused)
	w.during(time.Minute, refused, noAudit)
	w.want("cause " + c)
	w.during(80*time.Second, noAudit)
	w.want("cause audit_unwritable", "end "+c)
	w.during(2 * time.Minute)
	w.want("end audit_unwritable")
	for _, i := range w.instances {
		i.Min = verdict.Critical
	}
	w.during(time.Minute, doubtful)
	w.want()
}

// remainder: while a service comes back, some calls still have their last failure. That is no new cause.
func remainder(w *world) {
	whole, part := first(refused), first(partly)
	if whole == part || part == "" {
		w.t.Fatal(whole, part)
	}
	w.during(time.Minute, refused)
	w.during(3*time.Minute, partly)
	w.during(2 * time.Minute)
	w.want("cause "+whole, "end "+whole)
	w.during(time.Minute, partly)
	w.want("cause " + part)
}

// approvals: each request that waits is told once.
func approvals(w *world) {
	w.requests = []approval.Request{request("r1")}
	w.during(time.Minute)
	got := w.want("approval r1")
	if len(got) == 1 && (!strings.HasPrefix(got[0].Sentence, "ana asks for approval: document remove on operation ") ||
		!strings.HasSuffix(got[0].Sentence, ", until 12:30 UTC.") || got[0].Command != "opdeck approval show r1") {
		w.t.Errorf("%+v", got[0])
	}
	if len(got) == 1 && strings.Contains(got[0].Sentence+got[0].ObjectID, "DE89370400440532013000") {
		w.t.Errorf("not masked: %+v", got[0])
	}
	w.requests = []approval.Request{request("r2"), request("r1")}
	w.during(time.Minute)
	w.want("approval r2")
	w.requests = nil
	w.during(time.Minute)
	w.want()
	w.refuse(errors.New("no route"))
	w.requests = []approval.Request{request("r3")}
	w.during(time.Minute)
	w.requests = nil // it was decided before anybody could be told
	w.during(time.Minute)
	w.refuse(nil)
	w.during(5 * time.Minute)
	w.want()
}

func request(id string) approval.Request {
	return approval.Request{ID: id, Act: api.Act{Kind: "document.remove", Object: "operation",
		ID: "DE89370400440532013000"}, Requester: approval.Person{Name: "ana"}, Expires: noon.Add(30 * time.Minute)}
}

// restartsAndRefusals: while causes, requests, processes and the receiver come and go at random, each notice arrives
// once, no end before its cause, and each cause has its end at last.
func restartsAndRefusals(w *world) {
	rnd := rand.New(rand.NewPCG(3, 8))
	often := func() bool { return rnd.IntN(8) == 0 }
	causes := [][]func(*verdict.Facts){nil, {noAudit}, {refused}, {partly}, {doubtful}, {unknownAudit}, {refused, noAudit}}
	for now, refuses, n := causes[0], false, 0; n < 300; n++ {
		if often() {
			now = causes[rnd.IntN(len(causes))]
		}
		if often() {
			refuses = !refuses
			w.refuse(map[bool]error{true: errors.New("the receiver answered 500")}[refuses])
		}
		if often() {
			w.restart(rnd.IntN(len(w.instances)))
		}
		if w.requests = nil; n%40 > 10 {
			w.requests = []approval.Request{request(fmt.Sprint("r", n/40))}
		}
		w.during(10*time.Second, now...)
	}
	w.refuse(nil)
	w.requests = nil
	w.during(7*time.Minute, settled)
	seen, open := map[string]bool{}, map[string]bool{}
	for _, n := range w.got {
		if seen[n.ID] || n.Kind == notify.End && !open[n.Ends] {
			w.t.Errorf("again, or before its cause: %+v", n)
		}
		seen[n.ID] = true
		if delete(open, n.Ends); n.Kind == notify.Cause {
			open[n.ID] = true
		}
	}
	if len(seen) < 20 || len(open) > 0 {
		w.t.Errorf("%d notices, %d causes without an end: %+v", len(seen), len(open), w.got)
	}
}

// retries: while the receiver fails, attempts are 5 s to 5 minutes apart, by one instance at a time, for as long as it
// takes; observing goes on, and an end waits for its cause.
func retries(w *world) {
	w.every = time.Minute
	w.refuse(errors.New("the receiver answered 500"))
	w.during(4*time.Hour, noAudit)
	w.during(4 * time.Hour)
	if w.tries < 80 || w.tries > 110 {
		w.t.Errorf("%d attempts in eight hours", w.tries)
	}
	if !strings.Contains(w.log.String(), `msg="a notice was not sent"`) ||
		!strings.Contains(w.log.String(), "the receiver answered 500") {
		w.t.Errorf("the log says %s", &w.log)
	}
	w.refuse(nil)
	w.during(6 * time.Minute)
	w.want("cause audit_unwritable", "end audit_unwritable")
}

// endedBeforeRecord: a process ends after the notice has arrived and before that is recorded. Another one sends it
// again, with the same ID, when the claim has lapsed.
func endedBeforeRecord(w *world) {
	for _, i := range w.instances {
		i.dies.Store(true)
	}
	w.during(10*time.Second, noAudit)
	w.want("cause audit_unwritable")
	w.got = nil
	w.restart(0)
	w.instances = w.instances[:1]
	w.during(notify.Lease-10*time.Second, noAudit)
	w.want()
	w.during(20*time.Second, noAudit)
	w.want("cause audit_unwritable")
	w.during(2 * time.Minute)
	w.want("end audit_unwritable")
}

// storeFails: a cause of the store itself cannot be claimed there, so that each instance tells it, with the same ID.
// Its end is told once.
func storeFails(w *world) {
	w.during(10 * time.Second)
	fail := func(on bool) {
		for _, i := range w.instances {
			i.failing.Store(on)
		}
	}
	fail(true)
	w.during(time.Minute, noStore)
	begun := w.want("cause store_full", "cause store_full", "cause store_full")
	fail(false)
	w.instances[2].failing.Store(true) // for longer than the others
	w.during(time.Minute, noStore)
	w.want()
	w.during(2 * time.Minute)
	end := w.want("end store_full")
	fail(false)
	w.during(2 * time.Minute)
	w.want()
	if len(begun) != 3 || len(end) != 1 || begun[0].ID != begun[1].ID || begun[0].ID != begun[2].ID ||
		end[0].Ends != begun[0].ID {
		w.t.Errorf("%+v, %+v", begun, end)
	}
	fail(true)
	w.during(time.Minute, noStore)
	if again := w.want("cause store_full", "cause store_full", "cause store_full"); len(again) == 3 &&
		again[0].ID == begun[0].ID {
		w.t.Error("another episode has the same ID")
	}
}

// clockSetBack: a claim or an end that lies far ahead on a clock that was set back holds nothing up.
func clockSetBack(w *world) {
	w.refuse(errors.New("no route"))
	w.during(10*time.Second, noAudit)
	w.moved.Add(-int64(24 * time.Hour))
	w.refuse(nil)
	w.during(10*time.Second, noAudit)
	w.want("cause audit_unwritable")
	w.during(30 * time.Second)
	w.moved.Add(-int64(24 * time.Hour))
	w.during(80 * time.Second)
	w.want("end audit_unwritable")
}
