package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/act"
	"opdeck/internal/domain/approval"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// fakeBackend counts what is asked of it; a function that is left nil panics.
type fakeBackend struct {
	calls   int
	list    func() ([]approval.Request, error)
	approve func(id, digest, comment string) (approval.Request, error)
	deny    func(id, digest, comment string) (approval.Request, error)
}

func (f *fakeBackend) List(context.Context, ...approval.State) ([]approval.Request, error) {
	f.calls++
	return f.list()
}
func (f *fakeBackend) Approve(_ context.Context, id, digest, comment string) (approval.Request, error) {
	f.calls++
	return f.approve(id, digest, comment)
}
func (f *fakeBackend) Deny(_ context.Context, id, digest, comment string) (approval.Request, error) {
	f.calls++
	return f.deny(id, digest, comment)
}

var _ Backend = (*approval.Service)(nil)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func request(id, who string, st approval.State, age time.Duration) approval.Request {
	return approval.Request{ID: id, State: st, Requester: approval.Person{Name: who, Role: api.Operator,
		Key: "SHA256:" + who, Login: who, Via: "ssh", From: "10.0.0.7:5022"},
		Act: api.Act{Kind: api.ActRemoveDocument, Method: "DELETE", Path: "/v2/billing/operation/7f3a2b10/document/d0c1",
			Object: "operation", ID: "7f3a2b10-0000-4000-8000-000000000001",
			Item: "d0c1", Name: "invoice.pdf", Summary: "Remove invoice.pdf", Reason: "wrong customer",
			Seen: strings.Repeat("ab", 32),
			Subject: api.Subject{Customer: "Harbour Traders Ltd", CUID: "DrAG8VQ-cgGo",
				Amount: &api.Sum{Value: "1682", Code: "EUR"}, Status: "PENDING", Document: "invoice.pdf"}},
		Digest: strings.Repeat("cd", 32), Created: noon.Add(-age), Expires: noon.Add(approval.Lifetime - age)}
}

func sample() []approval.Request {
	denied := request("rdenied00000", "bob", approval.Denied, 20*time.Minute)
	denied.Decider, denied.Decided, denied.Comment = &approval.Person{Name: "cyd", Role: api.Admin},
		noon.Add(-10*time.Minute), "ask the customer first"
	spent := request("rspent000000", "bob", approval.Spent, 25*time.Minute)
	spent.Decider, spent.Decided, spent.Spent, spent.Verdict = &approval.Person{Name: "cyd"}, noon.Add(-20*time.Minute),
		noon.Add(-19*time.Minute), api.Done
	share := request("rshare000000", "bob", approval.Open, 2*time.Minute)
	share.Act.Kind, share.Act.Method, share.Act.Path, share.Act.Object, share.Act.ID = api.ActShare, "POST",
		"/v2/compliance/c-1/share", "customer", "c-1"
	share.Act.Subject = api.Subject{Customer: "Bob Harbour", Status: "NEW"}
	share.Act.Item, share.Act.Name, share.Act.Body, share.Act.SecretDigest = "", "",
		json.RawMessage(`{"token":"•••","kind":"INDIVIDUAL"}`), strings.Repeat("ef", 32)
	return []approval.Request{denied, request("rown00000000", "Ana", approval.Open, 5*time.Minute), share, spent,
		request("rlapsed00000", "bob", approval.Approved, 40*time.Minute), request("rvoid0000000", "bob", approval.Void,
			time.Hour), request("ryes00000000", "bob", approval.Approved, time.Minute)}
}

func fake() *fakeBackend {
	return &fakeBackend{list: func() ([]approval.Request, error) { return sample(), nil }}
}

var place = ui.Place{Kind: Kind}

func as(name string, role api.Role) shelltest.Option {
	return func(o *ui.Options) {
		o.Context = api.WithActor(context.Background(), api.Actor{Name: name, Role: role, Key: "SHA256:mine", Login: name})
	}
}

func open(t *testing.T, backend Backend, opts ...shelltest.Option) (*uitest.Run, *uitest.Clock) {
	t.Helper()
	clock := uitest.NewClock()
	return shelltest.Open(t, clock, func(env *ui.Env, p ui.Place) ui.Screen { return New(env, backend, p.ID) }, place,
		append([]shelltest.Option{as("ana", api.Operator)}, opts...)...), clock
}

func TestList(t *testing.T) {
	r, _ := open(t, fake())
	golden.RequireEqual(t, []byte(r.View()))
}

func TestListWide(t *testing.T) {
	r, _ := open(t, fake())
	r.Send(uitest.Size(120, 40))
	golden.RequireEqual(t, []byte(r.View()))
}

func TestRequest(t *testing.T) {
	r, _ := open(t, fake())
	r.Send(uitest.Size(120, 40), uitest.Key("."))
	golden.RequireEqual(t, []byte(r.View()))
	r.Send(uitest.Key("esc"))
	r.Has("2 approvals wait, 1 of them requested by you")
}

// TestTheRequestIsWhole: what would be sent can be read to its last character in every
// window.
func TestTheRequestIsWhole(t *testing.T) {
	one := request("rlong0000000", "bob", approval.Open, time.Minute)
	one.Act.Path = "/v2/billing/operation/62387cd9-6926-45b3-bf48-8a53f850c0b8/document/ba464e45-f391-4664-ae43-fc789ef2b79d"
	for _, w := range []int{40, 60, 80, 120, 200} {
		r, _ := open(t, &fakeBackend{list: func() ([]approval.Request, error) { return []approval.Request{one}, nil }})
		r.Send(uitest.Size(w, 60), uitest.Key("."))
		if !strings.Contains(strings.Join(strings.Fields(r.View()), ""), one.Act.Path) {
			t.Errorf("at %d cells:\n%s", w, r.View())
		}
	}
}

func TestQuestion(t *testing.T) {
	r, _ := open(t, fake())
	r.Send(uitest.Size(100, 40), uitest.Key("+"))
	golden.RequireEqual(t, []byte(r.View()))
}

func TestApproveBindsToWhatWasShown(t *testing.T) {
	backend := fake()
	var got string
	backend.approve = func(id, digest, comment string) (approval.Request, error) {
		got = id + " " + digest + comment
		return approval.Request{}, nil
	}
	r, clock := open(t, backend)
	r.Send(uitest.Key("+"), uitest.Key("y"))
	if got != "" {
		t.Fatal("a key within 400 ms approves")
	}
	r.Send(clock.Wait(time.Second), uitest.Key("y"))
	if got != "rshare000000 "+strings.Repeat("cd", 32) {
		t.Errorf("approved %q", got)
	}
	r.Has("Approved. bob can send it once, until")
}

func TestProductionWantsTheId(t *testing.T) {
	backend := fake()
	r, clock := open(t, backend, shelltest.Production)
	r.Send(uitest.Key("+"), clock.Wait(time.Second), uitest.Key("y")) // approve is nil: it would panic
	r.Has("Approve")
}

func TestDenyWantsAReason(t *testing.T) {
	backend := fake()
	var got string
	backend.deny = func(id, digest, comment string) (approval.Request, error) {
		got = id + " " + comment
		return approval.Request{}, nil
	}
	r, clock := open(t, backend)
	r.Send(uitest.Key("-"), uitest.Key("enter"))
	r.Has("give a reason")
	r.Send(uitest.Type("no mandate"), uitest.Key("enter"), clock.Wait(time.Second))
	r.Has("your reason", "no mandate")
	r.Send(uitest.Key("y"))
	if got != "rshare000000 no mandate" {
		t.Errorf("denied %q", got)
	}
	r.Has("Denied. bob sees the reason.")
}

func TestKeysSayWhyTheyAreOff(t *testing.T) {
	r, _ := open(t, fake())
	r.Send(uitest.Key("down"), uitest.Key("+"))
	r.Has("You cannot decide your own request")
	r.Send(uitest.Key("."))
	r.Has("ask a colleague")
	r.Send(uitest.Key("esc"), uitest.Key("down"), uitest.Key("-"))
	r.Has("is no longer open: it is approved")
	r, _ = open(t, fake(), as("eve", api.Viewer))
	r.Send(uitest.Key("+"))
	r.Has("Your role (viewer) may not approve")
	r, _ = open(t, fake(), as(" ", api.Admin))
	r.Send(uitest.Key("+"))
	r.Has("You are not logged in as a person")
	r, _ = open(t, fake(), func(o *ui.Options) {
		o.Context = api.WithActor(context.Background(), api.Actor{Name: "ana2", Role: api.Operator, Key: "SHA256:bob"})
	})
	r.Send(uitest.Key("+"))
	r.Has("bob asked with the same key")
}

func TestRefusalIsExplained(t *testing.T) {
	backend := fake()
	backend.approve = func(string, string, string) (approval.Request, error) {
		return approval.Request{}, &api.Error{Kind: api.Refused, Rule: api.RuleChanged,
			Public: "The request has changed since you read it.", Hint: "Open it again."}
	}
	r, clock := open(t, backend)
	r.Send(uitest.Key("+"), clock.Wait(time.Second), uitest.Key("y"))
	r.Has("The approval refused", "changed since you read it", "Open it again.")
}

func TestNews(t *testing.T) {
	backend := fake()
	r, clock := open(t, backend)
	fresh := request("rnew00000000", "cyd", approval.Open, 0)
	backend.list = func() ([]approval.Request, error) { return append(sample(), fresh), nil }
	r.Send(ui.Changed{Kind: "operation"}, ui.Changed{Kind: Kind})
	r.Has("3 approvals wait")
	r.Send(uitest.Key("g"), uitest.Key("+"), clock.Wait(time.Second))
	backend.list = func() ([]approval.Request, error) { return sample()[:1], nil }
	r.Send(ui.Changed{Kind: Kind})
	r.Has("is no longer open: it was decided or has lapsed", "No approval waits")
	r.Send(uitest.Key("y")) // approve is nil: it would panic
}

func TestTimeAloneEndsARequest(t *testing.T) {
	r, clock := open(t, fake())
	r.Send(clock.Wait(31 * time.Minute))
	r.Has("No approval waits", "lapsed")
	r.Send(uitest.Key("+"))
	r.Has("it is lapsed")
}

func TestStaleAnswerIsDropped(t *testing.T) {
	var s *Screen
	backend := fake()
	shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen { s = New(env, backend, ""); return s },
		place)
	first, second := s.Reload(), s.Reload()
	late := first()
	backend.list = func() ([]approval.Request, error) { return sample()[:1], nil }
	s.Update(second())
	s.Update(late)
	if s.rows.Len() != 1 {
		t.Errorf("%d rows after a stale answer", s.rows.Len())
	}
}

func TestPlaceOpensARequest(t *testing.T) {
	clock := uitest.NewClock()
	r := shelltest.Open(t, clock, func(env *ui.Env, p ui.Place) ui.Screen { return New(env, fake(), p.ID) },
		ui.Place{Kind: Kind, ID: "rdenied00000"}, as("ana", api.Operator))
	r.Has("Request rdenied00000", "denied by the second person")
}

func TestStates(t *testing.T) {
	backend := &fakeBackend{list: func() ([]approval.Request, error) { return nil, nil }}
	r, _ := open(t, backend)
	r.Has("No approval was requested.")
	backend.list = func() ([]approval.Request, error) {
		return nil, &api.Error{Kind: api.Unavailable, Public: "opdeck cannot read or write approval requests, so it did " +
			"nothing."}
	}
	r.Send(uitest.Key("r"))
	r.Has("cannot read or write", "r tries again")
}

func TestWords(t *testing.T) {
	if Badge(0) != "" || Badge(1) != "1 approval waits" || Badge(3) != "3 approvals wait" {
		t.Error("badge")
	}
	for _, w := range endpoint.Writes() {
		k := w.Kind
		if !w.TouchesSession() && act.Consequence(k) == act.Consequence("") {
			t.Errorf("no sentence says what %s changes", k)
		}
	}
	for _, st := range []approval.State{approval.Open, approval.Approved, approval.Denied, approval.Lapsed, approval.Spent,
		approval.Void} {
		if _, means := present.RequestState(present.Options{}, approval.Request{State: st, Expires: noon}); means == "" {
			t.Errorf("%s has no meaning", st)
		}
	}
}

func TestHostileText(t *testing.T) {
	bad := "\x1b[2J\x1b]52;c;aGk=\a\u202efdp.exe\n\xff"
	q := request(bad, bad, approval.Open, 0)
	q.Requester = approval.Person{Name: bad, Role: api.Role(bad), Key: bad, Via: bad, From: bad}
	q.Decider, q.Comment, q.Verdict, q.Spent = &q.Requester, bad, api.Verdict(bad), noon
	q.Digest = bad
	body, _ := json.Marshal(map[string]string{"token": bad})
	q.Act = api.Act{Kind: api.ActKind(bad), Method: bad, Path: bad, Body: body, Object: bad, ID: bad, Item: bad, Name: bad,
		Summary: bad, Reason: bad, Seen: bad, SecretDigest: bad,
		Subject: api.Subject{Customer: bad, Amount: &api.Sum{Value: bad, Code: bad}, Status: bad, Document: bad},
		Lifted:  []api.Rule{api.Rule(bad)}}
	long := q
	long.ID, long.Act.Body = "rlong", json.RawMessage("["+strings.Repeat(fmt.Sprintf("%q,", bad), 300)+"1]")
	backend := &fakeBackend{list: func() ([]approval.Request, error) { return []approval.Request{q, long}, nil }}
	r, clock := open(t, backend)
	r.Send(uitest.Keys(".", "J", "esc", "esc", "y", "Y", "+"), clock.Wait(time.Second))
	shelltest.Sizes(r)
	r.Send(uitest.Key("n"), uitest.Key("down"), uitest.Key("."), uitest.Size(120, 60), uitest.Key("-"), uitest.Paste(bad),
		uitest.Key("enter"), clock.Wait(time.Second))
	shelltest.Sizes(r)
}

func TestSizes(t *testing.T) {
	r, _ := open(t, fake())
	shelltest.Sizes(r)
	r.Send(uitest.Key("."))
	shelltest.Sizes(r)
}

// Nothing is asked of the backend but in commands.
func TestUpdateAndViewNeverWait(t *testing.T) {
	backend := fake()
	shelltest.PressAll(uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen {
		s := New(env, backend, "")
		s.me = api.Actor{Name: "ana", Role: api.Admin}
		s.Loaded = true
		s.rows.Set(ordered(sample(), env.Now()))
		s.Changed()
		return s
	}, place, ui.Changed{Kind: Kind})
	if backend.calls != 0 {
		t.Errorf("%d questions outside a command", backend.calls)
	}
}

// The same for every key on a request's page.
func TestKeysOnPagesNeverWait(t *testing.T) {
	var s *Screen
	backend := fake()
	shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen { s = New(env, backend, ""); return s },
		place, as("ana", api.Operator))
	before, k := backend.calls, keymap.New()
	for _, key := range keymap.Join(k.Nav, k.List, k.Item, k.Audit, k.Viewer, k.Global) {
		s.show("rshare000000")
		s.Update(key.Msg())
		_ = s.View()
	}
	if backend.calls != before {
		t.Errorf("%d questions outside a command", backend.calls-before)
	}
}

// TestHitsAreNoDecisions: n and p go to hits while something is searched for; the
// keys that decide are back when the search ends.
func TestHitsAreNoDecisions(t *testing.T) {
	r, _ := open(t, fake()) // approve and deny are nil: they would panic
	r.Send(uitest.Key("."), uitest.Key("/"), uitest.Type("NP"))
	r.Has("enter find", "esc end the search")
	r.Send(uitest.Key("enter"), uitest.Key("esc"), uitest.Key("/"), uitest.Type("o"), uitest.Key("enter"))
	r.Has("1/", "esc end the search  n next  p previous")
	r.Send(uitest.Key("n"), uitest.Key("n"), uitest.Key("p"))
	r.Has("2/")
	r.Send(uitest.Key("+"))
	r.Has("+ does nothing here")
	r.Send(uitest.Key("esc"))
	r.Has("+ approve  - deny")
	r.Send(uitest.Key("-"))
	r.Has("Deny: apply this share token")
}

// TestWhatASecondPersonDecidesBy: in the question, on the page and beside the list; digests on the page only.
func TestWhatASecondPersonDecidesBy(t *testing.T) {
	one := request("rforce000000", "bob", approval.Open, time.Minute)
	one.Act.Lifted = []api.Rule{api.RuleEndState}
	judged := []string{"Harbour Traders Ltd", "1,682.00 EUR", "PENDING", "invoice.pdf", "--force", "wrong customer",
		"bob, operator", "decide by"}
	r, clock := open(t, &fakeBackend{list: func() ([]approval.Request, error) { return []approval.Request{one}, nil }})
	r.Send(uitest.Size(180, 60))
	r.Has(judged...)
	hidden := func() {
		if strings.Contains(r.View(), "cdcdcd") || strings.Contains(r.View(), "ababab") {
			t.Errorf("a digest outside the details:\n%s", r.View())
		}
	}
	hidden()
	r.Send(uitest.Key("+"))
	r.Has(append(judged, "[ No ]")...)
	hidden()
	r.Send(clock.Wait(time.Second), uitest.Key("esc"), uitest.Key("."))
	r.Has(append(judged, "cdcdcd", "ababab")...)
}

// TestEnterOpensTheObject: of the list and of the page; esc comes back to it.
func TestEnterOpensTheObject(t *testing.T) {
	for object, kind := range map[string]string{"operation": ui.KindOperation, "customer": ui.KindCompliance} {
		one := request("rone00000000", "bob", approval.Open, time.Minute)
		one.Act.Object = object
		if got := openObject(one); got != (ui.Open{Place: ui.Place{Kind: kind, ID: one.Act.ID}}) {
			t.Errorf("%s: %v", object, got)
		}
	}
	var s *Screen
	shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen { s = New(env, fake(), ""); return s },
		place, as("ana", api.Operator))
	for _, press := range []string{"enter", "."} {
		s.Update(uitest.Key(press))
		a, _ := s.Wants(), 0
		if _, opens := a.(ui.Open); opens != (press == "enter") {
			t.Errorf("%s: %T", press, a)
		}
	}
	s.Update(uitest.Key("enter"))
	if _, opens := s.Wants().(ui.Open); !opens {
		t.Error("enter on the page opens nothing")
	}
}
