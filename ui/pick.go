package ui

import (
	"cmp"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// picks are the options of the field with the focus, in a list below the form.
type picks struct {
	field  int
	folder []widget.Option // what Complete found for this field
	typed  string          // the text of the field at that time
	more   bool            // there are others
	at     int             // the marked one; -1: none
	seek   search
	opened bool // the person opened the list; else it completes typed text
}

// formMsg answers a Look or a Complete of a form; then runs in the update loop.
type formMsg struct {
	of   *Form
	then func() (Action, tea.Cmd)
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
	if f.picks.cancel(); f.picks.field != f.fields.Focus() {
		f.picks = picks{field: f.fields.Focus(), at: -1, seek: f.picks.seek}
	}
	f.picks.at = -1
}

func (p *picks) cancel() {
	if p.seek.cancel != nil {
		p.seek.cancel()
	}
	p.seek.busy = false
	p.seek.n++
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
	n, ctx := f.picks.seek.begin(f.env.Ctx)
	f.picks.field, f.picks.opened = i, opened
	return func() tea.Msg {
		found, err := find(ctx, typed)
		return formMsg{f, func() (Action, tea.Cmd) {
			if f.picks.seek.n != n {
				return nil, nil
			}
			return nil, f.completed(typed, found, err)
		}}
	}
}

// completed puts the common beginning into the field and lists the completions. If tab
// finds none, it goes to the next field.
func (f *Form) completed(typed string, found widget.Completion, err error) tea.Cmd {
	p := &f.picks
	p.seek.busy = false
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
		return formMsg{f, func() (Action, tea.Cmd) { return f.looked(i, value, said, err) }}
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
		case f.picks.seek.busy:
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
