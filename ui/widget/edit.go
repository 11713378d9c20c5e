package widget

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"opdeck/api/untrusted"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

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
