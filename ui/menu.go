package ui

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// menu is a list with a typed filter: the palette, views, sorts, and what opens an operation.
type menu struct {
	dialog
	Choose // if More is set, the last of Items is the one that reads further items
	edit   widget.Edit
	hits   []int    // indexes of Items
	at     int      // into hits, then rows; -1: none is marked
	reads  Requests // further items
	k      keymap.Menu

	refuses bool // pick also gets items that are off, and shows the reason

	finds bool   // lists local objects below the items
	kind  string // of the place that they are opened as, for the menu that opens an operation; else ""
	seek  Requests
	found found   // by the typed text; without text, those that were opened last
	rows  []Found // that can be chosen
	enter bool    // enter was pressed before they arrived
	note  string  // why enter had no effect
}

func newMenu(s *window, owner screenID, c Choose) *menu {
	m := &menu{dialog: dialog{screen: owner}, k: s.keys.Menu, edit: widget.Edit{Max: 100}}
	m.show(c)
	return m
}

// AskID asks for an operation and opens its place of that kind.
func (s *Shell) AskID(kind string) tea.Cmd {
	title := "Open an operation"
	if kind == KindDocuments {
		title = "Documents of an operation"
	}
	m := newMenu(s.win, 0, Choose{Title: title})
	m.finds, m.kind, m.at, m.edit.Max = true, kind, -1, maxTyped
	s.dialogs.push(m)
	return m.look(s)
}

const typedHint = "an id or its beginning, an amount, a day, a reference, a name"

// maxTyped is the length in characters of a text to search: a list of some hundred ids.
const maxTyped = 16000

// described returns the menu for plain mode: as a form while it asks what to open, then what was found, or why nothing.
func (m *menu) described(s *window) any {
	switch {
	case m.kind == "":
		return m.Choose
	case m.note != "" && m.shown() == 0:
		return Text{Title: strings.TrimRight(m.note, ".")}
	case m.found.typed != "":
		return Choose{Items: s.choices(m.rows), Title: format.Plural(len(m.found.Matches), "operation matches",
			"operations match") + " “" + safe(m.found.typed) + "”"}
	}
	return Ask{Title: m.Title, Verb: "open", Fields: []widget.Field{{Label: "Operation", Hint: typedHint, Max: maxTyped,
		Check: func(v string) error {
			if v == "" {
				return errors.New("type " + typedHint)
			}
			return nil
		}}}}
}

func (m *menu) filter() {
	m.hits = ranked(m.Items, m.edit.Value())
	if i := len(m.Items) - 1; m.More != nil && !slices.Contains(m.hits, i) {
		m.hits = append(m.hits, i)
	}
}

// shown is the number of lines that can be chosen.
func (m *menu) shown() int { return len(m.hits) + len(m.rows) }

func (m *menu) keys() []keymap.Key {
	if m.kind == "" {
		return keymap.All(m.k)
	}
	open, does := m.k.Choose, "open"
	if m.at < 0 && m.shown() > 0 { // ambiguous: see choose
		does = "mark the first"
	}
	open.SetHelp(open.Help().Key, does)
	return []keymap.Key{open, m.k.Up, m.k.Down, m.k.Close}
}

func (m *menu) key(s *Shell, p keymap.Press) (Action, tea.Cmd, bool) {
	switch {
	case m.k.Close.Match(p) && m.form != nil:
		return m.backToForm(), nil, true
	case m.k.Close.Match(p):
		return nil, nil, true
	case m.k.Up.Match(p):
		m.at = max(m.at-1, 0)
	case m.k.Down.Match(p):
		m.at = max(min(m.at+1, m.shown()-1), 0)
		if m.onMore() {
			return nil, m.readOn(s), false
		}
	case m.k.Choose.Match(p) && m.takes():
		a, _ := m.Typed(strings.TrimSpace(m.edit.Value()))
		return m.remembering(a), nil, true
	case m.k.Choose.Match(p) && m.onMore():
		return nil, m.readOn(s), false
	case m.k.Choose.Match(p) && m.seek.Busy() && (m.kind != "" || m.shown() == 0):
		m.enter = true
	case m.k.Choose.Match(p):
		return m.choose()
	default:
		if m.edit.Type(p) {
			m.filter()
			if m.enter = false; m.kind == "" {
				m.at, m.rows = 0, nil
			}
			return nil, m.look(s), false
		}
	}
	return nil, nil, false
}

// found is what was found for a menu by a typed text, or the last opened objects without text.
type found struct {
	Finding
	typed string
	err   error
}

// look finds objects by the typed text.
func (m *menu) look(s *Shell) tea.Cmd {
	if !m.finds {
		return nil
	}
	find := s.win.opt.Finder
	t, ctx := m.seek.Start(s.win.root)
	q := s.win.search(strings.TrimSpace(m.edit.Value()), m.kind == "")
	return func() tea.Msg {
		f := found{typed: q.Text}
		if q.Text == "" {
			f.Matches, f.err = find.Recent(ctx)
		} else {
			f.Finding, f.err = find.Find(ctx, q)
		}
		return do(func(s *Shell) tea.Cmd { return s.onFound(m, t, f) })
	}
}

// onFound lists objects below the items of the menu that asked, so that no line moves, unless it is closed or the text
// is another one. It chooses the only one if enter was pressed before.
func (s *Shell) onFound(m *menu, t Ticket, f found) tea.Cmd {
	if !m.seek.Accept(t) {
		return nil
	}
	m.found, m.note, m.rows = f, f.Wrong, f.Matches
	if f.typed != "" && len(m.hits) == 0 {
		m.rows = f.rows(f.typed)
	}
	if f.err != nil {
		m.note = indexError(f.err)
	}
	one := len(m.rows) == 1 || f.Only != ""
	if m.kind != "" {
		if m.at = -1; len(m.rows) > 0 && (one || f.typed == "" || f.IDs > 0) {
			m.at = 0
		}
	}
	if !m.enter {
		return nil
	}
	if m.enter = false; m.kind == "" && !one { // nothing, or the text is ambiguous
		return nil
	}
	a, cmd, done := m.choose()
	if done {
		s.dialogs.remove(m)
	}
	return tea.Batch(cmd, s.finish(m, a, nil))
}

// choose takes the marked line. None is marked while the text of what opens an operation is ambiguous.
func (m *menu) choose() (Action, tea.Cmd, bool) {
	switch {
	case m.shown() == 0 && m.kind != "" && m.found.typed == "":
		m.note = "Type what a list shows of the operation: " + typedHint + "."
	case m.shown() == 0 && m.kind != "":
		m.note = m.found.nothing(m.found.typed)
	case m.at < 0:
		m.at, m.note = 0, "Several matches: choose one."
	case m.at >= len(m.hits) && m.shown() > 0:
		to := m.rows[m.at-len(m.hits)].in(m.kind)
		return do(func(s *Shell) tea.Cmd { return s.route.open(to) }), nil, true
	case m.shown() > 0:
		i := m.hits[m.at]
		why := m.Items[i].Why
		if why != "" && !m.refuses {
			return Notify{Level: Denied, Text: why}, nil, false
		}
		if m.Pick == nil {
			return nil, nil, true
		}
		a, cmd := m.picked(i)
		return a, cmd, why == ""
	}
	return nil, nil, false
}

// picked returns the result of an item.
func (m *menu) picked(i int) (Action, tea.Cmd) {
	a, cmd := m.Pick(i)
	return m.remembering(a), cmd
}

// remembering returns the action with the form before the menu, if there was one.
func (m *menu) remembering(a Action) Action {
	if m.form == nil {
		return a
	}
	return remembering(a, m.form)
}

func (m *menu) panel(s *Shell, w, h int, _ time.Time) panel {
	th, width := s.win.th, wideDialog(w)
	if !m.finds { // it needs only the width of its items, which are all known
		width = max(dialogWidth, min(choicesWidth(m.Items)+4, width))
	}
	in := max(min(w, width)-4, 1)
	sign, hint := "/", "type to filter"
	if m.kind != "" {
		sign, hint = th.Signs.Crumb, typedHint
	}
	lines := []string{th.Accent.Render(sign+" ") + m.edit.View(th, max(in-2, 1), true, hint)}
	for _, l := range m.notes(th, in) {
		if len(lines) < h-2 {
			lines = append(lines, l)
		}
	}
	list := make([]Choice, 0, m.shown())
	for _, i := range m.hits {
		list = append(list, m.Items[i])
	}
	list = append(list, s.win.choices(m.rows)...)
	p := panel{title: m.Title, foot: m.Foot, width: width, hangs: m.finds, tone: theme.Accent}
	room := h - 2 - len(lines)
	if m.finds {
		room -= hangsAt
	}
	p.tail = append(lines, choiceLines(th, list, m.at, in, max(room, 1), false)...)
	if !m.finds { // the height of the whole list, so that it does not move while the person types
		p.tail = draw.Lay(p.tail, in, max(min(h-3, len(m.Items)), 1)+1)
	}
	return p
}

// notes are what is said above the lines of the menu: why enter had no effect, and what is listed or why nothing is.
func (m *menu) notes(th *theme.Theme, w int) (out []string) {
	if m.note != "" && m.kind != "" {
		for _, l := range draw.Wrap(th.Signs.Warn+" "+m.note, w) {
			out = append(out, th.Warn.Render(l))
		}
	}
	head := ""
	switch none := m.shown() == 0; {
	case m.kind != "" && m.found.typed == "" && !none:
		head = "Recently opened"
	case m.seek.Busy() && (none || m.kind != ""):
		head = "Searching the index …"
	case m.kind != "" && m.found.typed != "" && m.found.missed():
		head = m.found.nothing(m.found.typed)
	case m.takes():
		head = "No match; " + m.k.Choose.Help().Key + " uses what you typed."
	case none && m.kind == "":
		head = "No match; backspace widens the search."
	}
	if head != "" && head != m.note {
		for _, l := range draw.Wrap(head, w) {
			out = append(out, th.Dim.Render(l))
		}
	}
	return out
}

// choicesWidth is the width in cells of a list of choices without cuts: the cursor, the
// names, and the texts after them.
func choicesWidth(list []Choice) int {
	name, rest := choiceWidths(tabled(list, wholeTable))
	return 2 + name + rest
}

// wholeTable is a width that has room for every column of a menu.
const wholeTable = 1 << 10

// choiceWidths returns the width of the names and of the texts after the widest one.
func choiceWidths(list []Choice) (name, rest int) {
	for _, c := range list {
		behind := 0
		for _, s := range []string{c.about(), c.note()} {
			if s != "" {
				behind += 2 + draw.Width(s)
			}
		}
		name, rest = max(name, draw.Width(c.Text)), max(rest, behind)
	}
	return name, rest
}

// note returns the text at the right edge.
func (c Choice) note() string {
	if c.Why != "" {
		return "off: " + c.Why
	}
	return c.Note
}

// about returns the text after the name.
func (c Choice) about() string {
	if c.Why != "" {
		return ""
	}
	return c.About
}

// leastName is the width that names keep at most when the texts after them need the rest.
const leastName = 36

// choiceLines draws choices in at most rows lines of w cells, marks the one at index at (-1:
// none), and shows the number of hidden ones; further: there are more than the list has.
func choiceLines(th *theme.Theme, list []Choice, at, w, rows int, further bool) []string {
	more := len(list) > rows || further
	if more && rows > 1 {
		rows--
	}
	from := max(min(max(at, 0)-rows/2, len(list)-rows), 0)
	to := min(from+rows, len(list))
	list = tabled(list, w-2)
	name, rest := choiceWidths(untabled(list[from:to]))
	var out []string
	for i := from; i < to; i++ {
		width := min(name, max(w-2-rest, min(w/2, leastName), 12))
		if len(list[i].Cells) > 0 {
			width = min(draw.Width(list[i].Text), w-2)
		}
		out = append(out, choiceLine(th, list[i], i == at, w, width))
	}
	if !more || rows < 1 {
		return out
	}
	said := ""
	switch {
	case to < len(list):
		said = "  " + th.Signs.More + " " + format.Count(len(list)-to) + " more follow"
	case further:
		said = "  " + th.Signs.More + " more begin with this"
	}
	return append(out, th.Dim.Render(draw.Cut(said, w)))
}

// untabled returns the choices without cells; their texts have widths of their own.
func untabled(list []Choice) []Choice {
	return slices.DeleteFunc(slices.Clone(list), func(c Choice) bool { return len(c.Cells) > 0 })
}

// choiceLine is one choice in w cells; name is the width of the names.
func choiceLine(th *theme.Theme, c Choice, marked bool, w, name int) string {
	style, sign := th.Tone, "  "
	if marked {
		style, sign = th.Selected, th.Signs.Cursor+" "
	}
	tone, note, about := theme.Plain, c.note(), c.about()
	if c.Why != "" {
		tone = theme.Dim
	}
	text := c.Text
	if about != "" {
		text, about = draw.Pad(draw.Middle(text, name), name), "  "+about // names differ at their ends
	}
	room := w - 2 - draw.Width(text)
	note = draw.Cut(note, max(room-2, 0))
	if note != "" {
		room -= draw.Width(note) + 2
	}
	about = draw.Cut(about, max(room, 0))
	text = draw.Middle(text, w-2)
	space := draw.Space(w - 2 - draw.Width(text) - draw.Width(about) - draw.Width(note))
	return style(theme.Accent).Render(sign) + style(tone).Render(text) + style(theme.Dim).Render(about+space+note)
}

// show sets the items of the menu and filters them by the typed text.
func (m *menu) show(c Choose) {
	if c.More != nil {
		c.Items = append(slices.Clone(c.Items), Choice{Text: c.Further})
	}
	m.Choose = c
	m.filter()
	m.at = max(slices.Index(m.hits, c.At), 0)
}

// fits is the number of items that match the typed text.
func (m *menu) fits() int {
	if m.More != nil {
		return m.shown() - 1
	}
	return m.shown()
}

// onMore reports whether the cursor is on the item that reads further items.
func (m *menu) onMore() bool { return m.More != nil && m.at == m.shown()-1 }

// takes reports whether enter takes the typed text, which matches no item.
func (m *menu) takes() bool {
	if m.Typed == nil || m.fits() > 0 {
		return false
	}
	_, ok := m.Typed(strings.TrimSpace(m.edit.Value()))
	return ok
}

// readOn reads further items, one read at a time.
func (m *menu) readOn(s *Shell) tea.Cmd {
	if m.reads.Busy() {
		return nil
	}
	t, ctx := m.reads.Start(s.win.root)
	m.Items[len(m.Items)-1].Text = "Reading more …"
	more := m.More
	return func() tea.Msg {
		then := more(ctx)
		return do(func(s *Shell) tea.Cmd { // unless the menu was closed in the meantime
			if m.reads.Accept(t) {
				c := then()
				c.form = m.form
				m.show(c)
			}
			return nil
		})
	}
}

// picks are the options of the field with the focus, in a list below the form.
type picks struct {
	field  int
	folder []widget.Option // what Complete found for this field
	typed  string          // the text of the field at that time
	more   bool            // there are others
	at     int             // the marked one; -1: none
	opened bool            // the person opened the list; else it completes typed text
}

// offered returns the options of the field with the focus that match its value.
func (f *Form) offered() []widget.Option {
	i := f.fields.Focus()
	d, v := f.fields.Field(i), f.fields.Value(i)
	if d.Complete == nil {
		return d.Offered(v)
	}
	if f.picks.field != i || !strings.HasPrefix(v, f.picks.typed) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.picks.folder),
		func(o widget.Option) bool { return !strings.HasPrefix(o.Value, v) || o.Value == v })
}

// offers reports whether a field of the form has a list, for which the form reserves room.
func (f *Form) offers() bool {
	for i := range f.fields.Len() {
		if d := f.fields.Field(i); d.Complete != nil || len(d.Options) > 0 {
			return true
		}
	}
	return false
}

// forget clears the list of a field that lost the focus.
func (f *Form) forget() {
	if f.seek.Stop(); f.picks.field != f.fields.Focus() {
		f.picks = picks{field: f.fields.Focus()}
	}
	f.picks.at = -1
}

// mark moves the mark by n lines; false if the list has no such line.
func (f *Form) mark(n int) bool {
	list := f.offered()
	to := f.picks.at + n
	if f.picks.at < 0 && n > 0 { // from a value that is an option on to the next one
		v := f.fields.Value(f.fields.Focus())
		to = max(slices.IndexFunc(list, func(o widget.Option) bool { return v != "" && o.Value == v }), 0)
	}
	if len(list) == 0 || to < -1 {
		return false
	}
	f.picks.at = min(to, len(list)-1)
	return true
}

// accept puts the marked option into the field.
func (f *Form) accept() tea.Cmd {
	o := f.offered()[f.picks.at]
	f.fields.Set(o.Value)
	f.picks.at = -1
	if o.Opens {
		return f.complete(true)
	}
	if f.fields.Last() {
		return f.look()
	}
	return f.move(1)
}

// move moves the focus and starts the Look of the field that it leaves.
func (f *Form) move(n int) tea.Cmd {
	f.fields.Move(n)
	f.forget()
	return f.look()
}

// focused returns the description of the field with the focus.
func (f *Form) focused() widget.Field { return f.fields.Field(f.fields.Focus()) }

func (f *Form) completes() bool { return f.focused().Complete != nil }

// complete finds the completions of the field with the focus; opened shows
// the list for any text.
func (f *Form) complete(opened bool) tea.Cmd {
	i := f.fields.Focus()
	find, typed := f.fields.Field(i).Complete, f.fields.Value(i)
	t, ctx := f.seek.Start(f.env.Ctx)
	f.picks.field, f.picks.opened = i, opened
	return func() tea.Msg {
		found, err := find(ctx, typed)
		return f.answered(func() (Action, tea.Cmd) {
			if !f.seek.Accept(t) {
				return nil, nil
			}
			return nil, f.completed(typed, found, err)
		})
	}
}

// completed puts the common beginning into the field and lists the completions. If tab
// finds none, it goes to the next field.
func (f *Form) completed(typed string, found widget.Completion, err error) tea.Cmd {
	p := &f.picks
	if f.fields.Value(p.field) != typed { // the text has changed
		return nil
	}
	if err != nil {
		if p.opened {
			f.fields.Note(err.Error())
			return nil
		}
		return f.move(1)
	}
	done := found.Common == typed && (len(found.Options) == 0 || len(found.Options) == 1 &&
		found.Options[0].Value == typed)
	if done && !p.opened {
		return f.move(1)
	}
	if done {
		f.fields.Note("The list is empty.")
	}
	f.fields.Set(found.Common)
	p.folder, p.typed, p.more, p.at = found.Options, typed, found.More, -1
	if len(p.folder) == 1 && p.folder[0].Opens && p.folder[0].Value == found.Common {
		return f.complete(true)
	}
	return f.look()
}

// look starts the Look of a field with a new value, one at a time.
func (f *Form) look() tea.Cmd {
	i, ok := f.fields.Unlooked()
	if !ok || f.looking {
		return nil
	}
	f.looking = true
	see, value, ctx := f.fields.Field(i).Look, f.fields.Value(i), f.env.Ctx
	return func() tea.Msg {
		said, err := see(ctx, value)
		return f.answered(func() (Action, tea.Cmd) { return f.looked(i, value, said, err) })
	}
}

// looked shows the result of a Look, repeats it if the value has changed, and continues
// sending if that waited.
func (f *Form) looked(i int, value, said string, err error) (Action, tea.Cmd) {
	f.looking = false
	f.fields.Looked(i, value, said, err)
	if cmd := f.look(); cmd != nil || !f.sending {
		return nil, cmd
	}
	f.sending = false
	return f.submit()
}

// listLines draws what can be chosen for the field with the focus, in at most rows lines below
// its text; nil if it has no list.
func (f *Form) listLines(rows int) []string {
	th, d, list := f.env.Theme, f.focused(), f.offered()
	indent := draw.Space(min(listIndent, max(f.w-1, 0)))
	w := f.w - len(indent)
	var out []string
	if len(list) > 0 {
		items := make([]Choice, len(list))
		for i, o := range list {
			items[i] = Choice{Text: cmp.Or(o.Text, o.Value), About: o.About}
		}
		out = choiceLines(th, items, f.picks.at, w, rows, f.picks.more && d.Complete != nil)
	} else {
		said := ""
		switch {
		case f.seek.Busy():
			said = "Reading the folder …"
		case d.Complete != nil:
			said = "tab completes, down lists the folder"
		case len(d.Options) > 0:
			said = "Not one of the known values; you can still send it."
		default:
			return nil
		}
		out = []string{"  " + th.Dim.Render(draw.Cut(said, w-2))}
	}
	for i := range out {
		out[i] = indent + out[i]
	}
	return out
}

// listIndent puts the names of a list below the typed text: their own sign takes two cells.
const listIndent = 2
