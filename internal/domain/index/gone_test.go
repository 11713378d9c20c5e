package index_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
)

// hiding is a service that lists all operations but one, and answers the read of that one with an error.
type hiding struct {
	*service
	hides  string // its id; "": none
	counts bool   // the total counts it all the same
	says   *api.Error
}

func (h *hiding) ListPage(ctx context.Context, at index.PageRef, size int) (index.Listed, error) {
	all := h.ops
	defer func() { h.ops = all }()
	h.ops = slices.DeleteFunc(slices.Clone(all), func(o api.Operation) bool { return string(o.OPID) == h.hides })
	page, err := h.service.ListPage(ctx, at, size)
	if h.counts {
		page.Total = int64(len(all))
	}
	return page, err
}

func (h *hiding) Operation(ctx context.Context, opid string) (api.Operation, time.Time, error) {
	if opid == h.hides {
		return api.Operation{}, time.Time{}, h.says
	}
	return h.service.Operation(ctx, opid)
}

// TestGoneInTheServicesOwnWords: a row that no page shows leaves the list when the service says in its own words that
// there is no such operation, or when its total is smaller, too. A bare 404 may come from anything on the way.
func TestGoneInTheServicesOwnWords(t *testing.T) {
	words := &api.Error{Kind: api.NotFound, Rule: api.RuleOperationUnknown, Public: "Operation not found."}
	bare := &api.Error{Kind: api.NotFound, Public: "Not found."}
	for name, c := range map[string]struct {
		says   *api.Error
		counts bool
		gone   bool
	}{
		"its own words":                     {words, true, true},
		"its own words and a smaller total": {words, false, true},
		"a bare 404":                        {bare, true, false},
		"a bare 404 and a smaller total":    {bare, false, true},
		"refused":                           {&api.Error{Kind: api.Refused, Public: "Not for you."}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(now.Add(time.Hour))) // behind all that is listed
				x, done := open(t, time.Now)
				defer done()
				from := &hiding{service: &service{ops: made(30)}, says: c.says}
				s := index.NewSyncer(x, from, index.SyncOptions{Owner: "one"})
				run := func() {
					ctx, stop := context.WithTimeout(t.Context(), time.Hour)
					defer stop()
					if err := s.Through(ctx, func(index.Freshness) {}); err != nil {
						t.Fatal(err)
					}
				}
				run()
				if n := count(t, x); n != 30 {
					t.Fatalf("%d operations", n)
				}
				from.hides, from.counts = string(from.ops[7].OPID), c.counts
				run()
				if r, err := x.Get(t.Context(), from.hides); err != nil || r.Gone.IsZero() == c.gone {
					t.Errorf("gone at %v, %v; want gone: %v", r.Gone, err, c.gone)
				}
			})
		})
	}
}
