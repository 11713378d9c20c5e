package evidence_test

import (
	"context"
	"testing"
	"time"

	"opdeck/api/evidence"
)

var at = time.Date(2026, 3, 4, 11, 2, 14, 0, time.UTC)

const route = "GET /v2/billing/operation/{}"

func read() evidence.Evidence {
	return evidence.Evidence{Read: "the operation read", Route: route, Object: "op-1",
		Seen: evidence.Moment{At: at}, Date: at.Add(time.Hour), Covers: evidence.Whole, Shows: "no longer lists it"}
}

func here(d time.Duration) evidence.Moment { return evidence.Moment{At: at.Add(d)} }

func by(c evidence.Clock, d time.Duration) evidence.Moment {
	return evidence.Moment{At: at.Add(d), By: c}
}

func TestEvidenceHoldsOnlyForWhatItSaw(t *testing.T) {
	for name, c := range map[string]struct {
		need   evidence.Need
		change func(*evidence.Evidence)
		want   evidence.Flaw
	}{
		"asks for nothing":           {want: evidence.Sound},
		"its route":                  {need: evidence.Need{Routes: []string{"GET /x", route}}, want: evidence.Sound},
		"another route":              {need: evidence.Need{Routes: []string{"GET /x"}}, want: evidence.OtherRoute},
		"its object":                 {need: evidence.Need{Object: "OP-1"}, want: evidence.Sound},
		"another object":             {need: evidence.Need{Object: "op-2"}, want: evidence.OtherObject},
		"a page where all is needed": {need: evidence.Need{Covers: evidence.Twice}, want: evidence.CoversLess},
		"after our act": {need: evidence.Need{After: []evidence.Moment{here(-time.Second)}},
			want: evidence.Sound},
		"before our act": {need: evidence.Need{After: []evidence.Moment{here(time.Second)}},
			want: evidence.BeforeAct},
		"with our act": {need: evidence.Need{After: []evidence.Moment{here(0)}}, want: evidence.BeforeAct},
		"after one of two acts": {need: evidence.Need{After: []evidence.Moment{here(-1), here(1)}},
			want: evidence.BeforeAct},
		"an act by another clock": {need: evidence.Need{After: []evidence.Moment{by(evidence.Store, -time.Hour)}},
			want: evidence.NoClock},
		"an act by the service's clock": {need: evidence.Need{After: []evidence.Moment{by(evidence.Service,
			59*time.Minute)}}, want: evidence.Sound},
		"in the same second of the service": {need: evidence.Need{After: []evidence.Moment{by(evidence.Service,
			time.Hour)}}, want: evidence.BeforeAct},
		"before the clock was set": {need: evidence.Need{Steps: []evidence.Moment{here(time.Minute)}},
			want: evidence.BeforeStep},
		"after the present": {need: evidence.Need{Now: here(-time.Second)}, want: evidence.BeforeStep},
		"at the present":    {need: evidence.Need{Now: here(0)}, want: evidence.Sound},
		"after the present of another clock": {need: evidence.Need{Now: by(evidence.Store, -time.Second)},
			want: evidence.Sound},
		"another clock was set": {need: evidence.Need{Steps: []evidence.Moment{by(evidence.Store, time.Minute)}},
			want: evidence.Sound},
		"nothing": {change: func(e *evidence.Evidence) { *e = evidence.Evidence{} }, want: evidence.NothingShown},
		"no time": {change: func(e *evidence.Evidence) { e.Seen.At = time.Time{} },
			need: evidence.Need{After: []evidence.Moment{here(-time.Hour)}}, want: evidence.NoClock},
	} {
		t.Run(name, func(t *testing.T) {
			e := read()
			if c.change != nil {
				c.change(&e)
			}
			if got := (evidence.Conclusion{Rests: []evidence.Evidence{e}}).Flaw(c.need); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
	if got := (evidence.Conclusion{}).Flaw(evidence.Need{}); got != evidence.NothingShown {
		t.Errorf("a conclusion that rests on nothing: %q", got)
	}
}

func TestConclusionPrintsItselfInOneLine(t *testing.T) {
	c := evidence.Conclusion{Says: "removed", Object: "op-1", Rests: []evidence.Evidence{read()}}
	if got, want := c.Line(time.UTC), "removed: the operation read at 11:02:14 no longer lists it"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	c.Rests[0].Seen.By = evidence.Store
	c.Open = "the service's answer did not come"
	if got, want := c.Line(time.UTC), "removed: the operation read at 11:02:14 (store's clock) no longer lists it; "+
		"the service's answer did not come"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := (evidence.Conclusion{Says: "complete"}).Line(time.UTC), "complete: nothing was read"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestBookKeepsTheNewestOfEachObject(t *testing.T) {
	b := &evidence.Book{}
	ctx := evidence.In(t.Context(), b)
	evidence.Note(ctx, evidence.Conclusion{Kind: evidence.Act, Says: "removed", Object: "op-1", Open: "first"})
	evidence.Note(ctx, evidence.Conclusion{Kind: evidence.Act, Says: "attached", Object: "op-1"})
	evidence.Note(ctx, evidence.Conclusion{Kind: evidence.Act, Says: "removed", Object: "OP-1", Open: "second"})
	evidence.Note(ctx, evidence.Conclusion{Kind: evidence.Complete, Says: "not complete", Object: "op-2"})
	evidence.Note(ctx, evidence.Conclusion{Kind: evidence.Complete, Says: "complete", Object: "op-2"})
	evidence.Note(context.Background(), evidence.Conclusion{Says: "lost"})
	if got := b.About("op-1"); len(got) != 2 || got[0].Open != "second" || got[1].Says != "attached" {
		t.Errorf("about op-1: %+v", got)
	}
	if got := b.About("op-2"); len(got) != 1 || got[0].Says != "complete" {
		t.Errorf("about op-2, of which a later conclusion says otherwise: %+v", got)
	}
	evidence.Note(ctx, evidence.Conclusion{Kind: evidence.Act, Says: "session reset"})
	evidence.Note(ctx, evidence.Conclusion{Kind: evidence.Act, Says: "logged in"})
	if got := b.About("op-2"); len(got) != 3 || got[0].Object != "op-2" || got[1].Says != "logged in" {
		t.Errorf("about op-2 and the session: %+v", got)
	}
	if got := b.About(""); len(got) != 5 {
		t.Errorf("all: %+v", got)
	}
	evidence.Note(ctx, evidence.Conclusion{Kind: evidence.Act, Says: "removed", Object: "op-3", Item: "b", Read: true})
	evidence.Note(ctx, evidence.Conclusion{Kind: evidence.Act, Says: "removed", Object: "op-3", Item: "a", Open: "late"})
	if _, a := b.ByRead("op-3", "a"); a || len(b.About("op-3")) != 4 {
		t.Errorf("about op-3: %+v", b.About("op-3"))
	}
	if c, is := b.ByRead("op-3", "B"); !is || c.Open != "" {
		t.Errorf("a removal is told with the evidence of another one: %+v", c)
	}
	for range 600 {
		b.Add(evidence.Conclusion{Says: "x", Object: time.Now().String()})
	}
	if n := len(b.About("")); n != 500 {
		t.Errorf("%d are kept", n)
	}
}
