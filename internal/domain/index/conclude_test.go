package index

import (
	"testing"
	"time"

	"opdeck/api/evidence"
)

var seen = time.Date(2026, 3, 4, 11, 2, 14, 0, time.UTC)

// known is a complete index, as its store keeps it.
func known() (Progress, Sights) {
	return Progress{Total: 200, Order: NewestFirst, Last: Done{Started: seen, Finished: seen.Add(time.Minute), Pages: 2,
		Held: 200, Total: 200}, News: News{At: seen.Add(time.Minute)}}, Sights{Rows: 200, Newest: seen.Add(time.Minute)}
}

// TestCompleteRestsOnThePass: each thing that is missing, and each flaw of what was read, makes the index not complete,
// and the conclusion says which.
func TestCompleteRestsOnThePass(t *testing.T) {
	now := seen.Add(time.Hour)
	for name, c := range map[string]struct {
		change func(*Progress, *Sights)
		now    time.Time
		open   string
	}{
		"all read":                 {},
		"no pass":                  {func(p *Progress, _ *Sights) { p.Last = Done{} }, now, string(evidence.NothingShown)},
		"fewer rows":               {func(_ *Progress, s *Sights) { s.Rows = 199 }, now, "199 of 200 operations were read"},
		"more rows without an end": {func(_ *Progress, s *Sights) { s.Rows = 201 }, now, string(evidence.CoversLess)},
		"announced": {func(_ *Progress, s *Sights) { s.Unseen = 1 }, now,
			"1 operation was announced but not read yet"},
		"a note":             {func(p *Progress, _ *Sights) { p.Note = pagesRepeat }, now, pagesRepeat},
		"news under way":     {func(p *Progress, _ *Sights) { p.News.Began = seen }, now, "new operations are being read"},
		"no order, one pass": {func(p *Progress, _ *Sights) { p.Order = OrderNone }, now, string(evidence.CoversLess)},
		"no order, two":      {func(p *Progress, _ *Sights) { p.Order, p.Last.Same = OrderNone, 1 }, now, ""},
		"no total, one pass": {func(p *Progress, _ *Sights) { p.Total, p.Last.End = -1, true }, now,
			string(evidence.CoversLess)},
		"no total, two, an end":                  {func(p *Progress, _ *Sights) { p.Total, p.Last.End, p.Last.Same = -1, true, 1 }, now, ""},
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
