// Package untrusted separates text from outside (the service, webhooks, files, SSH clients) from all output:
// terminal, log, table.
//
// Decoded strings have the type Text and are kept byte for byte. They are drawn by Line, Block or Quoted, whose
// results can never control a terminal: they hold no control character (C0, DEL, C1), no format, direction or
// invisible character and no broken UTF-8. Nothing is removed without a mark, because hiding text is an attack too: a
// control or invisible character becomes one cell "·", a bad byte U+FFFD, and Flags says which kinds occurred.
//
// Known cost, accepted for a payments console: joined emoji are split into their parts and ZWNJ shows as a mark;
// Quoted is always exact.
package untrusted

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text is text from outside. Convert with string(u) only to compare, to
// store or to send it back; draw it with Line, Block or Quoted.
type Text string

// Mark replaces one character that must not reach a terminal.
const Mark = '·'

// Flags says what cleaning a text found.
type Flags uint8

const (
	// Control: C0, DEL or C1 characters, and line ends in a single line.
	Control Flags = 1 << iota
	// Format: invisible characters, direction marks, fillers, variation selectors, tags.
	Format
	// Invalid: bytes that are not UTF-8.
	Invalid
	// Marks: more than four combining marks on one letter, or one without a letter.
	Marks
	// Mixed: Latin letters together with look-alike scripts (Cyrillic, Greek, Armenian, Cherokee) in one word.
	Mixed
	// Cut: the text was longer than the limit.
	Cut
)

// Words names the flags for people, most serious first; "" for none.
func (f Flags) Words() string {
	var w []string
	for _, n := range []struct {
		f Flags
		s string
	}{{Control, "control characters"}, {Format, "hidden characters"}, {Mixed, "mixed scripts"},
		{Invalid, "broken bytes"}, {Marks, "stacked marks"}, {Cut, "cut"}} {
		if f&n.f != 0 {
			w = append(w, n.s)
		}
	}
	return strings.Join(w, ", ")
}

// Suspicious reports whether there is any flag but Cut.
func (f Flags) Suspicious() bool { return f&^Cut != 0 }

const maxMarks = 4 // combining marks kept per letter

var hidden = []*unicode.RangeTable{unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs,
	unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector}

func isHidden(r rune) bool { // r >= 0xa0
	return r == 0x2800 || unicode.In(r, hidden...) || !unicode.IsGraphic(r)
}

// Line returns u as one safe line of at most max runes (0 means 10,000). A text that was cut ends in "…".
func (u Text) Line(max int) string { s, _ := Clean(string(u), max); return s }

// Flags returns what Line would replace, without a limit on length.
func (u Text) Flags() Flags { _, f := Clean(string(u), len(u)+1); return f }

// Block returns u as at most lines safe lines, separated at LF or CRLF; everything else is cleaned as in Line. max is
// the limit of each line in runes.
func (u Text) Block(lines, max int) []string {
	var out []string
	rest := string(u)
	for rest != "" && len(out) < lines {
		var l string
		if i := strings.IndexByte(rest, '\n'); i >= 0 {
			l, rest = strings.TrimSuffix(rest[:i], "\r"), rest[i+1:]
		} else {
			l, rest = rest, ""
		}
		s, _ := Clean(l, max)
		out = append(out, s)
	}
	if rest != "" && len(out) > 0 {
		out[len(out)-1] += "…"
	}
	return out
}

// Quoted returns u in double quotes with everything outside printable ASCII
// escaped: exact and reversible (strconv.Unquote), for details, logs and audit.
func (u Text) Quoted() string { return strconv.QuoteToASCII(string(u)) }

// Format implements fmt.Formatter: every verb prints the safe line, %q the
// quoted form, so that a forgotten conversion cannot reach a terminal either.
func (u Text) Format(f fmt.State, verb rune) {
	s := u.Line(0)
	if verb == 'q' || f.Flag('#') {
		s = u.Quoted()
	}
	if w, ok := f.Width(); ok && utf8.RuneCountInString(s) < w {
		pad := strings.Repeat(" ", w-utf8.RuneCountInString(s))
		if f.Flag('-') {
			s += pad
		} else {
			s = pad + s
		}
	}
	_, _ = f.Write([]byte(s))
}

const defaultMax = 10_000

// Clean is Line for a plain string, with the flags. It keeps at most max runes (0 means 10,000).
func Clean(s string, max int) (string, Flags) {
	if max <= 0 {
		max = defaultMax
	}
	if plain(s) && len(s) <= max {
		return s, 0
	}
	var c cleaner
	c.b.Grow(min(len(s), 4*max))
	for i := 0; i < len(s); {
		r, w := utf8.DecodeRuneInString(s[i:])
		if c.n >= max {
			c.f |= Cut
			break
		}
		c.take(r, w)
		i += w
	}
	if c.f&Cut != 0 {
		return c.cut(max), c.f
	}
	return c.b.String(), c.f
}

func plain(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return false
		}
	}
	return true
}

type cleaner struct {
	b       strings.Builder
	n       int // runes written
	marks   int // combining marks on the current letter
	letter  bool
	scripts uint8 // of the current word
	f       Flags
}

func (c *cleaner) put(r rune) { c.b.WriteRune(r); c.n++ }

func (c *cleaner) replace(r rune, f Flags) {
	c.f |= f
	c.letter, c.marks = false, 0
	c.put(r)
}

func (c *cleaner) take(r rune, width int) {
	switch {
	case r == utf8.RuneError && width == 1:
		c.replace(utf8.RuneError, Invalid)
	case r < 0x20 || r == 0x7f || r >= 0x80 && r < 0xa0:
		c.replace(Mark, Control)
	case r == ' ' || unicode.Is(unicode.Zs, r):
		c.letter, c.marks, c.scripts = false, 0, 0
		c.put(' ')
	case r >= 0xa0 && isHidden(r):
		c.replace(Mark, Format)
	case unicode.Is(unicode.M, r):
		if c.marks++; c.marks > maxMarks || !c.letter {
			c.f |= Marks
			if !c.letter {
				c.put(Mark)
			}
			return
		}
		c.put(r)
	default:
		c.letter, c.marks = true, 0
		c.script(r)
		c.put(r)
	}
}

// script records the scripts of one word; letters of two look-alike scripts set Mixed.
func (c *cleaner) script(r rune) {
	const latin, other = 1, 2
	switch {
	case !unicode.IsLetter(r):
		if !unicode.IsDigit(r) {
			c.scripts = 0
		}
	case unicode.Is(unicode.Latin, r):
		c.scripts |= latin
	case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee):
		c.scripts |= other
	}
	if c.scripts == latin|other {
		c.f |= Mixed
	}
}

// cut drops the last character for an ellipsis.
func (c *cleaner) cut(max int) string {
	r := []rune(c.b.String())
	return string(r[:max-1]) + "…"
}

// JSON writes every character of a JSON document that could affect a terminal as an escape: its value stays. In JSON
// such characters occur only in strings.
func JSON(s string) string {
	if c, f := Clean(s, len(s)+1); f == 0 && len(c) == len(s) {
		return s
	}
	var b strings.Builder
	for _, c := range s {
		if c == '\n' || c >= 0x20 && c < 0x7f {
			b.WriteRune(c)
			continue
		}
		if _, f := Clean(string(c), 2); f&(Control|Format|Invalid) == 0 {
			b.WriteRune(c)
			continue
		}
		if c > 0xffff {
			c -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04x`, 0xd800+(c>>10), 0xdc00+(c&0x3ff))
			continue
		}
		fmt.Fprintf(&b, `\u%04x`, c)
	}
	return b.String()
}
