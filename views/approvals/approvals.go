package approvals

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Kind is the kind of this place, and of the ui.Changed that says that requests
// changed, here or elsewhere. The place's ID is a request's, or empty.
const Kind = "approvals"

// Desk takes decisions; *approval.Desk has these methods. The person is the one
// in ctx.
type Desk interface {
	List(ctx context.Context, states ...approval.State) ([]approval.Request, error)
	Approve(ctx context.Context, id, digest, comment string) (approval.Request, error)
	Deny(ctx context.Context, id, digest, comment string) (approval.Request, error)
}

// Badge is the mark that n requests wait, "" for none.
func Badge(n int) string {
	switch {
	case n <= 0:
		return ""
	case n == 1:
		return "1 approval waits"
	}
	return draw.Count(n) + " approvals wait"
}

// Screen implements ui.Screen.
type Screen struct {
	env   *ui.Env
	desk  Desk
	me    api.Actor
	id    string // the request that the place names
	keys  keymap.Audit
	loads *ui.Loads

	rows   *rows
	at     time.Time
	err    *api.Error
	inited bool
	asking string // the request that a question is open about
	doing  string

	page  *page
	table *widget.Table
	w, h  int
}

// New makes the screen. id opens one request; empty lists all.
func New(env *ui.Env, desk Desk, id string) *Screen {
	me := api.ActorOf(env.Ctx)
	s := &Screen{env: env, desk: desk, me: me, id: id, keys: env.Keys.Audit, loads: env.Loads(), rows: &rows{env: env, me: me},
		table: widget.NewTable(env.Theme, env.Keys, false, columns...)}
	s.table.Apart()
	s.settle()
	return s
}

type loadedMsg struct {
	ui.Ticket
	list []approval.Request
	at   time.Time
	err  error
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd { return s.load() }

func (s *Screen) load() tea.Cmd {
	t, ctx := s.loads.Next(s.env.Ctx)
	desk, now := s.desk, s.env.Now
	return func() tea.Msg {
		list, err := desk.List(ctx)
		return loadedMsg{t, list, now(), err}
	}
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case loadedMsg:
		return s.loaded(msg), nil
	case ui.Changed:
		if msg.Kind == Kind {
			return nil, s.load()
		}
	case decidedMsg:
		return s.decided(msg)
	case ui.Shown:
		return nil, s.load()
	case ui.DisplayChanged:
		s.settle()
	case keymap.Press:
		return s.key(msg)
	}
	return nil, nil
}

func (s *Screen) loaded(msg loadedMsg) ui.Action {
	if !s.loads.Current(msg.Ticket) {
		return nil
	}
	first := !s.inited
	s.inited = true
	if s.err = api.AsError(msg.err); msg.err != nil {
		s.settle()
		return nil
	}
	s.rows.set(msg.list, s.env.Now())
	s.at = msg.at
	s.settle()
	if first && s.id != "" && s.table.Select(s.id) {
		s.show(s.id)
	}
	return s.withdraw(msg.list)
}

// withdraw closes the question about a request that waits no longer.
func (s *Screen) withdraw(now []approval.Request) ui.Action {
	if s.asking == "" {
		return nil
	}
	for _, r := range now {
		if r.ID == s.asking && state(r, s.env.Now()) == approval.Open {
			return nil
		}
	}
	id := s.asking
	s.asking = ""
	return ui.Withdraw{ID: id, Why: "Request " + line(id, 20) + " does not wait any more: it was decided or lapsed."}
}

func (s *Screen) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	if s.page != nil && s.page.view.Searching() {
		s.page.view.Update(msg)
		return nil, nil
	}
	k := s.env.Keys
	r, on := s.current()
	switch {
	case k.Global.Reload.Match(msg):
		return nil, s.load()
	case on && !s.seeking() && s.keys.Approve.Match(msg):
		return s.askApprove(r), nil
	case on && !s.seeking() && s.keys.Deny.Match(msg):
		return s.askReason(r), nil
	case on && k.Item.CopyID.Match(msg):
		return ui.Copy{Text: r.ID, What: "the request's id"}, nil
	case on && (k.Item.CopyJSON.Match(msg) || k.Item.Raw.Match(msg)):
		return asJSON(r, k.Item.Raw.Match(msg)), nil
	case s.page != nil:
		if k.Global.Back.Match(msg) || k.Global.Quit.Match(msg) {
			if !s.page.view.Clear() {
				s.page = nil
				s.settle()
			}
			return ui.Handled{}, nil
		}
		s.page.view.Update(msg)
		return nil, nil
	case on && k.List.Open.Match(msg):
		s.show(r.ID)
		return nil, nil
	}
	s.table.Update(msg)
	s.switchKeys()
	return nil, nil
}

// seeking reports that hits are looked for in the request's text: the keys that
// decide go to them then, and decide nothing.
func (s *Screen) seeking() bool { return s.page != nil && s.page.view.Seeking() }

// current is the request on the page, else the one under the cursor.
func (s *Screen) current() (approval.Request, bool) {
	if s.page != nil {
		return s.rows.request(s.page.id)
	}
	return s.rows.request(s.table.SelectedID())
}

// settle gives the table what it needs from the state.
func (s *Screen) settle() {
	s.table.SetSource(s.rows)
	n := widget.Notice{Text: "Nobody has asked for a second person.", Hint: "With approval = \"second_person\" in the config, each write becomes a request here."}
	switch {
	case s.err != nil:
		n = widget.Notice{Tone: theme.Bad, Text: s.err.Public, Hint: s.err.Hint + " " + s.env.Keys.Global.Reload.Help().Key + " tries again."}
	case !s.inited:
		n = widget.Notice{Text: "Reading the requests …"}
	}
	s.table.SetNotice(n)
	s.switchKeys()
}

// switchKeys turns the deciding keys on or off for the present request.
func (s *Screen) switchKeys() {
	why := "No request is under the cursor."
	if r, on := s.current(); on {
		why = s.why(r)
	}
	s.keys.Approve.Set(why)
	s.keys.Deny.Set(why)
}

// own reports whether the person here asked.
func (s *Screen) own(r approval.Request) bool { return approval.Asked(s.me, r) }

// why says why this person cannot decide about r; "" when they can. The desk
// decides again.
func (s *Screen) why(r approval.Request) string {
	st, bars := state(r, s.env.Now()), approval.Bars(s.me, r.Requester)
	switch {
	case s.doing != "":
		return "One decision is under way."
	case s.own(r):
		return "This is your own request, and nobody decides about their own: ask a colleague. Unused it lapses by itself."
	case bars != nil:
		return bars.Public + " " + bars.Hint
	case !s.me.Role.May(api.MayApprove):
		return "Your role (" + string(s.me.Role) + ") does not allow to " + string(api.MayApprove) + "; " + api.WhoMay(api.MayApprove) + " may."
	case st != approval.Open:
		return "This request does not wait any more: it is " + string(st) + "."
	}
	return ""
}

// Counts implements ui.Counter: ages, and the time that requests have left.
func (s *Screen) Counts(now time.Time) time.Time {
	var next time.Time
	for _, r := range s.rows.list {
		_, a := draw.Ago(r.Created, now)
		next = ui.Sooner(next, a)
		if waits(r) {
			_, u := draw.Until(r.Expires, now)
			next = ui.Sooner(next, u)
		}
	}
	return next
}

// View implements ui.Screen.
func (s *Screen) View() string {
	s.switchKeys() // time alone can end a request
	if s.page != nil {
		return strings.Join(draw.Lay(s.page.draw(s, s.w, s.h), s.w, s.h), "\n")
	}
	top := s.above()
	if len(top) > s.h/2 {
		top = top[:s.h/2]
	}
	s.table.SetSize(s.w, max(s.h-len(top), 1))
	return strings.Join(draw.Lay(append(top, s.table.Lines()...), s.w, s.h), "\n")
}

// above says how many wait, and for whom.
func (s *Screen) above() []string {
	th, open, mine := s.env.Theme, 0, 0
	for _, r := range s.rows.list {
		if state(r, s.env.Now()) == approval.Open {
			if open++; s.own(r) {
				mine++
			}
		}
	}
	head := ""
	if !s.at.IsZero() {
		head = th.Dim.Render("No approval waits")
	}
	if open > 0 {
		head = th.Warn.Render(th.Signs.Wait + " " + Badge(open))
	}
	if mine > 0 {
		head += th.Dim.Render(", " + draw.Count(mine) + " of them asked by you")
	}
	if s.doing != "" {
		head += th.Info.Render("  " + s.doing + " …")
	}
	out := []string{head}
	if s.err != nil && s.rows.Len() > 0 {
		out = append(out, th.Warn.Render(th.Signs.Warn+" "+draw.Cut("Not read again: "+s.err.Public, s.w-2)))
	}
	return out
}

// SetSize implements ui.Screen.
func (s *Screen) SetSize(w, h int) { s.w, s.h = w, h }

// Help implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	k := s.env.Keys
	list := []keymap.Key{s.keys.Approve, s.keys.Deny}
	if s.seeking() {
		return s.page.view.Hints()
	}
	if s.page != nil {
		return append(append(list, k.Viewer.Search, k.Viewer.Next, k.Global.Reload), keymap.Join(k.Item, k.Nav)...)
	}
	if s.rows.Len() == 0 {
		return append([]keymap.Key{k.Global.Reload}, keymap.Join(k.Nav)...)
	}
	return append(append([]keymap.Key{k.List.Open}, append(list, k.Global.Reload)...), keymap.Join(k.Item, k.Nav)...)
}

// Editing implements ui.Screen.
func (s *Screen) Editing() bool { return s.page != nil && s.page.view.Searching() }

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Approvals" }

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: Kind, ID: s.id} }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := ui.Source{Origin: "store", At: s.at, Loading: s.loads.Busy()}
	if s.err != nil {
		src.Problem = s.err.Public
	}
	return src
}

// Subject implements ui.Subjecter.
func (s *Screen) Subject(kind string) string {
	r, on := s.current()
	if on && (kind == ui.KindOperation && r.Act.Object == "operation" || kind == ui.KindCompliance && r.Act.Object == "customer") {
		return r.Act.ID
	}
	return ""
}
