package index_test

import (
	"context"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
)

// check holds what the index says of itself against the truth.
func (w *world) check() {
	ctx := context.Background()
	f := filter.OperationExpr{}
	if w.r.IntN(3) == 0 {
		var err error
		if f, err = filter.Parse("status:s1"); err != nil {
			w.t.Fatal(err)
		}
	}
	here := epoch.Add(w.at + w.host)
	a, err := w.x.Answer(ctx, index.Query{Filter: f, Limit: 1000}, here)
	if err != nil {
		w.t.Error(err)
		return
	}
	w.figures.Answers++
	if int64(len(a.Window.Rows)) != a.Total || f.Empty() && a.Total != a.Fresh.Rows {
		w.t.Errorf("%d rows, total %d, %d known", len(a.Window.Rows), a.Total, a.Fresh.Rows)
	}
	if a.Fresh.AsOf.After(here) {
		w.t.Errorf("as of %v at %v", a.Fresh.AsOf, here)
	}
	if a.Fresh.AsOf.IsZero() {
		return
	}
	const slack = 2*time.Second + time.Millisecond // two clocks so far apart pass for one
	asOf := w.at - here.Sub(a.Fresh.AsOf) - slack  // in the time that has really passed
	for _, r := range a.Window.Rows {
		if r.Origin != index.Hook && !w.was(r.Op, asOf) {
			w.t.Errorf("as of %v, but %s is %s", asOf, r.Op.OPID, r.Op.Status)
		}
	}
	if !a.Fresh.Complete || !f.Empty() {
		return
	}
	w.figures.Complete++
	for _, id := range w.list {
		p := w.past[id]
		if p[len(p)-1].from > asOf || p[0].from > asOf {
			continue
		}
		if !slices.ContainsFunc(a.Window.Rows, func(r index.Record) bool { return string(r.Op.OPID) == id }) {
			w.t.Errorf("complete as of %v, without %s, which is there since %v", asOf, id, p[0].from)
		}
	}
}

// was reports whether the service had this record at t or later.
func (w *world) was(op api.Operation, t time.Duration) bool {
	return slices.ContainsFunc(w.past[string(op.OPID)], func(s state) bool { return s.till >= t && string(s.op.Raw) == string(op.Raw) })
}

// settle lets the service rest and the sync work until a whole pass has begun and
// ended, then compares row by row.
func (w *world) settle() {
	if w.t.Failed() {
		return
	}
	ctx := context.Background()
	w.note("the service rests")
	rested := w.storeNow()
	w.die, w.deep = "", 1 // nothing happens within calls any more
	began := w.calls
	size := 3
	if n := max(w.cap, w.fixed); n > 0 {
		size = min(size, n)
	}
	held, err := w.x.Count(ctx, filter.OperationExpr{}, epoch)
	if err != nil {
		w.t.Fatal(err)
	}
	pages := (len(w.list)+int(held))/size + 3
	bound := 6*pages + 3*int(held+int64(len(w.list))) + 25
	for {
		wait, err := w.syncers[0].Step(ctx)
		if err != nil {
			w.t.Errorf("step: %v", err)
			return
		}
		w.at += max(wait, 100*time.Millisecond)
		if w.calls-began > bound {
			w.t.Errorf("not equal after %d calls: %+v", w.calls-began, progress(w.t, w.x))
			return
		}
		if p := progress(w.t, w.x); p.Last.Started.After(rested) && wait > 0 && (p.News.At.After(rested) || !p.Order.Sorted()) {
			break
		}
	}
	w.figures.Quiet = w.calls - began
	w.figures.Calls = w.calls
	w.equal()
	w.check()
}

func (w *world) equal() {
	ctx := context.Background()
	a, err := w.x.Answer(ctx, index.Query{Limit: 10_000}, epoch)
	if err != nil {
		w.t.Fatal(err)
	}
	w.figures.Gone = int(a.Fresh.Gone)
	seen := map[string]bool{}
	for _, r := range a.Window.Rows {
		id := string(r.Op.OPID)
		seen[id] = true
		if !w.has(id) {
			w.t.Errorf("%s is held and is not there", id)
		} else if want := w.current(id); string(want.Raw) != string(r.Op.Raw) {
			w.t.Errorf("%s is %s, held as %s", id, want.Raw, r.Op.Raw)
		}
	}
	for _, id := range w.list {
		if !seen[id] {
			w.t.Errorf("%s is missing", id)
		}
	}
	if p := a.Fresh.Progress; !a.Fresh.Complete && (p.Order.Sorted() || p.Last.Same > 0) || a.Fresh.AsOf.IsZero() {
		w.t.Errorf("equal, and yet %+v", a.Fresh)
	}
}
