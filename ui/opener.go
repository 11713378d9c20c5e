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

// AskID asks for an operation and opens its place of that kind.
func (s *Shell) AskID(kind string) tea.Cmd {
	d := &opener{kind: kind, edit: widget.Edit{Max: 200}, k: s.keys.Menu, at: -1}
	s.push(d)
	return s.ask(d, &d.seek, "", false)
}

// ask finds objects by typed text, or the last opened ones without text;
// the answer goes to the dialog o if it is still open.
func (s *Shell) ask(o overlay, q *search, typed string, customers bool) tea.Cmd {
	n, ctx := q.begin(s.root)
	finder := s.opt.Finder
	if finder == nil {
		return s.onFound(foundMsg{of: o, n: n, typed: typed, recent: typed == "",
			finding: Finding{Whole: CheckID(typed) == nil}})
	}
	return func() tea.Msg {
		m := foundMsg{of: o, n: n, typed: typed, recent: typed == ""}
		if m.recent {
			m.finding.Related, m.err = finder.Recent(ctx)
		} else {
			m.finding, m.err = finder.Find(ctx, typed, customers)
		}
		return m
	}
}

// onFound passes an answer to the dialog that asked, unless that is closed
// or has started another query.
func (s *Shell) onFound(m foundMsg) tea.Cmd {
	for _, o := range s.overlays {
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
	if d.note = ""; m.err != nil {
		d.note = "The index cannot be read: " + m.err.Error()
	}
	if n := len(d.rows()); n > 0 && (n == 1 || d.recent || d.found.Only != "") {
		d.at = 0
	}
	if !d.enter {
		return nil
	}
	d.enter = false
	a, cmd, done := d.choose()
	if done {
		s.remove(d)
	}
	return tea.Batch(cmd, s.finish(d, a, nil))
}

// rows returns the places that can be opened; the last one is the typed id itself if only
// the service can look it up.
func (d *opener) rows() []Found {
	out := d.found.all()
	if d.found.Whole && d.found.Only == "" && !d.recent {
		out = append(out, Found{Place: Place{ID: d.answers}, Text: draw.ID(d.answers, 36), About: askService})
	}
	return out
}

func (d *opener) keys() []keymap.Key {
	open := d.k.Choose
	open.SetHelp(open.Help().Key, "open")
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
		return d.choose()
	default:
		if p.IsText() {
			p.Runes = []rune(strings.TrimSpace(string(p.Runes)))
		}
		if d.edit.Type(p) {
			d.enter = false
			return nil, s.ask(d, &d.seek, strings.TrimSpace(d.edit.Value()), false), false
		}
	}
	return nil, nil, false
}

// choose opens the marked row. None is marked while the text is ambiguous.
func (d *opener) choose() (Action, tea.Cmd, bool) {
	rows := d.rows()
	switch {
	case len(rows) == 0 && d.answers == "":
		d.note = "Type the beginning of an id, a reference or a customer."
	case len(rows) == 0:
		d.note = nothingFound(d.answers)
	case d.at < 0:
		d.at, d.note = 0, "Several matches: choose one."
	default:
		to := Place{Kind: d.kind, ID: rows[min(d.at, len(rows)-1)].Place.ID}
		if at := rows[min(d.at, len(rows)-1)].Place.Kind; at == KindCompliance {
			to.Kind = at
		}
		return do(func(s *Shell) tea.Cmd { return s.open(to) }), nil, true
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
	return Ask{Title: d.title(), Verb: "open", Fields: []widget.Field{{Label: "Operation id", Hint: typedHint,
		Check: func(v string) error {
			if v == "" {
				return errors.New("an id is needed")
			}
			return nil
		}}}}
}

const typedHint = "an id or its beginning, a reference, a customer"

func (d *opener) panel(s *Shell, w, h int, _ time.Time) panel {
	width := wideDialog(w)
	in := max(min(w, width)-4, 1)
	tail := []string{s.th.Accent.Render(s.th.Signs.Crumb) + " " + d.edit.View(s.th, max(in-2, 1), true, typedHint)}
	rows := d.rows()
	if d.note != "" {
		for _, l := range draw.Wrap(s.th.Signs.Warn+" "+d.note, in) {
			tail = append(tail, s.th.Warn.Render(l))
		}
	}
	room := max(h-2-hangsAt-len(tail), 0)
	head := ""
	switch {
	case d.recent && len(rows) > 0:
		head = "Recently opened"
	case d.seek.busy:
		head = "Searching the index …"
	case len(rows) == 0 && d.answers != "":
		head = "No match in the local index."
	}
	if head != "" && room > 1 {
		tail = append(tail, s.th.Dim.Render(draw.Cut(head, in)))
		room--
	}
	var items []Choice
	for _, r := range rows {
		items = append(items, Choice{Text: r.Text, About: r.About})
	}
	tail = append(tail, choiceLines(s.th, items, d.at, in, min(room, max(len(items), 1)), d.found.More)...)
	return panel{title: d.title(), width: width, hangs: true, tail: tail, tone: theme.Accent}
}
