package ui

import (
	"context"
	"errors"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// opener is the dialog that opens an operation by typed text. It completes the text from the
// local data; without text it lists the last opened objects.
type opener struct {
	dialog
	kind    string // of the place that is opened
	edit    widget.Edit
	found   Finding
	answers string // the text that found belongs to
	recent  bool   // found has the last opened objects
	seek    search
	at      int    // into rows; -1: none is marked
	enter   bool   // enter was pressed before the answer arrived
	note    string // why enter had no effect
	k       keymap.Menu
}

// search numbers the queries of one dialog; a new one cancels the previous one.
type search struct {
	n      uint64
	busy   bool
	cancel context.CancelFunc
}

// begin starts a new query.
func (q *search) begin(ctx context.Context) (uint64, context.Context) {
	if q.cancel != nil {
		q.cancel()
	}
	ctx, q.cancel = context.WithCancel(ctx)
	q.n++
	q.busy = true
	return q.n, ctx
}

// foundMsg is the answer to a query of a dialog.
type foundMsg struct {
	of      overlay
	n       uint64
	typed   string
	recent  bool
	finding Finding
	err     error
}

// maxTyped is the length in characters of a text to search: a list of some hundred ids.
const maxTyped = 16000

// AskID asks for an operation and opens its place of that kind.
func (s *Shell) AskID(kind string) tea.Cmd {
	d := &opener{kind: kind, edit: widget.Edit{Max: maxTyped}, k: s.win.keys.Menu, at: -1}
	s.dialogs.push(d)
	return s.ask(d, &d.seek, "", false)
}

// ask finds objects by typed text, or the last opened ones without text;
// the answer goes to the dialog o if it is still open.
func (s *Shell) ask(o overlay, seek *search, typed string, customers bool) tea.Cmd {
	n, ctx := seek.begin(s.win.root)
	finder, q := s.win.opt.Finder, s.win.search(typed, customers)
	if finder == nil {
		return s.onFound(foundMsg{of: o, n: n, typed: typed, recent: typed == "", finding: unsearched(typed)})
	}
	return func() tea.Msg {
		m := foundMsg{of: o, n: n, typed: typed, recent: typed == ""}
		if m.recent {
			m.finding.Matches, m.err = finder.Recent(ctx)
		} else {
			m.finding, m.err = finder.Find(ctx, q)
		}
		return m
	}
}

// onFound passes an answer to the dialog that asked, unless that is closed
// or has started another query.
func (s *Shell) onFound(m foundMsg) tea.Cmd {
	for _, o := range s.dialogs.overlays {
		if o != m.of {
			continue
		}
		switch d := o.(type) {
		case *opener:
			if d.seek.n == m.n {
				return d.take(s, m)
			}
		case *menu:
			if d.seek.n == m.n {
				return d.take(s, m)
			}
		}
	}
	return nil
}

// take shows an answer.
func (d *opener) take(s *Shell, m foundMsg) tea.Cmd {
	d.seek.busy = false
	d.found, d.answers, d.recent, d.at = m.finding, m.typed, m.recent, -1
	if d.note = m.finding.Wrong; m.err != nil {
		d.note = indexError(m.err)
	}
	if n := len(d.rows()); n > 0 && (n == 1 || d.recent || d.found.Only != "" || d.found.IDs > 0) {
		d.at = 0
	}
	return d.enters(s)
}

// enters chooses the marked row, if enter was pressed before the answer arrived.
func (d *opener) enters(s *Shell) tea.Cmd {
	if !d.enter {
		return nil
	}
	d.enter = false
	a, cmd, done := d.choose(s)
	if done {
		s.dialogs.remove(d)
	}
	return tea.Batch(cmd, s.finish(d, a, nil))
}

// rows returns what can be chosen.
func (d *opener) rows() []Found {
	if d.recent {
		return d.found.Matches
	}
	return d.found.rows(d.answers)
}

func (d *opener) keys() []keymap.Key {
	open := d.k.Choose
	does := "open"
	if d.at < 0 && len(d.rows()) > 0 { // ambiguous: see choose
		does = "mark the first"
	}
	open.SetHelp(open.Help().Key, does)
	return append([]keymap.Key{open}, d.k.Up, d.k.Down, d.k.Close)
}

func (d *opener) key(s *Shell, p keymap.Press) (Action, tea.Cmd, bool) {
	switch {
	case d.k.Close.Match(p):
		return nil, nil, true
	case d.k.Up.Match(p):
		d.at = max(d.at-1, 0)
	case d.k.Down.Match(p):
		d.at = min(d.at+1, len(d.rows())-1)
	case d.k.Choose.Match(p) && d.seek.busy:
		d.enter = true
	case d.k.Choose.Match(p):
		return d.choose(s)
	default:
		if d.edit.Type(p) {
			d.enter = false
			return nil, s.ask(d, &d.seek, strings.TrimSpace(d.edit.Value()), false), false
		}
	}
	return nil, nil, false
}

// choose opens the marked row. None is marked while the text is ambiguous.
func (d *opener) choose(s *Shell) (Action, tea.Cmd, bool) {
	rows := d.rows()
	switch {
	case len(rows) == 0 && d.answers == "":
		d.note = "Type what a list shows of the operation: " + typedHint + "."
	case len(rows) == 0:
		d.note = d.found.nothing(d.answers)
	case d.at < 0:
		d.at, d.note = 0, "Several matches: choose one."
	default:
		to := rows[min(d.at, len(rows)-1)].in(d.kind)
		return do(func(s *Shell) tea.Cmd { return s.route.open(to) }), nil, true
	}
	return nil, nil, false
}

func (d *opener) title() string {
	if d.kind == KindDocuments {
		return "Documents of an operation"
	}
	return "Open an operation"
}

// asked returns the dialog as a form, for plain mode.
func (d *opener) asked() Ask {
	return Ask{Title: d.title(), Verb: "open", Fields: []widget.Field{{Label: "Operation", Hint: typedHint, Max: maxTyped,
		Check: func(v string) error {
			if v == "" {
				return errors.New("type " + typedHint)
			}
			return nil
		}}}}
}

const typedHint = "an id or its beginning, an amount, a day, a reference, a name"

func (d *opener) panel(s *Shell, w, h int, _ time.Time) panel {
	width := wideDialog(w)
	in := max(min(w, width)-4, 1)
	th := s.win.th
	tail := []string{th.Accent.Render(th.Signs.Crumb) + " " + d.edit.View(th, max(in-2, 1), true, typedHint)}
	rows := d.rows()
	if d.note != "" {
		for _, l := range draw.Wrap(th.Signs.Warn+" "+d.note, in) {
			tail = append(tail, th.Warn.Render(l))
		}
	}
	room := max(h-2-hangsAt-len(tail), 0)
	head := ""
	switch {
	case d.recent && len(rows) > 0:
		head = "Recently opened"
	case d.seek.busy:
		head = "Searching the index …"
	case d.answers != "" && d.found.missed():
		head = d.found.nothing(d.answers)
	}
	if lines := draw.Wrap(head, in); head != "" && head != d.note && room > len(lines) {
		for _, l := range lines {
			tail = append(tail, th.Dim.Render(l))
		}
		room -= len(lines)
	}
	items := s.win.choices(rows)
	tail = append(tail, choiceLines(th, items, d.at, in, min(room, max(len(items), 1)), false)...)
	return panel{title: d.title(), width: width, hangs: true, tail: tail, tone: theme.Accent}
}
