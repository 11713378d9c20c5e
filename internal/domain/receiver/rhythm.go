package receiver

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// Rhythm is how often events arrive, and whether the silence since the last one is unusual. A dead webhook feed looks
// like a quiet day; this separates the two as well as the past allows.
type Rhythm struct {
	Last    time.Time     // time of the last event; zero for none
	Quiet   time.Duration // since then
	Usual   time.Duration // the usual interval at this time of day
	Limit   time.Duration // silence beyond this is unusual
	Known   bool          // there is enough data
	Stalled bool          // Quiet exceeds Limit
}

const (
	rhythmMin   = 12               // intervals needed
	rhythmFloor = 5 * time.Minute  // a shorter silence is never reported
	rhythmShort = 2                // in usual intervals: never reported
	rhythmLong  = 6                // in usual intervals: always reported
	hourSpread  = 90 * time.Minute // counts as the same time of day
	hourDays    = 3                // days needed for the time of day to count

	rhythmNewest = 1000 // times that are read
	rhythmBack   = 7    // days that are read of a feed with more than that within them
	rhythmEach   = 100  // times that are read of each
)

// RhythmIn is RhythmOf for what an inbox has. A busy feed's newest times do not cover several days: of those, it reads
// what came at this time of day.
func RhythmIn(ctx context.Context, in Inbox, now time.Time) (Rhythm, error) {
	times, err := in.Times(ctx, rhythmNewest)
	r := RhythmOf(times, now)
	if err != nil || r.Quiet <= rhythmFloor || len(times) < rhythmNewest {
		return r, err
	}
	var same []time.Duration
	days := 0
	for day := 1; day <= rhythmBack; day++ {
		run, err := in.Before(ctx, r.Last.Add(hourSpread-time.Duration(day)*24*time.Hour), rhythmEach)
		if err != nil {
			return r, err
		}
		slices.SortFunc(run, time.Time.Compare)
		if pauses, _ := pausesNear(run, r.Last); len(pauses) > 0 {
			same, days = append(same, pauses...), days+1
		}
	}
	if len(same) >= rhythmMin && days >= hourDays {
		r.judge(same)
	}
	return r, nil
}

// RhythmOf derives the rhythm from times, in any order, and judges the silence until now. If the past covers several
// days, it uses intervals that began at about this time of day, so that a quiet night is no alarm and a quiet morning
// is one.
func RhythmOf(times []time.Time, now time.Time) Rhythm {
	times = slices.Clone(times)
	slices.SortFunc(times, time.Time.Compare)
	times = slices.DeleteFunc(times, func(t time.Time) bool { return t.After(now) })
	if len(times) == 0 {
		return Rhythm{}
	}
	r := Rhythm{Last: times[len(times)-1]}
	r.Quiet = now.Sub(r.Last)
	pauses := pausesLike(times, r.Last)
	if len(pauses) < rhythmMin {
		return r
	}
	r.judge(pauses)
	return r
}

// judge compares the silence with the intervals.
func (r *Rhythm) judge(pauses []time.Duration) {
	r.Known = true
	var longest time.Duration
	r.Usual, longest = usual(pauses)
	r.Limit = max(rhythmFloor, rhythmShort*r.Usual, min(rhythmLong*r.Usual, longest*3/2))
	r.Stalled = r.Quiet > r.Limit
}

// usual returns the longest interval, and the one below which intervals make up half of the time. Events arrive in
// bursts: the many short intervals within them take no time and so do not count.
func usual(pauses []time.Duration) (half, longest time.Duration) {
	slices.Sort(pauses)
	var all, sum time.Duration
	for _, p := range pauses {
		all += p
	}
	for _, p := range pauses {
		if sum += p; sum >= all/2 {
			return p, pauses[len(pauses)-1]
		}
	}
	return 0, 0
}

// pausesLike returns the intervals that began at the time of day of last, if on hourDays days or more; else all.
func pausesLike(times []time.Time, last time.Time) []time.Duration {
	if same, days := pausesNear(times, last); len(same) >= rhythmMin && days >= hourDays {
		return same
	}
	var all []time.Duration
	for i := 1; i < len(times); i++ {
		all = append(all, times[i].Sub(times[i-1]))
	}
	return all
}

// pausesNear returns the intervals between sorted times that began at the time of day of last, and on how many days.
func pausesNear(times []time.Time, last time.Time) (same []time.Duration, days int) {
	on := map[int64]bool{}
	for i := 1; i < len(times); i++ {
		if near(times[i-1], last) {
			same = append(same, times[i].Sub(times[i-1]))
			on[times[i-1].Unix()/86400] = true
		}
	}
	return same, len(on)
}

func near(a, b time.Time) bool {
	const day = 24 * time.Hour
	d := (a.Sub(b)%day + day) % day
	return min(d, day-d) <= hourSpread
}

// String is a sentence for people: "no events for 2 h, usually every 4 min".
func (r Rhythm) String() string {
	switch {
	case r.Last.IsZero():
		return "no events yet"
	case r.Stalled:
		return fmt.Sprintf("no events for %s, usually every %s", span(r.Quiet), span(r.Usual))
	case !r.Known:
		return fmt.Sprintf("last event %s ago; too few to know the usual interval", span(r.Quiet))
	}
	return fmt.Sprintf("last event %s ago, usually every %s", span(r.Quiet), span(r.Usual))
}

// span formats a duration in its largest unit, or two if that is coarse.
func span(d time.Duration) string {
	units := []struct {
		d    time.Duration
		name string
	}{{24 * time.Hour, "d"}, {time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}}
	for i, u := range units {
		n := d / u.d
		if n == 0 {
			continue
		}
		s := fmt.Sprintf("%d %s", n, u.name)
		if i+1 < len(units) && n < 10 {
			if rest := d % u.d / units[i+1].d; rest > 0 {
				s += fmt.Sprintf(" %d %s", rest, units[i+1].name)
			}
		}
		return s
	}
	return "under 1 s"
}
