package paint

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Checker reads what was written to a terminal and finds the first thing that
// the painter does not write: the test oracle for "no byte from outside reaches
// the terminal as a command".
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
		switch {
		case b[i] == '\r' || b[i] == '\n':
			n = 1
		case b[i] == 0x1b:
			n = c.sequence(b[i:])
		default:
			if r, size := utf8.DecodeRune(b[i:]); Printable(r) && (r != utf8.RuneError || size > 1) {
				n = size
			}
		}
		if n == 0 {
			return &CheckError{Offset: i, Found: strconv.QuoteToASCII(string(b[i:min(len(b), i+24)]))}
		}
		i += n
	}
	return nil
}

// sequence is the length of the known sequence that b starts with, or 0.
func (c Checker) sequence(b []byte) int {
	if title := "\x1b]2;" + cleanTitle(c.Title) + "\a"; c.Title != "" && bytes.HasPrefix(b, []byte(title)) {
		return len(title)
	}
	if len(b) < 3 || b[1] != '[' {
		if c.Copy && len(b) > 2 && (b[1] == ']' || b[1] == 'P') {
			return copyLen(string(b[:min(len(b), 2*MaxCopy)]))
		}
		return 0
	}
	end := 2
	for end < len(b) && end < maxSGR && b[end] >= 0x20 && b[end] < 0x40 {
		end++
	}
	if end >= len(b) || !c.csi(string(b[2:end]), b[end]) {
		return 0
	}
	return end + 1
}

var privateModes = []string{"?2026", "?1049", "?7", "?25", "?2004", "?1002", "?1006"}

// csi is true for CSI params final that the painter writes.
func (c Checker) csi(params string, final byte) bool {
	switch final {
	case 'h', 'l':
		return slices.Contains(privateModes, params)
	case 't':
		return c.Title != "" && (params == "22;2" || params == "23;2")
	case 'K':
		return params == ""
	case 'J':
		return params == "2"
	case 'A', 'B', 'C', 'D', 'G', 'X', 'L', 'M':
		return numbers(params, 1)
	case 'H', 'r':
		return numbers(params, 2)
	case 'm':
		return knownSGR(params)
	}
	return false
}

// numbers is true for at most max decimal numbers, each of which may be missing.
func numbers(s string, max int) bool {
	parts := strings.Split(s, ";")
	if len(parts) > max {
		return false
	}
	for _, p := range parts {
		if len(p) > 4 || strings.Trim(p, "0123456789") != "" {
			return false
		}
	}
	return true
}

// knownSGR is true for parameters that appendSGR writes.
func knownSGR(s string) bool {
	v := []int{}
	for p := range strings.SplitSeq(s, ";") {
		if len(p) > 3 || strings.Trim(p, "0123456789") != "" {
			return false
		}
		n, _ := strconv.Atoi("0" + p)
		v = append(v, n)
	}
	for i := 0; i < len(v); i++ {
		switch n := v[i]; {
		case n == 38 || n == 48:
			args := 0
			if i+1 < len(v) && v[i+1] == 5 {
				args = 1
			} else if i+1 < len(v) && v[i+1] == 2 {
				args = 3
			}
			if args == 0 || i+1+args >= len(v) || slices.Max(v[i+2:i+2+args]) > 255 {
				return false
			}
			i += 1 + args
		case n <= 5, n == 7, n == 9, n >= 22 && n <= 25, n == 27, n >= 29 && n <= 37, n >= 39 && n <= 47, n == 49, n >= 90 && n <= 97, n >= 100 && n <= 107:
		default:
			return false
		}
	}
	return true
}
