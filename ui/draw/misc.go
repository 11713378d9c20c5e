package draw

import "opdeck/api/untrusted"

// ID draws an identifier in at most w cells, both ends kept.
func ID(id string, w int) string { return Middle(untrusted.Text(id).Line(256), w) }

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
