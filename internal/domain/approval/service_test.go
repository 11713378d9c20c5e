package approval_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/approval"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// TestService is the suite that every store passes.
func TestService(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			url := storetest.URL(t, e)
			run(t, func(now func() time.Time) approval.Store {
				return journal.NewApprovals(storetest.OpenAt(t, url, now).Core)
			})
		})
	}
}

// run runs the suite; each part has an account of its own in one database.
func run(t *testing.T, open func(now func() time.Time) approval.Store) {
	var f *fixture
	first := open(func() time.Time { return f.now })
	for name, part := range map[string]func(*testing.T, *fixture){
		"approve and spend": approveAndSpend, "another reason": anotherReason, "ask only": askOnly,
		"digests": digestsAreNoOracle, "own request": ownRequest, "who may decide": whoMayDecide, "deny": deny,
		"content changed": contentChanged, "lapse": lapse, "survives": survives, "other context": otherContext,
		"race to spend": race, "standing": standing, "race to decide": raceToDecide, "outcome": outcome,
		"other clocks": otherClocks, "trail": trailFails, "gate": throughTheGate,
	} {
		t.Run(name, func(t *testing.T) {
			f = &fixture{trail: &trail{}, today: map[string]api.Role{}, now: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC),
				open: func() approval.Store { return open(func() time.Time { return f.now }) }}
			f.Service = f.serviceOn(first, service, name)
			part(t, f)
		})
	}
}

func approveAndSpend(t *testing.T, f *fixture) {
	before, err := f.Version(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r := f.filed(t, ana, act)
	if r.State != approval.Open || r.Digest != act.Digest() || r.Act.Reason != "wrong file" || r.Act.Seen != "before" ||
		r.Requester.Name != "ana" ||
		!r.Expires.Equal(f.now.Add(30*time.Minute)) {
		t.Errorf("%+v", r)
	}
	again := act
	again.Summary, again.Name = "other words", "another name"
	if f.filed(t, ana, again).ID != r.ID {
		t.Error("a second request for the same act")
	}
	if _, err := f.Approve(as(bo), r.ID, r.Digest, "looked at it"); err != nil {
		t.Fatal(err)
	}
	id, rule := f.check(t, ana, act)
	if id != r.ID || rule != "" {
		t.Fatalf("id %q, rule %q", id, rule)
	}
	if got := f.state(t, id); got != approval.Spent {
		t.Error(got)
	}
	if _, rule := f.check(t, ana, act); rule != api.RuleApproval {
		t.Errorf("spent twice: rule %q", rule)
	}
	if after, err := f.Version(context.Background()); err != nil || after != before+3 {
		t.Errorf("version %d after %d, %v", after, before, err)
	}
	if got := f.trail.take(); got != "approval.requested ana, approval.approved bo, approval.spent ana" {
		t.Error(got)
	}
}

// anotherReason: an approval covers the reason that was given. Another one is another request, which is said, and
// leaves the first as it is.
func anotherReason(t *testing.T, f *fixture) {
	r := f.filed(t, ana, act)
	if _, err := f.Approve(as(bo), r.ID, r.Digest, ""); err != nil {
		t.Fatal(err)
	}
	other := act
	other.Reason = "a reason that bo never read"
	_, err := f.Check(as(ana), ana, other)
	if e := api.AsError(err); e == nil || e.Rule != api.RuleApproval ||
		!strings.Contains(e.Public, "Request "+r.ID+" for the same write has another reason") {
		t.Fatalf("%v", err)
	}
	if id, rule := f.check(t, ana, act); id != r.ID || rule != "" {
		t.Errorf("the approved reason: %q, %q", id, rule)
	}
	second := f.filed(t, ana, other)
	if _, err := f.Deny(as(bo), second.ID, "", "no"); err != nil {
		t.Fatal(err)
	}
	if _, rule := f.check(t, ana, other); rule != api.RuleDenied {
		t.Errorf("denied, and asked again: %q", rule)
	}
	// Another reason does not hide that the outcome of the first is not known.
	third := act
	third.Reason = "a third"
	if _, err := f.Check(as(ana), ana, third); !strings.Contains(api.AsError(err).Public, "outcome is still unknown") {
		t.Errorf("%v", err)
	}
}

// askOnly: who answered a question that asks for approval sends nothing, even when it was approved meanwhile.
func askOnly(t *testing.T, f *fixture) {
	r := f.filed(t, ana, act)
	if _, err := f.Approve(as(bo), r.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	asks := api.WithConsent(as(ana), api.Consent{AskOnly: true})
	id, err := f.Check(asks, ana, act)
	if e := api.AsError(err); id != "" || e == nil || e.Rule != api.RuleApproval ||
		!strings.Contains(e.Public, "bo has approved this in the meantime") {
		t.Fatalf("%q, %v", id, err)
	}
	if got := f.state(t, r.ID); got != approval.Approved {
		t.Error(got)
	}
	if id, _ := f.check(t, ana, act); id != r.ID {
		t.Errorf("then it is not sent: %q", id)
	}
}

// digestsAreNoOracle: with a digest of all but one value someone who sees that value masked could guess it.
func digestsAreNoOracle(t *testing.T, f *fixture) {
	secret := act
	secret.SecretDigest = "of a secret"
	r := f.filed(t, ana, secret)
	for role, sees := range map[api.Role]bool{api.Viewer: false, api.OnCall: false, api.Operator: true} {
		q, err := f.Show(as(api.Actor{Name: "vic", Role: role}), r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := q.Digest + q.Target + q.Act.Seen + q.Act.SecretDigest; (got != "") != sees {
			t.Errorf("%s sees %q", role, got)
		}
	}
}

func ownRequest(t *testing.T, f *fixture) {
	r := f.filed(t, ana, act)
	for name, who := range map[string]api.Actor{
		"the same person":           ana,
		"as an admin":               {Name: "ana", Role: api.Admin, Key: "SHA256:other"},
		"in other letters":          {Name: " ANA ", Role: api.Operator, Key: "SHA256:other"},
		"the same key, other name":  {Name: "bo", Role: api.Operator, Key: "SHA256:ana"},
		"without a name":            {Role: api.Admin},
		"the same name without key": {Name: "ana", Role: api.Operator},
	} {
		for verb, decide := range map[string]func(context.Context, string, string, string) (approval.Request,
			error){"approves": f.Approve, "denies": f.Deny} {
			_, err := decide(as(who), r.ID, "", "")
			if e := api.AsError(err); e == nil || e.Rule != api.RuleRole || e.Hint == "" {
				t.Errorf("%s %s: %v", name, verb, err)
			}
		}
		if err := f.MayDecide(as(who), r); err == nil {
			t.Errorf("%s may decide", name)
		}
	}
	if got := f.state(t, r.ID); got != approval.Open {
		t.Error(got)
	}
	if err := f.MayDecide(as(bo), r); err != nil {
		t.Error(err)
	}
	if got := f.trail.take(); strings.Count(got, "approval.refused") != 12 {
		t.Error(got)
	}
}

func whoMayDecide(t *testing.T, f *fixture) {
	r := f.filed(t, ana, act)
	for _, role := range api.Roles {
		who := bo
		who.Role = role
		err := f.MayDecide(as(who), r)
		if (err == nil) != role.May(api.MayApprove) {
			t.Errorf("%s: %v", role, err)
		}
	}
	if _, err := f.Approve(context.Background(), r.ID, "", ""); api.AsError(err).Rule != api.RuleRole {
		t.Errorf("nobody approves: %v", err)
	}
	if _, err := f.Approve(as(bo), "nonsense", "", ""); api.KindOf(err) != api.NotFound {
		t.Errorf("%v", err)
	}
	if _, err := f.Approve(as(bo), r.ID, "another digest", ""); api.AsError(err).Rule != api.RuleChanged {
		t.Errorf("approved unseen: %v", err)
	}
	if _, rule := f.check(t, api.Actor{}, act); rule != api.RuleApproval {
		t.Errorf("nobody asks: %q", rule)
	}
	if _, err := f.List(context.Background()); api.AsError(err).Rule != api.RuleRole {
		t.Errorf("nobody lists: %v", err)
	}
	if _, err := f.Show(context.Background(), r.ID); api.AsError(err).Rule != api.RuleRole {
		t.Errorf("nobody looks: %v", err)
	}
}

func deny(t *testing.T, f *fixture) {
	r := f.filed(t, ana, act)
	if _, err := f.Deny(as(bo), r.ID, "", "the invoice is\x1b[2J right."); err != nil {
		t.Fatal(err)
	}
	_, err := f.Check(as(ana), ana, act)
	if e := api.AsError(err); e.Rule != api.RuleDenied || e.Public != "bo denied this (request "+r.ID+
		"): the invoice is·[2J right." || !strings.Contains(e.Hint, "09:30 UTC") {
		t.Errorf("%q %q", e.Public, e.Hint)
	}
	if _, err := f.Approve(as(bo), r.ID, "", ""); api.AsError(err).Rule != api.RuleApproval {
		t.Errorf("approved after the denial: %v", err)
	}
	f.now = f.now.Add(approval.Lifetime)
	if next := f.filed(t, ana, act); next.ID == r.ID {
		t.Error("no new request after the denied one is over")
	}
	if got := f.trail.take(); got != "approval.requested ana, approval.denied bo, approval.refused bo, "+
		"approval.requested ana" {
		t.Error(got)
	}
}

func contentChanged(t *testing.T, f *fixture) {
	for name, change := range map[string]func(*api.Act){
		"what was seen": func(a *api.Act) { a.Seen = "after" },
		"the secret":    func(a *api.Act) { a.SecretDigest = "another token" },
		"the customer":  func(a *api.Act) { a.Subject.CUID = "another one of the same name" },
		"the body":      func(a *api.Act) { a.Body = []byte(`{"x":1}`) },
	} {
		a := act
		a.Item = name
		r := f.filed(t, ana, a)
		if _, err := f.Approve(as(bo), r.ID, "", ""); err != nil {
			t.Fatal(err)
		}
		b := a
		change(&b)
		if _, rule := f.check(t, ana, b); rule != api.RuleChanged {
			t.Errorf("%s: rule %q", name, rule)
		}
		if got := f.state(t, r.ID); got != approval.Void {
			t.Errorf("%s: %s", name, got)
		}
		if next := f.filed(t, ana, b); next.ID == r.ID || next.Digest != b.Digest() {
			t.Errorf("%s: the next attempt asks for %+v", name, next)
		}
		if _, rule := f.check(t, ana, a); rule != api.RuleChanged { // and back again
			t.Errorf("%s: the void approval came back to life: %q", name, rule)
		}
	}
	other := act
	other.ID, other.Path = "op-2", "/v2/billing/operation/op-2/document/doc-1"
	one, two := f.filed(t, ana, act), f.filed(t, ana, other)
	if one.ID == two.ID || f.state(t, one.ID) != approval.Open {
		t.Error("another object touched the request")
	}
	if _, err := f.Approve(as(bo), one.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, rule := f.check(t, bo, act); rule != api.RuleApproval {
		t.Errorf("another person uses the approval: %q", rule)
	}
}

func lapse(t *testing.T, f *fixture) {
	open, approved := f.filed(t, ana, act), act
	approved.Item = "doc-2"
	r := f.filed(t, ana, approved)
	f.now = f.now.Add(approval.Lifetime - time.Microsecond)
	if _, err := f.Approve(as(bo), r.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	f.trail.take()
	f.now = f.now.Add(time.Microsecond)
	if got := f.state(t, r.ID); got != approval.Lapsed {
		t.Error(got)
	}
	if _, err := f.Approve(as(bo), open.ID, "", ""); api.AsError(err).Rule != api.RuleApproval {
		t.Errorf("a lapsed request was approved: %v", err)
	}
	if _, rule := f.check(t, ana, approved); rule != api.RuleApproval {
		t.Errorf("a lapsed approval was spent: %q", rule)
	}
	if got := f.trail.take(); got != "approval.lapsed opdeck, approval.lapsed opdeck, approval.refused bo, "+
		"approval.requested ana" {
		t.Error(got)
	}
	list, err := f.List(as(ana), approval.Lapsed)
	if err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}

// otherClocks: a host whose clock is far off neither lapses nor lengthens what
// others asked for, and reads the times by its own clock.
func otherClocks(t *testing.T, f *fixture) {
	for _, off := range []time.Duration{40 * time.Minute, -40 * time.Minute} {
		a := act
		a.Item = off.String()
		r := f.filed(t, ana, a)
		there := approval.New(f.open(), f.trail, service, "other clocks", func() time.Time { return f.now.Add(off) })
		list, err := there.List(as(bo), approval.Open)
		if err != nil || len(list) != 1 || !list[0].Expires.Equal(r.Expires.Add(off)) {
			t.Fatalf("%s off: %+v, %v", off, list, err)
		}
		if got := f.state(t, r.ID); got != approval.Open {
			t.Errorf("%s off: the list made it %s", off, got)
		}
		f.now = f.now.Add(approval.Lifetime - time.Second)
		got, err := there.Approve(as(bo), r.ID, r.Digest, "")
		if err != nil || !got.Decided.Equal(f.now.Add(off)) {
			t.Errorf("%s off: %+v, %v", off, got, err)
		}
		f.now = f.now.Add(time.Second)
		if _, err := there.Check(as(ana), ana, a); api.AsError(err).Rule != api.RuleApproval {
			t.Errorf("%s off: spent after its end: %v", off, err)
		}
		if got := f.state(t, r.ID); got != approval.Lapsed {
			t.Errorf("%s off: %s", off, got)
		}
		f.now = f.now.Add(approval.Lifetime)
		if _, err := f.List(as(bo)); err != nil {
			t.Fatal(err)
		}
	}
	// The store's clock itself is set back: what was asked for lives its time at most.
	r := f.filed(t, ana, act)
	f.now = f.now.Add(-2 * time.Hour)
	if _, err := f.List(as(bo)); err != nil {
		t.Fatal(err)
	}
	f.now = f.now.Add(approval.Lifetime)
	if got := f.state(t, r.ID); got != approval.Lapsed {
		t.Errorf("after the clock was set back: %s", got)
	}
}

func survives(t *testing.T, f *fixture) {
	r := f.filed(t, ana, act)
	other := f.service(service, "survives")
	if _, err := other.Approve(as(bo), r.ID, r.Digest, ""); err != nil {
		t.Fatal(err)
	}
	if id, err := f.service(service, "survives").Check(as(ana), ana, act); err != nil || id != r.ID {
		t.Errorf("%q, %v", id, err)
	}
}

func otherContext(t *testing.T, f *fixture) {
	r := f.filed(t, ana, act)
	production := f.service("https://live.example.com", "other context")
	if _, err := production.Approve(as(bo), r.ID, "", ""); api.KindOf(err) != api.NotFound {
		t.Errorf("approved from another context: %v", err)
	}
	if _, err := f.Approve(as(bo), r.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := production.Check(as(ana), ana, act); api.AsError(err).Rule != api.RuleApproval {
		t.Errorf("used in another context: %v", err)
	}
}

// race: several processes spend one approval at the same moment.
func race(t *testing.T, f *fixture) {
	r := f.filed(t, ana, act)
	if _, err := f.Approve(as(bo), r.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	won := make(chan string, 12)
	for range 3 {
		svc := f.service(service, "race to spend")
		for range 4 {
			group.Go(func() {
				id, err := svc.Check(as(ana), ana, act)
				if err == nil {
					won <- id
				} else if api.AsError(err).Rule != api.RuleApproval {
					t.Error(err)
				}
			})
		}
	}
	group.Wait()
	if n := len(won); n != 1 || <-won != r.ID {
		t.Errorf("the approval was spent %d times", n)
	}
	if list, err := f.List(as(ana)); err != nil || len(list) != 1 {
		t.Errorf("%d requests, %v", len(list), err)
	}
}

// raceToDecide: one request, several people.
func raceToDecide(t *testing.T, f *fixture) {
	r := f.filed(t, ana, act)
	var group sync.WaitGroup
	done := make(chan approval.State, 4)
	for i, name := range []string{"bo", "cy", "di", "ed"} {
		svc, who := f.service(service, "race to decide"), overSSH(name)
		group.Go(func() {
			decide := svc.Approve
			if i%2 == 0 {
				decide = svc.Deny
			}
			if got, err := decide(as(who), r.ID, "", ""); err == nil {
				done <- got.State
			} else if api.AsError(err).Rule != api.RuleApproval {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := len(done); n != 1 || <-done != f.state(t, r.ID) {
		t.Errorf("%d decisions", n)
	}
}

func outcome(t *testing.T, f *fixture) {
	r := f.filed(t, ana, act)
	if err := f.Settle(context.Background(), r.ID, api.Outcome{Verdict: api.Done}); !errors.Is(err, approval.ErrState) {
		t.Errorf("settled before it was spent: %v", err)
	}
	if err := f.Settle(context.Background(), "nonsense", api.Outcome{}); !errors.Is(err, approval.ErrNotFound) {
		t.Error(err)
	}
	if _, err := f.Approve(as(bo), r.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	if id, _ := f.check(t, ana, act); id != r.ID {
		t.Fatal(id)
	}
	if _, err := f.Check(as(ana), ana, act); !strings.Contains(api.AsError(err).Public, "outcome is still unknown") {
		t.Error(err)
	}
	if err := f.Settle(context.Background(), r.ID, api.Outcome{Verdict: api.Failed}); err != nil {
		t.Fatal(err)
	}
	if next := f.filed(t, ana, act); next.ID == r.ID {
		t.Error("no new request after the outcome")
	}
	if got, err := f.Show(as(bo), r.ID); err != nil || got.Verdict != api.Failed {
		t.Errorf("%+v, %v", got, err)
	}
}

// trailFails: nothing is approved or spent that cannot be written down.
func trailFails(t *testing.T, f *fixture) {
	r := f.filed(t, ana, act)
	f.trail.fail = errors.New("disk full")
	if _, err := f.Approve(as(bo), r.ID, "", ""); api.AsError(err).Rule != api.RuleAudit {
		t.Errorf("approved without a record: %v", err)
	}
	if got := f.state(t, r.ID); got != approval.Open {
		t.Error(got)
	}
	f.trail.fail = nil
	if _, err := f.Approve(as(bo), r.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	f.trail.fail = errors.New("disk full")
	if id, rule := f.check(t, ana, act); id != "" || rule != api.RuleAudit {
		t.Errorf("spent without a record: %q, %q", id, rule)
	}
	f.trail.fail = nil
	next := f.filed(t, ana, act)
	f.trail.fail = errors.New("disk full")
	if got, err := f.Deny(as(bo), next.ID, "", ""); err == nil || got.State != approval.Denied {
		t.Errorf("a denial needs no record to count: %s, %v", got.State, err)
	}
}

// throughTheGate: the whole way, as a write takes it.
func throughTheGate(t *testing.T, f *fixture) {
	g := api.Gate{Audit: f.trail, Approve: f.Service, Now: func() time.Time { return f.now }}
	if _, err := g.Begin(as(ana), endpoint.Rule(act.Kind), act, nil); api.AsError(err).Rule != api.RuleApproval {
		t.Fatal(err)
	}
	r := f.filed(t, ana, act)
	if _, err := f.Approve(as(bo), r.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	p, err := g.Begin(as(ana), endpoint.Rule(act.Kind), act, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := g.End(as(ana), p, api.Outcome{Verdict: api.Done}); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Show(as(bo), r.ID); err != nil || got.State != approval.Spent || got.Verdict != api.Done ||
		got.Decider.Name != "bo" {
		t.Errorf("%+v, %v", got, err)
	}
	login, oz := api.Act{Kind: api.ActSessionLogin}, api.Actor{Name: "oz", Role: api.OnCall}
	done := ""
	do := func(by string) error { done += "done by " + by + ";"; return nil }
	if err := g.Own(as(ana), api.MaySession, login, do); api.AsError(err).Rule != api.RuleRole || done != "" {
		t.Error(done, err)
	}
	if err := g.Own(as(oz), api.MaySession, login, do); err != nil || done != "done by ;" {
		t.Errorf("our own session asks for approval: %s, %v", done, err)
	}
	own := api.Act{Kind: api.ActAuditRestored, Object: "audit", ID: "chain-1", Summary: "Record a restore"}
	adm := ana
	adm.Role, done = api.Admin, ""
	do = func(by string) error { done += by; return errors.New("disk full") }
	if err := g.Own(as(adm), api.MayAuditOut, own, do); api.AsError(err).Rule != api.RuleApproval || done != "" {
		t.Errorf("an act on our own records without approval: %q, %v", done, err)
	}
	asked := f.filed(t, adm, own)
	if _, err := f.Approve(as(bo), asked.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	if err := g.Own(as(adm), api.MayAuditOut, own, do); err == nil || done != asked.ID {
		t.Errorf("%q, %v", done, err)
	}
	if got, err := f.Show(as(bo), asked.ID); err != nil || got.Verdict != api.Failed {
		t.Errorf("its error is not its outcome: %+v, %v", got, err)
	}
}
