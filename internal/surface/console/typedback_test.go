package console

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/api/redact"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/domain/mask"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/field"
	"opdeck/internal/store"
	"opdeck/internal/store/opindex"
	"opdeck/internal/store/storetest"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
	"opdeck/views/operations"
)

// typedBack is a list over a store, as a person in Paris sees it.
type typedBack struct {
	*uitest.Run
	screen *operations.Screen
	list   listing
	ctx    context.Context // with the person's role
}

// shownColumns are the columns that a list can show and the index holds; balance, parent and visible are none.
var shownColumns = []string{field.OpCreated, field.OpStatus, field.OpType, field.OpPayment, field.OpAmount,
	field.OpCustomer,
	field.OpDestination, field.OpDocuments, field.OpUpdated, field.OpID, field.OpCurrency, field.OpReceived,
	field.OpCommission,
	field.OpSource, field.OpReference, field.OpComment}

const typedRows = 100 // as many as a list reads at first

// tried are the numbers of the rows of which each cell is typed, far apart: a third of them with OPDECK_TEST_LONG=1.
func tried(few int) (rows []int) {
	if os.Getenv("OPDECK_TEST_LONG") == "1" {
		few = typedRows / 3
	}
	for n := range few {
		rows = append(rows, n*21%(typedRows-typedRows%3))
	}
	return rows
}

func paris(t *testing.T) *time.Location {
	zone, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Skip(err)
	}
	return zone
}

func openTypedBack(t *testing.T, s *store.Store, role api.Role, w int, columns ...string) *typedBack {
	t.Helper()
	clock := uitest.NewClock()
	st, err := opindex.New(t.Context(), s.Bulk, "https://a.test", "m@a.test")
	if err != nil {
		t.Fatal(err)
	}
	var list []index.Entry
	for _, o := range indextest.Varied(typedRows, clock.Now()) {
		list = append(list, index.Entry{Op: o, Origin: index.List, Seen: clock.Now()})
	}
	x := index.New(st, index.Shared, clock.Now)
	if _, err := x.Put(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	d := &typedBack{list: listing{x, clock.Now}, ctx: api.WithActor(t.Context(), api.Actor{Role: role})}
	cfg := operations.Config{Columns: chosenColumns(columns)}
	d.Run = shelltest.Open(t, clock, func(env *ui.Env, p ui.Place) ui.Screen {
		s := operations.New(env, d.list, nothingMore(), cfg, p.Arg)
		if d.screen == nil {
			d.screen = s
		}
		return s
	}, ui.Place{Kind: ui.KindOperations}, func(o *ui.Options) {
		o.Local = paris(t)
		o.Context = api.WithActor(context.Background(), api.Actor{Role: role})
	})
	d.Send(uitest.Size(w, typedRows+20))
	return d
}

// nothingMore is a service that has no operation beside those of the index.
func nothingMore() endpoint.Caller {
	var c endpointtest.Fake
	endpointtest.On(&c, endpoint.ListOperations, func(context.Context, api.OperationQuery) (api.Page[api.Operation], error) {
		return api.Page[api.Operation]{}, nil
	})
	return &c
}

// drawn are the rows as drawn: the cells of the columns that have room, by name.
func (d *typedBack) drawn(columns []string) (rows []map[string]string) {
	const gutter, gap = 3, 2
	lines := strings.Split(ansi.Strip(d.screen.View()), "\n")
	head := slices.IndexFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "   ") &&
			strings.Contains(l, "status")
	})
	for at := 0; at < typedRows; at++ {
		row, from := map[string]string{}, gutter
		for i, name := range columns {
			w := d.screen.Table.Cursor.Columns.Width(i)
			if w == 0 {
				continue
			}
			row[name] = strings.TrimSpace(ansi.Cut(lines[head+1+at], from, from+w))
			from += w + gap
		}
		rows = append(rows, row)
	}
	return rows
}

// first lists the ids of the first rows of what the list shows.
func (d *typedBack) first(t *testing.T, n int) (ids []string) {
	t.Helper()
	w, err := d.list.Window(d.ctx,
		index.Query{Filter: d.screen.Filter.Shown, Sort: newest.Sort, Limit: n})
	if err != nil {
		t.Fatal(err)
	}
	for _, op := range w.Ops {
		ids = append(ids, string(op.OPID))
	}
	return ids
}

// types filters the list by text and returns the ids of its first three rows.
func (d *typedBack) types(t *testing.T, text string) []string {
	t.Helper()
	d.Send(uitest.Key("esc"), uitest.Key("/"), uitest.Paste(text), uitest.Key("enter"))
	ids := d.first(t, 3)
	if len(ids) > 0 && d.screen.Table.Cursor.SelectedID() != ids[0] {
		t.Fatalf("%q: the list shows %q, want %q\n%.400s", text, d.screen.Table.Cursor.SelectedID(), ids, d.View())
	}
	return ids
}

// opens lists the ids of the first operations that the key o finds by text.
func (d *typedBack) opens(t *testing.T, text string, n int) (ids []string) {
	t.Helper()
	l, err := d.list.x.Find(d.ctx, text, paris(t), n, d.list.now())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range append(l.Beginning, l.Others...) {
		ids = append(ids, string(r.Op.OPID))
	}
	return ids[:min(len(ids), n)]
}

// wide are the rows with all that a list can show, folded: what else shows the words that somebody types.
func wide(rows []map[string]string, columns []string) (all []string) {
	for _, row := range rows {
		var cells []string
		for _, name := range columns {
			cells = append(cells, row[name])
		}
		all = append(all, filter.Fold(strings.Join(cells, " ")))
	}
	return all
}

// alike counts the rows that show each of the words.
func alike(all []string, words []string) (n int) {
	for _, row := range all {
		if !slices.ContainsFunc(words, func(w string) bool {
			head, _, _ := strings.Cut(w, "…")
			sign := !strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
			return !sign && !strings.Contains(row, filter.Fold(head))
		}) {
			n++
		}
	}
	return n
}

// said reports whether a cell has something to type.
func said(cell string) bool {
	return cell != "" && cell != "–" && cell != "?" && !strings.HasPrefix(cell, "###")
}

// query is a cell of a row as somebody types it: with the next cells of the row until at most three rows show that.
// How many cells it takes depends on what is drawn alone, and not on what is found.
func query(row map[string]string, all, columns []string, first int) (text string, cells int) {
	var typed []string
	for i := range columns {
		cell := row[columns[(first+i)%len(columns)]]
		if !said(cell) {
			continue
		}
		cells++
		if typed = append(typed, strings.Fields(cell)...); alike(all, typed) <= 3 {
			break
		}
	}
	return strings.Join(typed, " "), cells
}

// holds reports whether the list shows a row somewhere when a text is typed.
func (d *typedBack) holds(t *testing.T, text, id string) bool {
	t.Helper()
	f, err := filter.Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	p, err := d.list.Place(d.ctx, f.For(d.ctx).In(paris(t)), newest.Sort, id)
	if err != nil {
		t.Fatal(err)
	}
	return p.In
}

// searchable are the rows without the texts that the person may not search: those of which something is hidden from them.
func (d *typedBack) searchable(rows []map[string]string) (out []map[string]string) {
	for _, row := range rows {
		row = maps.Clone(row)
		for _, name := range []string{field.OpReference, field.OpComment} {
			if strings.Contains(row[name], redact.Dot) && mask.Barred(d.ctx) {
				delete(row, name)
			}
		}
		out = append(out, row)
	}
	return out
}

// tally counts the queries.
type tally struct{ single, narrowed int }

// typesBack types every cell of the tried rows. The rule: a cell that at most three rows of the list show is typed alone,
// and its row is among the first three. A list keeps its order and does not rank, so a cell that more rows show is typed
// with the next cells of its row, as people narrow: then its row is among the first three, and the cell alone shows it
// somewhere.
func (d *typedBack) typesBack(t *testing.T, tried []int, rows []map[string]string, ids, all, columns []string) (n tally) {
	t.Helper()
	rows = d.searchable(rows)
	d.Send(uitest.Size(120, 12)) // the rows have been read from the screen: the rest need not be drawn tall
	for _, at := range tried {
		for i, name := range columns {
			cell := rows[at][name]
			if !said(cell) {
				continue
			}
			q, cells := query(rows[at], all, columns, i)
			if cells == 1 {
				n.single++
			} else if n.narrowed++; !d.holds(t, cell, ids[at]) {
				t.Errorf("%s of row %d: %q alone does not show it", name, at, cell)
			}
			first := d.types(t, q)
			if opened := d.opens(t, q, 3); !slices.Equal(opened, first) {
				t.Errorf("%q opens %q, the list shows %q", q, opened, first)
			}
			if !slices.Contains(first, ids[at]) {
				t.Errorf("%s of row %d: %q shows %q\n%v", name, at, q, first, rows[at])
			}
		}
	}
	return n
}

// TestWhatTheListShowsCanBeTyped: each cell of each column of some rows, as drawn, cut, masked or whole, finds its
// row, in the list and by the key o (see typesBack).
func TestWhatTheListShowsCanBeTyped(t *testing.T) {
	racedetector.Skip(t)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		whole := openTypedBack(t, s, api.Admin, 400, shownColumns...)
		shown, ids := whole.drawn(shownColumns), whole.first(t, typedRows)
		all := wide(shown, shownColumns)
		at := tried(3)
		if s.Core.Engine() == store.Postgres { // how a cell is cut or masked is the same for both
			at = tried(2)
		}
		count := func(what string, n tally, least int) { // least in each row
			t.Logf("%s: %d cells typed alone, %d narrowed by others of the row", what, n.single, n.narrowed)
			if n.single+n.narrowed < least*len(at) {
				t.Errorf("%s: %d queries", what, n.single+n.narrowed)
			}
		}
		count("all columns", whole.typesBack(t, at, shown, ids, all, shownColumns), 13)
		if s.Core.Engine() == store.Postgres {
			return
		}
		for _, w := range []int{80, 140} { // the columns that everybody sees, cut
			d := openTypedBack(t, s, api.Admin, w, shownColumns[:10]...)
			count(fmt.Sprint(w, " cells wide"), d.typesBack(t, at, d.drawn(shownColumns[:10]), ids, all, shownColumns[:10]), 4)
		}
		d := openTypedBack(t, s, api.Viewer, 400, shownColumns...)
		masked := d.drawn(shownColumns)
		count("masked", d.typesBack(t, at, masked, ids, wide(masked, shownColumns), shownColumns), 13)
	})
}

// TestNoMatchNamesTheWords: what matches nothing is repeated with the words of it that no row has, in the list and by the
// key o, and nothing else is offered, least of all another amount or id.
func TestNoMatchNamesTheWords(t *testing.T) {
	racedetector.Skip(t)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := openTypedBack(t, s, api.Admin, 400, shownColumns...)
		rows, ids := d.drawn(shownColumns), d.first(t, typedRows)
		d.Send(uitest.Size(240, 16))
		status := rows[1][field.OpStatus]
		for _, one := range []struct{ typed, says string }{
			{status + " zzyzx", "Nothing matches “zzyzx”."},
			{status + " 9,987,654,321.09", "Nothing matches “9,987,654,321.09”."},
			{status + " status:ON_HOLD", "Each part matches operations, but none matches all."},
			{"id:" + ids[0] + " id:" + ids[1], "Each part matches operations, but none matches all."},
			{ids[0][:20] + "zz" + ids[0][22:], ""},
		} {
			if got := d.types(t, one.typed); len(got) > 0 {
				t.Fatalf("%q shows %q", one.typed, got)
			}
			d.Has("No match yet for “"+one.typed+"”", one.says)
			d.Send(uitest.Key("enter"))
			if got := d.screen.Filter.Shown.String(); len(d.first(t, 1)) > 0 || got != one.typed {
				t.Errorf("%q: enter shows %q", one.typed, got)
			}
			if got := d.opens(t, one.typed, 3); len(got) > 0 {
				t.Errorf("%q: the key o offers %q", one.typed, got)
			}
		}
	})
}
