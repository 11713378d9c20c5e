package widget

import (
	"strings"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// Edit is one line of typed text. What is typed or pasted is kept as it is
// (a check may refuse it) and drawn safely. Its zero value is empty and ready.
type Edit struct {
	Max    int  // characters; 0: 4096
	Secret bool // drawn as dots

	value []rune
	at    int // cursor: before value[at]
	from  int // first character drawn
}

// IsPaste reports whether msg is pasted text or an answer of the terminal that
// looks like it: more than one character in one message.
func IsPaste(msg tea.KeyMsg) bool {
	return msg.Paste || msg.Type == tea.KeyRunes && len(msg.Runes) > 1
}

// Value returns the text.
func (e *Edit) Value() string { return string(e.value) }

// Set replaces the text; the cursor goes behind it.
func (e *Edit) Set(s string) { e.value, e.from = []rune(s), 0; e.at = len(e.value) }

// At is where the cursor stands: the bytes of Value before it.
func (e *Edit) At() int { return len(string(e.value[:e.at])) }

// Replace puts t in the place of the bytes from..to of Value; the cursor goes
// behind it. Places outside of the text are moved into it.
func (e *Edit) Replace(from, to int, t string) {
	v := e.Value()
	from = max(min(from, len(v)), 0)
	to = max(min(to, len(v)), from)
	head := v[:from] + t
	e.value, e.from = []rune(head+v[to:]), 0
	e.at = len([]rune(head))
}

// Cell is the cell in which character i was drawn by the last View of w cells,
// wide characters counted; 0 or w-1 when it was scrolled out of view.
func (e *Edit) Cell(i, w int) int {
	cells := e.cells()
	n := 0
	for j := e.from; j < min(i, len(cells)); j++ {
		n += draw.Width(cells[j])
	}
	return max(min(n, w-1), 0)
}

// Wipe overwrites the text and empties the field.
func (e *Edit) Wipe() {
	clear(e.value[:cap(e.value)])
	e.value, e.at, e.from = nil, 0, 0
}

// Type takes a key and reports whether the text changed.
func (e *Edit) Type(msg tea.KeyMsg) bool {
	switch msg.Type {
	case tea.KeyRunes, tea.KeySpace:
		if msg.Alt {
			return false
		}
		return e.insert(msg.Runes)
	case tea.KeyBackspace:
		return e.remove(e.at-1, e.at)
	case tea.KeyDelete:
		return e.remove(e.at, e.at+1)
	case tea.KeyCtrlU:
		return e.remove(0, e.at)
	case tea.KeyCtrlK:
		return e.remove(e.at, len(e.value))
	case tea.KeyCtrlW:
		return e.remove(e.word(-1), e.at)
	case tea.KeyLeft:
		e.at = max(e.at-1, 0)
	case tea.KeyRight:
		e.at = min(e.at+1, len(e.value))
	case tea.KeyHome, tea.KeyCtrlA:
		e.at = 0
	case tea.KeyEnd, tea.KeyCtrlE:
		e.at = len(e.value)
	case tea.KeyCtrlLeft:
		e.at = e.word(-1)
	case tea.KeyCtrlRight:
		e.at = e.word(1)
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
	if len(e.value) == 0 {
		hint = draw.Cut(hint, w-1)
		cursor := " "
		if focused {
			cursor = th.Cursor.Render(" ")
		}
		return cursor + th.Dim.Render(hint) + draw.Space(w-1-draw.Width(hint))
	}
	cells := e.cells()
	e.scroll(cells, w)
	var b strings.Builder
	used := 0
	for i := e.from; i <= len(cells); i++ {
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

// scroll moves the first drawn character so that the cursor is inside w cells.
func (e *Edit) scroll(cells []string, w int) {
	e.from = min(e.from, e.at)
	width := func() int {
		n := 1 // the cursor behind the end
		if e.at < len(cells) {
			n = draw.Width(cells[e.at])
		}
		for i := e.from; i < e.at; i++ {
			n += draw.Width(cells[i])
		}
		return n
	}
	for n := width(); n > w && e.from < e.at; e.from++ {
		n -= draw.Width(cells[e.from])
	}
}

func safeLine(s string, max int) string { return untrusted.Text(s).Line(max) }
