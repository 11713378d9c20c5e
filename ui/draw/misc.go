package draw

import (
	"opdeck/api/untrusted"
	"opdeck/internal/format"
)

// ID draws an identifier in at most w cells: the whole of it, its short form, or as much of both ends as fits.
func ID(id string, w int) string {
	whole := untrusted.Text(id).Line(256)
	if Width(whole) <= w {
		return whole
	}
	return Middle(format.ShortID(untrusted.Text(id)), w)
}

// Fitting returns the first of the sentences that fits into w cells; the sentences begin with the longest. If none
// fits, it cuts the last one.
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
