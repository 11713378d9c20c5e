package paint

import "strconv"

// colour is a terminal colour: its kind in the top byte, its value below.
// The zero value is the terminal's default.
type colour uint32

const (
	basic   colour = 1 << 24 // 0-15, as SGR 30-37, 90-97
	indexed colour = 2 << 24 // 0-255, as SGR 38;5;n
	direct  colour = 3 << 24 // 0xRRGGBB, as SGR 38;2;r;g;b
)

func (c colour) kind() colour { return c & (0xff << 24) }

// attrs are the attributes a cell may have. Conceal is left out on purpose: the
// painter does not hide text.
type attrs uint8

const (
	bold attrs = 1 << iota
	faint
	italic
	underline
	blink
	reverse
	strike
)

// visibleOnBlank are the attributes one sees on a cell without text.
const visibleOnBlank = underline | blink | reverse | strike

// style is how a cell looks.
type style struct {
	fg, bg colour
	at     attrs
}

// blank is the style of a space that looks like this one with the least said:
// what cannot be seen on a space is dropped, so that equal looks compare equal.
func (s style) blank() style {
	if s.at&visibleOnBlank == 0 {
		return style{bg: s.bg}
	}
	s.at &^= bold | faint | italic
	return s
}

// apply changes s by the parameters of an SGR sequence. Unknown ones are ignored.
func (s *style) apply(params string) {
	if params == "" {
		*s = style{}
		return
	}
	for i := 0; i < len(params); {
		group, next := params[i:], len(params)
		for j := i; j < len(params); j++ {
			if params[j] == ';' {
				group, next = params[i:j], j+1
				break
			}
		}
		i = next
		n, sub := number(group)
		switch n {
		case 38, 48, 58:
			c, ok := colour(0), false
			if sub != "" {
				c, ok = colonColour(sub)
			} else {
				var used int
				c, used, ok = semicolonColour(params[i:])
				i += used
			}
			if ok && n == 38 {
				s.fg = c
			} else if ok && n == 48 {
				s.bg = c
			}
		case 4:
			s.at |= underline
			if sub == "0" {
				s.at &^= underline
			}
		default:
			s.set(n)
		}
	}
}

// attrSet and attrReset are what an SGR parameter does to attributes.
var (
	attrSet   = [30]attrs{1: bold, 2: faint, 3: italic, 5: blink, 6: blink, 7: reverse, 9: strike, 21: underline}
	attrReset = [30]attrs{22: bold | faint, 23: italic, 24: underline, 25: blink, 27: reverse, 29: strike}
)

// set applies one SGR parameter that has no arguments.
func (s *style) set(n int) {
	switch {
	case n == 0:
		*s = style{}
	case n >= 30 && n <= 37:
		s.fg = basic | colour(n-30)
	case n == 39:
		s.fg = 0
	case n >= 40 && n <= 47:
		s.bg = basic | colour(n-40)
	case n == 49:
		s.bg = 0
	case n >= 90 && n <= 97:
		s.fg = basic | colour(n-90+8)
	case n >= 100 && n <= 107:
		s.bg = basic | colour(n-100+8)
	case n > 0 && n < len(attrSet):
		s.at = s.at&^attrReset[n] | attrSet[n]
	}
}

// number reads the decimal number in front and returns what follows its colon.
// A missing number is 0, one too large is -1.
func number(s string) (n int, sub string) {
	for i := 0; i < len(s); i++ {
		if s[i] == ':' {
			return n, s[i+1:]
		}
		if n >= 0 {
			n = n*10 + int(s[i]-'0')
		}
		if n > 1<<16 {
			n = -1
		}
	}
	return n, ""
}

// field cuts the first number off a list.
func field(s string, sep byte) (n int, rest string) {
	for i := 0; i < len(s); i++ {
		if s[i] == sep {
			n, _ = number(s[:i])
			return n, s[i+1:]
		}
	}
	n, _ = number(s)
	return n, ""
}

// semicolonColour reads "5;n" or "2;r;g;b" and says how many bytes it took.
func semicolonColour(s string) (c colour, used int, ok bool) {
	kind, rest := field(s, ';')
	var v [3]int
	count := 0
	switch kind {
	case 5:
		count = 1
	case 2:
		count = 3
	default:
		return 0, len(s) - len(rest), false
	}
	for i := range count {
		v[i], rest = field(rest, ';')
	}
	c, ok = makeColour(kind, v)
	return c, len(s) - len(rest), ok
}

// colonColour reads "5:n", "2:r:g:b" or "2:space:r:g:b".
func colonColour(s string) (colour, bool) {
	kind, rest := field(s, ':')
	var v [5]int
	n := 0
	for rest != "" && n < len(v) {
		v[n], rest = field(rest, ':')
		n++
	}
	if kind == 2 && n > 3 {
		return makeColour(kind, [3]int{v[1], v[2], v[3]})
	}
	return makeColour(kind, [3]int{v[0], v[1], v[2]})
}

func makeColour(kind int, v [3]int) (colour, bool) {
	for _, x := range v {
		if x < 0 || x > 255 {
			return 0, false
		}
	}
	if kind == 5 {
		return indexed | colour(v[0]), true
	}
	return direct | colour(v[0])<<16 | colour(v[1])<<8 | colour(v[2]), kind == 2
}

// appendSGR appends the shortest sequence that turns the pen from one style to
// another; nothing when they are equal.
func appendSGR(b []byte, from, to style) []byte {
	if from == to {
		return b
	}
	if to == (style{}) {
		return append(b, "\x1b[m"...)
	}
	start := len(b)
	b = append(b, "\x1b["...)
	b = appendDelta(b, from, to)
	delta := len(b) - start
	if from != (style{}) {
		// from nothing, with a reset in front: shorter when much is to go
		b = append(b, "\x1b[;"...)
		b = appendDelta(b, style{}, to)
		if full := len(b) - start - delta; full < delta {
			copy(b[start:], b[start+delta:])
			b = b[:start+full]
		} else {
			b = b[:start+delta]
		}
	}
	b[len(b)-1] = 'm' // in place of the last semicolon
	return b
}

// attribute codes in the order of the bits: on and off.
var attrCodes = [...]struct {
	bit     attrs
	on, off byte
}{
	{italic, 3, 23}, {underline, 4, 24}, {blink, 5, 25}, {reverse, 7, 27}, {strike, 9, 29},
}

// appendDelta appends the parameters, each followed by a semicolon.
func appendDelta(b []byte, from, to style) []byte {
	weight := bold | faint
	had := from.at & weight
	if had&^to.at != 0 {
		b = append(b, "22;"...)
		had = 0
	}
	if to.at&bold != 0 && had&bold == 0 {
		b = append(b, "1;"...)
	}
	if to.at&faint != 0 && had&faint == 0 {
		b = append(b, "2;"...)
	}
	for _, a := range attrCodes {
		switch {
		case from.at&a.bit == to.at&a.bit:
		case to.at&a.bit != 0:
			b = append(b, '0'+a.on, ';')
		default:
			b = append(strconv.AppendInt(b, int64(a.off), 10), ';')
		}
	}
	if from.fg != to.fg {
		b = appendColour(b, to.fg, 30)
	}
	if from.bg != to.bg {
		b = appendColour(b, to.bg, 40)
	}
	return b
}

// appendColour appends the parameters of a colour; base is 30 or 40.
func appendColour(b []byte, c colour, base int64) []byte {
	v := int64(c & 0xffffff)
	switch c.kind() {
	case 0:
		b = strconv.AppendInt(b, base+9, 10)
	case basic:
		if v >= 8 {
			v += 60 - 8
		}
		b = strconv.AppendInt(b, base+v, 10)
	case indexed:
		b = strconv.AppendInt(b, base+8, 10)
		b = append(b, ";5;"...)
		b = strconv.AppendInt(b, v, 10)
	default:
		b = strconv.AppendInt(b, base+8, 10)
		b = append(b, ";2;"...)
		b = strconv.AppendInt(b, v>>16, 10)
		b = append(b, ';')
		b = strconv.AppendInt(b, v>>8&0xff, 10)
		b = append(b, ';')
		b = strconv.AppendInt(b, v&0xff, 10)
	}
	return append(b, ';')
}
