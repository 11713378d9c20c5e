package index

import (
	"errors"
	"slices"
	"strings"
	"time"

	"opdeck/api/redact"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
)

// Group is the operations that share a value, with their subdivision. The outermost group is all matching operations.
type Group struct {
	Key   untrusted.Text // code, currency, identifier, 2026-01-31 or 2026-01; a week is its Monday; empty: none
	Name  untrusted.Text // of a customer or counterparty
	Count int64
	Sums  []Sum   // by currency, the one with most operations first
	Parts []Group // by the next grouping: the one with most operations first, times newest first
	More  int     // omitted parts
}

// Sum returns the sum in a currency, nil when there is none.
func (g Group) Sum(currency untrusted.Text) *Sum {
	if i := slices.IndexFunc(g.Sums, func(s Sum) bool { return s.Currency == currency }); i >= 0 {
		return &g.Sums[i]
	}
	return nil
}

// Bad counts the operations whose amounts are in no sum.
func (g Group) Bad() (n int64) {
	for _, s := range g.Sums {
		n += s.Bad
	}
	return n
}

// Label is the group's value for display.
func (g Group) Label() string {
	switch {
	case g.Name != "":
		return g.Name.Line(60)
	case g.Key != "":
		return g.Key.Line(60)
	}
	return "(none)"
}

// By is a grouping.
type By string

// The groupings.
const (
	ByStatus       By = "status"
	ByType         By = "type"
	ByPayment      By = "payment"
	ByCurrency     By = "currency"
	ByCustomer     By = "customer"
	ByCounterparty By = "counterparty" // the receiving side
	ByDay          By = "day"          // of creation, UTC
	ByWeek         By = "week"         // from Monday
	ByMonth        By = "month"
)

// Groupings lists them all.
func Groupings() []By {
	return []By{ByStatus, ByType, ByCustomer, ByCounterparty, ByPayment, ByDay, ByWeek, ByMonth, ByCurrency}
}

// ErrBy: an unknown grouping, or more than two.
var ErrBy = errors.New("index: rows are grouped by one or two of the groupings")

// CheckBy returns ErrBy for groupings that Totals does not support.
func CheckBy(by []By) error {
	if len(by) > 2 || len(by) == 2 && by[0] == by[1] {
		return ErrBy
	}
	for _, b := range by {
		if !slices.Contains(Groupings(), b) {
			return ErrBy
		}
	}
	return nil
}

// Term is the filter that matches the group; "" if there is none, for a missing or masked value.
func (b By) Term(g Group) string {
	text := string(g.Key)
	field, op := string(b), ":"
	switch b {
	case ByCustomer, ByCounterparty:
		op = "="
		if b == ByCounterparty {
			field = "destination"
		}
		if text == "" || b == ByCounterparty {
			text = string(g.Name)
		}
	case ByDay, ByMonth:
		field = "created"
	case ByWeek:
		monday, err := time.Parse(time.DateOnly, text)
		if err != nil {
			return ""
		}
		field, text = "created", text+".."+monday.AddDate(0, 0, 6).Format(time.DateOnly)
	}
	if text == "" || strings.Contains(text, redact.Dot) {
		return ""
	}
	if !b.time() {
		text = filter.Quoted(text)
	}
	e, err := filter.Parse(field + op + text)
	if err != nil {
		return ""
	}
	return e.String()
}

func (b By) time() bool { return b == ByDay || b == ByWeek || b == ByMonth }

// NewestFirst reports whether the groups are sorted by time.
func (b By) NewestFirst() bool { return b.time() }

// Day is the count of one day or one hour.
type Day struct {
	Date  time.Time // its start, UTC
	Count int64
}

// Timeline counts operations by creation: days with any, oldest first, and their hours if the days are few.
type Timeline struct {
	Days, Hours []Day
	Undated     int64 // operations without a time of creation
}

// ShortSpan is the number of days up to which a Timeline has hours.
const ShortSpan = 8

// Chart is a timeline in bars of one unit, without gaps, oldest first.
type Chart struct {
	Unit        string
	Bars        []Day
	First, Last time.Time // days of the first and the last operation
}

// unit is the length of a bar.
type unit struct {
	name  string
	start func(time.Time) time.Time
	next  func(time.Time) time.Time
}

func units() []unit {
	months := func(name string, n int) unit {
		return unit{name, func(t time.Time) time.Time {
			m := t.Year()*12 + int(t.Month()) - 1
			return time.Date(0, time.Month(m-m%n+1), 1, 0, 0, 0, 0, time.UTC)
		}, func(t time.Time) time.Time { return t.AddDate(0, n, 0) }}
	}
	day := func(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }
	return []unit{
		{"hour", func(t time.Time) time.Time { return t.Truncate(time.Hour) },
			func(t time.Time) time.Time { return t.Add(time.Hour) }},
		{"day", day, func(t time.Time) time.Time { return t.AddDate(0, 0, 1) }},
		{"week", Monday, func(t time.Time) time.Time { return t.AddDate(0, 0, 7) }},
		months("month", 1), months("quarter", 3), months("year", 12), months("ten years", 120), months("century", 1200),
	}
}

// Monday is the start of t's week.
func Monday(t time.Time) time.Time {
	t = t.UTC().Truncate(24 * time.Hour)
	return t.AddDate(0, 0, -(int(t.Weekday())+6)%7)
}

// Chart returns at most most bars of the shortest unit that fits; without bars nothing has a known time.
func (t Timeline) Chart(most int) Chart {
	if len(t.Days) == 0 {
		return Chart{}
	}
	c := Chart{First: t.Days[0].Date, Last: t.Days[len(t.Days)-1].Date}
	all := units()
	if len(t.Hours) == 0 {
		all = all[1:]
	}
	for i, u := range all {
		from := t.Days
		if u.name == "hour" {
			from = t.Hours
		}
		bars, ok := u.bars(from, max(most, 1))
		if ok || i == len(all)-1 {
			c.Unit, c.Bars = u.name, bars
			break
		}
	}
	return c
}

// bars sums by unit; false if there are more than most.
func (u unit) bars(from []Day, most int) ([]Day, bool) {
	last := u.start(from[len(from)-1].Date)
	var out []Day
	for at := u.start(from[0].Date); !at.After(last); at = u.next(at) {
		if len(out) == most {
			return out, false
		}
		out = append(out, Day{Date: at})
	}
	i := 0
	for _, d := range from {
		for s := u.start(d.Date); out[i].Date.Before(s); i++ {
		}
		out[i].Count += d.Count
	}
	return out, true
}
