package ui_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"opdeck/api/untrusted"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
	"opdeck/ui/widget"
)

// world is the fake service behind the fake screens.
type world struct {
	clock    *uitest.Clock
	reads    int
	removed  []string
	slow     time.Duration // of reads and writes
	opened   []ui.Place
	screens  []*fake
	copied   []string
	copyErr  error
	commands []ui.Command  // of every screen
	pressed  bool          // a screen says which of the session's keys was pressed
	further  []widget.Pair // facts of the question before a removal, behind the usual ones
}

// paneFrom is the cell from which on a pane is beside the table of a fake.
const paneFrom = 70

// fake is a small documents screen.
type fake struct {
	ui.Wanted
	*world
	env     *ui.Env
	place   ui.Place
	keys    keymap.Documents
	item    keymap.Item
	table   *widget.Table
	loads   *ui.Requests
	load    int // which answer is shown
	at      time.Time
	news    []string
	shown   int
	filter  widget.Edit
	typing  bool
	locked  string
	pane    int // lines that the pane was scrolled by
	seen    []ui.Seen
	answer  string
	w, h    int
	problem string // what is wrong with what is shown
	frame   string // drawn instead of the table
	extra   func(tea.Msg) (ui.Action, tea.Cmd, bool)
	layer   *ui.Layer // what lies over the table

	lists   bool                           // it is a list of operations
	keysFor func(*keymap.Map) []keymap.Key // instead of those of documents
}

type loadedMsg struct {
	ui.Ticket
	n int
}

type docs []string

func (d docs) Len() int { return len(d) }
func (d docs) Row(i int) widget.Row {
	id := untrusted.Text(d[i]).Line(64)
	return widget.Row{ID: d[i], Cells: []string{id, "invoice_" + id + ".pdf", "1.2 MB", "1,234.50"}, Tones: []theme.Tone{theme.Dim}}
}
func (d docs) IndexOf(id string) int {
	for i, s := range d {
		if s == id {
			return i
		}
	}
	return -1
}

func (w *world) make(env *ui.Env, p ui.Place) ui.Screen {
	w.opened = append(w.opened, p)
	if p.Kind == "nowhere" {
		return nil
	}
	f := &fake{world: w, env: env, place: p, keys: env.Keys.Documents, item: env.Keys.Item, loads: env.Requests()}
	f.table = widget.NewTable(env.Theme, env.Keys, true,
		field.Layout{Title: "ID", Min: 8, Max: 36, Flex: 1, CutMiddle: true, HidePriority: 2},
		field.Layout{Title: "File", Min: 10, Flex: 2, CutMiddle: true},
		field.Layout{Title: "Size", Min: 8, Align: field.Right, HidePriority: 3},
		field.Layout{Title: "Amount", Min: 10, Align: field.Decimal, HidePriority: 1})
	f.table.SetNotice(widget.Notice{Text: "Nothing is attached.", Hint: "a attaches a document by its id"})
	w.screens = append(w.screens, f)
	return f
}

func (f *fake) Init() tea.Cmd { return f.reload() }

func (f *fake) reload() tea.Cmd {
	t, ctx := f.loads.Start(f.env.Ctx)
	w := f.world
	read := func() tea.Msg {
		if ctx.Err() != nil {
			return loadedMsg{t, -1}
		}
		w.reads++
		return loadedMsg{t, w.reads}
	}
	if w.slow > 0 {
		return w.clock.Slow(w.slow, read)
	}
	return read
}

func (f *fake) Update(msg tea.Msg) (tea.Model, tea.Cmd) { return f, f.Keep(f.take(msg)) }

func (f *fake) take(msg tea.Msg) (ui.Action, tea.Cmd) {
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		f.setSize(size.Width, size.Height)
		return nil, nil
	}
	if f.extra != nil {
		if a, cmd, ok := f.extra(msg); ok {
			return a, cmd
		}
	}
	if a, cmd, ok := ui.Answered(msg); ok {
		return a, cmd
	}
	switch msg := msg.(type) {
	case loadedMsg:
		if !f.loads.Accept(msg.Ticket) {
			return nil, nil
		}
		f.load, f.at = msg.n, f.env.Now()
		f.table.SetSource(docs{"9f1c2d3e-0001-4a5b-8c7d-aaaa0000b1c2", "9f1c2d3e-0002-4a5b-8c7d-bbbb0000c3d4", "9f1c2d3e-0003-4a5b-8c7d-cccc0000e5f6"})
	case ui.Changed:
		f.news = append(f.news, msg.ID)
	case ui.Shown:
		f.shown++
	case keymap.Press:
		return f.key(msg)
	}
	return nil, nil
}

// Click implements ui.Pointer.
func (f *fake) Click(_, y int) (string, ui.Action, tea.Cmd, bool) {
	ok := f.table.Point(y)
	return f.table.Cursor.SelectedID(), nil, nil, ok
}

// Wheel implements ui.Pointer.
func (f *fake) Wheel(x, _, by int) bool {
	if x < paneFrom {
		return false
	}
	f.pane += by
	return true
}

func (f *fake) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	if f.typing {
		switch {
		case f.env.Keys.Form.Cancel.Match(msg):
			f.typing = false
			f.filter.Wipe()
		case f.env.Keys.Form.Submit.Match(msg):
			f.typing = false
		default:
			f.filter.Type(msg)
		}
		return nil, nil
	}
	if f.pressed && f.env.Keys.Session.Doctor.Match(msg) {
		return ui.Notify{Text: "pressed D"}, nil
	}
	switch {
	case f.keys.Remove.Match(msg):
		return f.ask(), nil
	case f.env.Keys.List.Filter.Match(msg):
		f.typing = true
	case f.env.Keys.Global.Reload.Match(msg):
		return nil, f.reload()
	case f.item.CopyID.Match(msg):
		return ui.Copy{Text: f.table.Cursor.SelectedID(), What: "the document id"}, nil
	case f.item.Raw.Match(msg):
		return ui.Raw{Title: "Document as sent", JSON: []byte(`{"item":{"units":"12345678901234567890","nanos":5},"passport":"P-771-20"}`)}, nil
	case f.env.Keys.Global.Back.Match(msg) && f.table.Unmark() > 0:
		return ui.Handled{}, nil
	default:
		f.table.Update(msg)
	}
	return nil, nil
}

func (f *fake) ask() ui.Action {
	row, ok := f.table.Cursor.Selected()
	if !ok {
		return nil
	}
	if f.locked != "" {
		return ui.Explain{Title: "This document is locked", Lines: []string{f.locked}}
	}
	w := f.world
	return ui.Confirm{
		ID: row.ID, Title: "Remove document", Ask: "Remove " + row.Cells[1] + " from operation 7f3a?", Verb: "Remove",
		Facts:   append([]widget.Pair{{Label: "file", Value: row.Cells[1]}, {Label: "size", Value: row.Cells[2]}}, w.further...),
		IDLabel: "document id",
		Risk:    "Only the link is removed; z restores it.",
		Yes: func(seen ui.Seen) tea.Cmd {
			f.seen = append(f.seen, seen)
			send := f.env.Write(func(context.Context) (ui.Then, ui.Notify) {
				w.removed = append(w.removed, seen.ID)
				return func() (ui.Action, tea.Cmd) {
						f.answer = "removed " + seen.ID
						return ui.Notify{Level: ui.Success, Text: "The document is no longer attached."}, nil
					},
					ui.Notify{Level: ui.Success, Text: "Document " + seen.ID + " is no longer attached."}
			})
			write := func() tea.Msg { return ui.BatchMsg{send(), ui.Changed{Kind: ui.KindOperation, ID: "7f3a"}} }
			if w.slow > 0 {
				return w.clock.Slow(w.slow, write)
			}
			return write
		},
	}
}

func (f *fake) View() string {
	if f.frame != "" {
		return f.frame
	}
	v := f.table.View()
	if f.typing {
		lines := strings.Split(v, "\n")
		lines[0] = f.filter.View(f.env.Theme, f.w, true, "filter")
		v = strings.Join(lines, "\n")
	}
	return v
}

// Drawn finds in a frame that a test gave what a screen would know of its own lines.
func (f *fake) Drawn() ui.Drawn {
	if f.frame == "" {
		return ui.Drawn{Cursors: []int{f.table.Cursor.CursorLine()}}
	}
	d := ui.Drawn{Problem: f.problem != "" && strings.Contains(f.frame, f.problem)}
	for i, l := range strings.Split(f.frame, "\n") {
		if strings.HasPrefix(l, "▌") {
			d.Cursors = append(d.Cursors, i)
		}
	}
	return d
}

func (f *fake) setSize(w, h int) { f.w, f.h = w, h; f.table.SetSize(w, h) }
func (f *fake) Keys() []keymap.Key {
	if f.keysFor != nil {
		return f.keysFor(f.env.Keys)
	}
	return keymap.Join(f.keys, f.env.Keys.List, f.item)
}
func (f *fake) Select(id string) bool { return f.lists && f.table.Cursor.Select(id) }
func (f *fake) Subject(kind string) string {
	if f.lists && kind == ui.KindOperation {
		return f.table.Cursor.SelectedID()
	}
	return ""
}
func (f *fake) Commands() []ui.Command { return f.commands }

func (f *fake) Layer() *ui.Layer { return f.layer }
func (f *fake) Editing() bool    { return f.typing }
func (f *fake) Title() string {
	return strings.TrimSpace(strings.ToUpper(f.place.Kind[:1]) + f.place.Kind[1:] + " " + f.place.ID)
}
func (f *fake) Place() ui.Place { return f.place }
func (f *fake) Source() ui.Source {
	return ui.Source{Origin: "service", At: f.at, Class: "billing", Loading: f.loads.Busy(), Problem: f.problem}
}
func (f *fake) Unsaved() string {
	if f.filter.Value() != "" {
		return "the filter you typed"
	}
	return ""
}

func newWorld() *world { return &world{clock: uitest.NewClock()} }

func (w *world) options(g ui.Environment) ui.Options {
	return shelltest.Complete(ui.Options{
		About: ui.About{Context: "stage", Environment: g, Person: "ana", Role: "operator"},
		Theme: theme.New(uitest.Renderer(termenv.Ascii), theme.Mono()),
		Make:  w.make, Start: ui.Place{Kind: ui.KindOperations}, Local: time.FixedZone("CET", 3600), Mask: true,
		Copy: func(text []osc52.Sequence) error {
			for _, s := range text {
				w.copied = append(w.copied, s.String())
			}
			return w.copyErr
		},
		Now: w.clock.Now, Tick: w.clock.Tick,
	})
}

// start opens a documents screen over the list in a window of 80x24.
func (w *world) start(t *testing.T, o ui.Options) *uitest.Run {
	t.Helper()
	r := uitest.Drive(t, ui.New(o), uitest.Size(80, 24))
	f := w.screens[0]
	f.extra = func(m tea.Msg) (ui.Action, tea.Cmd, bool) {
		if k, ok := m.(keymap.Press); ok && k.Name == "d" && !f.typing {
			return ui.Open{Place: ui.Place{Kind: ui.KindDocuments, ID: "7f3a"}}, nil, true
		}
		return nil, nil, false
	}
	return r.Send(uitest.Key("d"))
}

func (w *world) top() *fake { return w.screens[len(w.screens)-1] }

func facts(r *uitest.Run, c *uitest.Clock) {
	r.Send(ui.SessionFacts{State: "live", AccessUntil: c.Now().Add(252 * time.Second)},
		ui.BudgetFacts{Class: "billing", Room: 9, Limit: 12})
}
