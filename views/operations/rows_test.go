package operations

import (
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"opdeck/api/apitest"
	"opdeck/internal/domain/index"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
)

// TestKeptRowsAreThoseDrawnAnew: whatever changed since a row was made (the operation, its place, the columns, the
// zone, the theme, the clock in both directions), the list has the row that it would make now.
func TestKeptRowsAreThoseDrawnAnew(t *testing.T) {
	columns := [][]field.Choice{field.UsualColumns(), {{Name: "created"}, {Name: "id"}, {Name: "status"}},
		{{Name: "updated"}, {Name: "amount"}, {Name: "customer"}, {Name: "docs"}}}
	themes := []*theme.Theme{theme.New(uitest.Renderer(termenv.TrueColor), theme.Night()),
		theme.New(uitest.Renderer(termenv.Ascii), theme.Day()).ASCII()}
	rapid.Check(t, func(rt *rapid.T) {
		f := &fake{n: rapid.SampledFrom([]int{1, 30, 30, 450}).Draw(rt, "operations")}
		d := open(t, f)
		env, shift := d.list.env, time.Duration(0)
		env.Now = func() time.Time { return d.clock.Now().Add(shift) }
		for range rapid.IntRange(1, 8).Draw(rt, "steps") {
			switch rapid.IntRange(0, 8).Draw(rt, "what changes") {
			case 0:
				d.Send(d.clock.Wait(time.Duration(rapid.IntRange(0, 4000).Draw(rt, "seconds")) * time.Second))
			case 1:
				shift = time.Duration(rapid.IntRange(-90, 90).Draw(rt, "minutes")) * time.Minute
			case 2:
				d.list.columns.show(rapid.SampledFrom(columns).Draw(rt, "columns"))
			case 3:
				d.keys("t")
			case 4:
				i := rapid.IntRange(0, f.n-1).Draw(rt, "changed")
				newer := apitest.Operation(map[string]any{"opid": id(i), "status": rapid.SampledFrom([]string{"SUCCESS", "FAILED"}).Draw(rt, "status"),
					"updatedAt": d.clock.Now().Format(time.RFC3339)})
				d.Send(ui.Changed{Kind: ui.KindOperation, ID: id(i), Object: newer})
			case 5:
				f.n += rapid.IntRange(0, 3).Draw(rt, "arrived")
				d.Send(news)
			case 6:
				*env.Theme = *rapid.SampledFrom(themes).Draw(rt, "theme")
				d.Send(ui.DisplayChanged{})
			default:
				d.keys(rapid.SampledFrom([]string{"down", "pgdown", "pgup", "end", "home"}).Draw(rt, "key"))
			}
			r := d.list.loader.rows
			for i := range r.Len() {
				at := i - r.base
				if at < 0 || at >= len(r.recs) {
					continue
				}
				if got, want := r.Row(i), drawRow(env, r.columns, r.recs[at]).row; !reflect.DeepEqual(got, want) {
					rt.Fatalf("row %d is\n%q\nand would be\n%q", i, got, want)
				}
			}
		}
	})
}

// TestSeenRowsAreForgotten: a list that somebody reads from its beginning to its end keeps the rows near the cursor,
// and of the others neither what was drawn nor their texts.
func TestSeenRowsAreForgotten(t *testing.T) {
	const batch, batches, size = 100, 100, 8 << 10
	r := newRows(open(t, &fake{n: 1}).list.env)
	r.columns = build(field.UsualColumns())
	memory := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := memory()
	for b := range batches {
		recs := make([]index.Record, batch)
		for i := range recs {
			recs[i].Op = apitest.Operation(map[string]any{"opid": id(b*batch + i), "comment": strings.Repeat("x", size)})
		}
		r.add(recs, r.draft()(recs), false)
	}
	held := len(r.recs) + len(r.drawn)
	if got, most := memory()-before, uint64(3*held*size); got > most {
		t.Errorf("%d MB are held for %d rows and %d drawn ones", got>>20, len(r.recs), len(r.drawn))
	}
	if held > 3*keeps {
		t.Errorf("%d rows and %d drawn ones are held", len(r.recs), len(r.drawn))
	}
	runtime.KeepAlive(r)
}
