package store

import (
	"testing"
	"time"
)

func TestRunsOfTheMachine(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"4f6c", "4f6c", true},
		{"4f6c", "91aa", false},
		{beganAt + "1000", beganAt + "1003", true},
		{beganAt + "1003", beganAt + "1000", true},
		{beganAt + "1000", beganAt + "1120", false},
		{beganAt + "1000", "1000", false},
		{beganAt + "x", beganAt + "y", false},
		{"", "4f6c", false},
	} {
		if got := SameBoot(c.a, c.b); got != c.same {
			t.Errorf("SameBoot(%q, %q) = %v", c.a, c.b, got)
		}
	}
}

func TestBootClockGoesOn(t *testing.T) {
	steady, boot, err := bootClock()
	if err != nil || boot == "" {
		t.Fatalf("boot %q, %v", boot, err)
	}
	a := steady()
	time.Sleep(time.Millisecond)
	if d := steady() - a; d < time.Millisecond || d > time.Minute {
		t.Errorf("it advanced %v", d)
	}
}
