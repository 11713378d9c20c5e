// Package format formats values in one way for every surface: money, times, sizes, counts. Its results are safe to
// draw.
package format

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"
	"github.com/dustin/go-humanize"
	"golang.org/x/text/currency"

	"opdeck/api/elapsed"
	"opdeck/api/untrusted"
)

// File is a file name from outside, cut in the middle to at most max runes: its start and its real extension remain.
func File(u untrusted.Text, max int) string {
	all := []rune(u.Line(512))
	if len(all) <= max {
		return string(all)
	}
	tail := (max - 1) / 2
	return string(all[:max-1-tail]) + "…" + string(all[len(all)-tail:])
}

// shortID is the number of runes at each end of a shortened id.
const shortID = 6

// ShortID is the one short form of an identifier: its first and its last six characters, "62387c…50c0b8". Ids of up
// to 13 characters stay whole.
func ShortID(u untrusted.Text) string {
	all := []rune(u.Line(256))
	if len(all) <= 2*shortID+1 {
		return string(all)
	}
	return string(all[:shortID]) + "…" + string(all[len(all)-shortID:])
}

// Size draws a number of bytes: "512 B", "1.2 MB". Negative sizes are "?".
func Size(n int64) string {
	if n < 0 {
		return "?"
	}
	return humanize.Bytes(uint64(n))
}

// Count draws a whole number with thousands grouped by commas.
func Count(n int) string { return humanize.Comma(int64(n)) }

// Plural is "1 document", "3 documents".
func Plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Count(n) + " " + many
}

// YesNo is a flag as a word.
func YesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// Suspicious says what is suspicious about a text from outside and quotes it exactly: `hidden characters:
// "invoice_\u202efdp.exe"`. It is "" for ordinary text.
func Suspicious(u untrusted.Text) string {
	f := u.Flags()
	if !f.Suspicious() {
		return ""
	}
	return f.Words() + ": " + untrusted.Text(u.Quoted()).Line(400)
}

// Moneyer is an amount of money: api.Money.
type Moneyer interface {
	Currency() untrusted.Text
	Empty() bool // there is no amount
	// Decimal returns the exact value, or why it is not valid (the signs of units and nanos differ, nanos out of
	// range, not a number).
	Decimal() (*apd.Decimal, error)
}

// Digits is the number of decimals of a currency by ISO 4217; ok is false for an unknown code.
func Digits(code string) (int, bool) {
	if len(code) != 3 {
		return 0, false
	}
	u, err := currency.ParseISO(code)
	if err != nil || u.String() != code {
		return 0, false
	}
	n, _ := currency.Standard.Rounding(u)
	return n, true
}

// Number formats an exact decimal with thousands grouped by commas and at least digits decimals. It never rounds and
// never uses an exponent.
func Number(d *apd.Decimal, digits int) string {
	if d == nil || d.Form != apd.Finite {
		return "?"
	}
	whole, part, _ := strings.Cut(d.Text('f'), ".")
	sign := ""
	if rest, ok := strings.CutPrefix(whole, "-"); ok {
		sign, whole = "-", rest
	}
	for len(part) > digits && strings.HasSuffix(part, "0") {
		part = part[:len(part)-1]
	}
	if len(part) < digits {
		part += strings.Repeat("0", digits-len(part))
	}
	if strings.Trim(whole+part, "0") == "" {
		sign = ""
	}
	if part != "" {
		part = "." + part
	}
	return sign + group(whole) + part
}

func group(whole string) string {
	n := len(whole)
	if n <= 3 {
		return whole
	}
	var b strings.Builder
	b.Grow(n + n/3)
	first := n % 3
	b.WriteString(whole[:first])
	for i := first; i < n; i += 3 {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(whole[i : i+3])
	}
	return b.String()
}

// Amount formats the number of m without its currency, "1,234.50", for columns aligned by the decimal point. ok is
// false without an amount ("–") and for an invalid one ("?"), whose raw fields the screen shows.
func Amount(m Moneyer) (s string, ok bool) {
	if m.Empty() {
		return "–", false
	}
	d, err := m.Decimal()
	if err != nil || d == nil {
		return "?", false
	}
	n, _ := Digits(string(m.Currency()))
	return Number(d, n), true
}

// Money formats m as "1,234.50 EUR". An unknown currency keeps all decimals; an invalid amount is "? EUR".
func Money(m Moneyer) string {
	s, _ := Amount(m)
	c := m.Currency().Line(12)
	if c == "" {
		return s
	}
	return s + " " + c
}

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

const (
	// deepest is the level from which on JSON is not indented further: ten thousand levels would be a hundred million
	// spaces.
	deepest = 64
	// widest bounds a shown line of JSON, in runes.
	widest = 4096
)

// Indent is json.Indent with two spaces a level for valid JSON, but deeper than level 64 it does not indent further.
func Indent(doc []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(doc) + len(doc)/4)
	depth, empty := 0, false // empty: an object or list has begun and has no element yet
	line := func() {
		b.WriteByte('\n')
		for range min(depth, deepest) {
			b.WriteString("  ")
		}
	}
	for i := 0; i < len(doc); i++ {
		c := doc[i]
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			continue
		}
		ends := c == '}' || c == ']'
		if ends {
			depth = max(depth-1, 0)
		}
		if empty != ends { // the first element of a level, or the end of a non-empty one
			line()
		}
		if empty = false; c == '"' {
			end := i + 1
			for ; end < len(doc) && doc[end] != '"'; end++ {
				if doc[end] == '\\' {
					end++
				}
			}
			end = min(end, len(doc)-1)
			b.Write(doc[i : end+1])
			i = end
			continue
		}
		b.WriteByte(c)
		switch c {
		case '{', '[':
			depth++
			empty = true
		case ',':
			line()
		case ':':
			b.WriteByte(' ')
		}
	}
	return b.Bytes()
}

// JSON formats a JSON document as safe lines (Indent). Numbers, order and unknown fields are unchanged. Text that is
// not JSON is shown line by line, cleaned. It returns at most max lines; whole is false if any were omitted or cut.
func JSON(doc []byte, max int) (lines []string, whole bool) {
	rest := string(doc)
	if json.Valid(doc) {
		rest = string(Indent(doc))
	}
	whole = true
	for rest != "" {
		if len(lines) == max {
			return lines, false
		}
		var l string
		l, rest, _ = strings.Cut(rest, "\n")
		whole = whole && len(l) <= widest
		lines = append(lines, untrusted.Text(l).Line(widest))
	}
	return lines, whole
}
