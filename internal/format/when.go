package format

import (
	"fmt"
	"time"

	"opdeck/api/elapsed"
)

// Time formats t in zone to the second, with the zone's name; "–" for the zero time.
func Time(t time.Time, zone *time.Location) string { return stamp(t, zone, "2006-01-02 15:04:05 MST") }

// TimeAgo is Time with the age, or the time until then.
func TimeAgo(t, now time.Time, zone *time.Location) string {
	ago, _ := Ago(t, now)
	return Time(t, zone) + ", " + ago
}

// Zone names a zone as the head of a column does: "UTC", its offset, or "local" if the offset changes within the year
// around now.
func Zone(zone *time.Location, now time.Time) string {
	const utc = "+00:00"
	offset := now.In(zone).Format("-07:00")
	for month := -6; month < 6; month++ {
		if now.AddDate(0, month, 0).In(zone).Format("-07:00") != offset {
			return "local"
		}
	}
	if offset == utc {
		return "UTC"
	}
	return offset
}

// Minute formats t in zone to the minute, without the zone: for columns.
func Minute(t time.Time, zone *time.Location) string { return stamp(t, zone, "2006-01-02 15:04") }

// Second is Minute with the seconds.
func Second(t time.Time, zone *time.Location) string { return stamp(t, zone, "2006-01-02 15:04:05") }

// Date is the day of t in zone.
func Date(t time.Time, zone *time.Location) string { return stamp(t, zone, time.DateOnly) }

// Clock formats the time of day in zone to the second.
func Clock(t time.Time, zone *time.Location) string { return stamp(t, zone, "15:04:05") }

// ClockOrDay is the time of day to the minute of a t on the day of now in zone, and month and day of another.
func ClockOrDay(t, now time.Time, zone *time.Location) string {
	if stamp(t, zone, time.DateOnly) == stamp(now, zone, time.DateOnly) {
		return stamp(t, zone, "15:04")
	}
	return stamp(t, zone, "01-02")
}

func stamp(t time.Time, zone *time.Location, layout string) string {
	if t.IsZero() {
		return "–"
	}
	if zone == nil {
		zone = time.UTC
	}
	return t.In(zone).Format(layout)
}

// Until formats the time from now to end: in hours beyond two days, minutes beyond five minutes, tens of seconds
// beyond one minute, else seconds. It rounds down: there is at least as much time as shown. next is when the text
// changes; zero if it no longer does. A time that has passed is "0s", the last second "1s".
func Until(end, now time.Time) (s string, next time.Time) {
	if end.IsZero() {
		return "–", time.Time{}
	}
	left := end.Sub(now)
	if left <= 0 {
		return "0s", time.Time{}
	}
	if left <= time.Minute {
		n := (left + time.Second - 1) / time.Second
		return elapsed.Whole(n * time.Second), end.Add(-(n - 1) * time.Second)
	}
	step := time.Minute
	switch {
	case left <= 5*time.Minute:
		step = 10 * time.Second
	case left > 48*time.Hour:
		step = time.Hour
	}
	shown := left / step * step
	next = end.Add(-shown + 1)
	if shown == time.Minute { // below it, the seconds have the same text
		next = end.Add(-59 * time.Second)
	}
	return elapsed.Whole(shown), next
}

// Ago formats how long ago t was: "now" below ten seconds, tens of seconds below a minute, then minutes, hours, days.
// A t that is a minute or more ahead is "in 3m"; less is a clock difference. next is when the text changes.
func Ago(t, now time.Time) (s string, next time.Time) {
	s, past, next := age(t, now)
	if past {
		s += " ago"
	}
	return s, next
}

// Age is Ago without the word "ago": "3m".
func Age(t, now time.Time) (s string, next time.Time) {
	s, _, next = age(t, now)
	return s, next
}

// age is the time from t to now; past reports whether t is at least one step ago.
func age(t, now time.Time) (s string, past bool, next time.Time) {
	if t.IsZero() {
		return "–", false, time.Time{}
	}
	age := now.Sub(t)
	step := 10 * time.Second
	switch {
	case age.Abs() >= 48*time.Hour:
		step = 24 * time.Hour
	case age.Abs() >= time.Hour:
		step = time.Hour
	case age.Abs() >= time.Minute:
		step = time.Minute
	}
	n := age.Abs() / step
	switch {
	case n == 0, age < 0 && age > -time.Minute:
		return "now", false, t.Add(10 * time.Second)
	case step == 24*time.Hour:
		s = fmt.Sprintf("%dd", n)
	case step == time.Hour:
		s = fmt.Sprintf("%dh", n)
	default:
		s = elapsed.Whole(n * step)
	}
	if age < 0 {
		return "in " + s, false, t.Add(1 - n*step)
	}
	return s, true, t.Add((n + 1) * step)
}

// Duration formats how long something took: "84ms", "1.2s", "2m 05s".
func Duration(d time.Duration) string { return elapsed.Text(d) }
