package receiver

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// every returns n moments, the last one at end.
func every(n int, step time.Duration, end time.Time) (out []time.Time) {
	for i := range n {
		out = append(out, end.Add(-time.Duration(i)*step))
	}
	return out
}

// days returns moments each step from 08:00 to 20:00 on n days up to end.
func days(n int, step time.Duration, end time.Time) (out []time.Time) {
	for t := end.AddDate(0, 0, -n); !t.After(end); t = t.Add(step) {
		if h := t.Hour(); h >= 8 && h < 20 {
			out = append(out, t)
		}
	}
	return out
}

// bursts returns n groups of 30 moments within a second, one group an hour.
func bursts(n int, end time.Time) (out []time.Time) {
	for i := range n {
		out = append(out, every(30, 30*time.Millisecond, end.Add(-time.Duration(i)*time.Hour))...)
	}
	return out
}

func TestRhythmOf(t *testing.T) {
	evening := noon.Add(7*time.Hour + 56*time.Minute)
	for _, c := range []struct {
		name    string
		times   []time.Time
		now     time.Time
		stalled bool
		text    string
	}{
		{"nothing", nil, noon, false, "no events yet"},
		{"from the future only", every(1, 0, noon.Add(time.Hour)), noon, false, "no events yet"},
		{"one", every(1, 0, noon), noon.Add(time.Hour), false, "last event 1 h ago; too few to know the usual interval"},
		{"twelve are too few", every(12, time.Minute, noon), noon.Add(9 * time.Hour), false,
			"last event 9 h ago; too few to know the usual interval"},
		{"steady and fresh", every(100, 4*time.Minute, noon), noon.Add(3 * time.Minute), false,
			"last event 3 min ago, usually every 4 min"},
		{"steady, a little late", every(100, 4*time.Minute, noon), noon.Add(8 * time.Minute), false,
			"last event 8 min ago, usually every 4 min"},
		{"steady, missing", every(100, 4*time.Minute, noon), noon.Add(2*time.Hour + 5*time.Minute), true,
			"no events for 2 h 5 min, usually every 4 min"},
		{"fast, short silence", every(500, 50*time.Millisecond, noon), noon.Add(4 * time.Minute), false,
			"last event 4 min ago, usually every under 1 s"},
		{"fast, silence", every(500, 50*time.Millisecond, noon), noon.Add(6 * time.Minute), true,
			"no events for 6 min, usually every under 1 s"},
		{"bursts, between two", bursts(10, noon), noon.Add(70 * time.Minute), false,
			"last event 1 h 10 min ago, usually every 59 min"},
		{"bursts missing", bursts(10, noon), noon.Add(2 * time.Hour), true, "no events for 2 h, usually every 59 min"},
		{"a usual night", days(10, 4*time.Minute, evening), evening.Add(11 * time.Hour), false,
			"last event 11 h ago, usually every 12 h"},
		{"no morning came", days(10, 4*time.Minute, evening), evening.Add(25 * time.Hour), true,
			"no events for 1 d 1 h, usually every 12 h"},
		{"silent at noon", days(10, 4*time.Minute, noon), noon.Add(time.Hour), true,
			"no events for 1 h, usually every 4 min"},
		{"order does not matter", append(every(50, time.Hour, noon.Add(-50*time.Hour)), every(50, time.Hour, noon)...),
			noon.Add(time.Hour), false, "last event 1 h ago, usually every 1 h"},
		{"all at once", slices.Repeat([]time.Time{noon}, 30), noon.Add(time.Minute), false,
			"last event 1 min ago, usually every under 1 s"},
	} {
		r := RhythmOf(c.times, c.now)
		if r.Stalled != c.stalled || r.String() != c.text {
			t.Errorf("%s: %+v %q, want %q", c.name, r, r, c.text)
		}
	}
}

// A random stream must hardly ever be called stalled, and a dead one soon.
func TestRhythmOfARandomStream(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	times := []time.Time{noon}
	alarms, limit := 0, time.Duration(0)
	for range 4000 {
		last := times[len(times)-1]
		next := last.Add(time.Duration(rnd.ExpFloat64() * float64(4*time.Minute)))
		if len(times) > 200 {
			r := RhythmOf(times[len(times)-200:], next.Add(-time.Nanosecond))
			if r.Stalled {
				alarms++
			}
			limit = max(limit, r.Limit)
		}
		times = append(times, next)
	}
	if alarms > 2 || limit > 90*time.Minute {
		t.Errorf("%d false alarms in 3,800 pauses, slowest alarm after %s", alarms, limit)
	}
}

// past is an Inbox that has nothing but times.
type past struct {
	Inbox
	times []time.Time // sorted
}

func (p past) Times(_ context.Context, limit int) ([]time.Time, error) {
	return p.times[max(0, len(p.times)-limit):], nil
}

func (p past) Before(_ context.Context, end time.Time, limit int) ([]time.Time, error) {
	i, _ := slices.BinarySearchFunc(p.times, end, time.Time.Compare)
	return slices.Clone(p.times[max(0, i-limit):min(i+1, len(p.times))]), nil
}

// TestRhythmOfABusyFeed: its nights are as quiet as those of a slow one, however many events a day has.
func TestRhythmOfABusyFeed(t *testing.T) {
	evening := noon.Add(7*time.Hour + 56*time.Minute)
	for _, step := range []time.Duration{4 * time.Minute, time.Minute, 7 * time.Second} {
		busy := past{times: days(8, step, evening)}
		for after, stalled := range map[time.Duration]bool{11 * time.Hour: false, 25 * time.Hour: true} {
			if r, err := RhythmIn(t.Context(), busy, evening.Add(after)); err != nil || r.Stalled != stalled {
				t.Errorf("every %s, %s later: %+v %v", step, after, r, err)
			}
		}
		dead := past{times: days(8, step, noon)}
		if r, err := RhythmIn(t.Context(), dead, noon.Add(time.Hour)); err != nil || !r.Stalled {
			t.Errorf("every %s, silent at noon: %+v %v", step, r, err)
		}
	}
}
