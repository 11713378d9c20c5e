package listen

import (
	"fmt"
	"testing"
	"time"
)

func TestLogLimit(t *testing.T) {
	at := time.Unix(1_800_000_000, 0)
	l := LogLimit{}
	want := func(source, reason string, ok bool, missed int64) {
		t.Helper()
		if n, due := l.Allow(source, reason, at); due != ok || n != missed {
			t.Errorf("%s, %s: %v, %d; want %v, %d", source, reason, due, n, ok, missed)
		}
	}
	want("a", "x", true, 0)
	want("a", "x", false, 0)
	want("a", "y", true, 0)
	want("b", "x", true, 0)
	at = at.Add(time.Minute - 1)
	want("a", "x", false, 0)
	at = at.Add(1)
	want("a", "x", true, 2)
	want("a", "x", false, 0)

	at = at.Add(-time.Hour) // the clock is set back
	want("a", "x", true, 1)
	at = at.Add(time.Hour)
	want("a", "x", true, 0)

	// Ten thousand sources, the most that it distinguishes, and one.
	lines := 0
	for i := range 10_000 {
		if _, ok := l.Allow(fmt.Sprint("s", i), "x", at); ok {
			lines++
		}
	}
	if lines > maxLines+1 || len(l.lines) > maxLines+1 {
		t.Errorf("%d lines, %d sources kept", lines, len(l.lines))
	}
	at = at.Add(time.Minute)
	if n, ok := l.Allow("another", "x", at); !ok || len(l.lines) > 2 {
		t.Errorf("%v, %d, %d sources kept", ok, n, len(l.lines))
	}
}
