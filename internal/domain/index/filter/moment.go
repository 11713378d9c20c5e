package filter

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// moment is a time as people and lists write it. What it spans depends on now and on the zone.
type moment struct {
	// span is the time that is meant, its end excluded; now is in the zone. Of a time of day that comes twice it is the
	// first, or with later the second one.
	span  func(now time.Time, later bool) (from, to time.Time)
	of    byte // anAge, aDay, anInstant; 0: a day or time of day whose year depends on now
	drawn bool // an age as a list draws it: "2d ago"
	twice bool // a time of day, which comes twice when clocks go back
}

// The moments whose order among themselves does not depend on now. An age compares as such: updated<2h is the last two
// hours.
const (
	anAge     = 'a'
	aDay      = 'd' // with its year, in the zone that is shown
	anInstant = 'i'
)

const (
	dayLong = 24 * time.Hour
	drift   = time.Minute // how long ago a list may have drawn the age that somebody types
)

var ageUnits = map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': dayLong,
	'w': 7 * dayLong, 'y': 365 * dayLong}

// readAge reads an age to compare with, such as 30m, 2h, 3d or now.
func readAge(s string) (m moment, ok bool) {
	ago, ok := time.Duration(0), strings.EqualFold(s, "now")
	if !ok {
		ago, ok = duration(s)
	}
	return moment{of: anAge, span: func(now time.Time, _ bool) (time.Time, time.Time) {
		return now.Add(-ago), now.Add(-ago + time.Microsecond)
	}}, ok
}

// duration reads a number with a unit; 200 years are the limit.
func duration(s string) (time.Duration, bool) {
	if len(s) < 2 || len(s) > 6 {
		return 0, false
	}
	unit := ageUnits[s[len(s)-1]|0x20]
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 32)
	if unit == 0 || err != nil || int64(n) > int64(200*365*dayLong/unit) {
		return 0, false
	}
	return time.Duration(n) * unit, true
}

// units are those that people write out, with the letters that they begin with.
var units = regexp.MustCompile(`^(\d+) (s|m|h|d|w|y)(?:ec(?:ond)?|in(?:ute)?|our|ay|eek|ear)s?$`)

// readDrawn reads an age as a list draws it: "2d ago", "50s ago", "in 3m", "now".
func readDrawn(s string) (m moment, ok bool) {
	past, isPast := strings.CutSuffix(s, " ago")
	ahead, isAhead := strings.CutPrefix(s, "in ")
	text, step := past, 10*time.Second
	if isAhead {
		text = ahead
	}
	text = units.ReplaceAllString(text, "$1$2")
	ago := time.Duration(0)
	if s != "now" {
		if ago, ok = duration(text); isPast == isAhead || !ok || ago == 0 {
			return m, false
		}
		if unit := ageUnits[text[len(text)-1]]; unit != time.Second {
			step = unit
		}
	}
	return moment{drawn: true, span: func(now time.Time, _ bool) (from, to time.Time) {
		switch {
		case s == "now": // a list draws a time that is a little ahead in the same way
			from, to = now.Add(-step), now.Add(drift)
		case isAhead:
			from, to = now.Add(ago), now.Add(ago+step)
		default:
			from, to = now.Add(-ago-step), now.Add(-ago)
		}
		return from.Add(-drift), to.Add(time.Microsecond)
	}}, true
}

// readMoment reads a day or a time as people say it; ok is false for anything else. Of a day that can mean two, or has
// another weekday, not says so.
func readMoment(s string) (m moment, ok bool, not string) {
	s = strings.Join(strings.Fields(strings.ReplaceAll(s, ", ", " ")), " ")
	lower := strings.ToLower(s)
	if m, ok = readDays(lower); ok {
		return m, true, ""
	}
	if m, ok = readDrawn(lower); ok {
		return m, true, ""
	}
	if m, ok = readExact(s); ok {
		return m, true, ""
	}
	day, clock, seconds := s, time.Time{}, 0
	zone := (*time.Location)(nil) // the one that is shown
	if rest, is := cutZone(s); is {
		day, zone = rest, time.UTC
	}
	if head, last := lastWord(day); strings.Contains(last, ":") {
		for layout, n := range map[string]int{"15:04": 60, "15:04:05": 1, "3:04pm": 60} {
			if t, err := time.Parse(layout, strings.ToLower(last)); err == nil {
				day, clock, seconds = head, t, n
			}
		}
	}
	d := date{unit: 'd'}
	if day != "" || seconds == 0 {
		if d, ok, not = readDate(day); !ok || seconds > 0 && d.unit != 'd' {
			return m, false, not
		}
	}
	if zone != nil && seconds == 0 {
		return m, false, ""
	}
	return d.at(clock, time.Duration(seconds)*time.Second, zone), true, ""
}

func cutZone(s string) (rest string, utc bool) {
	for _, name := range []string{" UTC", " Z"} {
		if rest, utc = strings.CutSuffix(s, name); utc {
			return rest, true
		}
	}
	return s, false
}

// lastWord parts the last word of s, behind a space or the T of a time.
func lastWord(s string) (head, last string) {
	at := strings.LastIndexAny(s, " T")
	if at < 0 {
		return "", s
	}
	return s[:at], s[at+1:]
}

// readExact reads a moment with its zone, as programs print it, or with a space for its T and before its zone.
func readExact(s string) (m moment, ok bool) {
	if day, clock, spaced := strings.Cut(s, " "); spaced {
		s = day + "T" + strings.Replace(clock, " ", "", 1)
	}
	for layout, long := range map[string]time.Duration{time.RFC3339: time.Second, "2006-01-02T15:04Z07:00": time.Minute} {
		t, err := time.Parse(layout, s)
		if err != nil || !sensible(t) {
			continue
		}
		if t.Nanosecond() != 0 {
			long = time.Microsecond
		}
		return moment{of: anInstant, span: func(time.Time, bool) (time.Time, time.Time) { return t, t.Add(long) }}, true
	}
	return m, false
}

func sensible(t time.Time) bool { return t.Year() > 1 && t.Year() < 9999 }

// readDays reads the words for days: today, yesterday, monday, last week, this month.
func readDays(s string) (m moment, ok bool) {
	from := func(days func(now time.Time) (y, m, d, months, n int)) moment {
		return moment{span: func(now time.Time, _ bool) (time.Time, time.Time) {
			y, m, d, months, n := days(now)
			return dayStart(y, m, d, now.Location()), dayStart(y, m+months, d+n, now.Location())
		}}
	}
	ago := func(n int, back func(time.Time) int) moment {
		return from(func(now time.Time) (int, int, int, int, int) {
			y, m, d := now.Date()
			return y, int(m), d - back(now), 0, n
		})
	}
	month := func(back int) moment {
		return from(func(now time.Time) (int, int, int, int, int) { return now.Year(), int(now.Month()) - back, 1, 1, 0 })
	}
	monday := func(now time.Time) int { return (int(now.Weekday()) + 6) % 7 }
	switch s {
	case "today":
		return ago(1, func(time.Time) int { return 0 }), true
	case "yesterday":
		return ago(1, func(time.Time) int { return 1 }), true
	case "this week":
		return ago(7, monday), true
	case "last week":
		return ago(7, func(now time.Time) int { return monday(now) + 7 }), true
	case "this month":
		return month(0), true
	case "last month":
		return month(1), true
	}
	name, last := strings.CutPrefix(s, "last ")
	for day := range time.Weekday(7) {
		if strings.ToLower(day.String()) != name {
			continue
		}
		return ago(1, func(now time.Time) int { // the last such day: today, if it is one; "last monday" is before today
			back := (int(now.Weekday()) - int(day) + 7) % 7
			if last && back == 0 {
				back = 7
			}
			return back
		}), true
	}
	return m, false
}

// date is a year, a month or a day as written; without a year it is the last one.
type date struct {
	time.Time
	unit  byte // y, m, d; of a day without a time
	on    *time.Weekday
	given bool // a day, not only a time of day
	year  bool
}

// layouts are the forms of a date.
var layouts = []struct {
	layout string
	unit   byte
}{{"2006", 'y'}, {"2006-01", 'm'}, {"Jan 2006", 'm'}, {"January 2006", 'm'}, {"2006-01-02", 'd'}, {"2006/01/02", 'd'},
	{"2.1.2006", 'd'}, {"2.1.", 'd'}, {"2 Jan 2006", 'd'}, {"2 January 2006", 'd'}, {"Jan 2 2006", 'd'},
	{"January 2 2006", 'd'}, {"2 Jan", 'd'}, {"2 January", 'd'}, {"Jan 2", 'd'}, {"January 2", 'd'}}

// slashes are a day and a month, or a month and a day.
var slashes = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})(?:/(\d{4}))?$`)

// ordinals are days such as 2nd and 2. with a space behind them.
var ordinals = regexp.MustCompile(`(?i)\b(\d\d?)(?:st\b|nd\b|rd\b|th\b|\. )`)

// readDate reads a date, with or without its weekday.
func readDate(s string) (d date, ok bool, not string) {
	s = strings.TrimSpace(strings.Join(strings.Fields(ordinals.ReplaceAllString(s, "$1 ")), " "))
	name, rest, _ := strings.Cut(s, " ")
	name = strings.TrimRight(strings.ToLower(name), ".,")
	for day := range time.Weekday(7) {
		if full := strings.ToLower(day.String()); rest == "" || name != full && name != full[:3] {
			continue
		}
		if d, ok, not = readDate(rest); ok && d.year && d.unit == 'd' && d.Weekday() != day {
			return d, false, "is a " + d.Weekday().String()
		}
		d.on = &day
		return d, ok && d.unit == 'd', not
	}
	if m := slashes.FindStringSubmatch(s); m != nil {
		return readSlashes(m[1], m[2], m[3])
	}
	for _, l := range layouts {
		if t, err := time.Parse(l.layout, s); err == nil && t.Year() < 9999 && (t.Year() > 1 || l.unit == 'd') {
			return date{Time: t, unit: l.unit, given: true, year: strings.Contains(l.layout, "2006")}, true, ""
		}
	}
	return d, false, ""
}

func readSlashes(a, b, year string) (d date, ok bool, not string) {
	layout, text := "2/1", a+"/"+b
	if year != "" {
		layout, text = "2/1/2006", text+"/"+year
	}
	dayFirst, err := time.Parse(layout, text)
	monthFirst, err2 := time.Parse(strings.Replace(layout, "2/1", "1/2", 1), text)
	switch {
	case err != nil && err2 != nil:
		return d, false, ""
	case err != nil:
		dayFirst = monthFirst
	case err2 == nil && !dayFirst.Equal(monthFirst):
		return d, false, "can be " + dayFirst.Format("2 January") + " or " + monthFirst.Format("2 January")
	}
	return date{Time: dayFirst, unit: 'd', given: true, year: year != ""}, true, ""
}

// at is the moment of a date, or of a time of day on it that is exact to long. A time alone is the last one.
func (d date) at(clock time.Time, long time.Duration, zone *time.Location) moment {
	of := byte(0)
	if d.year && zone == nil {
		of = aDay
	}
	return moment{twice: long > 0, of: of, span: func(now time.Time, later bool) (time.Time, time.Time) {
		if zone != nil {
			now = now.In(zone)
		}
		start := func(back int) (from, to time.Time) {
			y, mo, day := d.Date()
			switch {
			case !d.given:
				y, mo, day = now.Date()
				day -= back
			case !d.year:
				y = now.Year() - back
			}
			if long > 0 {
				from = wall(time.Date(y, mo, day, clock.Hour(), clock.Minute(), clock.Second(), 0, time.UTC), now.Location(), later)
				return from, from.Add(long)
			}
			years, months, days := 0, 0, 0
			switch d.unit {
			case 'y':
				years = 1
			case 'm':
				months = 1
			default:
				days = 1
			}
			return dayStart(y, int(mo), day, now.Location()), dayStart(y+years, int(mo)+months, day+days, now.Location())
		}
		from, to := start(0)
		for back := 1; !d.year && back < 13; back++ {
			there := from.In(now.Location())
			if !from.After(now) && (!d.given || there.Day() == d.Day()) && // 29 Feb is not in each year
				(d.on == nil || there.Weekday() == *d.on) {
				break
			}
			from, to = start(back)
		}
		return from, to
	}}
}

// dayStart is the first second of a day in a zone: midnight, or when the clocks skip it, later.
func dayStart(y, m, d int, zone *time.Location) time.Time {
	want := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	first := want.Add(-15 * time.Hour) // no zone is further ahead
	after := sort.Search(30*3600, func(n int) bool {
		y, m, d := first.Add(time.Duration(n) * time.Second).In(zone).Date()
		return !time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Before(want)
	})
	return first.Add(time.Duration(after) * time.Second)
}

// wall is the time at which clocks of a zone show t, the later one if they do twice.
func wall(t time.Time, zone *time.Location, later bool) time.Time {
	best := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), 0, zone)
	for _, near := range []time.Duration{-dayLong, dayLong} {
		_, offset := t.Add(near).In(zone).Zone()
		at := t.Add(-time.Duration(offset) * time.Second).In(zone)
		if at.Format(time.DateTime) == t.Format(time.DateTime) && at.After(best) == later {
			best = at
		}
	}
	return best
}

// says is the span for people, in the zone of from; "" of an age.
func (m moment) says(now time.Time) string {
	const dayForm = "Mon 2 January 2006"
	if m.of == anAge || m.drawn {
		return ""
	}
	from, to := m.span(now, false)
	from, last := from.In(now.Location()), to.In(now.Location()).Add(-time.Second)
	switch {
	case m.twice || to.Sub(from) <= time.Minute:
		return from.Format("2006-01-02 15:04")
	case from.YearDay() == last.YearDay() && from.Year() == last.Year():
		return from.Format(dayForm)
	}
	return fmt.Sprintf("%s to %s", from.Format(dayForm), last.Format(dayForm))
}

// wordsOfMoment bounds the words of a moment, and of an amount that is parted by spaces.
const wordsOfMoment = 6

// hasDigit reports whether s has a digit of any script.
func hasDigit(s string) bool { return strings.ContainsFunc(s, unicode.IsDigit) }
