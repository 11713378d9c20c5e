package limit_test

import (
	"testing"
	"time"

	"opdeck/api/limit"
)

// TestApart: what a reading takes is no difference, however slow it is.
func TestApart(t *testing.T) {
	before := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct{ ahead, takes, want time.Duration }{
		{0, 0, 0}, {1400 * time.Millisecond, 0, 0}, {-time.Second, 0, 0},
		{40*time.Minute + 300*time.Millisecond, 0, 40 * time.Minute}, {-time.Hour, 0, -time.Hour},
		{0, 20 * time.Second, 0}, {20 * time.Second, 20 * time.Second, 0}, {7 * time.Second, 20 * time.Second, 0},
		{time.Hour, time.Minute, 59 * time.Minute}, {-time.Hour, time.Minute, -time.Hour},
	} {
		if got := limit.Apart(before.Add(c.ahead), before, before.Add(c.takes)); got != c.want {
			t.Errorf("ahead by %v, read in %v: %v, want %v", c.ahead, c.takes, got, c.want)
		}
	}
	if got := limit.Moved(before, time.Hour); !got.Equal(before.Add(-time.Hour)) {
		t.Errorf("moved to %v", got)
	}
	if !limit.Moved(time.Time{}, time.Hour).IsZero() {
		t.Error("no time became one")
	}
}
