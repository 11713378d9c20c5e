// Package history is the screen of one operation's history: its states in the order in which opdeck
// saw them, the changes from one to the next, and the differences between any two of
// them.
//
// Marks choose the two states that are compared. They do not copy or export, because states
// have no ids that another program could use; opdeck operation history prints the whole
// history, also as JSON and CSV.
package history

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/note"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Kind is the kind of this place; its ID is the operation's.
const Kind = ui.KindHistory

// Index stores the states; *index.Index has these methods. They cost no
// call.
type Index interface {
	// History returns the states of an operation, oldest first, the current one last.
	History(ctx context.Context, opid string) ([]index.State, error)
	// LastSeen returns when the person last saw the operation; zero for never.
	LastSeen(ctx context.Context, person, opid string) (time.Time, error)
	// MarkSeen records that the person sees it now.
	MarkSeen(ctx context.Context, person, opid string, at time.Time) error
}

// Past returns webhooks, writes and notes of an operation; its functions cost no call.
type Past struct {
	// Webhooks lists the deliveries about an operation.
	Webhooks func(ctx context.Context, opid string) ([]present.Webhook, error)
	// Writes lists the done writes to an operation's documents; none for a
	// person who may not read the audit trail. The trail records this read.
	Writes func(ctx context.Context, opid string) ([]present.Write, error)
	// Notes lists the notes on an operation and its customer.
	Notes func(ctx context.Context, opid, cuid string) ([]note.Note, error)
}

// Screen implements ui.Screen.
type Screen struct {
	*list.List[present.Moment]
	env    *ui.Env
	index  Index
	past   Past
	id     string
	person string
	writes []present.Write            // as they were when the screen was opened
	rows   *list.Rows[present.Moment] // the newest first

	lastSeen time.Time // when the person looked before this time; zero: never
	asked    bool      // lastSeen is known: reading again must not move it
	failure  error     // of the last read
	stale    bool      // a change arrived during a read
}

// New returns the history screen of one operation.
func New(env *ui.Env, ix Index, past Past, opid string) *Screen {
	s := &Screen{env: env, index: ix, past: past, id: opid, person: api.ActorOf(env.Ctx).Name}
	s.rows = list.NewRows(func(m present.Moment) string { return m.ID }, s.row)
	s.List = list.New(env, s, s.rows, list.Spec[present.Moment]{Title: list.TitleOf("History", "", opid),
		Place: ui.Place{Kind: Kind, ID: opid}, Origin: "index",
		Reading: "Reading the history …", None: "No state matches the filter.",
		Columns: func(int) []field.Layout { return list.ColumnsOf(columns) }, Marks: true, Preview: s.beside,
		Signs:    append([]list.Sign{list.Warning("new since your last visit")}, list.StatusSigns()...),
		Language: language, Example: "status:PENDING from:webhook changed:amount"})
	return s
}

// Reload implements list.Screen: it reads the states and what changed between
// neighbours; the first time also when the person looked last, and notes that they
// look now.
func (s *Screen) Reload() tea.Cmd {
	if s.id == "" {
		return nil
	}
	ix, past, id, person, first, now, writes := s.index, s.past, s.id, s.person, !s.asked, s.env.Now, s.writes
	return s.env.Read(s.Loads, func(ctx context.Context) ui.Then {
		at := now()
		states, err := ix.History(ctx, id)
		if err != nil {
			return func() (ui.Action, tea.Cmd) { return nil, s.onLoaded(nil, at, err) }
		}
		var last time.Time
		if first && person != "" {
			if last, err = ix.LastSeen(ctx, person, id); err == nil {
				err = ix.MarkSeen(ctx, person, id, at)
			}
		}
		hooks, failed := past.Webhooks(ctx, id)
		notes, unread := past.Notes(ctx, id, customerOf(states))
		if err == nil {
			err = cmp.Or(failed, unread)
		}
		all := present.Timeline(states, hooks, nil, nil)
		if first && present.DocumentsChanged(all) {
			writes, _ = past.Writes(ctx, id) // no names where the trail cannot be read: its screen says why
		}
		all = present.Timeline(states, hooks, writes, notes)
		slices.Reverse(all) // the newest first
		return func() (ui.Action, tea.Cmd) {
			if !s.asked && err == nil {
				s.lastSeen, s.asked = last, true
			}
			if first {
				s.writes = writes
			}
			return nil, s.onLoaded(all, at, err)
		}
	})
}

// customerOf is the customer of the newest state; "" if none is known.
func customerOf(states []index.State) string {
	if len(states) == 0 {
		return ""
	}
	return string(states[len(states)-1].Op.Customer.CUID)
}

// Answer implements list.Screen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case ui.Changed:
		if msg.Kind == ui.KindOperation && msg.ID == s.id {
			return nil, s.reloadOnce()
		}
	case ui.Shown:
		return nil, s.reloadOnce()
	}
	return nil, nil
}

// reloadOnce reads again; during a read, it reads once more after it.
func (s *Screen) reloadOnce() tea.Cmd {
	if s.Loads.Busy() {
		s.stale = true
		return nil
	}
	return s.Reload()
}

// onLoaded shows the states that were read, newest first; nil after an error.
func (s *Screen) onLoaded(all []present.Moment, at time.Time, err error) tea.Cmd {
	s.Loaded, s.failure = true, err
	if all != nil {
		s.At = at
		s.rows.Set(all)
		s.Changed()
	}
	if s.stale {
		s.stale = false
		return s.Reload()
	}
	return nil
}

// OwnKey implements list.Screen.
func (s *Screen) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	m, on := s.rows.Find(s.Table.Cursor.SelectedID())
	switch {
	case s.Page != nil:
		return nil, nil, false
	case k.List.MarkAll.Match(msg):
		return ui.Notify{Level: ui.Denied, Text: "Only two states can be compared: mark them with " +
			k.List.Mark.Help().Key + "."}, nil, true
	case on && k.List.Open.Match(msg) && m.Kind == present.WebhookMoment:
		return ui.Open{Place: ui.Place{Kind: ui.KindEvents}, Row: m.Webhook.Key}, nil, true
	case on && k.List.Open.Match(msg) && m.Kind == present.NoteMoment:
		s.Open(m.ID, "Note", func(w int) []string { return s.note(m, w) })
		return nil, nil, true
	case on && k.List.Open.Match(msg):
		return s.compare(m), nil, true
	}
	return nil, nil, false
}

// Item implements list.Screen: the operation, and the state as the service sent it.
func (s *Screen) Item() ui.Item {
	out := ui.Item{ID: s.id, IDWhat: "the operation id"}
	m, on := s.rows.Find(s.Table.Cursor.SelectedID())
	switch {
	case on && m.Kind == present.WebhookMoment:
		out.NoJSON = "A webhook is not a state of the operation; " + s.env.Keys.List.Open.Help().Key + " opens it in Events."
	case on && m.Kind == present.NoteMoment:
		out.NoJSON = "A note is not a state of the operation."
	case on:
		if out.JSON = m.State.Op.Raw; len(out.JSON) == 0 {
			out.NoJSON = "The service did not send this state as JSON; opdeck composed it."
		}
		out.JSONWhat = "this state as JSON"
		out.Title = "Operation " + draw.ID(s.id, 20) + " as of " + format.Time(m.At, s.env.Zone())
	}
	return out
}

// compare shows the difference between the two marked states, between the
// marked one and the one under the cursor, or from the one before to it.
func (s *Screen) compare(m present.Moment) ui.Action {
	var marked []present.Moment
	for _, id := range s.Table.Marked() {
		one, ok := s.rows.Find(id)
		if ok && !one.IsState() {
			what := map[present.MomentKind]string{present.WebhookMoment: "webhook", present.NoteMoment: "note"}[one.Kind]
			return ui.Notify{Level: ui.Denied, Text: "Only states can be compared, and a " + what +
				" is marked. Unmark it with " + s.env.Keys.List.Mark.Help().Key + "."}
		}
		if ok {
			marked = append(marked, one)
		}
	}
	switch len(marked) {
	case 0:
		s.show(became(m))
		return nil
	case 1:
		if marked[0].ID == m.ID {
			return ui.Notify{Level: ui.Denied, Text: "This is the marked state. Go to another one, or mark a second."}
		}
		s.between(marked[0], m)
		return nil
	case 2:
		s.between(marked[0], marked[1])
		return nil
	}
	k := s.env.Keys
	return ui.Notify{Level: ui.Denied, Text: format.Count(len(marked)) +
		" states are marked, but only two can be compared: unmark some with " +
		k.List.Mark.Help().Key + ", or all with " + k.Global.Back.Help().Key + "."}
}

func (s *Screen) between(a, b present.Moment) {
	if a.Place > b.Place {
		a, b = b, a
	}
	s.show(differ("Difference between two states", "Difference", a, b))
}

// Empty implements list.Screen.
func (s *Screen) Empty() widget.Notice {
	switch {
	case s.id == "":
		return widget.Notice{Text: "No operation is open.",
			Hint: s.env.Way(s.env.Keys.Global.OpenID) + " opens one by its id, " +
				s.env.Way(s.env.Keys.Global.Operations) + " lists them, then " +
				s.env.Way(s.env.Keys.Related.History) + " opens its history"}
	case s.failure != nil && !errors.Is(s.failure, index.ErrNone):
		return widget.Notice{Tone: theme.Bad, Text: Unread,
			Hint: s.env.Keys.Global.Reload.Help().Key + " tries again; opdeck doctor checks the store"}
	}
	return s.NoRows(widget.Notice{Text: "No history is known for this operation yet.",
		Hint: "2 opens the operation and reads it; changes are recorded from then on"}, "")
}

// NextChange implements list.Screen: how long ago each state came.
func (s *Screen) NextChange(now time.Time) time.Time {
	from, to := s.Table.Cursor.Visible()
	return s.rows.Ages(from, to, now, func(m present.Moment) time.Time { return m.At })
}

// HeadLines implements list.Screen: how far back is known, and what is new to this person.
func (s *Screen) HeadLines() []string {
	th, w := s.env.Theme, s.W
	if len(s.rows.All()) == 0 {
		return nil
	}
	oldest := s.rows.All()[len(s.rows.All())-1]
	for _, m := range s.rows.All() {
		if m.Kind != present.NoteMoment {
			oldest = m
		}
	}
	out := s.Head(th.Strong.Render(s.counted()), th.Dim.Render(", known since "+format.Time(oldest.At, s.env.Zone())))
	since := "since your last visit (" + format.Time(s.lastSeen, s.env.Zone()) + ")"
	switch fresh := s.fresh(); {
	case fresh > 0:
		changes := format.Plural(fresh, "change", "changes")
		out = append(out, th.Warn.Render(th.Signs.Warn+" "+draw.Cut(changes+" "+since, w-2)))
	case !s.lastSeen.IsZero():
		out = append(out, th.Dim.Render(draw.Cut(th.Signs.Good+" Nothing changed "+since, w)))
	}
	if s.failure != nil {
		out = append(out,
			th.Warn.Render(draw.Cut(th.Signs.Warn+" Part of the history could not be read from the store; "+
				s.env.Keys.Global.Reload.Help().Key+" tries again.", w)))
	}
	return out
}

// counted returns the number of shown states, webhooks and notes.
func (s *Screen) counted() string {
	hooks, notes := 0, 0
	for i := range s.rows.Len() {
		switch m, _ := s.rows.Find(s.rows.Row(i).ID); m.Kind {
		case present.WebhookMoment:
			hooks++
		case present.NoteMoment:
			notes++
		}
	}
	out := format.Plural(s.rows.Len()-hooks-notes, "state", "states")
	if hooks > 0 {
		out += ", " + format.Plural(hooks, "webhook", "webhooks")
	}
	if notes > 0 {
		out += ", " + format.Plural(notes, "note", "notes")
	}
	return out
}

// fresh counts the states since the person's last visit.
func (s *Screen) fresh() int {
	n := 0
	for _, m := range s.rows.All() {
		if s.isFresh(m) {
			n++
		}
	}
	return n
}

func (s *Screen) isFresh(m present.Moment) bool {
	return !s.lastSeen.IsZero() && m.IsState() && m.At.After(s.lastSeen)
}

// HelpKeys implements list.Screen.
func (s *Screen) HelpKeys() []keymap.Key {
	k := s.env.Keys
	if s.Page != nil {
		return []keymap.Key{k.Viewer.Search, k.Viewer.Next, k.Viewer.Prev, k.Global.Reload}
	}
	diff := k.List.Open
	diff.SetHelp("enter", "difference")
	diff.Long = "the changes at this moment, or between two marked moments"
	return []keymap.Key{diff, k.List.Mark, k.List.Filter, k.Global.Reload, k.List.Remark}
}

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := s.List.Source()
	if s.failure != nil && !errors.Is(s.failure, index.ErrNone) {
		src.Problem = "the history could not be read from the store"
	}
	return src
}

// Subject implements ui.SubjectOf.
func (s *Screen) Subject(kind string) string {
	switch {
	case kind == ui.KindOperation:
		return s.id
	case kind == ui.KindCompliance:
		return s.customer()
	}
	return ""
}

// customer is the operation's customer as the newest state names it; "" when none is known.
func (s *Screen) customer() string {
	for _, m := range s.rows.All() {
		if m.IsState() {
			return string(m.State.Op.Customer.CUID)
		}
	}
	return ""
}

// difference is what differs between two states.
type difference struct {
	title   string
	crumb   string
	a, b    present.Moment // a is empty for the first state seen
	changes []index.Change
}

// differ is what differs between two states.
func differ(title, crumb string, a, b present.Moment) *difference {
	d := &difference{title: title, crumb: crumb, a: a, b: b, changes: b.Changes}
	if d.first() || b.Before == nil || b.Before.ID != a.ID {
		d.changes = present.Differences(a.State.Op, b.State.Op)
	}
	return d
}

// became is what changed at a moment.
func became(m present.Moment) *difference {
	if m.Before == nil {
		return differ("The first known state", "First state", present.Moment{}, m)
	}
	return differ("Changes at this moment", "Changes", *m.Before, m)
}

// first reports whether there is nothing before it.
func (p *difference) first() bool { return p.a.ID == "" }

// show opens a difference over the list.
func (s *Screen) show(d *difference) {
	s.Open(d.b.ID, d.crumb, func(w int) []string { return d.lines(s, w) })
}

// beside draws what changed at a moment.
func (s *Screen) beside(m present.Moment, w int) []string {
	switch m.Kind {
	case present.NoteMoment:
		return s.note(m, w)
	case present.WebhookMoment:
		return draw.Wrap(m.Summary(s.env.Present(), valued), max(w, 1))
	}
	return became(m).lines(s, w)
}

// note draws a note.
func (s *Screen) note(m present.Moment, w int) []string {
	th := s.env.Theme
	out := []string{th.Title.Render(draw.Cut(present.NoteOn(m.Note), w)),
		th.Dim.Render(draw.Cut(present.NoteBy(s.env.Present(), m.Note), w)), ""}
	return append(out, draw.Wrap(present.NoteText(m.Note), max(w, 1))...)
}

// lines draws field by field what was and what is; money is exact, and what is
// odd about a text is below it.
func (p *difference) lines(s *Screen, w int) []string {
	th, zone := s.env.Theme, s.env.Zone()
	text := widget.NewText(th, w)
	text.Title(p.title)
	whence := func(label string, m present.Moment) {
		text.Add(th.Dim.Render(draw.Fit(label, 7)) + format.Time(m.At, zone) + th.Dim.Render("  source: "+m.From))
	}
	if p.first() {
		whence("seen", p.b)
	} else {
		whence("before", p.a)
		whence("after", p.b)
	}
	if len(p.changes) == 0 {
		text.Gap()
		text.Cut(theme.Good, th.Signs.Good+" No field differs. "+s.env.Keys.Item.Raw.Help().Key+" shows the raw state.")
		return text.Lines
	}
	o, both := s.env.Present(), present.Moment{State: p.b.State, Before: &p.a, Who: p.b.Who}
	fields, items := p.changes, []string(nil)
	if p.first() {
		text.Section("No earlier state is known")
	} else {
		fields, items = p.split(both)
		text.Section(format.Plural(len(fields)+len(items), "change", "changes"))
	}
	label, most := 0, 40
	if th.Linear {
		most = w
	}
	for _, c := range fields {
		label = max(label, min(draw.Width(both.FieldName(c)), most, text.Room()/2))
	}
	for _, says := range items {
		text.Say(theme.Strong, says)
	}
	for _, c := range present.Important(fields) {
		text.Add(p.change(th, o, c, draw.Fit(both.FieldName(c), label), text.Room())...)
	}
	return text.Lines
}

// split divides the changes into those of fields, and the entries of lists that were added or removed, each once.
func (p *difference) split(both present.Moment) (fields []index.Change, items []string) {
	seen := map[string]bool{}
	for _, c := range p.changes {
		item, says := both.Item(p.changes, c)
		switch {
		case item == "":
			fields = append(fields, c)
		case !seen[item]:
			items = append(items, says)
		}
		seen[item] = true
	}
	return fields, items
}

// change is one field under its label: on one line when both values fit, else one below
// the other. Of the first state it is the value alone.
func (p *difference) change(th *theme.Theme, o present.Options, c index.Change, label string, w int) []string {
	was, is := present.Value(o, c, c.Before, 2000), present.Value(o, c, c.After, 2000)
	name := th.Dim.Render(label)
	var out []string
	switch {
	case p.first():
		for i, l := range draw.Wrap(is, max(w-draw.Width(label)-2, 1)) {
			if i > 0 {
				name = strings.Repeat(" ", draw.Width(label))
			}
			out = append(out, name+"  "+th.Strong.Render(l))
		}
	case draw.Width(was)+draw.Width(is)+draw.Width(label)+5 <= w:
		out = append(out, name+"  "+th.Dim.Render(was)+th.Dim.Render(" → ")+th.Strong.Render(is))
	default:
		out = append(out, name)
		for _, l := range draw.Wrap(was, max(w-9, 1)) {
			out = append(out, th.Dim.Render("  before ")+th.Dim.Render(l))
		}
		for _, l := range draw.Wrap(is, max(w-9, 1)) {
			out = append(out, th.Dim.Render("  after  ")+th.Strong.Render(l))
		}
	}
	for _, v := range []struct{ label, odd string }{{"before", format.Suspicious(present.Held(o, c, c.Before))}, {"after",
		format.Suspicious(present.Held(o, c, c.After))}} {
		if v.odd != "" {
			for _, l := range draw.Wrap(th.Signs.Warn+" unsafe text, "+v.label+": "+v.odd, max(w-2, 1)) {
				out = append(out, "  "+th.Warn.Render(l))
			}
		}
	}
	return out
}

// columns are those of the list.
var columns = present.Named(present.MomentColumns(valued), "at", "ago", "from", "status", "changes")

// language is the filter language over the states of one operation.
var language = filter.NewTable(
	filter.Field[present.Moment]{Name: "status", Kind: filter.Code, Help: "the service's status word",
		Example: "status:PENDING",
		Strings: func(m present.Moment) []string { return []string{string(m.Status)} }},
	filter.Field[present.Moment]{Name: "from", Kind: filter.Flag, Help: "where the state came from",
		Example: "from:webhook",
		Values:  []string{index.List.String(), index.Read.String(), index.Hook.String(), string(present.NoteMoment)},
		Flag:    func(m present.Moment, v string) bool { return m.From == v }},
	filter.Field[present.Moment]{Name: "when", Aliases: []string{"at"}, Kind: filter.Time,
		Help: "when opdeck first saw it", Example: "when<2d",
		Time: func(m present.Moment) time.Time { return m.At }},
	filter.Field[present.Moment]{Name: "changed", Kind: filter.Text, Help: "name of a changed field",
		Example: "changed:amount", Strings: changed},
	filter.Field[present.Moment]{Kind: filter.Free,
		Help: "contained in the status, in the name of a changed field, or in a note", Example: "document",
		Strings: func(m present.Moment) []string {
			return append(changed(m), string(m.Status), m.From, string(m.Note.Text))
		}})

func changed(m present.Moment) []string {
	var out []string
	for _, c := range m.Changes {
		out = append(out, present.FieldName(c))
	}
	return out
}

// row draws one state.
func (s *Screen) row(m present.Moment) widget.Row {
	out := list.RowOf(s.env.Present(), m.ID, columns, m)
	if s.isFresh(m) {
		out.Sign, out.Tone = s.env.Theme.Signs.Warn, theme.Warn
	}
	return out
}

// valued is how many changes are shown with their values, on one line.
const valued = 4

// Unread says that the states could not be read.
const Unread = "The history cannot be read from the store."

// Last are the newest n of states, which are oldest first, in lines of w cells, and the
// ids of their rows on the screen of the history.
func Last(env *ui.Env, states []index.State, n, w int) (lines, rows []string) {
	th := env.Theme
	all := present.Timeline(states, nil, nil, nil)
	slices.Reverse(all)
	for _, m := range all[:min(n, len(all))] {
		st := th.Status(string(m.Status))
		line := th.Dim.Render(format.Second(m.At, env.Zone())+"  ") + th.Tone(st.Tone).Render(st.Sign) + " "
		lines = append(lines, line+draw.Cut(m.Summary(env.Present(), valued), max(w-draw.Width(line), 1)))
		rows = append(rows, m.ID)
	}
	return lines, rows
}
