// Package csvcell makes cells of CSV files safe for spreadsheets, which run text that
// begins like a formula.
package csvcell

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// starts are the characters that a program may take for the beginning of a formula or
// of a command. Other widths of them count as well.
const starts = "=+-@|%−\t\r\n"

// Text is s as a cell of text: one that a spreadsheet could take for a formula gets an
// apostrophe before it. Spaces and characters without a width before it do not hide it.
func Text(s string) string {
	rest := strings.TrimLeftFunc(s, func(r rune) bool {
		return !strings.ContainsRune(starts, r) && (unicode.IsSpace(r) || unicode.In(r, unicode.C, unicode.Z, unicode.Mn))
	})
	r, n := utf8.DecodeRuneInString(rest)
	if n == 0 {
		return s
	}
	for _, like := range norm.NFKC.String(string(r)) {
		if strings.ContainsRune(starts, like) {
			return "'" + s
		}
	}
	return s
}

// number is a number as we write it: digits, grouped or not, with a point and an
// exponent, and with a currency of three letters behind it or before it.
var number = regexp.MustCompile(
	`^([A-Z]{3} )?[+-]?[0-9]+([ ,'\x{a0}\x{202f}][0-9]{3})*(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?( [A-Z]{3})?$`)

// Number is s as a cell of a column of numbers: a number stays one, all else is Text.
func Number(s string) string {
	if number.MatchString(s) {
		return s
	}
	return Text(s)
}
