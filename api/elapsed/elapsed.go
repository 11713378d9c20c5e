// Package elapsed words durations, in one form for sentences, screens and commands.
package elapsed

import (
	"fmt"
	"time"
)

// Text is a duration in the two largest units, rounded down: "1h 05m", "4m 58s", "45s"; below ten seconds with a
// tenth, and below one in milliseconds. "–" for a negative one.
func Text(d time.Duration) string {
	switch {
	case d < 0:
		return "–"
	case d > 0 && d < time.Millisecond:
		return "<1ms"
	case d > 0 && d < time.Second:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < 10*time.Second && d%time.Second >= 100*time.Millisecond:
		return fmt.Sprintf("%d.%ds", d/time.Second, d%time.Second/(100*time.Millisecond))
	}
	return Whole(d)
}

// Whole is Text without parts of a second.
func Whole(d time.Duration) string {
	h, m, s := int(d/time.Hour), int(d/time.Minute)%60, int(d/time.Second)%60
	switch {
	case h >= 48:
		return fmt.Sprintf("%dd %dh", h/24, h%24)
	case h > 0:
		return fmt.Sprintf("%dh %02dm", h, m)
	case m > 0 && s == 0:
		return fmt.Sprintf("%dm", m)
	case m > 0:
		return fmt.Sprintf("%dm %02ds", m, s)
	}
	return fmt.Sprintf("%ds", s)
}
