package widget

import (
	"context"
	"errors"
	"strings"
	"unicode"
	"unicode/utf8"

	"opdeck/api/untrusted"
	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// Field is one input of a form, with its own check.
type Field struct {
	Name     string // its name in api.Error.Field; "": no error names it
	Label    string
	Value    string                   // what is there at first
	Optional bool                     // it may be empty; its label shows this
	Hint     string                   // dim, while the field is empty
	Secret   bool                     // drawn as dots, cleared when sent, never copied
	Check    func(value string) error // its error is a sentence; nil: any value is valid
	Sentence bool                     // spaces at the ends of pasted text are kept
	Max      int                      // characters; 0: 4096

	// Options are offered while one types; anything else may be typed too.
	Options  []Option
	Capitals bool // letters become capitals as they are typed
	// Complete lists completions of a typed text, in a command; its error is a
	// sentence. nil: no completion.
	Complete func(ctx context.Context, typed string) (Completion, error)
	// Look describes, in a command, a value that passed Check; its error is a sentence
	// that says why the value cannot be sent. May be nil.
	Look func(ctx context.Context, value string) (said string, err error)
}

// Option is a value that a field offers.
type Option struct {
	Value string // what is in the field then
	Text  string // how it is listed, safe; empty: the value
	About string // dim, behind it, safe
	Opens bool   // it does not end the path: its own options are offered next, as of a folder
}

// Completion is what a typed text can continue with.
type Completion struct {
	Common  string // the text with what all options begin with
	Options []Option
	More    bool // there are others
}

// Offered are the options that fit what is typed: those that begin with it, then those
// that hold it. With nothing typed, and behind a value that is an option, it is all of
// them.
func (f Field) Offered(typed string) []Option {
	typed = strings.ToLower(strings.TrimSpace(typed))
	var begin, hold []Option
	for _, o := range f.Options {
		switch at := strings.Index(strings.ToLower(o.Value+" "+o.Text+" "+o.About), typed); {
		case strings.EqualFold(o.Value, typed):
			return f.Options
		case at == 0:
			begin = append(begin, o)
		case at > 0:
			hold = append(hold, o)
		}
	}
	return append(begin, hold...)
}

// Note is a field for a sentence that others read; missing says why it is needed.
func Note(label, hint, missing string) Field {
	return Field{Label: label, Hint: hint, Max: 500, Sentence: true, Check: func(v string) error {
		if len(strings.TrimSpace(v)) < 3 {
			return errors.New(missing)
		}
		return nil
	}}
}

// label is the label as it is drawn.
func (f Field) label() string {
	if f.Optional {
		return f.Label + " (optional)"
	}
	return f.Label
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

// look is what was found about the value of a field.
type look struct{ value, said, problem string }

// Form is a list of fields with one of them focused.
type Form struct {
	fields  []Field
	edits   []Edit
	touched []bool
	looks   []look
	focus   int
	note    string // why the last key or paste was refused
}

// NewForm makes a form with the first field focused.
func NewForm(fields ...Field) Form {
	f := Form{fields: fields, edits: make([]Edit, len(fields)), touched: make([]bool, len(fields)),
		looks: make([]look, len(fields))}
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
	if d.Capitals {
		msg.Runes = []rune(strings.ToUpper(string(msg.Runes)))
	}
	if msg.IsText() && !d.Sentence {
		msg.Runes = []rune(strings.TrimSpace(string(msg.Runes)))
	}
	if n := len(e.value) + len(msg.Runes); n > d.max() && len(msg.Runes) > 1 {
		f.note = "That is too long: " + format.Count(n) + " of " + format.Count(d.max()) + " characters."
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

// Focus is the field with the focus.
func (f *Form) Focus() int { return f.focus }

// SetFocus moves the focus to field i.
func (f *Form) SetFocus(i int) { f.focus = max(min(i, len(f.fields)-1), 0) }

// Set puts a value into the field with the focus.
func (f *Form) Set(v string) { f.edits[f.focus].Set(v) }

// Note says beside the field with the focus why something was not done.
func (f *Form) Note(sentence string) { f.note = sentence }

// Unlooked is a field whose value was not looked at yet; ok is false when all were.
func (f *Form) Unlooked() (i int, ok bool) {
	for i, d := range f.fields {
		if v := f.edits[i].Value(); d.Look != nil && f.looks[i].value != v && d.Problem(v) == "" {
			return i, true
		}
	}
	return 0, false
}

// Looked takes what Look found about a value of field i.
func (f *Form) Looked(i int, value, said string, err error) {
	f.looks[i] = look{value: value, said: said}
	if err != nil {
		f.looks[i].problem = draw.Cut(oneLine(err.Error()), 300)
	}
}

// Said is what was found about each field.
func (f *Form) Said() []string {
	out := make([]string, len(f.looks))
	for i, l := range f.looks {
		out[i] = l.said
	}
	return out
}

// problem is what is wrong with field i, as far as is known.
func (f *Form) problem(i int) string {
	v := f.edits[i].Value()
	if p := f.fields[i].Problem(v); p != "" || f.looks[i].value != v {
		return p
	}
	return f.looks[i].problem
}

// Last reports whether the last field has the focus.
func (f *Form) Last() bool { return f.focus >= len(f.fields)-1 }

// Ready checks all fields; when one is wrong it gets the focus.
func (f *Form) Ready() bool {
	f.note = ""
	for i := range f.fields {
		f.touched[i] = true
	}
	for i := range f.fields {
		if f.problem(i) != "" {
			f.focus = i
			return false
		}
	}
	return true
}

// Value is what is in field i.
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

// gutter is the cells before a typed text: those of the sign, then the bar of the field.
const gutter = 4

// Drawn is a form as lines; Label is the first line of the field with the focus and Below the
// line behind its last one, where its list goes.
type Drawn struct {
	Lines        []string
	Label, Below int
}

// View draws the form. A field is its label, a bar with the typed text behind it, and what was
// found about the text or is wrong with it; spaced puts an empty line where nothing was.
func (f *Form) View(th *theme.Theme, w int, spaced bool) (out Drawn) {
	in := max(w-gutter, 1)
	for i, d := range f.fields {
		sign, label, bar := "  ", th.Dim.Render(draw.Cut(d.label(), w-2)), th.Dim.Render(th.Signs.Side)
		if i == f.focus {
			out.Label = len(out.Lines)
			sign, label = th.Accent.Render(th.Signs.Crumb)+" ", th.Title.Render(draw.Cut(d.label(), w-2))
			bar = th.Accent.Render(th.Signs.Side)
		}
		out.Lines = append(out.Lines, sign+label, "  "+bar+" "+f.edits[i].View(th, in, i == f.focus, d.Hint))
		said := f.said(th, i, in)
		for _, l := range said {
			out.Lines = append(out.Lines, draw.Space(gutter)+l)
		}
		if i == f.focus {
			out.Below = len(out.Lines)
		}
		if last := i == len(f.fields)-1; spaced && len(said) == 0 && (!last || d.Look != nil) { // nothing jumps
			out.Lines = append(out.Lines, "")
		}
	}
	return out
}

// said are the lines below field i: why a key was refused, what is wrong, or what was found.
func (f *Form) said(th *theme.Theme, i, w int) (out []string) {
	problem := ""
	if f.touched[i] {
		problem = f.problem(i)
	}
	if i == f.focus && f.note != "" {
		problem = f.note
	}
	if problem != "" {
		for _, l := range draw.Wrap(th.Signs.Bad+" "+problem, w) {
			out = append(out, th.Bad.Render(l))
		}
		return out
	}
	if l := f.looks[i]; l.said != "" && l.value == f.edits[i].Value() {
		out = append(out, th.Dim.Render(draw.Cut(l.said, w)))
	}
	return out
}

func oneLine(s string) string { return safeLine(s, 400) }

// Edit is one line of typed text. What is typed or pasted is kept as it is
// (a check may refuse it) and drawn safely. Its zero value is empty and ready.
type Edit struct {
	Max    int  // characters; 0: 4096
	Secret bool // drawn as dots

	value []rune
	at    int // cursor: before value[at]
}

// Value returns the text.
func (e *Edit) Value() string { return string(e.value) }

// Set replaces the text; the cursor goes behind it.
func (e *Edit) Set(s string) { e.value = []rune(s); e.at = len(e.value) }

// At returns the position of the cursor in bytes of Value.
func (e *Edit) At() int { return len(string(e.value[:e.at])) }

// Replace replaces the bytes from..to of Value by t and puts the cursor after
// it. It limits positions to the text.
func (e *Edit) Replace(from, to int, t string) {
	v := e.Value()
	from = max(min(from, len(v)), 0)
	to = max(min(to, len(v)), from)
	head := v[:from] + t
	e.value = []rune(head + v[to:])
	e.at = len([]rune(head))
}

// Cell is the cell in which a View of w cells draws character i, wide characters
// counted; 0 or w-1 when it is scrolled out of view.
func (e *Edit) Cell(i, w int) int {
	cells := e.cells()
	n := 0
	for j := e.first(cells, w); j < min(i, len(cells)); j++ {
		n += draw.Width(cells[j])
	}
	return max(min(n, w-1), 0)
}

// Wipe overwrites the text and empties the field.
func (e *Edit) Wipe() {
	clear(e.value[:cap(e.value)])
	e.value, e.at = nil, 0
}

// Type takes a key and reports whether the text changed.
func (e *Edit) Type(p keymap.Press) bool {
	switch p.Name {
	case keymap.Backspace:
		return e.remove(e.at-1, e.at)
	case keymap.Delete:
		return e.remove(e.at, e.at+1)
	case keymap.CutStart:
		return e.remove(0, e.at)
	case keymap.CutEnd:
		return e.remove(e.at, len(e.value))
	case keymap.CutWord:
		return e.remove(e.word(-1), e.at)
	case keymap.Left:
		e.at = max(e.at-1, 0)
	case keymap.Right:
		e.at = min(e.at+1, len(e.value))
	case keymap.Home, keymap.LineStart:
		e.at = 0
	case keymap.End, keymap.LineEnd:
		e.at = len(e.value)
	case keymap.WordLeft:
		e.at = e.word(-1)
	case keymap.WordRight:
		e.at = e.word(1)
	default:
		return e.insert(p.Runes)
	}
	return false
}

func (e *Edit) insert(r []rune) bool {
	limit := e.Max
	if limit <= 0 {
		limit = fieldMax
	}
	if room := limit - len(e.value); len(r) > room {
		r = r[:max(room, 0)]
	}
	if len(r) == 0 {
		return false
	}
	next := make([]rune, 0, len(e.value)+len(r))
	next = append(next, e.value[:e.at]...)
	for _, c := range r {
		if c == '\n' || c == '\r' || c == '\t' {
			c = ' '
		}
		next = append(next, c)
	}
	next = append(next, e.value[e.at:]...)
	if e.Secret {
		clear(e.value)
	}
	e.value = next
	e.at += len(r)
	return true
}

func (e *Edit) remove(from, to int) bool {
	from, to = max(from, 0), min(to, len(e.value))
	if from >= to {
		return false
	}
	rest := append(e.value[:from:from], e.value[to:]...)
	if e.Secret {
		clear(e.value[from:])
	}
	e.value, e.at = rest, from
	return true
}

// word is the position one word before or behind the cursor.
func (e *Edit) word(step int) int {
	i := e.at
	gap := func(j int) bool { return unicode.IsSpace(e.value[j]) }
	if step < 0 {
		for i > 0 && gap(i-1) {
			i--
		}
		for i > 0 && !gap(i-1) {
			i--
		}
		return i
	}
	for i < len(e.value) && gap(i) {
		i++
	}
	for i < len(e.value) && !gap(i) {
		i++
	}
	return i
}

// View draws the text in exactly w cells; the part around the cursor is shown.
func (e *Edit) View(th *theme.Theme, w int, focused bool, hint string) string {
	if w <= 0 {
		return ""
	}
	if len(e.value) == 0 { // the cursor is on the hint, which begins where the text will
		shown := draw.Cut(hint, w-1)
		rest, under := shown, ""
		if focused {
			first, size := utf8.DecodeRuneInString(shown)
			if size == 0 {
				first = ' '
			}
			rest, under = shown[size:], th.Cursor.Render(string(first))
		}
		return under + th.Dim.Render(rest) + draw.Space(w-max(draw.Width(shown), draw.Width(under)))
	}
	cells := e.cells()
	var b strings.Builder
	used := 0
	for i := e.first(cells, w); i <= len(cells); i++ {
		c := " "
		if i < len(cells) {
			c = cells[i]
		}
		n := draw.Width(c)
		if used+n > w {
			break
		}
		if focused && i == e.at {
			c = th.Cursor.Render(c)
		}
		b.WriteString(c)
		used += n
	}
	return b.String() + draw.Space(w-used)
}

// cells is the safe look of each character.
func (e *Edit) cells() []string {
	out := make([]string, len(e.value))
	for i, r := range e.value {
		switch {
		case e.Secret:
			out[i] = "•"
		case r >= 0x20 && r < 0x7f:
			out[i] = string(r)
		default:
			if out[i] = safeLine(string(r), 1); draw.Width(out[i]) == 0 {
				out[i] = string(untrusted.Mark)
			}
		}
	}
	return out
}

// first is the first character to draw so that the cursor is inside w cells.
func (e *Edit) first(cells []string, w int) int {
	n := 1 // the cursor behind the end
	if e.at < len(cells) {
		n = draw.Width(cells[e.at])
	}
	from := e.at
	for from > 0 && n+draw.Width(cells[from-1]) <= w {
		from--
		n += draw.Width(cells[from])
	}
	return from
}

func safeLine(s string, max int) string { return untrusted.Text(s).Line(max) }
