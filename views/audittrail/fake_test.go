package audittrail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// fakeLog counts what is asked of it; a function that is left nil panics in the
// test that calls it.
type fakeLog struct {
	calls     int
	queries   []audit.Query
	find      func(audit.Query) (audit.Page, error)
	unsettled func() ([]audit.Entry, error)
	settle    func(who api.Actor, ref, note string) error
	verify    func() (audit.Report, error)
	export    func(io.Writer) (int64, error)
	health    audit.Health
}

func (f *fakeLog) Find(_ context.Context, q audit.Query) (audit.Page, error) {
	f.calls++
	f.queries = append(f.queries, q)
	return f.find(q)
}
func (f *fakeLog) Unsettled(context.Context) ([]audit.Entry, error) { f.calls++; return f.unsettled() }
func (f *fakeLog) Settle(_ context.Context, who api.Actor, ref, note string) error {
	f.calls++
	return f.settle(who, ref, note)
}
func (f *fakeLog) Verify(context.Context) (audit.Report, error) { f.calls++; return f.verify() }
func (f *fakeLog) Export(_ context.Context, w io.Writer, from, to int64) (int64, error) {
	f.calls++
	if from != 1 || to != 0 {
		return 0, errors.New("not the whole trail")
	}
	return f.export(w)
}
func (f *fakeLog) Health() audit.Health { f.calls++; return f.health }

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func entry(seq int64, event string, phase audit.Phase, out audit.Result) audit.Entry {
	r := audit.Record{V: 1, Chain: "c1", Seq: seq, UID: fmt.Sprintf("01900000-0000-7000-8000-%012d", seq), At: noon.Add(-time.Duration(100-seq) * time.Minute), Boot: "b1",
		Event: event, Code: "OP101I", Phase: phase, Outcome: out, Actor: audit.Author{Name: "ana", Role: "operator", Key: "SHA256:abc"}, Via: "ssh", From: "10.0.0.7:5022",
		Context: audit.Context{Name: "stage", BaseURL: "https://stage.example.com", Account: "m***@example.com"},
		Object:  "operation", ID: "7f3a2b10-0000-4000-8000-000000000001", Item: "d0c-1", Name: "invoice.pdf", Method: "DELETE", Path: "/v2/billing/operation/7f3a/document/d0c-1",
		Summary: "Remove invoice.pdf", Reason: "wrong customer", Before: strings.Repeat("ab", 32), Act: strings.Repeat("cd", 32), Prev: strings.Repeat("0", 64), Req: "req-1"}
	if phase == audit.PhaseOutcome {
		r.Ref, r.Status, r.Took, r.After = "01900000-0000-7000-8000-000000000001", 200, 84_000, strings.Repeat("ef", 32)
	}
	return audit.Entry{Record: r, Hash: strings.Repeat("12", 32), Raw: []byte(`{"seq":` + fmt.Sprint(seq) + `}`)}
}

func sample() []audit.Entry {
	note := entry(5, "denied", audit.PhaseNote, "")
	note.Actor.Name, note.Detail = "bob", "document.remove: role"
	note.Count, note.Since = 12, "2026-03-02T10:00:00Z"
	return []audit.Entry{note, entry(4, "document.attach", audit.PhaseOutcome, audit.ResultUnknown), entry(3, "document.remove", audit.PhaseOutcome, audit.ResultDenied),
		entry(2, "document.remove", audit.PhaseOutcome, audit.ResultOK), entry(1, "document.remove", audit.PhaseIntent, "")}
}

// fake is a log with the sample and one act without an outcome.
func fake() *fakeLog {
	return &fakeLog{
		find: func(audit.Query) (audit.Page, error) { return audit.Page{Entries: sample()}, nil },
		unsettled: func() ([]audit.Entry, error) {
			return []audit.Entry{entry(9, "document.remove", audit.PhaseIntent, "")}, nil
		},
	}
}

var place = ui.Place{Kind: ui.KindAudit}

func factory(log Log) ui.Factory {
	return func(env *ui.Env, p ui.Place) ui.Screen {
		if p.Kind != ui.KindAudit {
			return &other{env: env, p: p}
		}
		return New(env, log, p.Arg)
	}
}

func as(role api.Role) shelltest.Option {
	return func(o *ui.Options) {
		o.Context = api.WithActor(context.Background(), api.Actor{Name: "ana", Role: role})
	}
}

func open(t *testing.T, log Log, opts ...shelltest.Option) (*uitest.Run, *uitest.Clock) {
	t.Helper()
	clock := uitest.NewClock()
	return shelltest.Open(t, clock, factory(log), place, append([]shelltest.Option{as(api.Admin)}, opts...)...), clock
}

// other replaces all other screens.
type other struct {
	ui.Wanted
	env  *ui.Env
	p    ui.Place
	w, h int
}

func (o *other) Init() tea.Cmd { return nil }
func (o *other) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		o.w, o.h = size.Width, size.Height
	}
	return o, nil
}
func (o *other) View() string       { return o.p.Kind + " " + o.p.ID + strings.Repeat("\n", max(o.h-1, 0)) }
func (o *other) Keys() []keymap.Key { return nil }
func (o *other) Editing() bool      { return false }
func (o *other) Title() string      { return o.p.Kind }
func (o *other) Place() ui.Place    { return o.p }
func (o *other) Source() ui.Source  { return ui.Source{} }
