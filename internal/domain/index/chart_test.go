package index_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
)

func on(day string, n int64) index.Day {
	for _, layout := range []string{time.DateOnly, "2006-01-02T15"} {
		if t, err := time.Parse(layout, day); err == nil {
			return index.Day{Date: t, Count: n}
		}
	}
	panic(day)
}

// every is a count of 1 for each period from a day on.
func every(from string, n int, next func(time.Time) time.Time) []index.Day {
	var out []index.Day
	for at := on(from, 0).Date; len(out) < n; at = next(at) {
		out = append(out, index.Day{Date: at, Count: 1})
	}
	return out
}

func day(t time.Time) time.Time  { return t.AddDate(0, 0, 1) }
func hour(t time.Time) time.Time { return t.Add(time.Hour) }

// TestChart: bars are of the shortest unit that fits, follow each other without a gap,
// hold all that is counted, and begin and end where the operations do.
func TestChart(t *testing.T) {
	for name, c := range map[string]struct {
		line        index.Timeline
		most        int
		unit        string
		bars        int
		first, last string // beginnings of the first and the last bar
	}{
		"empty":                      {index.Timeline{Undated: 7}, 120, "", 0, "", ""},
		"one day":                    {index.Timeline{Days: []index.Day{on("2026-03-01", 5)}, Hours: []index.Day{on("2026-03-01T09", 2), on("2026-03-01T17", 3)}}, 120, "hour", 9, "2026-03-01T09", "2026-03-01T17"},
		"one day, its hours unknown": {index.Timeline{Days: []index.Day{on("2026-03-01", 5)}}, 120, "day", 1, "2026-03-01", "2026-03-01"},
		"one day in few bars":        {index.Timeline{Days: []index.Day{on("2026-03-01", 5)}, Hours: []index.Day{on("2026-03-01T00", 2), on("2026-03-01T23", 3)}}, 8, "day", 1, "2026-03-01", "2026-03-01"},
		"two months":                 {index.Timeline{Days: every("2026-01-01", 59, day)}, 120, "day", 59, "2026-01-01", "2026-02-28"},
		"two months in few bars":     {index.Timeline{Days: every("2026-01-01", 59, day)}, 40, "week", 9, "2025-12-29", "2026-02-23"},
		"two years":                  {index.Timeline{Days: every("2024-01-01", 731, day)}, 120, "week", 105, "2024-01-01", "2025-12-29"},
		"two years in few bars":      {index.Timeline{Days: every("2024-01-01", 731, day)}, 24, "month", 24, "2024-01-01", "2025-12-01"},
		"two years in fewer":         {index.Timeline{Days: every("2024-01-01", 731, day)}, 8, "quarter", 8, "2024-01-01", "2025-10-01"},
		"a gap":                      {index.Timeline{Days: []index.Day{on("2026-01-30", 4), on("2026-02-28", 1)}}, 120, "day", 30, "2026-01-30", "2026-02-28"},
		"a gap of centuries":         {index.Timeline{Days: []index.Day{on("1026-01-30", 4), on("2026-02-28", 1)}}, 12, "century", 11, "1000-01-01", "2000-01-01"},
		"more than fits in any unit": {index.Timeline{Days: []index.Day{on("0026-01-30", 4), on("2026-02-28", 1)}}, 1, "century", 1, "0000-01-01", "0000-01-01"},
		"the clock goes forward":     {index.Timeline{Days: []index.Day{on("2026-03-29", 24)}, Hours: every("2026-03-29T00", 24, hour)}, 120, "hour", 24, "2026-03-29T00", "2026-03-29T23"},
		"the clock goes back":        {index.Timeline{Days: every("2026-10-24", 3, day)}, 120, "day", 3, "2026-10-24", "2026-10-26"},
		"weeks over both":            {index.Timeline{Days: every("2026-03-02", 260, day)}, 60, "week", 38, "2026-03-02", "2026-11-16"},
		"a leap day":                 {index.Timeline{Days: []index.Day{on("2024-02-28", 1), on("2024-03-01", 1)}}, 120, "day", 3, "2024-02-28", "2024-03-01"},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.line.Chart(c.most)
			if got.Unit != c.unit || len(got.Bars) != c.bars {
				t.Fatalf("%d bars by %s, not %d by %s", len(got.Bars), got.Unit, c.bars, c.unit)
			}
			if c.bars == 0 {
				if !got.First.IsZero() || !got.Last.IsZero() {
					t.Errorf("from %v to %v", got.First, got.Last)
				}
				return
			}
			if first, last := got.Bars[0].Date, got.Bars[c.bars-1].Date; !first.Equal(on(c.first, 0).Date) || !last.Equal(on(c.last, 0).Date) {
				t.Errorf("bars from %v to %v", first, last)
			}
			if days := c.line.Days; !got.First.Equal(days[0].Date) || !got.Last.Equal(days[len(days)-1].Date) {
				t.Errorf("from %v to %v", got.First, got.Last)
			}
			if name == "more than fits in any unit" {
				return // the last unit is cut rather than left out
			}
			var sum, want int64
			for i, b := range got.Bars {
				if sum += b.Count; i > 0 && !b.Date.After(got.Bars[i-1].Date) {
					t.Errorf("bar %d does not follow the one before", i)
				}
			}
			for _, d := range c.line.Days {
				want += d.Count
			}
			if sum != want {
				t.Errorf("the bars hold %d of %d operations", sum, want)
			}
		})
	}
}

// TestChartOfARange: what a filter lets through is what is drawn.
func TestChartOfARange(t *testing.T) {
	x, stop := open(t, fixed)
	defer stop()
	ctx := context.Background()
	var ops []api.Operation
	for i, at := range []string{"2026-01-05T10:00:00Z", "2026-02-10T10:00:00Z", "2026-02-10T12:30:00Z", "2026-02-12T23:59:59Z", "2026-04-01T00:00:00Z", ""} {
		ops = append(ops, created(fmt.Sprint("op-", i), at))
	}
	if _, err := x.Page(ctx, ops, now); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]struct {
		unit          string
		bars          int
		held, undated int64
	}{
		"":                                 {"day", 87, 5, 1},
		"created:2026-02-01..2026-02-28":   {"hour", 62, 3, 0},
		"created:2026-02-10..2026-02-11":   {"hour", 3, 2, 0},
		"created>=2026-04-01":              {"hour", 1, 1, 0},
		"created:2030-01-01..2030-01-02":   {"", 0, 0, 0},
		"created<2026-02-01 status:NOBODY": {"", 0, 0, 0},
	} {
		t.Run(text, func(t *testing.T) {
			f, err := filter.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			line, err := x.Timeline(ctx, f, now)
			if err != nil {
				t.Fatal(err)
			}
			c := line.Chart(120)
			var held int64
			for _, b := range c.Bars {
				held += b.Count
			}
			if c.Unit != want.unit || len(c.Bars) != want.bars || held != want.held || line.Undated != want.undated {
				t.Errorf("%d bars by %q that hold %d, %d without a time", len(c.Bars), c.Unit, held, line.Undated)
			}
		})
	}
}

func created(id, at string) api.Operation {
	raw := fmt.Sprintf(`{"opid":%q,"status":"PENDING","type":"WITHDRAW","createdAt":%q,"updatedAt":"2026-06-02T10:00:00Z","documents":[]}`, id, at)
	var o api.Operation
	if err := o.UnmarshalJSON([]byte(raw)); err != nil {
		panic(err)
	}
	return o
}
