package history

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Kind is the kind of this place; its ID is the operation's.
const Kind = "history"

// Index keeps the states; *index.Index has these methods. Nothing of it costs a
// call.
type Index interface {
	// History returns the states of an operation, oldest first, the present last.
	History(ctx context.Context, opid string) ([]index.State, error)
	// LastLook is when the person saw the operation last; zero for never.
	LastLook(ctx context.Context, person, opid string) (time.Time, error)
	// Look notes that the person sees it now.
	Look(ctx context.Context, person, opid string, at time.Time) error
}

// Screen implements ui.Screen.
type Screen struct {
	env    *ui.Env
	index  Index
	id     string
	person string
	loads  *ui.Loads

	rows   *rows
	look   time.Time // when the person looked before this time; zero: never
	looked bool      // look is known: reading again must not move it
	at     time.Time
	err    error
	inited bool
	stale  bool // a change came while a read was under way

	page  *page
	table *widget.Table
	w, h  int
}

// New makes the screen of one operation's past.
func New(env *ui.Env, ix Index, opid string) *Screen {
	s := &Screen{env: env, index: ix, id: opid, person: api.ActorOf(env.Ctx).Name, loads: env.Loads(), rows: &rows{env: env},
		table: widget.NewTable(env.Theme, env.Keys, true, columns...)}
	s.settle()
	return s
}

type loadedMsg struct {
	ui.Ticket
	moments []moment
	look    time.Time
	at      time.Time
	err     error
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd { return s.load() }

// load reads the states and what changed between neighbours; the first time it
// also reads when the person looked last, and notes that they look now.
func (s *Screen) load() tea.Cmd {
	if s.id == "" {
		return nil
	}
	t, ctx := s.loads.Next(s.env.Ctx)
	ix, id, person, first, now := s.index, s.id, s.person, !s.looked, s.env.Now
	return func() tea.Msg {
		m := loadedMsg{Ticket: t, at: now()}
		states, err := ix.History(ctx, id)
		if err != nil {
			m.err = err
			return m
		}
		m.moments = moments(states)
		if first && person != "" {
			if m.look, m.err = ix.LastLook(ctx, person, id); m.err == nil {
				m.err = ix.Look(ctx, person, id, m.at)
			}
		}
		return m
	}
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case loadedMsg:
		return nil, s.loaded(msg)
	case ui.Changed:
		if msg.Kind == ui.KindOperation && msg.ID == s.id {
			return nil, s.changed()
		}
	case ui.Shown:
		return nil, s.changed()
	case keymap.Press:
		return s.key(msg)
	}
	return nil, nil
}

// changed reads again, unless a read is under way: then once more after it.
func (s *Screen) changed() tea.Cmd {
	if s.loads.Busy() {
		s.stale = true
		return nil
	}
	return s.load()
}

func (s *Screen) loaded(msg loadedMsg) tea.Cmd {
	if !s.loads.Current(msg.Ticket) {
		return nil
	}
	s.inited = true
	if s.err = msg.err; msg.moments != nil {
		s.rows.list, s.at = msg.moments, msg.at
		if !s.looked && msg.err == nil {
			s.look, s.looked = msg.look, true
		}
		s.rows.look = s.look
	}
	s.settle()
	if s.stale {
		s.stale = false
		return s.load()
	}
	return nil
}

func (s *Screen) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	if s.page != nil && s.page.view.Searching() {
		s.page.view.Update(msg)
		return nil, nil
	}
	k := s.env.Keys
	m, on := s.rows.moment(s.table.SelectedID())
	switch {
	case k.Global.Reload.Match(msg):
		return nil, s.load()
	case k.Item.CopyID.Match(msg) && s.id != "":
		return ui.Copy{Text: s.id, What: "the operation id"}, nil
	case on && (k.Item.CopyJSON.Match(msg) || k.Item.Raw.Match(msg)):
		return s.json(m, k.Item.Raw.Match(msg)), nil
	case s.page != nil:
		if k.Global.Back.Match(msg) || k.Global.Quit.Match(msg) {
			if !s.page.view.Clear() {
				s.page = nil
			}
			return ui.Handled{}, nil
		}
		s.page.view.Update(msg)
		return nil, nil
	case k.Global.Back.Match(msg), k.Global.Quit.Match(msg):
		if s.table.Unmark() {
			return ui.Handled{}, nil
		}
		return nil, nil
	case k.List.MarkAll.Match(msg):
		return ui.Notify{Kind: ui.Refused, Text: "Two moments are compared at a time: mark them with " + s.env.Keys.List.Mark.Help().Key + "."}, nil
	case on && k.List.Open.Match(msg):
		return s.compare(m), nil
	}
	s.table.Update(msg)
	return nil, nil
}

// json is a state as the service sent it.
func (s *Screen) json(m moment, view bool) ui.Action {
	raw := mask.Shown(m.state.Op.Raw, s.env.Masked())
	if len(raw) == 0 {
		return ui.Notify{Kind: ui.Refused, Text: "This state was not sent as JSON by the service; it was put together here."}
	}
	if view {
		return ui.Raw{Title: "Operation " + draw.ID(s.id, 20) + " as of " + draw.Time(m.state.At, s.env.Zone()), JSON: raw}
	}
	return ui.Copy{Text: string(raw), What: "this state as JSON"}
}

// compare shows the difference between the two marked moments, between the
// marked one and the one under the cursor, or from the one before to it.
func (s *Screen) compare(m moment) ui.Action {
	marked := s.table.Marked()
	switch len(marked) {
	case 0:
		if m.at == 0 {
			s.show("The first known state, whole", moment{}, m)
			return nil
		}
		s.show("What changed at this moment", s.rows.list[m.at-1], m)
		return nil
	case 1:
		a, _ := s.rows.moment(marked[0])
		if a.at == m.at {
			return ui.Notify{Kind: ui.Refused, Text: "This is the marked moment itself: go to another one, or mark a second."}
		}
		s.between(a, m)
		return nil
	case 2:
		a, _ := s.rows.moment(marked[0])
		b, _ := s.rows.moment(marked[1])
		s.between(a, b)
		return nil
	}
	return ui.Notify{Kind: ui.Refused, Text: draw.Count(len(marked)) + " moments are marked and two are compared at a time: unmark some with " + s.env.Keys.List.Mark.Help().Key + ", or all with " + s.env.Keys.Global.Back.Help().Key + "."}
}

func (s *Screen) between(a, b moment) {
	if a.at > b.at {
		a, b = b, a
	}
	s.show("Difference between two moments", a, b)
}

// settle gives the table what it needs from the state.
func (s *Screen) settle() {
	s.table.SetSource(s.rows)
	n := widget.Notice{Text: "Nothing is known of this operation's past yet.", Hint: "2 opens it and reads it from the service; changes are kept from then on"}
	switch {
	case s.id == "":
		n = widget.Notice{Text: "No operation is open.", Hint: "o opens one by its id, 1 lists them, h there comes back here"}
	case errors.Is(s.err, index.ErrOff):
		n = widget.Notice{Text: "The local index is switched off, so no past is kept.", Hint: "[index] enabled = true in the config keeps it"}
	case errors.Is(s.err, index.ErrNone):
	case s.err != nil:
		n = widget.Notice{Tone: theme.Bad, Text: "The past cannot be read from the store.", Hint: s.env.Keys.Global.Reload.Help().Key + " tries again; opdeck doctor looks at the store"}
	case !s.inited:
		n = widget.Notice{Text: "Reading what is known of the past …"}
	}
	s.table.SetNotice(n)
}

// Counts implements ui.Counter: how long ago each state came.
func (s *Screen) Counts(now time.Time) time.Time {
	var next time.Time
	from, to := s.table.Visible()
	for i := from; i < to; i++ {
		_, t := draw.Ago(s.rows.list[len(s.rows.list)-1-i].state.At, now)
		next = ui.Sooner(next, t)
	}
	return next
}

// View implements ui.Screen.
func (s *Screen) View() string {
	if s.page != nil {
		return strings.Join(s.page.draw(s, s.w, s.h), "\n")
	}
	top := s.above()
	if len(top) > s.h/2 {
		top = top[:s.h/2]
	}
	s.table.SetSize(s.w, max(s.h-len(top), 1))
	return strings.Join(draw.Lay(append(top, s.table.Lines()...), s.w, s.h), "\n")
}

// above says how far back is known, and what is new to this person.
func (s *Screen) above() []string {
	th := s.env.Theme
	if s.rows.Len() == 0 {
		return nil
	}
	out := []string{th.Strong.Render(draw.Plural(s.rows.Len(), "state", "states")) + th.Dim.Render(", known here since "+draw.Time(s.rows.list[0].state.At, s.env.Zone()))}
	switch fresh := s.rows.fresh(); {
	case s.look.IsZero() && s.looked && s.person != "":
		out = append(out, th.Dim.Render("You look at it for the first time."))
	case fresh > 0:
		out = append(out, th.Warn.Render(th.Signs.Warn+" "+draw.Cut(draw.Plural(fresh, "change", "changes")+" since you last looked ("+draw.Time(s.look, s.env.Zone())+")", s.w-2)))
	case !s.look.IsZero():
		out = append(out, th.Dim.Render(draw.Cut(th.Signs.Good+" Nothing changed since you last looked ("+draw.Time(s.look, s.env.Zone())+")", s.w)))
	}
	if s.err != nil {
		out = append(out, th.Warn.Render(draw.Cut(th.Signs.Warn+" Not read whole from the store; "+s.env.Keys.Global.Reload.Help().Key+" tries again.", s.w)))
	}
	return out
}

// SetSize implements ui.Screen.
func (s *Screen) SetSize(w, h int) { s.w, s.h = w, h }

// Help implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	k := s.env.Keys
	if s.page != nil && s.page.view.Seeking() {
		return s.page.view.Hints()
	}
	if s.page != nil {
		return append([]keymap.Key{k.Viewer.Search, k.Viewer.Next, k.Viewer.Prev, k.Global.Reload}, keymap.Join(k.Item, k.Nav)...)
	}
	diff := k.List.Open
	diff.SetHelp("enter", "difference")
	diff.Long = "what changed at this moment, or between two marked ones"
	return append([]keymap.Key{diff, k.List.Mark, k.Global.Reload}, keymap.Join(k.Item, k.Nav)...)
}

// Editing implements ui.Screen.
func (s *Screen) Editing() bool { return s.page != nil && s.page.view.Searching() }

// Title implements ui.Screen.
func (s *Screen) Title() string {
	if s.id == "" {
		return "History"
	}
	return "History of " + draw.ID(s.id, 13)
}

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: Kind, ID: s.id} }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := ui.Source{Origin: "index", At: s.at, Loading: s.loads.Busy()}
	if s.err != nil && !errors.Is(s.err, index.ErrNone) {
		src.Problem = "the past could not be read from the store"
	}
	return src
}

// Subject implements ui.Subjecter.
func (s *Screen) Subject(kind string) string {
	switch {
	case kind == ui.KindOperation:
		return s.id
	case kind == ui.KindCompliance && s.rows.Len() > 0:
		return string(s.rows.list[len(s.rows.list)-1].state.Op.Customer.CUID)
	}
	return ""
}

// rowID names a state for as long as the index keeps it.
func rowID(st index.State) string {
	return strconv.FormatInt(st.At.UnixNano(), 36) + " " + st.Origin.String()
}
