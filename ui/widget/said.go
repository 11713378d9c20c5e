package widget

import (
	"opdeck/api/untrusted"
	"opdeck/internal/format"
	"opdeck/ui/theme"
)

// SaidAll is Said for labels and texts in turn; empty texts are left out.
func SaidAll(labelsAndTexts ...string) []Pair {
	var out []Pair
	for i := 0; i+1 < len(labelsAndTexts); i += 2 {
		out = append(out, Said(labelsAndTexts[i], untrusted.Text(labelsAndTexts[i+1]), "")...)
	}
	return out
}

// Said is the pairs of a text from outside: the safe text, and below it what is
// odd about it. none stands for an empty text; where that is empty too there is
// no pair.
func Said(label string, u untrusted.Text, none string) []Pair {
	switch {
	case u == "" && none == "":
		return nil
	case u == "":
		return []Pair{{Label: label, Value: none, Tone: theme.Dim}}
	}
	out := []Pair{{Label: label, Value: u.Line(1200), Long: true}}
	if odd := format.Suspicious(u); odd != "" {
		out = append(out, Pair{Label: "  ! odd text", Value: odd, Tone: theme.Warn, Long: true})
	}
	return out
}
