package ui

import (
	"context"
	"errors"
	"slices"
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

// Linker is implemented by pages with a cursor. Links returns the links that the cursor can
// reach; Point puts it on the link with an id, or returns false.
type Linker interface {
	Links() []widget.Link
	Point(id string) bool
}

// linkCursor is the cursor of a page. The methods that move it get what lays the page out again and finds its line.
type linkCursor struct {
	links []widget.Link // those that it can reach; none: the page has no cursor
	at    int           // into links
	line  int           // of the cursor, among the lines of view
	view  *widget.Viewer
	keys  *keymap.Map
}

// Links implements Linker.
func (p *Page) Links() []widget.Link { return p.cursor.links }

// Point implements Linker.
func (p *Page) Point(id string) bool {
	i := p.cursor.find(id)
	if i >= 0 {
		p.cursor.point(i, p.Layout)
	}
	return i >= 0
}

// Link returns the link under the cursor; its id is "" if the page has no links.
func (p *Page) Link() widget.Link { return p.cursor.link() }

// item returns the item for the keys that copy the id and show JSON; the id is that of the link.
func (p *Page) item() Item {
	out := p.screen.Item()
	if l := p.Link(); l.Copy != "" {
		out.ID, out.IDWhat = l.Copy, l.What
	}
	return out
}

// link returns the link under the cursor; its id is "" if the page has no links.
func (c *linkCursor) link() widget.Link {
	if c.at < 0 || c.at >= len(c.links) {
		return widget.Link{}
	}
	return c.links[c.at]
}

func (c *linkCursor) find(id string) int {
	return slices.IndexFunc(c.links, func(l widget.Link) bool { return l.ID == id })
}

// point puts the cursor on link i and scrolls to it; for the first link it scrolls to the
// top.
func (c *linkCursor) point(i int, layout func()) {
	c.at = i
	layout()
	if c.view.Show(c.line); i == 0 {
		c.view.Show(0)
		c.view.Show(c.line)
	}
}

// follow takes the new links of the page and keeps the cursor on its link.
func (c *linkCursor) follow(now []widget.Link) {
	was := c.link().ID
	c.links = now
	if i := c.find(was); i >= 0 && (c.at >= len(now) || now[c.at].ID != was) {
		c.at = i
	}
	c.at = max(min(c.at, len(now)-1), 0)
}

// move moves the cursor; false if k is no such key or the page scrolls instead.
func (c *linkCursor) move(k keymap.Press, layout func()) bool {
	n, keys := len(c.links), c.keys
	if n == 0 {
		return false
	}
	switch nav := keys.Nav; {
	case keys.Global.Pane.Match(k):
		return c.nextOpen(1, layout)
	case keys.Global.PaneBack.Match(k):
		return c.nextOpen(-1, layout)
	case nav.Down.Match(k) && c.at < n-1:
		c.point(c.at+1, layout)
	case nav.Up.Match(k) && c.at > 0:
		c.point(c.at-1, layout)
	case nav.Top.Match(k):
		c.point(0, layout)
	case nav.Bottom.Match(k):
		c.point(n-1, layout)
		c.view.Update(k)
	default:
		return false
	}
	return true
}

// reveal scrolls to the first link if that is below the top of the page, for a key that would open it or leave it
// unseen.
func (c *linkCursor) reveal(k keymap.Press, layout func()) bool {
	keys := c.keys
	if len(c.links) == 0 || c.at > 0 || !c.view.AtTop() || c.view.Sees(c.line) ||
		!keys.List.Open.Match(k) && !keys.Nav.Down.Match(k) && !keys.Global.Pane.Match(k) {
		return false
	}
	c.point(0, layout)
	return true
}

// nextOpen goes to the next link that opens something (1), or to the one before (-1),
// around the end.
func (c *linkCursor) nextOpen(by int, layout func()) bool {
	n := len(c.links)
	for i := 1; i <= n; i++ {
		if at := ((c.at+by*i)%n + n) % n; c.links[at].Opens {
			c.point(at, layout)
			return true
		}
	}
	return false
}

// catchUp puts the cursor on the first visible link if its own is not visible.
func (c *linkCursor) catchUp(layout func()) {
	if len(c.links) == 0 || c.view.Searching() {
		return
	}
	was := c.at
	for i := 0; !c.view.Sees(c.line) && i < len(c.links); i++ {
		c.at = i
		layout()
	}
	if !c.view.Sees(c.line) {
		c.at = was
		layout()
	}
}

// hints returns the keys of the cursor if the page has one.
func (c *linkCursor) hints() []keymap.Key {
	if !slices.ContainsFunc(c.links, func(l widget.Link) bool { return l.Opens }) {
		return nil
	}
	open, next, before := c.keys.List.Open, c.keys.Global.Pane, c.keys.Global.PaneBack
	open.Set("")
	if !c.link().Opens {
		open.Extra = true
	}
	next.SetHelp(next.Help().Key, "next link")
	next.Long, next.Extra = "next line that opens something; j and k move line by line", false
	before.SetHelp(before.Help().Key, "previous link")
	before.Long = "previous line that opens something"
	return []keymap.Key{open, next, before}
}
