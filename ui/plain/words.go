package plain

import (
	"strconv"
	"strings"
	"time"
)

// Span says a length of time in its one or two largest units, rounded down:
// "4 minutes 20 seconds".
func Span(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	parts := []struct {
		n    int64
		unit string
	}{{int64(d / (24 * time.Hour)), "day"}, {int64(d / time.Hour % 24), "hour"}, {int64(d / time.Minute % 60), "minute"}, {int64(d / time.Second % 60), "second"}}
	for i, p := range parts {
		if p.n == 0 {
			continue
		}
		s := Number(p.n, p.unit)
		if i+1 < len(parts) && parts[i+1].n > 0 {
			s += " " + Number(parts[i+1].n, parts[i+1].unit)
		}
		return s
	}
	if d > 0 {
		return "less than a second"
	}
	return "0 seconds"
}

// Number says how many: "1 day", "3 days".
func Number(n int64, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return strconv.FormatInt(n, 10) + " " + unit + "s"
}

// Ago says how long ago t was: "just now", "5 minutes ago". The zero time is
// "never".
func Ago(t, now time.Time) string {
	switch age := now.Sub(t); {
	case t.IsZero():
		return "never"
	case age < 10*time.Second:
		return "just now"
	case age < time.Minute:
		return Span(age) + " ago"
	case age < time.Hour:
		return Number(int64(age/time.Minute), "minute") + " ago"
	case age < 48*time.Hour:
		return Number(int64(age/time.Hour), "hour") + " ago"
	default:
		return Number(int64(age/(24*time.Hour)), "day") + " ago"
	}
}

// Moment says a time in zone: "2 November 2026, 14:03:05 UTC".
func Moment(t time.Time, zone *time.Location) string {
	if t.IsZero() {
		return "not given"
	}
	return t.In(zone).Format("2 January 2006, 15:04:05 MST")
}

// List joins words: "a, b and c".
func List(words []string) string {
	n := len(words)
	if n < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n-1], ", ") + " and " + words[n-1]
}
