package draw

import "opdeck/api/untrusted"

// ID draws an identifier in at most w cells, both ends kept.
func ID(id string, w int) string { return Middle(untrusted.Text(id).Line(256), w) }

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
