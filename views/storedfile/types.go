package storedfile

import (
	"context"
	"slices"
	"strings"

	"opdeck/api/untrusted"
	"opdeck/ui/widget"
)

// TypesSeen tells the types of documents that the service's answers showed: no call.
type TypesSeen interface {
	DocumentTypes(ctx context.Context) ([]untrusted.Text, error)
}

// MaxType is the longest type of a document that can be typed, in characters.
const MaxType = 64

// mostSeen is how many types are offered that only answers showed.
const mostSeen = 50

// TypeOptions are the types of documents to choose from: first, then the known ones, then
// those that only the service's answers showed. What was seen there says so. A type that
// would not be sent as it came, because a field cannot hold it to the letter, is left out.
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
