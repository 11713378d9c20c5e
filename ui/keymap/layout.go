package keymap

import "unicode/utf8"

// layouts are the letters of keyboards without Latin letters, and below each the key of a US keyboard in its place.
// A character that a US keyboard has too is not among them.
var layouts = [...][2]string{
	{"йцукенгшщзхъфывапролджэячсмитьбюё", "qwertyuiop[]asdfghjkl;'zxcvbnm,.`"}, // Russian
	{"ЙЦУКЕНГШЩЗХЪФЫВАПРОЛДЖЭЯЧСМИТЬБЮЁ№", "QWERTYUIOP{}ASDFGHJKL:\"ZXCVBNM<>~#"},
	{"іїєґўІЇЄҐЎ", "s]'\\oS}\"|O"},                             // Ukrainian, Belarusian
	{"ςερτυθιοπασδφγηξκλζχψωβνμ", "wertyuiopasdfghjklzxcvbnm"}, // Greek
	{"ΕΡΤΥΘΙΟΠΑΣΔΦΓΗΞΚΛΖΧΨΩΒΝΜ", "ERTYUIOPASDFGHJKLZXCVBNM"},
	{"קראטוןםפשדגכעיחלךףזסבהנמצתץ", "ertyuiopasdfghjkl;zxcvbnm,."}, // Hebrew
}

// Placed returns the press that the same key makes on a US keyboard, if p is a letter of a Cyrillic, Greek or Hebrew
// layout; else p. Only command keys are read so: text keeps its letters, and a question takes no other key for its
// answer.
func (p Press) Placed() Press {
	typed, size := utf8.DecodeRuneInString(p.Name)
	if p.IsText() || size != len(p.Name) || typed < utf8.RuneSelf {
		return p
	}
	for _, l := range layouts {
		at := 0
		for _, r := range l[0] {
			if r == typed {
				p.Name, p.Runes = l[1][at:at+1], []rune{rune(l[1][at])}
				return p
			}
			at++
		}
	}
	return p
}
