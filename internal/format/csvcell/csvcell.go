// Package csvcell writes CSV files that a spreadsheet opens as they are meant: text that looks like a formula does not
// run, numbers are numbers, times are times, and no cell has a control character. Every CSV of the program is written
// by it.
package csvcell

import (
	"encoding/csv"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cockroachdb/apd/v3"
	"golang.org/x/text/unicode/norm"

	"opdeck/api/untrusted"
	"opdeck/internal/format"
)

// Cell is a cell that is safe to write.
type Cell struct{ text string }

func (c Cell) String() string { return c.text }

// starts are the characters that may start a formula or a command, full-width forms included.
const starts = "=+-@|%−"

// Text is s on one line without control characters. It has an apostrophe before it if a spreadsheet could take it for a
// formula, also behind spaces or zero-width characters.
func Text(s string) Cell {
	s = strings.NewReplacer("\r\n", " ", "\n", " ", "\r", " ", "\t", " ").Replace(s)
	s, _ = untrusted.Clean(s, len(s)+1)
	rest := strings.TrimLeftFunc(s, func(r rune) bool {
		return !strings.ContainsRune(starts, r) && (unicode.IsSpace(r) || unicode.In(r, unicode.C, unicode.Z, unicode.Mn))
	})
	r, n := utf8.DecodeRuneInString(rest)
	if n == 0 {
		return Cell{s}
	}
	for _, like := range norm.NFKC.String(string(r)) {
		if strings.ContainsRune(starts, like) {
			return Cell{"'" + s}
		}
	}
	return Cell{s}
}

// number matches numbers as we write them: digits, grouped or not, with a point, an exponent, and a currency of three
// letters after or before.
var number = regexp.MustCompile(
	`^([A-Z]{3} )?[+-]?[0-9]+([ ,'\x{a0}\x{202f}][0-9]{3})*(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?( [A-Z]{3})?$`)

// Number is s as a cell of a column of numbers: a number is unchanged, anything else is Text.
func Number(s string) Cell {
	if number.MatchString(s) {
		return Cell{s}
	}
	return Text(s)
}

// Amount is an exact decimal with at least the digits of its currency, ungrouped: 12.50.
func Amount(d *apd.Decimal, currency string) Cell {
	digits, _ := format.Digits(currency)
	return Cell{strings.ReplaceAll(format.Number(d, digits), ",", "")}
}

// Zoned is the heading of a column of times.
func Zoned(head string) string { return head + " (UTC)" }

// Time is a moment in UTC, which the heading says, to the second; the zero time is empty.
func Time(t time.Time) Cell {
	if t.IsZero() {
		return Cell{}
	}
	return Cell{t.UTC().Format("2006-01-02 15:04:05")}
}

// Writer writes rows. Nothing is written before Flush, or a few kilobytes.
type Writer struct{ out *csv.Writer }

// byteOrderMark tells a spreadsheet that the text is UTF-8.
const byteOrderMark = "\ufeff"

// New begins a file; mark: with a byte order mark.
func New(w io.Writer, mark bool, head []string) (Writer, error) {
	if mark {
		if _, err := io.WriteString(w, byteOrderMark); err != nil {
			return Writer{}, err
		}
	}
	out := Writer{csv.NewWriter(w)}
	cells := make([]Cell, len(head))
	for i, h := range head {
		cells[i] = Text(h)
	}
	return out, out.Row(cells)
}

// Row writes a row.
func (w Writer) Row(cells []Cell) error {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = c.text
	}
	return w.out.Write(row)
}

// Flush writes the rest.
func (w Writer) Flush() error {
	w.out.Flush()
	return w.out.Error()
}
