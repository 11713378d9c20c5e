package notify_test

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

	"opdeck/api/reach"
	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/notify/notifytest"
	"opdeck/internal/domain/verdict"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// facts are all good at a time; with changes.
func facts(at time.Time, change ...func(*verdict.Facts)) verdict.Facts {
	f := verdict.Facts{Now: at, Service: "pay.example.com",
		Store: verdict.Known(verdict.Store{State: verdict.StoreGood, Engine: "SQLite"}, "a read", at, time.Minute),
		Calls: []verdict.Fact[verdict.Call]{verdict.Known(verdict.Call{Class: "general", Route: "GET /a", Good: at}, "a call",
			at, time.Minute)},
		Audit: verdict.Known(verdict.Audit{Writable: true}, "the trail", at, time.Minute)}
	for _, c := range change {
		c(&f)
	}
	return f
}

func noAudit(f *verdict.Facts) { f.Audit.Value.Writable = false }

func unknownAudit(f *verdict.Facts) { f.Audit = verdict.Fact[verdict.Audit]{} }

func refused(f *verdict.Facts) {
	f.Calls[0].Value = verdict.Call{Class: "general", Route: "GET /a", Failed: f.Now, Since: f.Now,
		Fault: reach.Fault{Class: reach.NoPort}}
}

func noStore(f *verdict.Facts) { f.Store.Value.State = verdict.StoreAbsent }

// script runs a rule through observations, one each 10 s, and returns the kinds and causes of the notices.
type script struct {
	rule     notify.Rule
	state    notify.State
	now      time.Time
	silenced bool
	out      []notify.Notice
}

func (s *script) see(o notify.Observation) {
	o.Scope, o.Verdict.At = "scope", s.now
	var add []notify.Notice
	s.state, add, _ = s.rule.Step(s.state, o, s.silenced)
	s.out = append(s.out, add...)
	s.now = s.now.Add(10 * time.Second)
}

func (s *script) during(d time.Duration, change ...func(*verdict.Facts)) {
	for range int(d / (10 * time.Second)) {
		s.see(notify.Observation{Verdict: verdict.Conclude(facts(s.now, change...))})
	}
}

// got are the notices since the last call: kind, cause, and ! if silenced.
func (s *script) got() string {
	var out []string
	for _, n := range s.out {
		one := string(n.Kind) + " " + string(n.Cause)
		if n.Silenced {
			one += "!"
		}
		out = append(out, strings.TrimSpace(one))
	}
	s.out = nil
	return strings.Join(out, ", ")
}

func (s *script) want(t *testing.T, want string) {
	t.Helper()
	if got := s.got(); got != want {
		t.Errorf("at %s: %q, want %q", s.now.Format(time.TimeOnly), got, want)
	}
}

func causes(more ...notify.Kind) *script {
	return &script{rule: notify.Rule{Name: "a", On: append([]notify.Kind{notify.Cause, notify.End}, more...),
		Min: verdict.Warning}, now: noon}
}

// TestCauses: a first cause is noticed at once and once, its end when facts have shown for a minute that it is over.
func TestCauses(t *testing.T) {
	s := causes()
	s.during(time.Minute)
	s.want(t, "")
	s.during(10*time.Second, noAudit)
	s.want(t, "cause audit_unwritable")
	s.during(5*time.Minute, noAudit)
	s.want(t, "")
	s.during(50 * time.Second)
	s.during(10*time.Second, noAudit) // it flaps
	s.during(time.Minute)
	s.want(t, "")
	s.during(10*time.Minute, unknownAudit) // not known is not over
	s.want(t, "")
	s.during(time.Minute)
	s.want(t, "")
	first := s.state.Episodes["cause:audit_unwritable"]
	s.during(20 * time.Second)
	if len(s.out) != 1 || s.out[0].Since != first.Since || !strings.Contains(s.out[0].Sentence, "Resolved after") ||
		!strings.HasPrefix(s.out[0].Ends, "ntc_") || s.out[0].Ends == s.out[0].ID {
		t.Errorf("%+v", s.out)
	}
	s.want(t, "end audit_unwritable")

	s.during(10*time.Second, noAudit) // within an hour: now two minutes without it are its end
	s.during(90 * time.Second)
	s.want(t, "cause audit_unwritable")
	s.during(50 * time.Second)
	s.want(t, "end audit_unwritable")
}

// TestFirstCauseOnly: a second cause is noticed when it becomes the first.
func TestFirstCauseOnly(t *testing.T) {
	s := causes()
	s.during(time.Minute, refused, noAudit)
	s.want(t, "cause "+string(first(facts(noon, refused, noAudit))))
	s.during(time.Minute, noAudit)
	s.during(20*time.Second, noAudit)
	s.want(t, "cause audit_unwritable, end "+string(first(facts(noon, refused))))
	s.rule.Min = verdict.Critical + 1
	s.state = notify.State{}
	s.during(time.Minute, refused)
	s.want(t, "")
}

func first(f verdict.Facts) verdict.Cause {
	found, _ := verdict.Conclude(f).First()
	return found.Cause
}

// TestRemainder: while a service comes back, some calls still have their last failure. That is no new cause, unless it
// stays.
func TestRemainder(t *testing.T) {
	some := func(f *verdict.Facts) {
		before := f.Now.Add(-10 * time.Second)
		f.Calls = append(f.Calls, verdict.Known(verdict.Call{Class: "billing", Route: "GET /b", Failed: before, Since: before,
			Fault: reach.Fault{Class: reach.Gateway, Status: 502}}, "a call", f.Now, time.Minute))
	}
	whole, part := string(first(facts(noon, refused))), string(first(facts(noon, some)))
	if whole == part || part == "" {
		t.Fatal(whole, part)
	}
	s := causes()
	s.during(time.Minute, refused)
	s.during(50*time.Second, some)
	s.during(time.Minute)
	s.want(t, "cause "+whole)
	s.during(30 * time.Second)
	s.want(t, "end "+whole)
	s.during(3*time.Hour, refused)
	s.during(90*time.Second, some)
	s.want(t, "cause "+whole+", cause "+part)
}

// TestLasting: with for, a cause that ends before is no notice.
func TestLasting(t *testing.T) {
	s := causes()
	s.rule.For = time.Minute
	s.during(50*time.Second, refused)
	s.during(20 * time.Second)
	s.during(50*time.Second, refused)
	s.during(5 * time.Minute)
	s.want(t, "")
	s.during(70*time.Second, refused)
	s.want(t, "cause "+string(first(facts(noon, refused))))
}

// TestSilencedCauses: a silenced notice stays silenced, with its end, also when the silence is over by then.
func TestSilencedCauses(t *testing.T) {
	s := causes()
	s.silenced = true
	s.during(time.Minute, refused)
	s.silenced = false
	s.during(2*time.Minute, refused)
	s.during(2 * time.Minute)
	c := string(first(facts(noon, refused)))
	s.want(t, "cause "+c+"!, end "+c+"!")
}

// TestRequests: a request that waits is one notice, and the decision about it another, for its requester.
func TestRequests(t *testing.T) {
	s := causes(notify.Approval, notify.Decision)
	open := notify.Request{ID: "r1", Act: "document.remove", Object: "operation", ObjectID: "op1", Requester: "ana",
		Expires: noon.Add(30 * time.Minute)}
	old := notify.Request{ID: "r0", Requester: "ana", Decider: "ben", Decided: noon.Add(-time.Hour)}
	see := func(q ...notify.Request) {
		s.see(notify.Observation{Verdict: verdict.Conclude(facts(s.now)), Requests: q, RequestsKnown: true})
	}
	see(open, old)
	see(open, old)
	if len(s.out) != 1 || !strings.Contains(s.out[0].Sentence, "ana asks for approval: document remove on operation op1, "+
		"until 12:30 UTC.") || s.out[0].Command != "opdeck approval show r1" {
		t.Errorf("%+v", s.out)
	}
	s.want(t, "approval")
	see()
	decided := open
	decided.Decider, decided.Decided = "ben", s.now
	see(decided)
	see(decided)
	if len(s.out) != 1 || s.out[0].For != "ana" || !strings.Contains(s.out[0].Sentence, "ben approved request r1 of ana") {
		t.Errorf("%+v", s.out)
	}
	s.want(t, "decision")
	lapsed := open
	lapsed.ID, lapsed.Lapsed, lapsed.Decided = "r2", true, s.now
	see(lapsed)
	s.want(t, "decision")
}

// TestDoubts: each write in doubt is one notice, after a time.
func TestDoubts(t *testing.T) {
	s := causes(notify.Doubt)
	s.rule.After = time.Minute
	w := []notify.InDoubt{{Ref: "w1", Act: "document.remove", Object: "operation", ObjectID: "op1", Sent: noon}}
	for range 12 {
		s.see(notify.Observation{Verdict: verdict.Conclude(facts(s.now)), Doubts: w, DoubtsKnown: true})
	}
	s.want(t, "doubt")
	s.see(notify.Observation{Verdict: verdict.Conclude(facts(s.now))}) // the store could not be read
	s.see(notify.Observation{Verdict: verdict.Conclude(facts(s.now)), Doubts: w, DoubtsKnown: true})
	s.want(t, "")
}

// TestViews: a view that matches, that has had rows for a time, that has none by a time of day.
func TestViews(t *testing.T) {
	see := func(s *script, n int64, sure bool, times int) {
		for range times {
			s.see(notify.Observation{Verdict: verdict.Conclude(facts(s.now)), Views: map[string]notify.Rows{"v": {Count: n,
				Sure: sure}}})
		}
	}
	view := func(w notify.When) *script {
		return &script{now: noon, rule: notify.Rule{Name: "a", On: []notify.Kind{notify.View}, View: "v", When: w,
			For: time.Minute, By: 12*time.Hour + time.Minute, Zone: time.UTC}}
	}
	s := view(notify.Matches)
	see(s, 0, true, 3)
	see(s, 2, false, 3)
	see(s, 0, false, 30) // the index is not complete: nothing shows that the rows are gone
	see(s, 1, true, 3)
	see(s, 0, true, 8)
	s.want(t, "view")
	see(s, 1, true, 3)
	s.want(t, "view")

	s = view(notify.Stays)
	see(s, 1, true, 5)
	see(s, 0, true, 1)
	see(s, 1, true, 6)
	s.want(t, "")
	see(s, 1, true, 6)
	s.want(t, "view")

	s = view(notify.Missing)
	see(s, 0, false, 12)
	s.want(t, "") // not sure
	see(s, 0, true, 12)
	if len(s.out) != 1 || !strings.Contains(s.out[0].Sentence, "has no operation by 12:01 UTC") {
		t.Errorf("%+v", s.out)
	}
	s.want(t, "view")
	s.now = s.now.Add(24 * time.Hour)
	see(s, 3, true, 1)
	see(s, 0, true, 3)
	s.want(t, "")
	s.now = s.now.Add(24 * time.Hour)
	see(s, 0, true, 3)
	s.want(t, "view")

	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	s = view(notify.Missing)
	s.rule.Zone = zone
	see(s, 0, true, 30)
	s.want(t, "")
	s.now = noon.Add(5*time.Hour + 2*time.Minute) // EST
	see(s, 0, true, 1)
	s.want(t, "view")
}

// TestTextsAreSafe: what others have written reaches no receiver as it is.
func TestTextsAreSafe(t *testing.T) {
	s := causes(notify.Approval)
	q := notify.Request{ID: "r1\x1b[2J", Act: "document.remove", Object: "operation\n", ObjectID: "op\u202e1",
		Requester: "ana DE89370400440532013000", Expires: noon.Add(time.Hour)}
	s.see(notify.Observation{Verdict: verdict.Conclude(facts(s.now)), Requests: []notify.Request{q}, RequestsKnown: true})
	if len(s.out) != 1 {
		t.Fatal(s.out)
	}
	all := fmt.Sprintf("%+v", s.out[0])
	for _, bad := range []string{"\x1b", "\n", "\u202e", "DE89370400440532013000"} {
		if strings.Contains(all, bad) {
			t.Errorf("%q is in %q", bad, all)
		}
	}
}

// sink fails a number of times.
type sink struct {
	mu   sync.Mutex
	ids  []string // guarded by mu
	fail int      // guarded by mu
}

func (s *sink) Send(_ context.Context, n notify.Notice) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail > 0 {
		s.fail--
		return errors.New("not now")
	}
	s.ids = append(s.ids, n.ID)
	return nil
}

func (s *sink) sent() []string { s.mu.Lock(); defer s.mu.Unlock(); return slices.Clone(s.ids) }

func (s *sink) failing(n int) { s.mu.Lock(); defer s.mu.Unlock(); s.fail = n }

// down is a store that cannot be read for a while.
type down struct {
	notify.Store
	mu  sync.Mutex
	now bool // guarded by mu
}

func (d *down) set(is bool) { d.mu.Lock(); defer d.mu.Unlock(); d.now = is }

func (d *down) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.now {
		return errors.New("the store does not answer")
	}
	return nil
}

func (d *down) Shared(ctx context.Context, scope string) (map[string]notify.Shared, time.Time, error) {
	if err := d.err(); err != nil {
		return nil, time.Time{}, err
	}
	return d.Store.Shared(ctx, scope)
}

func (d *down) Update(ctx context.Context, scope, rule string,
	change func(notify.State, bool) (notify.State, []notify.Notice, bool)) error {
	if err := d.err(); err != nil {
		return err
	}
	return d.Store.Update(ctx, scope, rule, change)
}

// TestStoreCauses: no one can claim a notice in a store that does not answer, so each instance sends it, with the same
// ID; another outage has another ID.
func TestStoreCauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, to := &down{Store: notifytest.NewMemory(nil)}, &sink{fail: 1}
		ctx, cancel := context.WithCancel(t.Context())
		var run sync.WaitGroup
		for i := range 3 {
			n := notify.New(notify.Options{Store: d, Scope: "scope", Owner: fmt.Sprint(i), Rules: []notify.Rule{causes().rule},
				Senders: map[string]notify.Sender{"a": to}, Observe: func(context.Context) notify.Observation {
					now := time.Now()
					if d.err() != nil {
						return notify.Observation{Verdict: verdict.Conclude(facts(now, noStore))}
					}
					return notify.Observation{Verdict: verdict.Conclude(facts(now))}
				}})
			run.Go(func() { n.Run(ctx) })
			time.Sleep(time.Second)
		}
		for range 2 {
			time.Sleep(time.Hour * 2)
			d.set(true)
			time.Sleep(10 * time.Minute)
			d.set(false)
			time.Sleep(10 * time.Minute)
		}
		cancel()
		run.Wait()
		count := map[string]int{}
		for _, id := range to.sent() {
			count[id]++
		}
		if len(count) != 4 || len(to.sent()) != 12 { // two causes and two ends, from three instances
			t.Errorf("%v", count)
		}
	})
}

// TestRetries: a receiver that does not take a notice gets it again, with the same ID and before any later one, until
// six hours have passed.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m, to := notifytest.NewMemory(nil), &sink{fail: 5}
		add := func(id string) {
			_ = m.Update(t.Context(), "scope", "a", func(s notify.State, _ bool) (notify.State, []notify.Notice, bool) {
				return s, []notify.Notice{{ID: id, Name: "a", At: time.Now()}}, true
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		n := notify.New(notify.Options{Store: m, Scope: "scope", Owner: "x", Rules: []notify.Rule{causes().rule},
			Senders: map[string]notify.Sender{"a": to},
			Observe: func(context.Context) notify.Observation { return notify.Observation{} }})
		var run sync.WaitGroup
		run.Go(func() { n.Run(ctx) })
		add("n1")
		add("n2")
		time.Sleep(10 * time.Minute)
		if !slices.Equal(to.sent(), []string{"n1", "n2"}) {
			t.Errorf("%v", to.sent())
		}
		to.failing(1 << 20)
		add("n3")
		began := time.Now()
		for {
			time.Sleep(time.Minute)
			all, _, _ := m.Summaries(t.Context(), "scope")
			if all["a"].Phases[notify.Failed] == 1 {
				break
			}
			if time.Since(began) > 7*time.Hour {
				t.Fatalf("%+v", all)
			}
		}
		if d := time.Since(began); d < 6*time.Hour || d > 7*time.Hour {
			t.Errorf("given up after %s", d)
		}
		cancel()
		run.Wait()
	})
}
