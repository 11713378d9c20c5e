package ui

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/secret"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// input is a dialog with fields.
type input struct {
	dialog
	ask     Ask
	form    widget.Form
	picks   picks
	looking bool // the answer to a Look is on its way
	sending bool // enter was pressed; the form goes when the look is answered
	refused bool // it came back after it was sent
	armed   time.Time
	k       keymap.Form
	list    keymap.Menu
}

func newInput(s *Shell, owner screenID, a Ask) *input {
	return &input{dialog: dialog{owner}, ask: a, form: widget.NewForm(a.Fields...), picks: picks{at: -1}, k: s.keys.Form,
		list: s.keys.Menu}
}

func (d *input) keys() []keymap.Key {
	k, next := d.k.Submit, d.k.Next
	switch {
	case d.picks.at >= 0:
		k.SetHelp("enter", "accept")
	case !d.form.Last():
		k.SetHelp("enter", "next field")
	case d.ask.Verb != "":
		k.SetHelp("enter", strings.ToLower(d.ask.Verb))
	}
	out := []keymap.Key{k, d.k.Cancel}
	f := d.form.Field(d.form.Focus())
	if f.Complete != nil {
		next.SetHelp("tab", "complete")
	}
	if d.form.Len() > 1 || f.Complete != nil {
		out = append(out, next)
	}
	if f.Complete != nil || len(f.Options) > 0 {
		down := d.list.Down
		down.SetHelp(down.Help().Key, "list")
		out = append(out, down)
	}
	return out
}

func (d *input) key(s *Shell, p keymap.Press) (Action, tea.Cmd, bool) {
	if now := s.now(); now.Before(d.armed) { // typed at what was there before
		d.armed = later(d.armed, now.Add(quiet))
		return nil, nil, false
	}
	d.sending = false
	switch {
	case d.k.Cancel.Match(p):
		return d.cancel()
	case d.list.Down.Match(p) && d.mark(1), d.list.Up.Match(p) && d.picks.at >= 0 && d.mark(-1):
	case d.list.Down.Match(p) && d.completes():
		return nil, d.complete(s, true), false
	case d.k.Next.Match(p) && d.completes() && d.form.Value(d.form.Focus()) != "" && !d.list.Down.Match(p):
		return nil, d.complete(s, false), false
	case d.k.Next.Match(p):
		return nil, d.move(s, 1), false
	case d.k.Prev.Match(p):
		return nil, d.move(s, -1), false
	case d.k.Submit.Match(p) && d.picks.at >= 0:
		return nil, d.take(s), false
	case d.k.Submit.Match(p) && d.form.Last():
		return d.submit(s)
	case d.k.Submit.Match(p):
		return nil, d.move(s, 1), false
	default:
		if d.form.Type(p) {
			d.picks.at = -1
			return nil, d.look(s), false
		}
	}
	return nil, nil, false
}

func (d *input) completes() bool { return d.form.Field(d.form.Focus()).Complete != nil }

// cancel closes the form; it asks first when something was typed.
func (d *input) cancel() (Action, tea.Cmd, bool) {
	if d.picks.at >= 0 {
		d.picks.at = -1
		return nil, nil, false
	}
	if !d.dirty() {
		return nil, nil, true
	}
	return do(func(s *Shell) tea.Cmd {
		return s.askDiscard(formName(d.ask), "", func(s *Shell) tea.Cmd {
			d.form.Clear()
			s.remove(d)
			return nil
		})
	}), nil, false
}

// dirty reports whether something that was typed would be lost.
func (d *input) dirty() bool { return d.refused || d.form.Dirty() }

// submit hands the values over once all checks pass, and forgets the secrets. A value
// that is still looked at is waited for.
func (d *input) submit(s *Shell) (Action, tea.Cmd, bool) {
	if !d.form.Ready() {
		return nil, nil, false
	}
	if _, wait := d.form.Unlooked(); wait || d.looking {
		d.sending = true
		return nil, d.look(s), false
	}
	v := Values{text: make([]string, d.form.Len()), secrets: make([]secret.Value, d.form.Len()), said: d.form.Said()}
	for i := range d.form.Len() {
		if d.form.Field(i).Secret {
			v.secrets[i] = secret.New(d.form.Value(i))
			continue
		}
		v.text[i] = d.form.Value(i)
	}
	d.form.Clear()
	a, cmd := d.hand(v)
	return a, cmd, true
}

// hand gives the values to the screen that asked. The question that comes of it, or what is sent
// without one, remembers them: a form that is refused comes back filled in.
func (d *input) hand(v Values) (Action, tea.Cmd) {
	if d.ask.Submit == nil {
		return nil, nil
	}
	a, cmd := d.ask.Submit(v)
	ask := d.ask
	ask.Fields = slices.Clone(ask.Fields)
	for i := range ask.Fields {
		ask.Fields[i].Value = v.text[i] // secrets are empty there: they are typed again
	}
	a = remembering(a, &ask)
	return do(func(s *Shell) tea.Cmd {
		st := s.find(d.screen)
		if st == nil {
			st = s.top()
		}
		if st != nil && cmd != nil {
			st.sent = &ask
		}
		return s.act(st, a)
	}), cmd
}

// remembering is an action whose question, or whose menu before it, remembers the form that
// was filled in before.
func remembering(a Action, form *Ask) Action {
	switch a := a.(type) {
	case Confirm:
		a.form = form
		return a
	case Choose:
		a.form = form
		return a
	case Many:
		out := slices.Clone(a)
		for i := range out {
			out[i] = remembering(out[i], form)
		}
		return out
	}
	return a
}

// backToForm opens the form that was filled in before the menu: what was typed is not lost.
func (m *menu) backToForm() Action {
	return do(func(s *Shell) tea.Cmd {
		d := newInput(s, m.screen, *m.form)
		d.refused = true
		s.push(d)
		return nil
	})
}

func (d *input) counts(_ *Shell, now time.Time) time.Time {
	if now.Before(d.armed) {
		return d.armed
	}
	return time.Time{}
}

// listed is how many lines the list of options has where there is room.
const listed = 7

// In a window of a few lines that many lines are kept of what is listed, and of what a
// refusal said.
const (
	leastListed  = 3
	leastProblem = 2
)

// fewest is how many it has where there is little.
const fewest = 4

func (d *input) panel(s *Shell, w, h int, now time.Time) panel {
	in := max(min(w, dialogWidth)-4, 1)
	fields, focus := d.form.View(s.th, in)
	p := panel{title: d.ask.Title, tone: theme.Accent}
	if now.Before(d.armed) {
		p.foot = s.th.Signs.Wait + " wait, keys work in a moment"
	}
	if d.sending {
		p.foot = s.th.Signs.Wait + " checking first …"
	}
	for _, l := range d.ask.problem {
		for _, l := range draw.Wrap(l, in) {
			p.body = append(p.body, s.th.Bad.Render(l))
		}
	}
	if len(p.body) > 0 && len(d.ask.Intro) > 0 {
		p.body = append(p.body, "")
	}
	for _, l := range d.ask.Intro {
		p.body = append(p.body, draw.Wrap(l, in)...)
	}
	if len(p.body) > 0 {
		p.body = append(p.body, "")
	}
	rows, told := 0, min(len(p.body), leastProblem)
	if len(d.ask.problem) == 0 {
		told = 0
	}
	if d.offers() { // what is said above gives way, but for the last few lines of the list
		room := h - 3 - len(fields)
		rows = max(min(max(room-len(p.body), fewest), listed, room), 0)
		if n := len(d.offered()); n > 0 && rows == 0 { // the other fields give way
			rows = max(min(n, leastListed, h-5), 0)
		}
	}
	room := max(h-2-rows-told, 1)
	if rows > 0 {
		room--
	}
	if over := len(fields) - room; over > 0 { // the field with the focus is in view
		from := max(min(focus-1, over), 0)
		fields = fields[from : from+room]
	}
	p.tail = fields
	if rows > 0 {
		p.tail = append(append(p.tail, ""), draw.Lay(d.listLines(s.th, in, rows), in, rows)...)
	}
	p.body = p.body[:max(min(len(p.body), h-2-len(p.tail)), 0)] // the fields matter most
	return p
}

// listLines draw what the field with the focus offers.
func (d *input) listLines(th *theme.Theme, w, rows int) []string {
	f := d.form.Field(d.form.Focus())
	list := d.offered()
	if len(list) == 0 {
		said := ""
		switch {
		case d.picks.seek.busy:
			said = "Reading the folder …"
		case f.Complete != nil:
			said = "tab completes, down lists the folder"
		case len(f.Options) > 0:
			said = "Not one of the known values; you can still send it."
		}
		return []string{th.Dim.Render(draw.Cut(said, w))}
	}
	items := make([]Choice, len(list))
	for i, o := range list {
		items[i] = Choice{Text: cmp.Or(o.Text, o.Value), About: o.About}
	}
	return choiceLines(th, items, d.picks.at, w, rows, d.picks.more && f.Complete != nil)
}

// CheckID says whether s can be an id of the service: 1 to 64 letters, digits,
// "-" and "_".
func CheckID(s string) error {
	switch {
	case s == "":
		return errors.New("an id is needed")
	case len(s) > 64:
		return errors.New("an id has at most 64 characters")
	}
	for _, r := range s {
		if !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '-' || r == '_') {
			return errors.New("an id has only letters, digits, “-” and “_”")
		}
	}
	return nil
}
