package limit_test

import (
	"testing"
	"time"

	"opdeck/api/limit"
)

func TestToWall(t *testing.T) {
	stored := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for _, c := range []struct{ off, want time.Duration }{
		{0, 0}, {1400 * time.Millisecond, 0}, {-time.Second, 0},
		{40*time.Minute + 300*time.Millisecond, 40 * time.Minute}, {-time.Hour, -time.Hour},
	} {
		if got := limit.ToWall(stored, stored.Add(time.Minute), stored.Add(time.Minute+c.off)).Sub(stored); got != c.want {
			t.Errorf("off %v: moved by %v, want %v", c.off, got, c.want)
		}
	}
	if !limit.ToWall(time.Time{}, stored, stored.Add(time.Hour)).IsZero() {
		t.Error("no time became one")
	}
}
