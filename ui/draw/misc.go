package draw

import (
	"github.com/dustin/go-humanize"

	"opdeck/api/untrusted"
)

// Size draws a number of bytes: "512 B", "1.2 MB". Negative sizes are "?".
func Size(n int64) string {
	if n < 0 {
		return "?"
	}
	return humanize.Bytes(uint64(n))
}

// Count draws a whole number with thousands grouped by commas.
func Count(n int) string { return humanize.Comma(int64(n)) }

// ID draws an identifier in at most w cells, both ends kept.
func ID(id string, w int) string { return Middle(untrusted.Text(id).Line(256), w) }

// Plural is "1 document", "3 documents".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// Fitting is the first of the sentences that fits w cells, the fullest one first;
// where none does, the last one is cut.
func Fitting(w int, sentences ...string) string {
	for _, s := range sentences {
		if Width(s) <= w {
			return s
		}
	}
	if len(sentences) == 0 {
		return ""
	}
	return Cut(sentences[len(sentences)-1], w)
}
