package plain

import (
	"strings"
	"time"

	"opdeck/internal/format"
)

// span says a length of time in its one or two largest units, rounded down:
// "4 minutes 20 seconds".
func span(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	parts := []struct {
		n    int64
		unit string
	}{{int64(d / (24 * time.Hour)), "day"}, {int64(d / time.Hour % 24), "hour"}, {int64(d / time.Minute % 60), "minute"},
		{int64(d / time.Second % 60), "second"}}
	for i, p := range parts {
		if p.n == 0 {
			continue
		}
		s := format.Plural(int(p.n), p.unit, p.unit+"s")
		if i+1 < len(parts) && parts[i+1].n > 0 {
			s += " " + format.Plural(int(parts[i+1].n), parts[i+1].unit, parts[i+1].unit+"s")
		}
		return s
	}
	if d > 0 {
		return "less than a second"
	}
	return "0 seconds"
}

// List joins words: "a, b and c".
func List(words []string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
}
