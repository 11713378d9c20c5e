package secret

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxWritten is the most that a written secret may have, in bytes.
const MaxWritten = 4096

// quotes are the pairs that people and editors put around a value.
var quotes = []string{`""`, `''`, "``", "“”", "„“", "‘’", "«»"}

// Written reads a secret as a person or a program has written it into a file, a variable or standard output, of at
// most lines lines. The line end of the last one is dropped; nothing else is, because what looks like the secret and
// is not would be sent. An error says what is wrong with the text ("ends with a blank") and never shows it.
func Written(text []byte, lines int) (Value, error) {
	switch {
	case len(text) == 0:
		return Value{}, errors.New("is empty")
	case len(text) > MaxWritten:
		return Value{}, fmt.Errorf("is longer than %d bytes", MaxWritten)
	case bytes.HasPrefix(text, []byte("\xff\xfe")), bytes.HasPrefix(text, []byte("\xfe\xff")),
		bytes.IndexByte(text, 0) >= 0:
		return Value{}, errors.New("is UTF-16, as Windows tools save text: save it as UTF-8 without a BOM")
	case bytes.HasPrefix(text, []byte("\xef\xbb\xbf")):
		return Value{}, errors.New("begins with a BOM (byte order mark): save it as UTF-8 without a BOM")
	case !utf8.Valid(text):
		return Value{}, errors.New("is not UTF-8")
	}
	s := strings.TrimSuffix(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
	all := strings.Split(s, "\n")
	switch {
	case strings.TrimSpace(s) == "":
		return Value{}, errors.New("is empty")
	case all[len(all)-1] == "":
		return Value{}, errors.New("ends with an empty line")
	case len(all) > lines:
		return Value{}, fmt.Errorf("has %d lines, and %d is the most", len(all), lines)
	}
	for _, line := range all {
		if what := oddity(line); what != "" {
			return Value{}, errors.New(what)
		}
	}
	return New(s), nil
}

// oddity says why a line is not only the secret; "" if it is.
func oddity(line string) string {
	for _, r := range line {
		switch {
		case r == ' ':
		case unicode.Is(unicode.Zs, r):
			return fmt.Sprintf("has a no-break or wide space (U+%04X)", r)
		case !unicode.IsPrint(r):
			return fmt.Sprintf("has an invisible character (U+%04X)", r)
		}
	}
	switch {
	case strings.HasPrefix(line, " "):
		return "begins with a blank"
	case strings.HasSuffix(line, " "):
		return "ends with a blank"
	}
	for _, pair := range quotes {
		first, size := utf8.DecodeRuneInString(pair)
		if len(line) > size && strings.HasPrefix(line, string(first)) && strings.HasSuffix(line, pair[size:]) {
			return "is in quotes: write it without them"
		}
	}
	return ""
}
