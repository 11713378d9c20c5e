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
	dialog
	ask  Ask
	form widget.Form
	k    keymap.Form
}

func newInput(s *Shell, owner screenID, a Ask) *input {
	return &input{dialog: dialog{owner}, ask: a, form: widget.NewForm(a.Fields...), k: s.keys.Form}
}

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

func (d *input) key(_ *Shell, p keymap.Press) (Action, tea.Cmd, bool) {
	switch {
	case d.k.Cancel.Match(p):
		if !d.form.Dirty() {
			return nil, nil, true
		}
		return do(func(s *Shell) tea.Cmd {
			return s.askDiscard("What you typed in “"+d.ask.Title+"”.", func(s *Shell) tea.Cmd {
				d.form.Clear()
				s.remove(d)
				return nil
			})
		}), nil, false
	case d.k.Next.Match(p):
		d.form.Move(1)
	case d.k.Prev.Match(p):
		d.form.Move(-1)
	case d.k.Submit.Match(p):
		if d.form.Last() {
			return d.submit()
		}
		d.form.Move(1)
	default:
		d.form.Type(p)
	}
	return nil, nil, false
}

// submit hands the values over once all checks pass, and forgets the secrets.
func (d *input) submit() (Action, tea.Cmd, bool) {
	if !d.form.Ready() {
		return nil, nil, false
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
		return nil, nil, true
	}
	a, cmd := d.ask.Submit(v)
	return a, cmd, true
}

func (d *input) panel(s *Shell, w, h int, _ time.Time) panel {
	in := max(min(w, dialogWidth)-4, 1)
	p := panel{title: d.ask.Title, tail: d.form.View(s.th, in), tone: theme.Accent}
	for _, l := range d.ask.Intro {
		p.body = append(p.body, draw.Wrap(l, in)...)
	}
	if len(p.body) > 0 {
		p.body = append(p.body, "")
	}
	p.body = p.body[:max(min(len(p.body), h-2-len(p.tail)), 0)] // the fields matter most
	return p
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
