// Package csvcell makes cells of CSV files safe for spreadsheets, which run text that looks like a formula.
package csvcell

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"opdeck/api/pattern"
)

// starts are the characters that may start a formula or a command, full-width forms included.
const starts = "=+-@|%−\t\r\n"

// Text is s as a text cell: it prepends an apostrophe if a spreadsheet could take s for a formula, also behind spaces
// or zero-width characters.
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

// number matches numbers as we write them: digits, grouped or not, with a point, an exponent, and a currency of three
// letters after or before.
var number = pattern.New(
	`^([A-Z]{3} )?[+-]?[0-9]+([ ,'\x{a0}\x{202f}][0-9]{3})*(\.[0-9]+)?([eE][+-]?[0-9]{1,4})?( [A-Z]{3})?$`)

// Number is s as a cell of a column of numbers: a number is unchanged, anything else is Text.
func Number(s string) string {
	if number.MatchString(s) {
		return s
	}
	return Text(s)
}
