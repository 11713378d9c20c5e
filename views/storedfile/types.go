package storedfile

import (
	"slices"
	"strings"

	"opdeck/api/untrusted"
	"opdeck/ui/widget"
)

// MaxType is the longest type of a document that can be typed, in characters.
const MaxType = 64

// mostSeen is the maximum of offered types that only answers showed.
const mostSeen = 50

// TypeOptions returns the document types to choose from: first, then the known ones, then
// those that only the service's answers showed, which are marked. It omits a type that a
// field cannot hold unchanged.
func TypeOptions(first, known []string, seen []untrusted.Text) []widget.Option {
	var out []widget.Option
	add := func(t, about string) {
		if t != "" && !slices.ContainsFunc(out, func(o widget.Option) bool { return o.Value == t }) {
			out = append(out, widget.Option{Value: t, About: about})
		}
	}
	for _, t := range first {
		add(t, "document type used here")
	}
	for _, t := range known {
		about := ""
		if slices.Contains(seen, untrusted.Text(t)) {
			about = "seen in answers"
		}
		add(t, about)
	}
	listed := len(out)
	for _, u := range seen {
		if t := u.Line(MaxType); t == string(u) && strings.ToUpper(t) == t && len(out)-listed < mostSeen {
			add(t, "seen in answers, not documented")
		}
	}
	return out
}
