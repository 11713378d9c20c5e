package index_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index"
)

// pagedBy is a list whose pages are asked for in a way of its own.
type pagedBy struct {
	ops    []api.Operation
	answer func(s *pagedBy, at index.PageRef, size int) (from, to int, a api.After)
	total  func(rows, all int) int64
	calls  int
}

func (s *pagedBy) ListPage(_ context.Context, at index.PageRef, size int) (index.Listed, error) {
	s.calls++
	time.Sleep(time.Second)
	from, to, after := s.answer(s, at, size)
	from, to = min(from, len(s.ops)), min(to, len(s.ops))
	return index.Listed{Items: s.ops[from:to], Total: s.total(to-from, len(s.ops)), After: after, Sent: time.Now()}, nil
}

func (s *pagedBy) Operation(context.Context, string) (api.Operation, time.Time, error) {
	s.calls++
	return api.Operation{}, time.Time{}, &api.Error{Kind: api.NotFound, Public: "not found"}
}

// chained answers with a page of size and the cursor of the next one.
func chained(size int) func(*pagedBy, index.PageRef, int) (int, int, api.After) {
	return func(s *pagedBy, at index.PageRef, _ int) (int, int, api.After) {
		from := 0
		if at.Next != "" {
			from, _ = strconv.Atoi(strings.TrimPrefix(at.Next, "cursor="))
		}
		if from+size >= len(s.ops) {
			return from, from + size, api.After{More: api.NoMore, Key: "nextCursor"}
		}
		return from, from + size, api.After{More: api.MoreFollows, Next: "cursor=" + strconv.Itoa(from+size), Key: "nextCursor"}
	}
}

// ignored answers with the first rows whatever page is asked for.
func ignored(size int, a api.After) func(*pagedBy, index.PageRef, int) (int, int, api.After) {
	return func(*pagedBy, index.PageRef, int) (int, int, api.After) { return 0, size, a }
}

func numbered(most int) func(*pagedBy, index.PageRef, int) (int, int, api.After) {
	return func(_ *pagedBy, at index.PageRef, size int) (int, int, api.After) {
		size = min(size, most)
		return at.Page * size, (at.Page + 1) * size, api.After{}
	}
}

func silent(int, int) int64       { return -1 }
func reported(_, all int) int64   { return int64(all) }
func ofThePage(rows, _ int) int64 { return int64(rows) }
func tooLarge(_, all int) int64   { return int64(all) + 7 }
func tenThousand(int, int) int64  { return 10_000 }

// However a list is paged, the index is complete only when it holds all rows, a sync that someone waits for
// ends, and where rows are missing a sentence says why.
func TestCompleteNeedsProof(t *testing.T) {
	more := api.After{More: api.MoreFollows, Key: "hasMore"}
	for _, c := range []struct {
		name     string
		rows     int
		answer   func(*pagedBy, index.PageRef, int) (int, int, api.After)
		total    func(rows, all int) int64
		complete bool
		said     string // of a list that cannot be read to its end
	}{
		{"by number", 203, numbered(1000), reported, true, ""},
		{"by number, no total", 203, numbered(1000), silent, true, ""},
		{"by number, no total, full last page", 200, numbered(1000), silent, true, ""},
		{"by number, capped, no total", 203, numbered(30), silent, true, ""},
		{"by number, the total is that of the page", 203, numbered(50), ofThePage, true, ""},
		{"by number, the total is that of the page, one page", 3, numbered(1000), ofThePage, true, ""},
		{"by number, the total is that of the page, two pages", 60, numbered(50), ofThePage, true, ""},
		{"by number, the total is that of the page, full pages", 100, numbered(50), ofThePage, true, ""},
		{"by number, the total is too large", 203, numbered(50), tooLarge, false, "total of 210"},
		{"cursors, no total", 203, chained(50), silent, true, ""},
		{"cursors, a total", 203, chained(50), reported, true, ""},
		{"cursors, the total is that of the page", 203, chained(50), ofThePage, true, ""},
		{"cursors, one page", 20, chained(50), silent, true, ""},
		{"page ignored, no total", 203, ignored(50, api.After{}), silent, false, "same page"},
		{"page ignored, a total", 203, ignored(50, api.After{}), reported, false, "same page"},
		{"page ignored, the total is that of the page", 203, ignored(50, more), ofThePage, false, "more pages"},
		{"page ignored, all on it", 40, ignored(1000, api.After{}), reported, true, ""},
		{"page ignored, all on it, no total", 40, ignored(1000, api.After{}), silent, false, "same page"},
		{"page ignored, it says that this is all", 40, ignored(1000, api.After{More: api.NoMore}), silent, true, ""},
		{"more follows and nothing says how", 203, ignored(50, more), silent, false, "hasMore"},
		{"a bound instead of a total", 203, numbered(50), tenThousand, false, "total of 10,000"},
		{"empty", 0, numbered(50), silent, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(now.Add(time.Hour)))
				x, done := open(t, time.Now)
				defer done()
				from := &pagedBy{ops: made(c.rows), answer: c.answer, total: c.total}
				s := index.NewSyncer(x, from, index.SyncOptions{Owner: "one", PageSize: 100, MaxSize: 1000, PerMinute: 60})
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				err := s.Through(ctx, func(index.Freshness) {})
				if ctx.Err() != nil {
					t.Fatalf("it does not end: %+v", progress(t, x))
				}
				f, e := x.Freshness(t.Context())
				if e != nil {
					t.Fatal(e)
				}
				if f.Complete && int(f.Rows) != c.rows {
					t.Errorf("complete with %d of %d rows", f.Rows, c.rows)
				}
				if f.Complete != c.complete {
					t.Errorf("complete is %t with %d of %d rows: %v, %+v", f.Complete, f.Rows, c.rows, err, f.Progress)
				}
				said := f.Why.Open
				if err != nil {
					said += api.AsError(err).Public
				}
				if !strings.Contains(said, c.said) {
					t.Errorf("said %q", said)
				}
				if v, err := s.Verify(t.Context(), func(int64, int64) {}); err == nil && v.Whole != c.complete {
					t.Errorf("verify: %+v", v)
				}
			})
		})
	}
}
