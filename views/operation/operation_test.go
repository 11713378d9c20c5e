package operation

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/note"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

type fake struct {
	op    api.Operation
	tree  api.OperationTree
	past  []index.State
	known time.Time // zero: not known locally
	err   error
	calls int
	reads int // from the service
	notes *note.Notes
}

func (f *fake) caller() endpoint.Caller {
	var c endpointtest.Fake
	endpointtest.On(&c, endpoint.GetOperation, func(context.Context, string) (api.Operation, error) {
		f.calls++
		f.reads++
		return f.op, f.err
	})
	endpointtest.On(&c, endpoint.GetOperationTree, func(context.Context, string) (api.OperationTree, error) {
		f.calls++
		return f.tree, f.err
	})
	return &c
}

// local is what is known without a call.
func (f *fake) local() ui.Known {
	return ui.Known{MaxAge: time.Minute, Phase: api.Operation.Phase, Get: func(context.Context, string) (api.Operation, time.Time, bool) {
		f.calls++
		return f.op, f.known, !f.known.IsZero()
	}}
}

func (f *fake) history(context.Context, string) ([]index.State, error) { return f.past, nil }

func (f *fake) screen(env *ui.Env, opid string) *Screen {
	return NewScreen(env, f.caller(), f.local(), f.history, f.notes, opid)
}

func open(t *testing.T, f *fake, opts ...shelltest.Option) (*uitest.Run, *uitest.Clock) {
	t.Helper()
	clock := uitest.NewClock()
	factory := func(env *ui.Env, p ui.Place) ui.Screen { return f.screen(env, p.ID) }
	place := ui.Place{Kind: ui.KindOperation, ID: string(f.op.OPID)}
	return shelltest.Open(t, clock, factory, place, opts...), clock
}

// all scrolls through the screen and returns everything it shows.
func all(r *uitest.Run) string {
	var b strings.Builder
	for range 12 {
		b.WriteString(r.View())
		r.Send(uitest.Key("pgdown"))
	}
	return b.String()
}

func TestScreens(t *testing.T) {
	for name, op := range map[string]api.Operation{
		"withdrawal": apitest.Operation(nil),
		"hostile":    apitest.HostileOperation(),
		"unknown":    apitest.Operation(map[string]any{"status": "ON_HOLD_REVIEW", "type": "LOAN", "scan": map[string]any{"pages": 3}}),
		"bad money":  apitest.Operation(map[string]any{"sourceAmount": apitest.Amount("USD", "1", -1), "createdAt": "yesterday"}),
	} {
		for size, wh := range shelltest.Drawn(name, "withdrawal", "bad money") {
			t.Run(name+"-"+size, func(t *testing.T) {
				r, _ := open(t, &fake{op: op})
				r.Send(uitest.Size(wh[0], wh[1]))
				golden.RequireEqual(t, r.View())
			})
		}
	}
}

// TestEveryFieldShows looks for each value of the record.
func TestEveryFieldShows(t *testing.T) {
	op := apitest.Operation(map[string]any{"scan": "kept-all-the-same", "isParent": true, "isVisible": false})
	r, _ := open(t, &fake{op: op}, shelltest.Unmasked)
	text := all(r)
	for _, want := range []string{"5b55db86-17e5-4612-81f9-29d3bd5082a1", "PENDING", "WITHDRAW", "SWIFT", "2026-03-02 10:15:00 UTC", "1h ago",
		"2026-03-02 11:40:00 UTC", "19m ago", "UhcPVBEpjmtR", "USD main", "12345678904321", "DqCsgSE-4e95-ViYbNI", "Harbour & Finch Trading Ltd",
		"UvYqyrDwqI", "Settlement", "DE02120300000000202051", "U6OFFpEoEdHA", "Oak & Iron Fabrication", "First Example Bank",
		"1,250.50 USD", "1,156.25 EUR", "3.00 USD", "98,765,432.01 USD", "1 USD ≈ 0.924630147941 EUR", "Invoice settlement", "SBX-68159091",
		"invoice.pdf", "contract.pdf", "請求書.pdf", "locked", "kept-all-the-same", "parent", "visible"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q does not show", want)
		}
	}
}

// TestTheUsualIsNotSaid: the flags of an operation that is no parent and visible, and the customer of a side that is the
// operation's, are left out; each shows once it says more.
func TestTheUsualIsNotSaid(t *testing.T) {
	for _, c := range []struct {
		name  string
		with  map[string]any
		shown []string
		times int // of the customer's id
	}{
		{"usual", nil, nil, 1},
		{"parent", map[string]any{"isParent": true}, []string{"parent"}, 1},
		{"hidden", map[string]any{"isVisible": false}, []string{"visible"}, 1},
		{"another customer", map[string]any{"customer": map[string]any{"cuid": "C-other", "name": "Other"}},
			[]string{"C-other", "DqCsgSE-4e95-ViYbNI"}, 1},
	} {
		r, _ := open(t, &fake{op: apitest.Operation(c.with)})
		r.Send(uitest.Size(200, 60))
		text := r.View()
		for _, word := range []string{"  parent ", "  visible "} {
			if want := slices.Contains(c.shown, strings.TrimSpace(word)); strings.Contains(text, word) != want {
				t.Errorf("%s: %q shows: %v", c.name, word, !want)
			}
		}
		for _, id := range c.shown {
			if !strings.Contains(text, id) {
				t.Errorf("%s: %q does not show", c.name, id)
			}
		}
		if n := strings.Count(text, "DqCsgSE-4e95-ViYbNI"); n != c.times {
			t.Errorf("%s: the customer's id shows %d times", c.name, n)
		}
	}
}

func TestMoneyIsExact(t *testing.T) {
	for _, c := range apitest.OddMoney() {
		r, _ := open(t, &fake{op: c.Op})
		if !strings.Contains(all(r), c.Want) {
			t.Errorf("%s does not show", c.Want)
		}
	}
}

func TestAccountNumbersAreMasked(t *testing.T) {
	r, clock := open(t, &fake{op: apitest.Operation(nil)})
	if strings.Contains(all(r), "12345678904321") {
		t.Error("an account number shows")
	}
	r.Send(uitest.Key("home"), uitest.Key("M"))
	if !strings.Contains(all(r), "12345678904321") {
		t.Error("M does not reveal it")
	}
	r.Send(clock.Wait(31 * time.Second))
	if strings.Contains(all(r), "12345678904321") {
		t.Error("it still shows after 30 s")
	}
}

// TestAYoungStateCostsNoCall: what the index saw a moment ago is not read again.
func TestAYoungStateCostsNoCall(t *testing.T) {
	now := uitest.NewClock().Now()
	young := &fake{op: apitest.Operation(nil), known: now.Add(-10 * time.Second)}
	open(t, young)
	old := &fake{op: apitest.Operation(nil), known: now.Add(-time.Hour)}
	open(t, old)
	if young.reads != 0 || old.reads != 1 {
		t.Errorf("%d reads when young, %d when old", young.reads, old.reads)
	}
}

func TestChildrenAreReadOnDemand(t *testing.T) {
	op := apitest.Operation(map[string]any{"isParent": true})
	child := apitest.Operation(map[string]any{"opid": "77777777-0000-4000-8000-000000000001", "type": "TRANSFER"})
	r, _ := open(t, &fake{op: op, tree: api.OperationTree{Parent: op, Children: []api.Child{{Operation: child, Depth: 1}}}})
	r.Send(uitest.Key("H"))
	if text := all(r); !strings.Contains(text, "1 child operation") || !strings.Contains(text, "77777777-0000-4000-8000-000000000001") {
		t.Errorf("the child does not show:\n%s", text)
	}
	r, _ = open(t, &fake{op: op})
	r.Send(uitest.Key("H"))
	if !strings.Contains(r.View(), "The service reports no parent and no child operations.") {
		t.Errorf("nothing says that there are none:\n%s", r.View())
	}
}

// TestTheCursorGoesToTheChildren that a person asked for, whatever fits the window.
func TestTheCursorGoesToTheChildren(t *testing.T) {
	d := newPage(t)
	d.Send(uitest.Key("H"))
	if got := d.label(); got != "child" {
		t.Errorf("the cursor is on %q", got)
	}
	if !strings.Contains(d.View(), "1 child operation") {
		t.Errorf("the children are not in the window:\n%s", d.View())
	}
}

func TestAnErrorSaysWhatToDo(t *testing.T) {
	f := &fake{op: apitest.Operation(nil), err: api.Classify("read operation", 404, []byte(`{"error":"Operation not found: x"}`))}
	r, _ := open(t, f)
	for _, want := range []string{"The service has no such operation.", "Check the id", "r tries again, esc goes back."} {
		if !strings.Contains(r.View(), want) {
			t.Errorf("%q does not show in\n%s", want, r.View())
		}
	}
	f.err = nil
	r.Send(uitest.Key("r"))
	if !strings.Contains(r.View(), "PENDING") {
		t.Errorf("r does not read it:\n%s", r.View())
	}
}

func TestUpdateAndViewNeverWait(t *testing.T) {
	f := &fake{op: apitest.Operation(nil)}
	factory := func(env *ui.Env, p ui.Place) ui.Screen { return f.screen(env, p.ID) }
	shelltest.PressAll(uitest.NewClock(), factory, ui.Place{Kind: ui.KindOperation, ID: string(f.op.OPID)},
		ui.Changed{Kind: ui.KindOperation, ID: string(f.op.OPID), Object: f.op})
	if f.calls != 0 {
		t.Errorf("%d requests outside a command", f.calls)
	}
}

func TestEverySize(t *testing.T) {
	r, _ := open(t, &fake{op: apitest.HostileOperation()})
	shelltest.Sizes(r)
}

// TestWhatIsOddDoesNotUnmask: the exact text of a hostile account number is as masked
// as the number.
func TestWhatIsOddDoesNotUnmask(t *testing.T) {
	for _, secret := range []string{"12345678904321", "DE02120300000000202051"} {
		r := shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, p ui.Place) ui.Screen {
			return (&fake{op: apitest.HostileOperation()}).screen(env, p.ID)
		}, ui.Place{Kind: ui.KindOperation, ID: "7f3a"})
		r.Send(uitest.Size(300, 100))
		if strings.Contains(r.View(), secret) {
			t.Errorf("%s is shown while numbers are masked\n%s", secret, r.View())
		}
		r.Send(uitest.Key("M"))
		if !strings.Contains(r.View(), secret) {
			t.Errorf("%s is not revealed\n%s", secret, r.View())
		}
	}
}
