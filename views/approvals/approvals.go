package approvals

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/approval"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/widget"
)

// Kind is the kind of this place, and of the ui.Changed that says that requests
// changed, here or elsewhere. The place's ID is a request's, or empty.
const Kind = "approvals"

// Backend stores decisions of the person in ctx; *approval.Service has these methods.
type Backend interface {
	List(ctx context.Context, states ...approval.State) ([]approval.Request, error)
	Approve(ctx context.Context, id, digest, comment string) (approval.Request, error)
	Deny(ctx context.Context, id, digest, comment string) (approval.Request, error)
}

// Badge returns the header's mark for n waiting requests, "" for none.
func Badge(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "1 approval waits"
	}
	return format.Count(n) + " approvals wait"
}

// Screen implements ui.Screen.
type Screen struct {
	*list.List[approval.Request]
	env     *ui.Env
	backend Backend
	me      api.Actor
	keys    keymap.Audit
	rows    *list.Rows[approval.Request]
	asking  string // the request that a question is open about
}

// New returns the screen. id opens one request; "" lists all.
func New(env *ui.Env, backend Backend, id string) *Screen {
	s := &Screen{env: env, backend: backend, me: api.ActorOf(env.Ctx), keys: env.Keys.Audit}
	s.rows = list.NewRows(func(r approval.Request) string { return r.ID }, s.row)
	s.List = list.New(env, s, s.rows, list.Spec[approval.Request]{Title: "Approvals", Signs: legend(),
		Place: ui.Place{Kind: Kind, ID: id}, Origin: "store",
		Reading: "Reading the requests …", None: "No request matches the filter.",
		Columns:  func(int) []widget.Column { return list.ColumnsOf(columns) },
		Language: language(env.Now), Example: "state:open person:ana write:document.remove",
		Beside: func(w int) []string {
			if r, on := s.rows.Find(s.Table.SelectedID()); on {
				return s.lines(r, w, false)
			}
			return nil
		}})
	return s
}

// Reload implements list.Screen.
func (s *Screen) Reload() tea.Cmd {
	backend, now := s.backend, s.env.Now
	return s.env.Read(s.Loads, func(ctx context.Context) ui.Then {
		list, err := backend.List(ctx)
		at := now()
		return func() (ui.Action, tea.Cmd) { return s.onLoaded(list, at, err), nil }
	})
}

// Answer implements list.Screen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case ui.Changed:
		if msg.Kind == Kind {
			return nil, s.Reload()
		}
	case ui.Shown:
		return nil, s.Reload()
	}
	return nil, nil
}

func (s *Screen) onLoaded(all []approval.Request, at time.Time, err error) ui.Action {
	first := !s.Loaded
	if s.Failed(err) {
		return nil
	}
	s.At = at
	s.rows.Set(ordered(all, s.env.Now()))
	s.Changed()
	if id := s.Place().ID; first && id != "" && s.Table.Select(id) {
		s.show(id)
	}
	return s.withdraw(all)
}

// withdraw closes the question about a request that waits no longer.
func (s *Screen) withdraw(now []approval.Request) ui.Action {
	waits := func(r approval.Request) bool { return r.ID == s.asking && state(r, s.env.Now()) == approval.Open }
	if s.asking == "" || slices.ContainsFunc(now, waits) {
		return nil
	}
	id := s.asking
	s.asking = ""
	return ui.Withdraw{ID: id, Why: "Request " + line(id, 20) + " is no longer open: it was decided or has lapsed."}
}

// OwnKey implements list.Screen. During a search in a request's text the deciding
// keys go to the search.
func (s *Screen) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	r, on := s.current()
	switch {
	case !on:
	case !s.Page.Seeking() && s.keys.Approve.Match(msg):
		return s.askApprove(r), nil, true
	case !s.Page.Seeking() && s.keys.Deny.Match(msg):
		return s.askReason(r), nil, true
	case s.Page == nil && s.env.Keys.Approvals.Details.Match(msg):
		s.show(r.ID)
		return nil, nil, true
	case k.List.Open.Match(msg) && !s.Page.Seeking():
		return openObject(r), nil, true
	}
	return nil, nil, false
}

// openObject opens what the request is about; esc comes back.
func openObject(r approval.Request) ui.Action {
	switch r.Act.Object {
	case "operation":
		return ui.Open{Place: ui.Place{Kind: ui.KindOperation, ID: r.Act.ID}}
	case "customer":
		return ui.Open{Place: ui.Place{Kind: ui.KindCompliance, ID: r.Act.ID}}
	}
	return ui.Notify{Level: ui.Denied, Text: "This request is not about an operation or a customer."}
}

// Item implements list.Screen: the request with its act, as it is stored.
func (s *Screen) Item() ui.Item {
	r, on := s.current()
	if !on {
		return ui.Item{}
	}
	b, err := json.Marshal(r)
	out := ui.Item{ID: r.ID, IDWhat: "the request's id", JSON: b, JSONWhat: "the request as JSON", Title: "Request " +
		line(r.ID, 20)}
	if err != nil {
		out.NoJSON = "The request cannot be written as JSON."
	}
	return out
}

// current is the request on the page, else the one under the cursor.
func (s *Screen) current() (approval.Request, bool) { return s.rows.Find(s.ItemID()) }

// Empty implements list.Screen.
func (s *Screen) Empty() widget.Notice {
	return s.NoRows(widget.Notice{Text: "No approval was requested.",
		Hint: "With approval = \"second_person\" in the config, each write becomes a request here."}, "")
}

// Refresh implements list.Screen: it switches the deciding keys on or off for the current
// request, which may also expire.
func (s *Screen) Refresh() {
	why := "No request is selected."
	if r, on := s.current(); on {
		why = s.why(r)
	}
	s.keys.Approve.Set(why)
	s.keys.Deny.Set(why)
}

// own reports whether the person here asked.
func (s *Screen) own(r approval.Request) bool { return approval.IsRequester(s.me, r) }

// why says why this person cannot decide about r; "" when they can. The backend
// decides again.
func (s *Screen) why(r approval.Request) string {
	st, bars := state(r, s.env.Now()), approval.WhyNotSecond(s.me, r.Requester)
	switch {
	case s.Doing != "":
		return "A decision is being sent."
	case s.own(r):
		return "You cannot decide your own request: ask a colleague. Without a decision it lapses."
	case bars != nil:
		return bars.Public + " " + remedy.Screen(bars)
	case !s.me.Role.May(api.MayApprove):
		return s.me.Role.WhyNot(api.MayApprove)
	case st != approval.Open:
		return "This request is no longer open: it is " + string(st) + "."
	}
	return ""
}

// NextChange implements list.Screen: ages, and the time that requests have left.
func (s *Screen) NextChange(now time.Time) time.Time {
	next := s.rows.Ages(0, s.rows.Len(), now, func(r approval.Request) time.Time { return r.Created })
	for _, r := range s.rows.All() {
		if r.Waits() {
			_, u := format.Until(r.Expires, now)
			next = ui.Sooner(next, u)
		}
	}
	return next
}

// HeadLines implements list.Screen: the number of waiting requests, and who must decide.
func (s *Screen) HeadLines() []string {
	th, open, mine := s.env.Theme, 0, 0
	for _, r := range s.rows.All() {
		if state(r, s.env.Now()) == approval.Open {
			if open++; s.own(r) {
				mine++
			}
		}
	}
	head := ""
	if !s.At.IsZero() {
		head = th.Dim.Render("No approval waits")
	}
	if open > 0 {
		head = th.Warn.Render(th.Signs.Wait + " " + Badge(open))
	}
	if mine > 0 {
		head += th.Dim.Render(", " + format.Count(mine) + " of them requested by you")
	}
	return []string{s.Head(head)}
}

// HelpKeys implements list.Screen.
func (s *Screen) HelpKeys() []keymap.Key {
	k := s.env.Keys
	decide := []keymap.Key{k.List.Open, s.keys.Approve, s.keys.Deny}
	switch {
	case s.Page != nil:
		return append(append(decide, k.Viewer.Search, k.Viewer.Next, k.Global.Reload), keymap.Join(k.Item, k.Nav)...)
	case s.rows.Len() == 0:
		return append([]keymap.Key{k.List.Filter, k.Global.Reload}, keymap.All(k.Nav)...)
	}
	return append(append(decide, s.env.Keys.Approvals.Details, k.List.Filter, k.Global.Reload),
		keymap.Join(k.Item, k.Nav)...)
}

// Subject implements ui.SubjectOf.
func (s *Screen) Subject(kind string) string {
	r, on := s.current()
	if on && (kind == ui.KindOperation && r.Act.Object == "operation" || kind == ui.KindCompliance &&
		r.Act.Object == "customer") {
		return r.Act.ID
	}
	return ""
}
