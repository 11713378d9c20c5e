package filter

import (
	"strconv"
	"strings"
	"time"
)

// spoken is a time as lists draw it or as people say it. Its span depends on the zone and on now.
type spoken struct {
	day    string        // the layout of its date; "": none
	wall   time.Time     // date and time of day, without a zone
	exact  time.Duration // of the time of day; 0: the whole day
	age    time.Duration // or an age: n steps ago, in steps; negative: ahead
	step   time.Duration
	utc    bool // wall is in UTC, whatever the zone
	offset int  // or days from today
	today  bool
}

// dates are the forms of a day; those without a year are of the last twelve months.
var dates = []string{"2006-01-02", "2006/01/02", "02.01.2006", "2.1.2006", "2 Jan 2006", "2 January 2006",
	"Jan 2 2006", "January 2 2006", "2 Jan", "2 January", "Jan 2", "January 2", "2006-01",
	"Jan 2006", "January 2006"}

var clocks = []struct {
	layout string
	exact  time.Duration
}{{"15:04", time.Minute}, {"15:04:05", time.Second}}

// speak reads words as a day, a moment, a time of day or an age; ok is false for anything else.
func speak(s string) (spoken, bool) {
	switch strings.ToLower(s) {
	case "today":
		return spoken{today: true}, true
	case "yesterday":
		return spoken{today: true, offset: -1}, true
	case "now":
		return spoken{step: 10 * time.Second}, true
	}
	if p, ok := speakAge(strings.ToLower(s)); ok {
		return p, true
	}
	at := spoken{}
	if words := strings.Fields(s); len(words) > 1 && (words[len(words)-1] == "UTC" || words[len(words)-1] == "Z") {
		at.utc, s = true, strings.Join(words[:len(words)-1], " ")
	}
	for _, layout := range dates {
		if t, err := time.Parse(layout, s); err == nil {
			at.day, at.wall = layout, t
			return at, true
		}
	}
	for _, clock := range clocks {
		if t, err := time.Parse(clock.layout, s); err == nil {
			at.wall, at.exact = t, clock.exact
			return at, true
		}
		for _, layout := range dates {
			if t, err := time.Parse(layout+" "+clock.layout, s); err == nil {
				at.day, at.wall, at.exact = layout, t, clock.exact
				return at, true
			}
		}
	}
	return speakExact(s)
}

// speakExact reads a moment with its zone, as programs print it.
func speakExact(s string) (spoken, bool) {
	for _, form := range []struct {
		layout string
		exact  time.Duration
	}{{"2006-01-02T15:04:05.999999999Z07:00", time.Second}, {"2006-01-02T15:04Z07:00", time.Minute}} {
		if t, err := time.Parse(form.layout, s); err == nil {
			return spoken{day: time.DateOnly, wall: t.UTC().Truncate(form.exact), exact: form.exact, utc: true}, true
		}
	}
	return spoken{}, false
}

// speakAge reads the age of a list: "2d ago", "50s ago", "in 3m".
func speakAge(s string) (spoken, bool) {
	past, isPast := strings.CutSuffix(s, " ago")
	ahead, isAhead := strings.CutPrefix(s, "in ")
	text, sign := past, time.Duration(1)
	if isAhead {
		text, sign = ahead, -1
	}
	if isPast == isAhead || len(text) < 2 {
		return spoken{}, false
	}
	unit, ok := ageUnits[text[len(text)-1]]
	n, err := strconv.ParseUint(text[:len(text)-1], 10, 16)
	if !ok || err != nil || n == 0 || unit > day {
		return spoken{}, false
	}
	step := unit
	if unit == time.Second {
		step = 10 * time.Second
	}
	return spoken{age: sign * time.Duration(n) * unit, step: step}, true
}

// drift is how long ago a list may have drawn the age that somebody types.
const drift = time.Minute

// span is the time that is meant, in µs, excluding its end.
func (s *spoken) span(now time.Time, zone *time.Location) (start, end int64) {
	if zone == nil || s.utc {
		zone = time.UTC
	}
	if s.step > 0 {
		return s.ages(now)
	}
	y, m, d := s.wall.Date()
	if here := now.In(zone); s.today || s.day == "" {
		y, m, d = here.Date()
		d += s.offset
	} else if !strings.Contains(s.day, "2006") {
		y = here.Year()
	}
	at := func(y, d int) time.Time {
		return time.Date(y, m, d, s.wall.Hour(), s.wall.Minute(), s.wall.Second(), 0, zone)
	}
	from := at(y, d)
	switch {
	case !from.After(now) || s.today:
	case s.day == "": // the last time that the clock showed it
		d--
	case !strings.Contains(s.day, "2006"):
		y--
	}
	from = at(y, d)
	switch {
	case s.exact > 0:
		return from.UnixMicro(), from.Add(s.exact).UnixMicro()
	case !s.today && !strings.Contains(strings.Replace(s.day, "2006", "", 1), "2"):
		return from.UnixMicro(), from.AddDate(0, 1, 0).UnixMicro()
	}
	return from.UnixMicro(), at(y, d+1).UnixMicro()
}

// ages is the span of an age.
func (s *spoken) ages(now time.Time) (start, end int64) {
	from, to := now.Add(-s.age-s.step), now.Add(-s.age)
	switch {
	case s.age == 0: // a list draws a time that is a little ahead in the same way
		to = now.Add(drift)
	case s.age < 0:
		from, to = to, to.Add(s.step)
	}
	return from.Add(-drift).UnixMicro(), to.UnixMicro() + 1
}
