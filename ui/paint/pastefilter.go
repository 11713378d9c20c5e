package paint

import (
	"bytes"
	"unicode/utf8"
)

// Marks that a terminal with bracketed paste puts around what is pasted.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// What comes in one read without marks is typing, unless it is more than a person
// types between two reads: docs/decisions/0006 has the reasons for these figures.
const (
	typedLines = 64  // characters with a line end between them
	typedMost  = 256 // characters; those that repeat the one before do not count: a key was held
)

// pasteFilter passes what a terminal sends to the decoder. It puts the marks of a paste
// around text that must have been pasted, and takes out the terminal's answers
// (OSC, DCS and their like): the program asks nothing, and the decoder would take them for
// typed text.
type pasteFilter struct {
	pasting bool // behind pasteBegin
	out     []byte
}

// pass sifts what one read brought. The result holds until the next call.
func (v *pasteFilter) pass(b []byte) []byte {
	v.out = v.out[:0]
	for len(b) > 0 {
		mark := pasteBegin
		if v.pasting {
			mark = pasteEnd
		}
		n := bytes.Index(b, []byte(mark))
		part := b
		if n >= 0 {
			part = b[:n]
		}
		if v.pasting {
			v.out = append(v.out, part...)
		} else {
			v.typed(part)
		}
		if n < 0 {
			break
		}
		v.out = append(v.out, mark...)
		v.pasting = !v.pasting
		b = b[n+len(mark):]
	}
	return v.out
}

// typed passes what came without marks.
func (v *pasteFilter) typed(b []byte) {
	from := len(v.out)
	for len(b) > 0 {
		if n := answer(b); n > 0 {
			b = b[n:]
			continue
		}
		n, _ := token(b)
		v.out = append(v.out, b[:n]...)
		b = b[n:]
	}
	if !pasted(v.out[from:]) {
		return
	}
	text := bytes.Clone(v.out[from:])
	v.out = append(v.out[:from], pasteBegin...)
	for _, c := range text {
		if c >= ' ' && c != 0x7f || c == '\n' || c == '\r' || c == '\t' {
			v.out = append(v.out, c)
		}
	}
	v.out = append(v.out, pasteEnd...)
}

// pasted says whether this is more than a person types between two reads.
func pasted(b []byte) bool {
	count, last := 0, rune(0)
	ended, lines := false, false // a line end was seen; characters came behind it
	for len(b) > 0 {
		n, _ := token(b)
		r, size := utf8.DecodeRune(b[:n])
		switch {
		case size != n || r == 0x1b: // a sequence
			r = 0
		case r == '\r' || r == '\n':
			ended = ended || count > 0
		case r >= ' ' && r != 0x7f:
			if r != last {
				count++
			}
			lines = lines || ended
		}
		last, b = r, b[n:]
	}
	return count > typedLines && lines || count > typedMost
}

// answer is the length of the terminal's answer that b begins with; 0 when it
// does not, or when its end is not there: then it may be keys.
func answer(b []byte) int {
	if len(b) < 2 || b[0] != 0x1b || bytes.IndexByte([]byte("]P_^X"), b[1]) < 0 {
		return 0
	}
	for i := 2; i < len(b); i++ {
		switch {
		case b[i] == '\a' && b[1] == ']':
			return i + 1
		case b[i] == 0x1b:
			if i+1 < len(b) && b[i+1] == '\\' {
				return i + 2
			}
			return 0
		}
	}
	return 0
}

// token is the length of what b begins with: one character, or one sequence of a
// key. whole is false when b ends before it does.
func token(b []byte) (n int, whole bool) {
	if b[0] != 0x1b {
		_, n = utf8.DecodeRune(b)
		return n, utf8.FullRune(b)
	}
	if len(b) == 1 {
		return 1, false
	}
	switch b[1] {
	case '[':
		return control(b)
	case 'O':
		return min(3, len(b)), len(b) >= 3
	}
	n, whole = token(b[1:])
	return n + 1, whole
}

// control is token for a sequence that begins with CSI.
func control(b []byte) (n int, whole bool) {
	if len(b) > 2 && b[2] == '[' { // the Linux console's function keys
		return min(4, len(b)), len(b) >= 4
	}
	for i := 2; i < len(b); i++ {
		switch c := b[i]; {
		case c >= 0x40 && c <= 0x7e:
			return i + 1, true
		case c < 0x20 || c > 0x7e: // no sequence after all
			return i, true
		}
	}
	return len(b), false
}

// complete is how much of b is whole; a sequence longer than any key's counts as
// that.
func complete(b []byte) int {
	const longest = 32
	for i := 0; i < len(b); {
		n, whole := token(b[i:])
		if !whole && len(b)-i < longest {
			return i
		}
		i += n
	}
	return len(b)
}

// wholeKeys is how many bytes of b, at most limit, end where a key ends.
func wholeKeys(b []byte, limit int) int {
	if len(b) <= limit {
		return len(b)
	}
	n := 0
	for n < limit {
		t, _ := token(b[n:])
		if n+t > limit {
			break
		}
		n += t
	}
	if n == 0 {
		return limit
	}
	return n
}
