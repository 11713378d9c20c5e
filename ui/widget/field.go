package widget

import (
	"errors"
	"strings"

	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// Paste is what a field does with pasted text.
type Paste uint8

// The paste policies.
const (
	PasteTrim Paste = iota // take it without spaces and line ends at both ends
	PasteKeep              // take it as it is, line ends inside become spaces
	PasteOff               // refuse it
)

// Field is one question of a form. It checks itself; the form only asks.
type Field struct {
	Label  string
	Value  string                   // what stands there at first
	Hint   string                   // dim, while the field is empty
	Secret bool                     // drawn as dots, cleared when sent, never copied
	Check  func(value string) error // nil: everything is right; the error is a sentence
	Paste  Paste
	Max    int // characters; 0: 4096
}

// Note is a field for a sentence that others read; missing says why it is needed.
func Note(label, hint, missing string) Field {
	return Field{Label: label, Hint: hint, Max: 500, Paste: PasteKeep, Check: func(v string) error {
		if len(strings.TrimSpace(v)) < 3 {
			return errors.New(missing)
		}
		return nil
	}}
}

const fieldMax = 4096

func (f Field) max() int {
	if f.Max > 0 {
		return f.Max
	}
	return fieldMax
}

// Problem is what Check says of value, "" when it is right.
func (f Field) Problem(value string) string {
	if f.Check == nil {
		return ""
	}
	if err := f.Check(value); err != nil {
		return draw.Cut(oneLine(err.Error()), 300)
	}
	return ""
}

// Form is a list of fields with one of them focused.
type Form struct {
	fields  []Field
	edits   []Edit
	touched []bool
	focus   int
	note    string // why the last key or paste was refused
}

// NewForm makes a form with the first field focused.
func NewForm(fields ...Field) Form {
	f := Form{fields: fields, edits: make([]Edit, len(fields)), touched: make([]bool, len(fields))}
	for i, d := range fields {
		f.edits[i] = Edit{Max: d.max(), Secret: d.Secret}
		f.edits[i].Set(d.Value)
	}
	return f
}

// Type takes a key or paste for the focused field and reports whether the value changed.
func (f *Form) Type(msg keymap.Press) bool {
	if len(f.fields) == 0 {
		return false
	}
	f.note = ""
	e, d := &f.edits[f.focus], f.fields[f.focus]
	if msg.IsText() {
		switch d.Paste {
		case PasteOff:
			f.note = "Pasting is off for this field."
			return false
		case PasteTrim:
			msg.Runes = []rune(strings.TrimSpace(string(msg.Runes)))
		}
	}
	if n := len(e.value) + len(msg.Runes); n > d.max() && len(msg.Runes) > 1 {
		f.note = "That is too long: " + draw.Count(n) + " of " + draw.Count(d.max()) + " characters."
		return false
	}
	return e.Type(msg)
}

// Move moves the focus by n fields, around the ends.
func (f *Form) Move(n int) {
	if len(f.fields) > 0 {
		f.touched[f.focus] = true
		f.focus = ((f.focus+n)%len(f.fields) + len(f.fields)) % len(f.fields)
		f.note = ""
	}
}

// Last reports whether the last field has the focus.
func (f *Form) Last() bool { return f.focus >= len(f.fields)-1 }

// Ready checks all fields; when one is wrong it gets the focus.
func (f *Form) Ready() bool {
	f.note = ""
	for i := range f.fields {
		f.touched[i] = true
	}
	for i, d := range f.fields {
		if d.Problem(f.edits[i].Value()) != "" {
			f.focus = i
			return false
		}
	}
	return true
}

// Value is what stands in field i.
func (f *Form) Value(i int) string { return f.edits[i].Value() }

// Field is the description of field i.
func (f *Form) Field(i int) Field { return f.fields[i] }

// Len is the number of fields.
func (f *Form) Len() int { return len(f.fields) }

// Dirty reports whether anything was typed that would be lost.
func (f *Form) Dirty() bool {
	for i, d := range f.fields {
		if f.edits[i].Value() != d.Value {
			return true
		}
	}
	return false
}

// Clear forgets the values of secret fields.
func (f *Form) Clear() {
	for i, d := range f.fields {
		if d.Secret {
			f.edits[i].Wipe()
		}
	}
}

// View draws the form: label, value and, beside the field, what is wrong with
// it. Each field takes two lines and what its error needs.
func (f *Form) View(th *theme.Theme, w int) []string {
	var out []string
	for i, d := range f.fields {
		sign, label := "  ", th.Dim.Render(draw.Cut(d.Label, w-2))
		if i == f.focus {
			sign, label = th.Accent.Render(th.Signs.Crumb)+" ", th.Title.Render(draw.Cut(d.Label, w-2))
		}
		out = append(out, sign+label)
		out = append(out, "  "+f.edits[i].View(th, w-2, i == f.focus, d.Hint))
		problem := ""
		if f.touched[i] {
			problem = d.Problem(f.edits[i].Value())
		}
		if i == f.focus && f.note != "" {
			problem = f.note
		}
		if problem != "" {
			for _, l := range draw.Wrap(th.Signs.Bad+" "+problem, w-2) {
				out = append(out, "  "+th.Bad.Render(l))
			}
		}
	}
	return out
}

func oneLine(s string) string { return safeLine(s, 400) }
