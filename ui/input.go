package ui

import (
	"errors"
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
	screen screenID
	ask    Ask
	form   widget.Form
	k      keymap.Form
}

func newInput(s *Shell, owner screenID, a Ask) *input {
	return &input{screen: owner, ask: a, form: widget.NewForm(a.Fields...), k: s.keys.Form}
}

func (d *input) owner() screenID                    { return d.screen }
func (d *input) counts(*Shell, time.Time) time.Time { return time.Time{} }

func (d *input) keys() []keymap.Key {
	k := d.k.Submit
	if d.form.Last() && d.ask.Verb != "" {
		k.SetHelp("enter", d.ask.Verb)
	} else if !d.form.Last() {
		k.SetHelp("enter", "next field")
	}
	out := []keymap.Key{k, d.k.Cancel}
	if d.form.Len() > 1 {
		out = append(out, d.k.Next)
	}
	return out
}

func (d *input) key(s *Shell, msg tea.KeyMsg) (result, bool) {
	switch {
	case d.k.Cancel.Match(msg):
		if !d.form.Dirty() {
			return result{}, true
		}
		return result{then: func(s *Shell) tea.Cmd {
			return s.askDiscard("What you typed in “"+d.ask.Title+"”.", func(s *Shell) tea.Cmd {
				d.form.Clear()
				s.remove(d)
				return nil
			})
		}}, false
	case d.k.Next.Match(msg):
		d.form.Move(1)
	case d.k.Prev.Match(msg):
		d.form.Move(-1)
	case d.k.Submit.Match(msg):
		if !d.form.Last() {
			d.form.Move(1)
			return result{}, false
		}
		return d.submit()
	default:
		d.form.Type(msg)
	}
	return result{}, false
}

// submit hands the values over once all checks pass, and forgets the secrets.
func (d *input) submit() (result, bool) {
	if !d.form.Ready() {
		return result{}, false
	}
	v := Values{text: make([]string, d.form.Len()), secrets: make([]secret.Value, d.form.Len())}
	for i := range d.form.Len() {
		if d.form.Field(i).Secret {
			v.secrets[i] = secret.New(d.form.Value(i))
			continue
		}
		v.text[i] = d.form.Value(i)
	}
	d.form.Clear()
	if d.ask.Submit == nil {
		return result{}, true
	}
	a, cmd := d.ask.Submit(v)
	return result{action: a, cmd: cmd}, true
}

func (d *input) box(s *Shell, w, h int, _ time.Time) []string {
	bw := min(w, 76)
	in := max(bw-4, 1)
	var lines []string
	for _, l := range d.ask.Intro {
		lines = append(lines, draw.Wrap(l, in)...)
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	fields := d.form.View(s.th, in)
	if room := max(h-2, 1); len(lines)+len(fields) > room { // the fields matter most
		lines = lines[:max(min(len(lines), room-len(fields)), 0)]
	}
	lines = append(lines, fields...)
	box := widget.Box(s.th, d.ask.Title, lines, "", bw, min(len(lines)+2, max(h, 1)), theme.Accent)
	for i := range box {
		box[i] = draw.Pad(box[i], bw)
	}
	return box
}

// askID asks for the id of an operation and opens it.
func (s *Shell) askID(kind string) {
	title := "Open an operation"
	if kind == KindDocuments {
		title = "Documents of an operation"
	}
	s.push(newInput(s, 0, Ask{
		Title:  title,
		Verb:   "open",
		Fields: []widget.Field{{Label: "Operation id", Hint: "type or paste it", Check: CheckID, Max: 200}},
		Submit: func(v Values) (Action, tea.Cmd) { return Open{Place{Kind: kind, ID: v.Text(0)}}, nil },
	}))
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
			return errors.New("an id is letters, digits, “-” and “_” only")
		}
	}
	return nil
}
