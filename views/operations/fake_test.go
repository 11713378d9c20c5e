package operations

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/note"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// fake is an index of n rows that are made when they are asked for; a filter
// leaves every second one. calls counts all questions, most is the largest
// window that was asked for.
type fake struct {
	noted   []note.Note
	n       int
	ops     []api.Operation // instead of made ones
	calls   int
	most    int
	err     error
	window  func() // called before each window
	pages   int    // read from the service
	reads   []string
	readErr error
	export  func(s index.Sheet, path string, progress func(done, total int)) (int, error)
	values  func(ctx context.Context, field, typed string) ([]string, error)
	fresh   index.Freshness
	filling bool     // the index does not hold everything
	lacks   int64    // rows that no bound can judge
	asked   []string // filters of totals
	totals  func(by []index.By) index.Group
}

func (f *fake) len(q filter.OperationExpr) int {
	n := f.n
	if f.ops != nil {
		n = len(f.ops)
	}
	if !q.Empty() {
		n /= 2
	}
	return n
}

func id(i int) string { return fmt.Sprintf("%08d-0000-4000-8000-000000000000", i) }

func (f *fake) at(q filter.OperationExpr, i int) index.Record {
	if !q.Empty() {
		i *= 2
	}
	seen := uitest.NewClock().Now().Add(-30 * time.Second)
	if f.ops != nil {
		return index.Record{Op: f.ops[i], Seen: seen}
	}
	return index.Record{Op: apitest.Operation(map[string]any{"opid": id(i)}), Seen: seen}
}

func (f *fake) place(q filter.OperationExpr, anchor string) int {
	for i := range f.ops {
		if string(f.ops[i].OPID) == anchor {
			return i
		}
	}
	var i int
	if _, err := fmt.Sscanf(anchor, "%08d-", &i); err != nil || f.ops != nil {
		return -1
	}
	if !q.Empty() {
		if i%2 == 1 {
			return -1
		}
		i /= 2
	}
	return i
}

func (f *fake) Window(ctx context.Context, q index.Query) (Window, error) {
	f.calls++
	if f.window != nil {
		f.window()
	}
	if f.err != nil || ctx.Err() != nil {
		return Window{}, errors.Join(f.err, ctx.Err())
	}
	f.most = max(f.most, q.Limit)
	n := f.len(q.Filter)
	to := q.Skip + q.Limit
	w := index.Window{More: to < n}
	for i := q.Skip; i < min(to, n); i++ {
		w.Rows = append(w.Rows, f.at(q.Filter, i))
	}
	return WindowOf(w), nil
}

func (f *fake) Count(_ context.Context, q filter.OperationExpr) (int64, error) {
	f.calls++
	return int64(f.len(q)), f.err
}

func (f *fake) Place(_ context.Context, q filter.OperationExpr, _ index.Sort, opid string) (index.Place, error) {
	f.calls++
	p := f.place(q, opid)
	return index.Place{Before: int64(max(p, 0)), Total: int64(f.len(q)), In: p >= 0}, f.err
}

func (f *fake) Totals(_ context.Context, q filter.OperationExpr, by []index.By, _ int) (index.Group, error) {
	f.calls++
	f.asked = append(f.asked, q.String())
	if f.totals != nil {
		return f.totals(by), f.err
	}
	var all index.Group
	for _, c := range apitest.OddMoney() {
		d, err := c.Op.SourceAmount.Sum.Decimal()
		if err == nil {
			all.Sums = append(all.Sums, index.Sum{Currency: c.Op.SourceAmount.Sum.CurrencyCode, Count: 1, Amount: d})
		}
	}
	all.Sums = append(all.Sums, index.Sum{Currency: "EUR" + apitest.Hostile, Count: 2, Bad: 1, Amount: apd.New(125, -2)})
	all.Count = int64(len(all.Sums)) + 1
	if len(by) == 0 {
		return all, f.err
	}
	if by[0] == index.ByCurrency {
		for _, s := range all.Sums {
			all.Parts = append(all.Parts, index.Group{Key: s.Currency, Count: s.Count, Sums: []index.Sum{s}})
		}
		return all, f.err
	}
	all.Parts = []index.Group{{Key: "PENDING", Count: 7,
		Sums: []index.Sum{{Currency: "EUR", Count: 7, Amount: apd.New(99, 0)}}}, {Key: "x" + apitest.Hostile, Count: 2}}
	all.More = 3
	return all, f.err
}

func (f *fake) Timeline(context.Context, filter.OperationExpr) (index.Timeline, error) {
	f.calls++
	var out index.Timeline
	for i := range 40 {
		out.Days = append(out.Days, index.Day{Date: time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC), Count: int64(i % 7)})
	}
	return out, f.err
}

func (f *fake) Values(ctx context.Context, field, typed string, _ int) ([]string, error) {
	f.calls++
	if f.values != nil {
		return f.values(ctx, field, typed)
	}
	return nil, f.err
}

func (f *fake) Unreported(_ context.Context, q filter.OperationExpr) (index.Unreported, error) {
	f.calls++
	if f.lacks == 0 || len(q.Needs()) == 0 {
		return index.Unreported{}, f.err
	}
	return index.Unreported{Fields: q.Needs(), Rows: f.lacks}, f.err
}

func (f *fake) Noted(context.Context, filter.OperationExpr) ([]note.Note, error) {
	f.calls++
	return f.noted, f.err
}

func (f *fake) Missing(context.Context, filter.OperationExpr) (string, error) {
	f.calls++
	return "", f.err
}

func (f *fake) Freshness(context.Context) (index.Freshness, error) {
	f.calls++
	fresh := f.fresh
	fresh.Complete = fresh.Complete || !f.filling
	fresh.WholeAt, fresh.MaxAge = time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), 1000*time.Hour
	if fresh.Rows == 0 {
		fresh.Rows = int64(f.len(filter.OperationExpr{}))
	}
	return fresh, f.err
}

func (f *fake) Consistent(_ context.Context, fn func(Index) error) error { return fn(f) }

func (f *fake) caller() endpoint.Caller {
	var c endpointtest.Fake
	endpointtest.On(&c, endpoint.ListOperations, func(context.Context, api.OperationQuery) (api.Page[api.Operation],
		error) {
		f.calls++
		f.pages++
		return api.Page[api.Operation]{}, f.readErr
	})
	endpointtest.On(&c, endpoint.GetOperation, func(_ context.Context, opid string) (api.Operation, error) {
		f.calls++
		f.reads = append(f.reads, opid)
		return api.Operation{}, f.readErr
	})
	return &c
}

func (f *fake) write(_ context.Context, s index.Sheet, path string,
	progress func(done, total int)) (Exported, error) {
	f.calls++
	n, err := f.export(s, path, progress)
	return Exported{Rows: n, Path: "/home/ana/" + path, Size: 1234, Fresh: index.Freshness{Sights: index.Sights{Rows: 4}, Total: -1}}, err
}

var views = []View{{Name: "pending", Filter: "status:PENDING", Sort: "-amount"}, {Name: "broken", Filter: "amount>=x"},
	{Name: "odd", Filter: "", Sort: "colour"}}

// admin may export.
func admin(o *ui.Options) { o.About.Role = string(api.Admin) }

// news says that the index changed.
var news = ui.Changed{Kind: ui.KindOperations}

// listed is the list in a shell.
type listed struct {
	*uitest.Run
	clock *uitest.Clock
	list  *Screen // opened first
	f     *fake
}

func open(t *testing.T, f *fake, opts ...shelltest.Option) *listed {
	t.Helper()
	return openWith(t, f, Config{Views: views}, opts...)
}

func openWith(t *testing.T, f *fake, cfg Config, opts ...shelltest.Option) *listed {
	t.Helper()
	cfg.Export = f.write
	d := &listed{clock: uitest.NewClock(), f: f}
	factory := func(env *ui.Env, p ui.Place) ui.Screen {
		if p.Kind != ui.KindOperations {
			return nil
		}
		s := New(env, f, f.caller(), cfg, p.Arg)
		if d.list == nil {
			d.list = s
		}
		return s
	}
	d.Run = shelltest.Open(t, d.clock, factory, ui.Place{Kind: ui.KindOperations}, opts...)
	return d
}

func (d *listed) keys(names ...string) *listed {
	for _, n := range names {
		d.Send(uitest.Key(n))
	}
	return d
}

func under(d *listed) string { return d.list.Table.Cursor.SelectedID() }

func odd() []api.Operation {
	var out []api.Operation
	for _, c := range apitest.OddMoney() {
		out = append(out, c.Op)
	}
	return out
}
