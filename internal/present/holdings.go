package present

import (
	"strings"

	"opdeck/internal/domain/holdings"
	"opdeck/internal/format"
)

// Holding is one thing that a person holds, in a line, and what removes it; "" for nothing.
func Holding(o Options, h holdings.Holding) (line, remove string) {
	line = safe(string(h.Kind), 40) + ": " + safe(h.What, 300)
	if h.Where != "" {
		line += ", " + safe(h.Where, 300)
	}
	var more []string
	for _, s := range []string{string(h.Role), h.State} {
		if s != "" {
			more = append(more, safe(s, 120))
		}
	}
	if !h.Since.IsZero() {
		more = append(more, "since "+format.Time(h.Since, o.Zone))
	}
	if !h.Until.IsZero() {
		more = append(more, "until "+format.Time(h.Until, o.Zone))
	}
	if len(more) > 0 {
		line += " (" + strings.Join(more, ", ") + ")"
	}
	return line, safe(h.Remove, 300)
}

// Unseen says what a person may hold without a trace, and what makes it useless.
func Unseen(u holdings.Unseen) string { return safe(u.What, 300) + ": " + safe(u.Do, 300) + "." }
