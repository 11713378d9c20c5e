package index

import (
	"testing"
	"time"

	"opdeck/api/evidence"
)

var seen = time.Date(2026, 3, 4, 11, 2, 14, 0, time.UTC)

// known is a complete index, as its store keeps it.
func known() (Progress, Sights) {
	return Progress{Total: 200, Had: 200, Order: NewestFirst, PageSize: 100, NewsSize: 100, Last: Done{Started: seen,
		Finished: seen.Add(time.Minute), Pages: 2, Held: 200, Total: 200, Whole: true}, News: News{At: seen.Add(time.Minute),
		By: NewestFirst, Mark: 1, Total: 200}}, Sights{Rows: 200, Newest: seen.Add(time.Minute)}
}

// TestCompleteRestsOnThePass: a pass that ended makes the index complete, and what arrives later does not change that;
// what shows a gap does, and the conclusion says which.
func TestCompleteRestsOnThePass(t *testing.T) {
	now := seen.Add(time.Hour)
	for name, c := range map[string]struct {
		change func(*Progress, *Sights)
		now    time.Time
		open   string
	}{
		"all read":                   {},
		"arrived by webhooks":        {change: func(_ *Progress, s *Sights) { s.Rows, s.Unseen = 203, 3 }},
		"a page of the pass counted": {change: func(p *Progress, _ *Sights) { p.Total, p.Had = 201, 200 }},
		"no pass":                    {func(p *Progress, _ *Sights) { p.Last = Done{} }, now, "no pass over all pages has ended"},
		"fewer than the news counted": {func(p *Progress, _ *Sights) { p.News.Total = 201 }, now,
			"the service counts 201 operations"},
		"a note": {func(p *Progress, _ *Sights) { p.Note = pagesRepeat }, now, pagesRepeat},
		"news that do not reach what is known": {func(p *Progress, _ *Sights) { p.News.Began = seen }, now,
			"the newest page does not reach a known operation, so the pages behind it are read"},
		"no order, one pass": {func(p *Progress, _ *Sights) { p.Order, p.Last.Whole = OrderNone, false }, now,
			"a second pass is needed, since the service's list has no order"},
		"no total, one pass": {func(p *Progress, _ *Sights) { p.Total, p.Last.Whole = -1, false }, now,
			"a second pass is needed, since the service reports no total"},
		"the clock was set back behind the pass": {nil, seen.Add(-time.Hour), string(evidence.BeforeStep)},
		"the clock was set back behind a later look": {func(p *Progress, _ *Sights) { p.News.At = now.Add(time.Hour) }, now,
			string(evidence.BeforeStep)},
	} {
		t.Run(name, func(t *testing.T) {
			p, s := known()
			if c.change != nil {
				c.change(&p, &s)
			}
			at := c.now
			if at.IsZero() {
				at = now
			}
			why, need := p.whole(s, at)
			why, holds := why.Held(need, "not complete")
			if holds != (c.open == "") || why.Open != c.open || (why.Says == "complete") != holds {
				t.Errorf("%s, holds: %v", why.Line(time.UTC), holds)
			}
		})
	}
	p, s := known()
	why, need := p.whole(s, now)
	if got, want := why.Line(time.UTC), "complete: the pass over 2 pages at 11:02:14 (store's clock) showed 200 operations "+
		"of a total of 200"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	why.Rests[0].Route = readRoute()
	if f := why.Flaw(need); f != evidence.OtherRoute {
		t.Errorf("a single read shows a list: %q", f)
	}
}

// TestWhatAPassProves: the numbers of one pass prove the whole list where its order holds the rows in place; without an
// order or a total it takes two that agree.
func TestWhatAPassProves(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*Progress)
		held   int64
		want   bool
	}{
		"sorted, all counted":  {func(*Progress) {}, 200, true},
		"one fewer":            {func(*Progress) {}, 199, false},
		"no pass":              {func(p *Progress) { p.Last = Done{} }, 200, false},
		"no order, one pass":   {func(p *Progress) { p.Order = OrderNone }, 200, false},
		"no order, even twice": {func(p *Progress) { p.Order, p.Last.Even = OrderNone, 2 }, 200, true},
		"no order, same again": {func(p *Progress) { p.Order, p.Last.Same = OrderNone, 1 }, 200, true},
		"no total, one pass":   {func(p *Progress) { p.Total, p.Last.End = -1, true }, 200, false},
		"no total, same again": {func(p *Progress) { p.Total, p.Last.End, p.Last.Same = -1, true, 1 }, 200, true},
	} {
		p, _ := known()
		if c.change(&p); p.proves(c.held) != c.want {
			t.Errorf("%s: proves %t", name, !c.want)
		}
	}
}

// TestOneSentenceSaysHowMuchIsHere: for people, wherever an answer from the index is.
func TestOneSentenceSaysHowMuchIsHere(t *testing.T) {
	whole := Freshness{Sights: Sights{Rows: 519}, Total: 519, Complete: true, WholeAt: seen, AsOf: seen.Add(-9 * time.Hour),
		MaxAge: time.Minute}
	some := Freshness{Sights: Sights{Rows: 519}, Total: 1200}
	for want, c := range map[string]struct {
		change func(*Freshness)
		of     Freshness
		after  time.Duration
	}{
		"519 operations, newest now, all read 02:02":                                 {nil, whole, time.Minute},
		"519 operations, complete as of 11:02, all read 02:02":                       {nil, whole, 2 * time.Minute},
		"519 operations, complete as of 2026-03-04 11:02, all read 2026-03-04 02:02": {nil, whole, 24 * time.Hour},
		"519 operations, complete as of 11:02":                                       {func(f *Freshness) { f.AsOf = seen }, whole, time.Hour},
		"520 operations, newest now, all read 02:02":                                 {func(f *Freshness) { f.Rows = 520 }, whole, 0},
		"519 operations, newest now":                                                 {func(f *Freshness) { f.AsOf = time.Time{} }, whole, 0},
		"read so far: 519 of about 1,200":                                            {nil, some, 0},
		"read so far: 519 operations":                                                {func(f *Freshness) { f.Total = -1 }, some, 0},
		"nothing was read yet":                                                       {func(f *Freshness) { f.Rows = 0 }, some, 0},
		"read so far: 519 of about 1,200; the newest page does not reach a known operation, so the pages behind it are read": {
			func(f *Freshness) { f.Progress, _ = known(); f.Progress.News.Began = seen }, some, 0},
	} {
		f := c.of
		if c.change != nil {
			c.change(&f)
		}
		if got := f.Says(seen.Add(c.after), nil); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestGoneRestsOnTheRead: a row is gone by a read of that operation that is no older than its last sight.
func TestGoneRestsOnTheRead(t *testing.T) {
	r := Record{Gone: seen, Seen: seen.Add(-time.Hour)}
	for name, c := range map[string]struct {
		change func(*Record, *evidence.Conclusion)
		now    time.Time
		want   evidence.Flaw
	}{
		"read":              {nil, seen.Add(time.Hour), evidence.Sound},
		"of another route":  {func(_ *Record, c *evidence.Conclusion) { c.Rests[0].Route = listRoute() }, seen, evidence.OtherRoute},
		"of another object": {func(_ *Record, c *evidence.Conclusion) { c.Rests[0].Object = "op-2" }, seen, evidence.OtherObject},
		"shown later":       {func(r *Record, _ *evidence.Conclusion) { r.Seen = seen.Add(time.Second) }, seen, evidence.BeforeAct},
		"the clock was set": {nil, seen.Add(-time.Second), evidence.BeforeStep},
	} {
		t.Run(name, func(t *testing.T) {
			r := r
			if c.change != nil {
				why, _ := r.gone("op-1", c.now)
				c.change(&r, &why)
			}
			why, need := r.gone("op-1", c.now)
			if c.change != nil {
				c.change(&r, &why)
			}
			if got := why.Flaw(need); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
