package followup_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/api/evidence"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
)

// virtual is the real store with the bubble's clock, set by the test.
type virtual struct {
	*journal.Unsettled
	set *time.Duration
}

func (v virtual) Now(context.Context) (time.Time, error) {
	return time.Now().Add(*v.set).UTC().Truncate(time.Microsecond), nil
}

// world is a service of which a look sees only whether the wanted state shows.
type world struct {
	mu    sync.Mutex // all below: the test changes it while the worker looks
	shown bool
	fail  error
	looks []time.Time
}

func (w *world) look(context.Context, api.Probe) (api.Observation, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks = append(w.looks, time.Now())
	return api.Observation{Shown: w.shown && w.fail == nil, File: "f1",
		Evidence: evidence.Evidence{Read: "the operation read"}}, w.fail
}

// pooled in alive: no process can be marked.
const pooled = "pooled"

// alive knows the processes that are gone.
type alive map[string]bool

func (a alive) Hold(string) (func(bool), bool) { return func(bool) {}, !a[pooled] }
func (a alive) Gone(boot string) bool          { return a[boot] }
func (a alive) Lives(boot string) bool         { return !a[boot] }

type rig struct {
	t        *testing.T
	st       *store.Store
	log      *audit.Log
	gone     alive
	tracker  *followup.Tracker
	w        *world
	reported []followup.Settled
	set      time.Duration // the store's clock
	base     int           // outcomes of earlier stories
	gate     *api.Gate     // of the process that was started last; nil: it makes no calls
}

var ana = api.Actor{Name: "ana", Role: api.Operator}

const lateAfter = 15 * time.Minute

func newRig(t *testing.T) *rig {
	st, err := store.Open(t.Context(), store.Options{URL: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, st: st, gone: alive{}, w: &world{}}
	r.log, r.tracker = r.process()
	r.tracker.OnSettled(func(s followup.Settled) { r.reported = append(r.reported, s) })
	return r
}

// process is a further process on the same store.
func (r *rig) process() (*audit.Log, *followup.Tracker) {
	r.t.Helper()
	where := audit.Context{Name: "stage", BaseURL: "https://x.example", Account: "m"}
	log, err := audit.New(audit.Options{Store: journal.NewAudit(r.st.Core), Context: where, Alive: r.gone})
	if err != nil {
		r.t.Fatal(err)
	}
	rows := journal.NewUnsettled(r.st.Core, "ctx")
	d := followup.New(followup.Options{Store: virtual{rows, &r.set}, Trail: log.Intents, Context: where, LateAfter: lateAfter,
		Date: func() time.Time { return r.date() }})
	client := new(endpointtest.Fake)
	endpointtest.On(client, endpoint.Look, r.w.look)
	d.Client = client
	return log, d
}

var removal = api.Act{Kind: api.ActRemoveDocument, Object: "operation", ID: "op1", Item: "d1", Name: "a.pdf", Summary: "Remove a.pdf"}

func claim(act api.Act) string { return endpoint.Rule(act.Kind).Claim(act) }

// send sends a write through a gate; End is called unless the process dies.
func (r *rig) send(log *audit.Log, d *followup.Tracker, act api.Act, dies bool) (ref string) {
	r.t.Helper()
	ctx := r.t.Context()
	ref, err := log.Intent(ctx, ana, act)
	if err == nil {
		var holder *api.Doubt
		holder, err = d.Sending(ctx, api.Pending{Ref: ref, Act: act, Who: ana, Claim: claim(act),
			Probe: api.Probe{Kind: act.Kind, OPID: act.ID, GUID: act.Item}})
		if err == nil && holder.Ref != ref {
			r.t.Fatalf("held by %+v", holder)
		}
	}
	if err == nil && !dies {
		if err = log.Outcome(ctx, ref, api.Outcome{Verdict: api.Unclear}); err == nil {
			err = d.Ended(ctx, ref, api.Outcome{Verdict: api.Unclear, Looked: time.Now()})
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
	return ref
}

// outcomes are the results that the trail holds of an intent, oldest first.
func (r *rig) outcomes(ref string) (out []audit.Result) {
	r.t.Helper()
	rows, err := journal.NewAudit(r.st.Core).Rows(r.t.Context(), 1, 1000)
	if err != nil {
		r.t.Fatal(err)
	}
	for _, row := range rows {
		if e, err := r.log.Intents.Entry(r.t.Context(), row.UID); err == nil && e.Ref == ref {
			out = append(out, e.Outcome)
		}
	}
	return out
}

func (r *rig) pending() []followup.Row {
	r.t.Helper()
	rows, err := r.tracker.Pending(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	return rows
}

func (r *rig) date() time.Time {
	if r.gate == nil {
		return time.Time{}
	}
	return r.gate.Date()
}

// run runs the worker for a time.
func (r *rig) run(d *followup.Tracker, how time.Duration) {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); d.Run(ctx) }()
	time.Sleep(how)
	cancel()
	<-done
}

func in(t *testing.T, fn func(r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		fn(r)
		if rep, err := r.log.Prover.Verify(api.WithActor(t.Context(), api.Actor{Name: "kim", Role: api.Admin})); err != nil || !rep.Intact() {
			t.Errorf("the trail is not intact any more: %s %v", rep.Summary(), err)
		}
		if err := r.st.Close(); err != nil {
			t.Error(err)
		}
	})
}

// TestFoundLater: a write whose state shows late is looked up at growing intervals, found, and reported. Its request may
// still arrive, which is listed until late_after; one last read then says what the state is.
func TestFoundLater(t *testing.T) {
	in(t, func(r *rig) {
		followed := 0
		r.tracker.Follow(func(_ context.Context, s followup.Settled) error { followed++; return nil })
		began := time.Now()
		ref := r.send(r.log, r.tracker, removal, false)
		time.AfterFunc(100*time.Second, func() { r.w.mu.Lock(); defer r.w.mu.Unlock(); r.w.shown = true })
		r.run(r.tracker, 10*time.Minute)
		if got := r.outcomes(ref); !slices.Equal(got, []audit.Result{audit.ResultUnknown, audit.ResultSeen}) {
			t.Errorf("the trail says %v", got)
		}
		var at []string
		for _, l := range r.w.looks {
			at = append(at, l.Sub(began).Round(time.Second).String())
		}
		if n := len(at); n < 3 || n > 5 {
			t.Errorf("looked at %v", at)
		}
		if len(r.reported) != 1 || r.reported[0].Outcome.Verdict != api.Seen || followed != 1 || !strings.HasSuffix(r.reported[0].Sentence(),
			began.Add(lateAfter).UTC().Format("may still arrive until 15:04:05 UTC.")) {
			t.Errorf("reported %+v, followed %d", r.reported, followed)
		}
		if left := r.pending(); len(left) != 1 || left[0].State != followup.Seen {
			t.Errorf("left %+v", left)
		}
		looks := len(r.w.looks)
		r.run(r.tracker, 6*time.Minute)
		if left := r.pending(); len(left) != 0 || len(r.w.looks) != looks+1 || followed != 2 || !strings.HasSuffix(
			r.reported[1].Sentence(), "is no longer expected; a read shows the wanted state.") {
			t.Errorf("left %+v after %d more looks, reported %+v", left, len(r.w.looks)-looks, r.reported)
		}
	})
}

// TestNotSeen: what never shows is "not seen", not earlier than late_after; a sight after that is still recorded.
func TestNotSeen(t *testing.T) {
	in(t, func(r *rig) {
		ref := r.send(r.log, r.tracker, removal, false)
		r.run(r.tracker, lateAfter-time.Second)
		if got := r.outcomes(ref); len(got) != 1 {
			t.Errorf("before late_after the trail says %v", got)
		}
		r.run(r.tracker, time.Minute)
		if got := r.outcomes(ref); !slices.Equal(got, []audit.Result{audit.ResultUnknown, audit.ResultNotSeen}) {
			t.Errorf("the trail says %v", got)
		}
		if left := r.pending(); len(left) != 1 || left[0].State != followup.NotSeen {
			t.Errorf("left %+v", left)
		}
		n := len(r.w.looks)
		if n > 12 {
			t.Errorf("%d looks", n)
		}
		r.run(r.tracker, time.Hour)
		if len(r.w.looks) != n {
			t.Error("it is looked at for ever")
		}
		r.tracker.Saw(r.t.Context(), []api.Operation{{OPID: "op1", Raw: []byte(`{"opid":"op1","documents":[]}`)}}, 0)
		if got := r.outcomes(ref); got[len(got)-1] != audit.ResultSeen || len(r.pending()) != 0 {
			t.Errorf("after a late sight the trail says %v", got)
		}
	})
}

// TestSeenByAnyRead: a read of the operation for whatever reason is recorded at once;
// one that shows nothing is not.
func TestSeenByAnyRead(t *testing.T) {
	in(t, func(r *rig) {
		ref := r.send(r.log, r.tracker, removal, false)
		time.Sleep(time.Second)
		r.tracker.Saw(r.t.Context(), []api.Operation{{OPID: "op1", Raw: []byte(`{"opid":"op1","documents":[]}`)}}, 2*time.Second)
		if len(r.outcomes(ref)) != 1 {
			t.Fatal("a read from before it was sent settled it")
		}
		for _, raw := range []string{`{"opid":"op1"}`, `{"opid":"op1","documents":null}`, `{"opid":"op2","documents":[]}`, `{"opid":"op1","documents":[{"guid":"d1"}]}`} {
			r.tracker.Saw(r.t.Context(), []api.Operation{{OPID: "op1", Raw: []byte(raw)}}, 0)
			if len(r.outcomes(ref)) != 1 {
				t.Fatalf("%s settled it", raw)
			}
		}
		r.tracker.Saw(r.t.Context(), []api.Operation{{OPID: "op1", Raw: []byte(`{"opid":"op1","documents":[{"guid":"d2"}]}`)}}, 0)
		for range 2 { // the second read adds nothing
			r.tracker.Saw(r.t.Context(), []api.Operation{{OPID: "op1", Raw: []byte(`{"opid":"op1","documents":[{"guid":"d2"}]}`)}}, 0)
		}
		if got := r.outcomes(ref); !slices.Equal(got, []audit.Result{audit.ResultUnknown, audit.ResultSeen}) {
			t.Errorf("the trail says %v", got)
		}
	})
}

// TestStateThatGoesAgain: the last read does not show what an earlier one did.
func TestStateThatGoesAgain(t *testing.T) {
	in(t, func(r *rig) {
		ref := r.send(r.log, r.tracker, removal, false)
		r.w.shown = true
		r.run(r.tracker, time.Minute)
		r.w.shown = false
		r.run(r.tracker, lateAfter)
		if got := r.outcomes(ref); !slices.Equal(got, []audit.Result{audit.ResultUnknown, audit.ResultSeen, audit.ResultNotSeen}) {
			t.Errorf("the trail says %v", got)
		}
		if d, err := r.tracker.Doubt(r.t.Context(), claim(removal), time.Time{}); d != nil || err != nil {
			t.Errorf("in doubt: %+v, %v", d, err)
		}
	})
}

// TestObjectChanged: an event about the object brings the next look forward.
func TestObjectChanged(t *testing.T) {
	in(t, func(r *rig) {
		r.send(r.log, r.tracker, removal, false)
		r.run(r.tracker, 2*time.Minute)
		n := len(r.w.looks)
		r.w.shown = true
		r.tracker.ObjectChanged(r.t.Context(), "op1")
		r.run(r.tracker, 2*time.Second)
		if len(r.w.looks) != n+1 || len(r.reported) != 1 {
			t.Errorf("%d looks, reported %d", len(r.w.looks)-n, len(r.reported))
		}
	})
}

// TestKilledProcess: an intent whose process died without a word is looked at by
// another one; where it did not come to keep the write, nothing was sent.
func TestKilledProcess(t *testing.T) {
	for _, unsent := range []bool{false, true} {
		want, left := audit.ResultSeen, 1
		if unsent {
			left = 0
			want = audit.ResultFailed
		}
		t.Run(fmt.Sprint(unsent), func(t *testing.T) {
			in(t, func(r *rig) {
				log, tracker := r.process()
				var ref string
				if unsent {
					var err error
					if ref, err = log.Intent(r.t.Context(), ana, removal); err != nil {
						t.Fatal(err)
					}
				} else {
					ref = r.send(log, tracker, removal, true)
				}
				r.w.shown = true
				r.run(r.tracker, time.Minute)
				if len(r.outcomes(ref)) != 0 || len(r.w.looks) != 0 {
					t.Fatal("a living process's write was looked at")
				}
				e, err := r.log.Intents.Entry(r.t.Context(), ref)
				if err != nil {
					t.Fatal(err)
				}
				r.gone[e.Boot] = true
				r.run(r.tracker, time.Minute)
				if got := r.outcomes(ref); !slices.Equal(got, []audit.Result{want}) || len(r.pending()) != left ||
					unsent != (len(r.w.looks) == 0) {
					t.Errorf("the trail says %v, left %v, %d looks", got, r.pending(), len(r.w.looks))
				}
			})
		})
	}
}

// TestKilledBehindAPooler: where no process can be marked, a write of which no outcome came is
// listed at once, as one whose process may still run, and looked at when that has had its time.
func TestKilledBehindAPooler(t *testing.T) {
	in(t, func(r *rig) {
		r.gone[pooled] = true
		log, tracker := r.process()
		ref := r.send(log, tracker, removal, true)
		is := r.pending()
		if len(is) != 1 || is[0].Ref != ref || is[0].State != followup.Sending || !is[0].Unsure {
			t.Fatalf("listed: %+v", is)
		}
		r.w.shown = true
		if err := r.tracker.Look(r.t.Context(), true); err != nil || len(r.w.looks) != 0 || len(r.pending()) != 1 {
			t.Errorf("%d looks at what may be under way, %v", len(r.w.looks), err)
		}
		r.run(r.tracker, 2*time.Minute)
		if got := r.outcomes(ref); !slices.Equal(got, []audit.Result{audit.ResultSeen}) || len(r.pending()) != 1 {
			t.Errorf("the trail says %v, left %v", got, r.pending())
		}
	})
}

// TestStoreClockSetBack: doubt lasts late_after once more at most, however far the store's
// clock was set back, and the looks continue.
func TestStoreClockSetBack(t *testing.T) {
	for _, back := range []time.Duration{time.Minute, 12 * time.Minute, time.Hour, 90 * 24 * time.Hour} {
		t.Run(back.String(), func(t *testing.T) {
			in(t, func(r *rig) {
				ref := r.send(r.log, r.tracker, removal, false)
				r.run(r.tracker, 10*time.Minute)
				r.set -= back
				looks := len(r.w.looks)
				r.run(r.tracker, 9*time.Minute)
				if len(r.w.looks) < looks+2 {
					t.Errorf("%d looks in the nine minutes after", len(r.w.looks)-looks)
				}
				r.run(r.tracker, lateAfter)
				if got := r.outcomes(ref); len(got) != 2 || got[1] != audit.ResultNotSeen {
					t.Errorf("the trail says %v", got)
				}
				if d, err := r.tracker.Doubt(r.t.Context(), claim(removal), time.Time{}); d != nil || err != nil {
					t.Errorf("in doubt: %+v, %v", d, err)
				}
			})
		})
	}
}

// TestStoreClockSetForward: a write is in doubt until the clocks of the service and of the host,
// too, say that late_after is over; one that was set back is not asked.
func TestStoreClockSetForward(t *testing.T) {
	in(t, func(r *rig) {
		date := time.Date(2026, 3, 4, 11, 0, 0, 0, time.UTC)
		ref, err := r.log.Intent(r.t.Context(), ana, removal)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.tracker.Sending(r.t.Context(), api.Pending{Ref: ref, Act: removal, Claim: claim(removal), Date: date,
			Probe: api.Probe{Kind: removal.Kind, OPID: "op1", GUID: "d1"}}); err != nil {
			t.Fatal(err)
		}
		r.set += time.Hour
		inDoubt := func(by string, at time.Time, want bool) {
			t.Helper()
			if d, err := r.tracker.Doubt(r.t.Context(), claim(removal), at); err != nil || (d != nil) != want {
				t.Errorf("%s: %+v, %v", by, d, err)
			}
		}
		inDoubt("the host says otherwise", time.Time{}, true)
		inDoubt("the host says otherwise, the service agrees", date.Add(lateAfter), true)
		time.Sleep(lateAfter)
		inDoubt("the service says otherwise", date.Add(10*time.Second), true)
		inDoubt("all agree", date.Add(lateAfter), false)
		inDoubt("the service's clock was set back", date.Add(-time.Hour), false)
		inDoubt("the service says nothing", time.Time{}, false)
	})
}

// TestTwoProcesses: a row is looked at by one of them, and the other's people are
// reported as well.
func TestTwoProcesses(t *testing.T) {
	in(t, func(r *rig) {
		_, other := r.process()
		var reportedThere []followup.Settled
		other.OnSettled(func(s followup.Settled) { reportedThere = append(reportedThere, s) })
		ref := r.send(r.log, r.tracker, removal, false)
		time.AfterFunc(time.Minute, func() { r.w.mu.Lock(); defer r.w.mu.Unlock(); r.w.shown = true })
		done := make(chan struct{})
		go func() { defer close(done); r.run(other, 5*time.Minute) }()
		r.run(r.tracker, 5*time.Minute)
		<-done
		if got := r.outcomes(ref); !slices.Equal(got, []audit.Result{audit.ResultUnknown, audit.ResultSeen}) {
			t.Errorf("the trail says %v", got)
		}
		if len(r.reported) != 1 || len(reportedThere) != 1 || reportedThere[0].Outcome.Verdict != api.Seen {
			t.Errorf("reported here %d, there %d", len(r.reported), len(reportedThere))
		}
		if n := len(r.w.looks); n > 5 {
			t.Errorf("%d looks by two processes", n)
		}
	})
}

// TestNothingReadable: a share ends as not seen without a single look.
func TestNothingReadable(t *testing.T) {
	in(t, func(r *rig) {
		ref := r.send(r.log, r.tracker, api.Act{Kind: api.ActShare, Object: "customer", ID: "c1", Summary: "Share"}, false)
		r.run(r.tracker, lateAfter+time.Minute)
		if got := r.outcomes(ref); len(r.w.looks) != 0 || !slices.Equal(got, []audit.Result{audit.ResultUnknown, audit.ResultNotSeen}) {
			t.Errorf("%d looks, the trail says %v", len(r.w.looks), got)
		}
		if len(r.reported) != 1 || r.reported[0].Advice().Kind != api.DiscardToken {
			t.Errorf("reported %v", r.reported)
		}
	})
}

// TestLooksThatFail prove nothing, and a later one settles.
func TestLooksThatFail(t *testing.T) {
	in(t, func(r *rig) {
		ref := r.send(r.log, r.tracker, removal, false)
		r.w.fail = errors.New("no answer")
		time.AfterFunc(5*time.Minute, func() { r.w.mu.Lock(); defer r.w.mu.Unlock(); r.w.fail, r.w.shown = nil, true })
		r.run(r.tracker, 4*time.Minute)
		if len(r.outcomes(ref)) != 1 {
			t.Error("a failing look settled it")
		}
		r.run(r.tracker, 8*time.Minute)
		if got := r.outcomes(ref); got[len(got)-1] != audit.ResultSeen {
			t.Errorf("the trail says %v", got)
		}
	})
}

// TestConclude: a person closes a write whose first outcome was unknown.
func TestConclude(t *testing.T) {
	in(t, func(r *rig) {
		ref := r.send(r.log, r.tracker, removal, false)
		if err := r.tracker.Conclude(r.t.Context(), api.Actor{Name: "vic", Role: api.Viewer}, ref, "x"); api.KindOf(err) != api.Refused {
			t.Errorf("a viewer settled it: %v", err)
		}
		if err := r.tracker.Conclude(r.t.Context(), ana, ref, "it is gone"); err != nil {
			t.Fatal(err)
		}
		if got := r.outcomes(ref); len(got) != 2 || len(r.pending()) != 0 {
			t.Errorf("the trail says %v", got)
		}
		if err := r.tracker.Conclude(r.t.Context(), ana, ref, "again"); api.KindOf(err) != api.NotFound {
			t.Errorf("settled twice: %v", err)
		}
	})
}

// TestDoubt: a write is in doubt until late_after, under way, unknown or with its wanted state shown, in any process;
// another request is not.
func TestDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.st.Close()
		_, other := r.process()
		act := api.Act{Kind: api.ActUploadDocument, Object: "customer", ID: "op1", Method: "POST", Path: "/v2/x/op1",
			Body: []byte(`{"a":1}`), SecretDigest: "s"}
		in := func(want string, change func(*api.Act)) {
			t.Helper()
			a := act
			if change != nil {
				change(&a)
			}
			d, err := other.Doubt(t.Context(), claim(a), time.Time{})
			if err != nil || (d != nil) != (want != "") || d != nil && (d.Ref != want || d.Who != "ana" || d.Until.Sub(d.Sent) != lateAfter) {
				t.Errorf("%+v, %v, want %q", d, err, want)
			}
		}
		in("", nil)
		ref := r.send(r.log, r.tracker, act, true) // under way
		in(ref, nil)
		in(ref, func(a *api.Act) { a.Seen, a.Reason, a.Summary = "another", "another", "another" })
		for _, change := range []func(*api.Act){
			func(a *api.Act) { a.Kind = api.ActShare }, func(a *api.Act) { a.ID = "op2" }, func(a *api.Act) { a.Method = "PUT" },
			func(a *api.Act) { a.Path += "2" }, func(a *api.Act) { a.Body = nil }, func(a *api.Act) { a.SecretDigest = "x" },
		} {
			in("", change)
		}
		if err := r.log.Outcome(t.Context(), ref, api.Outcome{Verdict: api.Unclear}); err != nil {
			t.Fatal(err)
		}
		if err := r.tracker.Ended(t.Context(), ref, api.Outcome{Verdict: api.Unclear}); err != nil {
			t.Fatal(err)
		}
		in(ref, nil)
		time.Sleep(lateAfter - time.Second)
		in(ref, nil)
		time.Sleep(time.Second)
		in("", nil)
		ref = r.send(r.log, r.tracker, act, false)
		in(ref, nil)
		r.w.shown = true
		time.Sleep(time.Second)
		if err := r.tracker.Look(t.Context(), true); err != nil {
			t.Fatal(err)
		}
		in(ref, nil)
		time.Sleep(lateAfter)
		in("", nil)
	})
}

// TestDoubtOfTheOpposite: a write that has an opposite is in doubt while one of either kind
// on the same object and item is, whatever else its request holds.
func TestDoubtOfTheOpposite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.st.Close()
		_, other := r.process()
		attach := api.Act{Kind: api.ActAttachDocument, Method: "POST", Path: "/v2/x/op1", Object: "operation", ID: "OP1",
			Item: "D1", Body: []byte(`{"a":1}`)}
		doubt := func(act api.Act) *api.Doubt {
			t.Helper()
			d, err := other.Doubt(t.Context(), claim(act), time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		ref := r.send(r.log, r.tracker, removal, false)
		d := doubt(attach)
		if d == nil || d.Ref != ref || d.What != "Removing a.pdf, operation op1" || d.Who != "ana" {
			t.Errorf("%+v", d)
		}
		for _, change := range []func(*api.Act){
			func(a *api.Act) { a.ID = "op2" }, func(a *api.Act) { a.Item = "d2" }, func(a *api.Act) { a.Object = "customer" },
		} {
			a := attach
			if change(&a); doubt(a) != nil {
				t.Errorf("another object is in doubt: %+v", a)
			}
		}
		holder, err := other.Sending(t.Context(), api.Pending{Ref: "late", Act: attach, Claim: claim(attach)})
		if err != nil || holder == nil || holder.Ref != ref {
			t.Errorf("the opposite is kept beside it: %+v, %v", holder, err)
		}
		attach.Body = []byte(`{"a":2}`)
		if doubt(attach) == nil {
			t.Error("attaching it under another name is not in doubt")
		}
		time.Sleep(lateAfter)
		if doubt(attach) != nil || doubt(removal) != nil {
			t.Error("in doubt after late_after")
		}
	})
}

// TestDoubtOfAnOlderProgram: a write that a program without claims has stored is in doubt as any other, if its intent
// shows the whole request. Two of them with one claim do not stop anything.
func TestDoubtOfAnOlderProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		defer r.st.Close()
		_, other := r.process()
		file := api.Act{Kind: api.ActDeleteFile, Method: "DELETE", Path: "/v2/c/c1/f1", Object: "customer", ID: "c1", Item: "f1"}
		upload := api.Act{Kind: api.ActUploadDocument, Object: "customer", ID: "c1", Body: []byte(`{"a":1}`)}
		var refs []string
		for _, act := range []api.Act{removal, file, upload} {
			refs = append(refs, r.send(r.log, r.tracker, act, false))
		}
		for _, sql := range []string{"UPDATE unsettled SET claim = ''",
			`INSERT INTO unsettled (ref, context, object_id, state, body, sent_us, next_us, until_us)
				SELECT ref || '2', context, object_id, state, body, sent_us + 1, next_us, until_us FROM unsettled`} {
			if err := r.st.Core.Exec(t.Context(), sql); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range map[int]api.Act{0: removal, 1: file} {
			d, err := other.Doubt(t.Context(), claim(want), time.Time{})
			if err != nil || d == nil || d.Ref != refs[i] {
				t.Errorf("%s: %+v, %v", want.Kind, d, err)
			}
		}
		if d, err := other.Doubt(t.Context(), claim(upload), time.Time{}); err != nil || d != nil {
			t.Errorf("a request that no intent shows: %+v, %v", d, err)
		}
	})
}

// TestClaimed: what another write of ours made is not taken for what this one made.
func TestClaimed(t *testing.T) {
	in(t, func(r *rig) {
		act := api.Act{Kind: api.ActUploadDocument, Object: "customer", ID: "c1"}
		ref, err := r.log.Intent(r.t.Context(), ana, act)
		if err == nil {
			err = r.log.Outcome(r.t.Context(), ref, api.Outcome{Verdict: api.Done, Found: "f9"})
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			kind    api.ActKind
			ref, id string
			want    bool
		}{
			{api.ActUploadDocument, "another", "f9", true}, {api.ActUploadDocument, ref, "f9", false},
			{api.ActUploadDocument, "another", "f8", false}, {api.ActAttachDocument, "another", "f9", false},
		} {
			got, err := r.tracker.Claimed(r.t.Context(), api.Probe{Kind: c.kind, Ref: c.ref}, c.id)
			if err != nil || got != c.want {
				t.Errorf("%+v: %t, %v", c, got, err)
			}
		}
	})
}
