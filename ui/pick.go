package ui

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/widget"
)

// picks are what the field with the focus offers, in a list below the form.
type picks struct {
	field  int
	folder []widget.Option // what Complete found for this field
	typed  string          // and what was typed then
	more   bool            // it found others
	at     int             // the marked one; -1: none
	seek   search
	opened bool // the list was asked for; else it was the beginning of a text
}

// lookMsg answers a Look, completeMsg a Complete of a form.
type (
	lookMsg struct {
		of    *input
		field int
		value string
		said  string
		err   error
	}
	completeMsg struct {
		of    *input
		n     uint64
		typed string
		found widget.Completion
		err   error
	}
)

// offered are the options of the field with the focus that fit its value.
func (d *input) offered() []widget.Option {
	i := d.form.Focus()
	f, v := d.form.Field(i), d.form.Value(i)
	if f.Complete == nil {
		return f.Offered(v)
	}
	if d.picks.field != i || !strings.HasPrefix(v, d.picks.typed) {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(d.picks.folder),
		func(o widget.Option) bool { return !strings.HasPrefix(o.Value, v) || o.Value == v })
}

// offers reports whether some field of the form has a list: its room is kept then.
func (d *input) offers() bool {
	for i := range d.form.Len() {
		if f := d.form.Field(i); f.Complete != nil || len(f.Options) > 0 {
			return true
		}
	}
	return false
}

// forget drops the list of a field that lost the focus.
func (d *input) forget() {
	if d.picks.cancel(); d.picks.field != d.form.Focus() {
		d.picks = picks{field: d.form.Focus(), at: -1, seek: d.picks.seek}
	}
	d.picks.at = -1
}

func (p *picks) cancel() {
	if p.seek.cancel != nil {
		p.seek.cancel()
	}
	p.seek.busy = false
	p.seek.n++
}

// mark moves the mark by n lines; false: the list has no such line.
func (d *input) mark(n int) bool {
	list := d.offered()
	to := d.picks.at + n
	if d.picks.at < 0 && n > 0 { // from a value that is an option on to the next one
		v := d.form.Value(d.form.Focus())
		to = max(slices.IndexFunc(list, func(o widget.Option) bool { return v != "" && o.Value == v }), 0)
	}
	if len(list) == 0 || to < -1 {
		return false
	}
	d.picks.at = min(to, len(list)-1)
	return true
}

// take puts the marked option into the field.
func (d *input) take(s *Shell) tea.Cmd {
	o := d.offered()[d.picks.at]
	d.form.Set(o.Value)
	d.picks.at = -1
	if o.Opens {
		return d.complete(s, true)
	}
	if d.form.Last() {
		return d.look(s)
	}
	return d.move(s, 1)
}

// move moves the focus; a field that is left is looked at.
func (d *input) move(s *Shell, n int) tea.Cmd {
	d.form.Move(n)
	d.forget()
	return d.look(s)
}

// complete asks what the text of the field with the focus can go on with; opened shows
// the list whatever was typed.
func (d *input) complete(s *Shell, opened bool) tea.Cmd {
	i := d.form.Focus()
	find, typed := d.form.Field(i).Complete, d.form.Value(i)
	n, ctx := d.picks.seek.begin(s.root)
	d.picks.field, d.picks.opened = i, opened
	return func() tea.Msg {
		found, err := find(ctx, typed)
		return completeMsg{d, n, typed, found, err}
	}
}

// onComplete puts what all have in common into the field and lists the rest. Where tab
// found nothing to complete it goes to the next field.
func (s *Shell) onComplete(m completeMsg) tea.Cmd {
	d := m.of
	if !slices.Contains(s.overlays, overlay(d)) || d.picks.seek.n != m.n {
		return nil
	}
	p := &d.picks
	p.seek.busy = false
	if d.form.Value(p.field) != m.typed { // typing went on
		return nil
	}
	if m.err != nil {
		if p.opened {
			d.form.Note(m.err.Error())
			return nil
		}
		return d.move(s, 1)
	}
	done := m.found.Common == m.typed && (len(m.found.Options) == 0 || len(m.found.Options) == 1 &&
		m.found.Options[0].Value == m.typed)
	if done && !p.opened {
		return d.move(s, 1)
	}
	if done {
		d.form.Note("The list is empty.")
	}
	d.form.Set(m.found.Common)
	p.folder, p.typed, p.more, p.at = m.found.Options, m.typed, m.found.More, -1
	if len(p.folder) == 1 && p.folder[0].Opens && p.folder[0].Value == m.found.Common {
		return d.complete(s, true)
	}
	return d.look(s)
}

// look has a field looked at whose value is new, one at a time.
func (d *input) look(s *Shell) tea.Cmd {
	i, ok := d.form.Unlooked()
	if !ok || d.looking {
		return nil
	}
	d.looking = true
	see, value, ctx := d.form.Field(i).Look, d.form.Value(i), s.root
	return func() tea.Msg {
		said, err := see(ctx, value)
		return lookMsg{d, i, value, said, err}
	}
}

// onLook shows what was found, looks again where the value is another by now, and goes
// on with sending when that waited.
func (s *Shell) onLook(m lookMsg) tea.Cmd {
	d := m.of
	if !slices.Contains(s.overlays, overlay(d)) {
		return nil
	}
	d.looking = false
	d.form.Looked(m.field, m.value, m.said, m.err)
	if cmd := d.look(s); cmd != nil || !d.sending {
		return cmd
	}
	d.sending = false
	a, cmd, done := d.submit(s)
	if done {
		s.remove(d)
	}
	return tea.Batch(cmd, s.finish(d, a, nil))
}
