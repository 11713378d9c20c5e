package console

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"opdeck/api"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/indextest"
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
}

// shownColumns are the columns that a list can show and the index holds; balance, parent and visible are none.
var shownColumns = []string{field.OpCreated, field.OpStatus, field.OpType, field.OpPayment, field.OpAmount,
	field.OpCustomer,
	field.OpDestination, field.OpDocuments, field.OpUpdated, field.OpID, field.OpCurrency, field.OpReceived,
	field.OpCommission,
	field.OpSource, field.OpReference, field.OpComment}

const typedRows = 100 // as many as a list reads at first

// typedOps are operations with the oddities of a real list, as old as the clock says.
func typedOps(now time.Time) []api.Operation {
	names := []untrusted.Text{"José Łukasz", "Zażółć Gęślą Jaźń sp. z o.o.", "Smith, Jones & Co. (London)",
		"Har\u200bbour \"Finch\"", "O’Neill"}
	var ops []api.Operation
	for i := range typedRows {
		o := indextest.Options{Odd: true, Customers: 60, Parties: 90}.Make(i)
		shift := now.Sub(indextest.Now) - time.Duration(i*i)*time.Minute
		if !o.CreatedAt.IsZero() {
			o.CreatedAt, o.UpdatedAt = api.At(o.CreatedAt.Add(shift)),
				api.At(o.CreatedAt.Add(shift+time.Duration(i)*7*time.Second))
		}
		if a := o.Destination.CounterpartyAccount; a != nil { // a bank is searched, and no column shows it
			a.Counterparty.BankName = "Bank"
		}
		if i%5 == 0 {
			o.Customer.Name = names[i/5%len(names)]
		}
		ops = append(ops, o)
	}
	return ops
}

func paris(t *testing.T) *time.Location {
	zone, err := time.LoadLocation("Europe/Paris")
	if err != nil {
		t.Skip(err)
	}
	return zone
}

func openTypedBack(t *testing.T, s *store.Store, w int, columns ...string) *typedBack {
	t.Helper()
	clock := uitest.NewClock()
	st, err := opindex.New(t.Context(), s.Bulk, "https://a.test", "m@a.test")
	if err != nil {
		t.Fatal(err)
	}
	var list []index.Entry
	for _, o := range typedOps(clock.Now()) {
		list = append(list, index.Entry{Op: o, Origin: index.List, Seen: clock.Now()})
	}
	x := index.New(st, index.Shared, clock.Now)
	if _, err := x.Put(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	d := &typedBack{list: listing{x, clock.Now}}
	cfg := operations.Config{Columns: chosenColumns(columns)}
	d.Run = shelltest.Open(t, clock, func(env *ui.Env, p ui.Place) ui.Screen {
		s := operations.New(env, d.list, &endpointtest.Fake{}, cfg, p.Arg)
		if d.screen == nil {
			d.screen = s
		}
		return s
	}, ui.Place{Kind: ui.KindOperations}, func(o *ui.Options) {
		o.Local = paris(t)
		o.Context = api.WithActor(context.Background(), api.Actor{Role: api.Admin})
	})
	d.Send(uitest.Size(w, typedRows+20))
	return d
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
			w := d.screen.Table.Width(i)
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
	w, err := d.list.Window(api.WithActor(t.Context(), api.Actor{Role: api.Admin}),
		index.Query{Filter: d.screen.Filter.Shown, Sort: newest.Sort, After: n})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range w.Rows {
		ids = append(ids, string(r.Op.OPID))
	}
	return ids
}

// types filters the list by text and returns the ids of its first three rows.
func (d *typedBack) types(t *testing.T, text string) []string {
	t.Helper()
	d.Send(uitest.Key("esc"), uitest.Key("/"), uitest.Paste(text), uitest.Key("enter"))
	ids := d.first(t, 3)
	if len(ids) > 0 && d.screen.Table.SelectedID() != ids[0] {
		t.Fatalf("%q: the list shows %q, want %q\n%.400s", text, d.screen.Table.SelectedID(), ids, d.View())
	}
	return ids
}

// opens lists the ids of the first operations that the key o finds by text.
func (d *typedBack) opens(t *testing.T, text string, n int) (ids []string) {
	t.Helper()
	l, err := d.list.x.Find(api.WithActor(t.Context(), api.Actor{Role: api.Admin}), text, paris(t), n, d.list.now())
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
			head, _, _ := strings.Cut(filter.Fold(w), "…")
			sign := !strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
			return !sign && !strings.Contains(row, head)
		}) {
			n++
		}
	}
	return n
}

// query is a cell of a row as somebody types it: with the next cells of the row until at most three rows show that.
func query(row map[string]string, all, columns []string, first int) string {
	var typed []string
	for i := range columns {
		cell := row[columns[(first+i)%len(columns)]]
		if cell == "" || cell == "–" || cell == "?" || strings.HasPrefix(cell, "###") {
			continue
		}
		if typed = append(typed, strings.Fields(cell)...); alike(all, typed) <= 3 {
			break
		}
	}
	return strings.Join(typed, " ")
}

// TestWhatTheListShowsCanBeTyped: each cell of each column of thirty rows, as drawn, cut or whole, finds its row among
// the first three. A cell that many rows show is typed with the next ones, as people narrow.
func TestWhatTheListShowsCanBeTyped(t *testing.T) {
	for _, w := range []int{80, 400} {
		t.Run(fmt.Sprint(w), func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				d, columns := openTypedBack(t, s, 400, shownColumns...), shownColumns
				all, ids := wide(d.drawn(shownColumns), shownColumns), d.first(t, typedRows)
				if w < 400 { // those that everybody sees, cut
					columns = columns[:10]
					d = openTypedBack(t, s, w, columns...)
				}
				rows := d.drawn(columns)
				asked := 0
				for at := 0; at < len(rows); at += len(rows) / 30 {
					for i, name := range columns {
						if cell := rows[at][name]; cell == "" || cell == "–" || cell == "?" || strings.HasPrefix(cell, "###") {
							continue
						}
						q := query(rows[at], all, columns, i)
						asked++
						first := d.types(t, q)
						if opened := d.opens(t, q, 3); !slices.Equal(opened, first) {
							t.Errorf("%q opens %q, the list shows %q", q, opened, first)
						}
						if !slices.Contains(first, ids[at]) {
							t.Errorf("%s of row %d: %q shows %q\n%v", name, at, q, first, rows[at])
						}
					}
				}
				t.Logf("%d queries", asked)
				if w == 400 && asked < 300 {
					t.Errorf("%d queries are asked", asked)
				}
			})
		})
	}
}

// nowhere are filters that match no operation of typedOps: words as people mistype them, and fields.
func nowhere() (all []string) {
	for i := range 8 {
		n := fmt.Sprint(i)
		all = append(all, "9,"+n+"87,654.32", "SUCESS"+strings.Repeat("S", i%2)+" 7"+n+"1.23", "zebra"+n,
			"acme 2019-01-0"+fmt.Sprint(i+1), "id:zzz"+n)
	}
	return append(all, "PENDNIG", "2019-02-03", "status:PENDIG", "josee", "237f91d…zzzzzz", "amount:1,234,567.89 zebra",
		"-eur -usd -gbp -jpy -kwd -btc -success -failed", "created:2019")
}

// TestNoMatchOffersWhatWouldMatch: a filter that matches nothing offers one that does, after one key.
func TestNoMatchOffersWhatWouldMatch(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := openTypedBack(t, s, 120, shownColumns[:10]...)
		asked, everything := 0, 0
		for _, text := range nowhere() {
			if len(d.types(t, text)) > 0 {
				t.Errorf("%q matches something", text)
				continue
			}
			asked++
			d.Has("No match", "enter shows ")
			d.Send(uitest.Key("enter"))
			if len(d.first(t, 1)) == 0 {
				t.Errorf("%q offers %q, which matches nothing", text, d.screen.Filter.Shown)
			}
			if d.screen.Filter.Shown.Empty() {
				everything++
			}
			t.Logf("%q offers %q", text, d.screen.Filter.Shown)
			d.Send(uitest.Key("esc"), uitest.Key("/"), uitest.Paste(text+" "))
			if d.screen.Filter.Offers() {
				d.Send(uitest.Key("enter"), uitest.Key("enter"))
			} else {
				d.Send(uitest.Key("tab"), uitest.Key("enter"))
			}
			if len(d.first(t, 1)) == 0 {
				t.Errorf("%q: the key of the input line shows %q, which matches nothing", text, d.screen.Filter.Shown)
			}
		}
		if asked < 40 || everything > asked/2 {
			t.Errorf("%d filters are asked, %d offer everything", asked, everything)
		}
	})
}
