package notifytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api/reach"
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
	began     int
	every     time.Duration // between observations

	facts    []func(*verdict.Facts)
	requests []notify.Request

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

var errStore = errors.New("the store fails")

func (i *instance) State(ctx context.Context, scope string) (notify.State, time.Time, error) {
	if i.failing.Load() {
		return notify.State{}, time.Time{}, errStore
	}
	return i.Store.State(ctx, scope)
}

func (i *instance) Update(ctx context.Context, scope string, change func(*notify.State, time.Time) bool) error {
	if i.failing.Load() {
		return errStore
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
		"Remainder": remainder, "Approvals": approvals, "Restart": restart, "Retries": retries, "GivenUp": givenUp,
		"EndedBeforeRecord": endedBeforeRecord, "StoreFails": storeFails, "ClockSetBack": clockSetBack} {
		t.Run(name, func(t *testing.T) {
			w := &world{t: t, every: 10 * time.Second}
			w.stores = open(t, w.now)
			for range w.stores {
				w.begin()
			}
			run(w)
		})
	}
}

func (w *world) now() time.Time { return noon.Add(time.Duration(w.moved.Load())) }

// begin starts an instance.
func (w *world) begin() *instance {
	i := &instance{w: w, Store: w.stores[w.began%len(w.stores)]}
	w.began++
	i.Notifier = notify.New(notify.Options{Store: i, Scope: scope, Owner: fmt.Sprint("p", w.began), Min: verdict.Warning,
		Sender: i, Log: slog.New(slog.NewTextHandler(&w.log, nil)), Observe: func(context.Context) notify.Observation {
			return notify.Observation{Context: "stage", Verdict: concluded(w.now(), w.facts...), Requests: w.requests,
				RequestsKnown: true}
		}})
	w.instances = append(w.instances, i)
	return i
}

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
			all.Go(func() {
				if i.Watch(w.t.Context()) {
					for i.Deliver(w.t.Context()) {
					}
				}
			})
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
	request := func(id string) notify.Request {
		return notify.Request{ID: id, Act: "document.remove", Object: "operation", ObjectID: "DE89370400440532013000",
			Requester: "ana", Expires: noon.Add(30 * time.Minute)}
	}
	w.requests = []notify.Request{request("r1")}
	w.during(time.Minute)
	got := w.want("approval r1")
	if len(got) == 1 && (!strings.HasPrefix(got[0].Sentence, "ana asks for approval: document remove on operation ") ||
		!strings.HasSuffix(got[0].Sentence, ", until 12:30 UTC.") || got[0].Command != "opdeck approval show r1") {
		w.t.Errorf("%+v", got[0])
	}
	if len(got) == 1 && strings.Contains(got[0].Sentence+got[0].ObjectID, "DE89370400440532013000") {
		w.t.Errorf("not masked: %+v", got[0])
	}
	w.requests = []notify.Request{request("r2"), request("r1")}
	w.during(time.Minute)
	w.want("approval r2")
	w.requests = nil
	w.during(time.Minute)
	w.want()
}

// restart: new processes repeat nothing while a cause lasts, and one of them tells its end.
func restart(w *world) {
	w.during(time.Minute, noAudit)
	w.instances = nil
	w.begin()
	w.begin()
	w.during(time.Minute, noAudit)
	w.want("cause audit_unwritable")
	w.instances = w.instances[:1]
	w.during(2 * time.Minute)
	w.want("end audit_unwritable")
}

// retries: while the receiver fails, attempts are 5 s to 5 minutes apart, by one instance at a time; observing goes on,
// and an end waits for its cause.
func retries(w *world) {
	w.refuse(errors.New("the receiver answered 500"))
	w.during(20*time.Minute, noAudit)
	w.during(20 * time.Minute)
	if w.tries < 10 || w.tries > 16 {
		w.t.Errorf("%d attempts in 40 minutes", w.tries)
	}
	if !strings.Contains(w.log.String(), `msg="a notice was not sent"`) ||
		!strings.Contains(w.log.String(), "the receiver answered 500") {
		w.t.Errorf("the log says %s", &w.log)
	}
	w.refuse(nil)
	w.during(5*time.Minute + 10*time.Second)
	w.want("cause audit_unwritable", "end audit_unwritable")
}

// givenUp: a notice that no one takes for six hours is dropped, and the log says so; later ones follow.
func givenUp(w *world) {
	w.every = time.Minute
	w.refuse(errors.New("no route"))
	w.during(notify.GiveUp+10*time.Minute, noAudit)
	w.refuse(nil)
	if !strings.Contains(w.log.String(), `msg="a notice is not tried again"`) {
		w.t.Error("the log does not say that a notice was dropped")
	}
	w.during(3 * time.Minute)
	w.want("end audit_unwritable")
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
	w.instances = nil
	w.begin()
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
	w.await(3)
	begun := w.want("cause store_full", "cause store_full", "cause store_full")
	fail(false)
	w.during(time.Minute, noStore)
	w.want()
	w.during(2 * time.Minute)
	end := w.want("end store_full")
	if len(begun) != 3 || len(end) != 1 || begun[0].ID != begun[1].ID || begun[0].ID != begun[2].ID ||
		end[0].Ends != begun[0].ID {
		w.t.Errorf("%+v, %+v", begun, end)
	}
	fail(true)
	w.during(time.Minute, noStore)
	w.await(3)
	if again := w.want("cause store_full", "cause store_full", "cause store_full"); len(again) == 3 &&
		again[0].ID == begun[0].ID {
		w.t.Error("another episode has the same ID")
	}
}

// await waits for notices that are sent beside the store.
func (w *world) await(n int) {
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		w.mu.Lock()
		have := len(w.got)
		w.mu.Unlock()
		if have >= n {
			return
		}
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
