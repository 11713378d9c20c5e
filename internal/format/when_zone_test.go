package format

import (
	"testing"
	"time"
)

// TestZone: an offset is said only of a zone that has one all year.
func TestZone(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC)
	summer, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip(err)
	}
	for want, zone := range map[string]*time.Location{"UTC": time.UTC, "+05:30": time.FixedZone("IST", 19800), "local": summer} {
		if got := Zone(zone, now); got != want {
			t.Errorf("%v: %q, want %q", zone, got, want)
		}
	}
}
