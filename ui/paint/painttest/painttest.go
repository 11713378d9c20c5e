// Package painttest checks what package paint wrote: no byte from outside may
// reach the terminal as a command. It shares no code with the painter.
package painttest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Checker reads what was written to a terminal and finds the first thing that
// the painter does not write.
type Checker struct {
	Title string // the title that may be set; "" for none
	Copy  bool   // OSC 52 copies are allowed
}

// CheckError says what was found, and where.
type CheckError struct {
	Offset int    // of the first wrong byte or sequence
	Found  string // quoted
}

func (e *CheckError) Error() string {
	return fmt.Sprintf("byte %d: %s is not among the sequences of the painter", e.Offset, e.Found)
}

// Check is [Checker.Check] without a title and without copies.
func Check(b []byte) error { return Checker{}.Check(b) }

// Check returns a *CheckError for the first byte or sequence in b that the
// painter does not write, nil if there is none. A sequence that b ends in the
// middle of is an error.
func (c Checker) Check(b []byte) error {
	for i := 0; i < len(b); {
		n := 0
		if b[i] == '\r' || b[i] == '\n' {
			n = 1
		} else if b[i] == 0x1b {
			n = c.sequence(b[i:])
		} else if r, size := utf8.DecodeRune(b[i:]); printable(r) && (r != utf8.RuneError || size > 1) {
			n = size
		}
		if n == 0 {
			return &CheckError{Offset: i, Found: strconv.QuoteToASCII(string(b[i:min(len(b), i+24)]))}
		}
		i += n
	}
	return nil
}

// The forms that the package documentation of paint lists.
var (
	csi = sequence(`\[(?:\d{0,4}[GLM]|K|2J|\d{0,4}(?:;\d{0,4})?[Hr]|`,
		`\?(?:2026|1049|7|25|2004|1002|1006)[hl]|`, sgr, `(?:;`, sgr, `)*m)`)
	sgr = `(?:0*(?:[0-57]|9|2[2-579]|3[0-79]|4[0-79]|9[0-7]|10[0-7])?|` +
		`[34]8;(?:5;` + octet + `|2;` + octet + `;` + octet + `;` + octet + `))`

	octet = `0*(?:25[0-5]|2[0-4]\d|1?\d?\d)`

	// What another program may have left set is put back in one piece.
	putBack = "\x1b[?1l\x1b>\x1b[4l\x1b[?6l\x1b[r\x1b[?5l\x1b(B\x0f" +
		"\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l" +
		"\x1b[?2031l\x1b[?2048l\x1b[?9001l\x1b[>4m\x1b[=0u\x1b[m"

	// A copy, plain or wrapped by tmux or, piece by piece, by screen.
	base64 = `[A-Za-z0-9+/]*={0,2}`
	copied = sequence(`(?:\]52;c;`, base64, `\a|Ptmux;\x1b\x1b\]52;c;`, base64, `\a\x1b\\|`,
		`P\x1b\]52;c;(?:[A-Za-z0-9+/=]|\x1b\\\x1bP)*\a\x1b\\)`)
)

func sequence(parts ...string) *regexp.Regexp {
	return regexp.MustCompile(`^\x1b` + strings.Join(parts, ""))
}

// sequence is the length of the known sequence that b starts with, or 0.
func (c Checker) sequence(b []byte) int {
	if strings.HasPrefix(string(b[:min(len(b), len(putBack))]), putBack) {
		return len(putBack)
	}
	if c.Title != "" {
		for _, known := range []string{"\x1b]2;" + c.Title + "\a", "\x1b[22;2t", "\x1b[23;2t"} {
			if strings.HasPrefix(string(b[:min(len(b), len(known))]), known) {
				return len(known)
			}
		}
	}
	if c.Copy && len(b) > 1 && b[1] != '[' {
		return len(copied.Find(b))
	}
	return len(csi.Find(b[:min(len(b), 96)]))
}

// printable is true for graphic characters that neither hide nor reorder.
func printable(r rune) bool {
	if unicode.Is(unicode.Variation_Selector, r) {
		return r == 0xfe0e || r == 0xfe0f
	}
	return unicode.IsGraphic(r) && !unicode.In(r, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point)
}
