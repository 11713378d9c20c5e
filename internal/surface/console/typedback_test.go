package console

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/charmbracelet/x/ansi"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
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
	w, err := d.list.Window(d.ctx,
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
			head, _, _ := strings.Cut(filter.Fold(w), "…")
			sign := !strings.ContainsFunc(w, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
			return !sign && !strings.Contains(row, head)
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
			if strings.Contains(row[name], mask.Dot) && mask.Barred(d.ctx) {
				delete(row, name)
			}
		}
		out = append(out, row)
	}
	return out
}

// tally counts the queries.
type tally struct{ single, narrowed int }

// typesBack types every cell of thirty rows. The rule: a cell that at most three rows of the list show is typed alone,
// and its row is among the first three. A list keeps its order and does not rank, so a cell that more rows show is typed
// with the next cells of its row, as people narrow: then its row is among the first three, and the cell alone shows it
// somewhere.
func (d *typedBack) typesBack(t *testing.T, rows []map[string]string, ids, all, columns []string) (n tally) {
	t.Helper()
	rows = d.searchable(rows)
	d.Send(uitest.Size(120, 12)) // the rows have been read from the screen: the rest need not be drawn tall
	for at := 0; at < len(rows); at += len(rows) / 30 {
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

// TestWhatTheListShowsCanBeTyped: each cell of each column of thirty rows, as drawn, cut, masked or whole, finds its
// row, in the list and by the key o (see typesBack).
func TestWhatTheListShowsCanBeTyped(t *testing.T) {
	racedetector.Skip(t)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		whole := openTypedBack(t, s, api.Admin, 400, shownColumns...)
		shown, ids := whole.drawn(shownColumns), whole.first(t, typedRows)
		all := wide(shown, shownColumns)
		count := func(what string, n tally, least int) {
			t.Logf("%s: %d cells typed alone, %d narrowed by others of the row", what, n.single, n.narrowed)
			if n.single+n.narrowed < least {
				t.Errorf("%s: %d queries", what, n.single+n.narrowed)
			}
		}
		count("all columns", whole.typesBack(t, shown, ids, all, shownColumns), 400)
		if s.Core.Engine() == store.Postgres { // how a cell is cut or masked is the same for both
			return
		}
		for _, w := range []int{80, 140} { // the columns that everybody sees, cut
			d := openTypedBack(t, s, api.Admin, w, shownColumns[:10]...)
			count(fmt.Sprint(w, " cells wide"), d.typesBack(t, d.drawn(shownColumns[:10]), ids, all, shownColumns[:10]), 120)
		}
		d := openTypedBack(t, s, api.Viewer, 400, shownColumns...)
		masked := d.drawn(shownColumns)
		count("masked", d.typesBack(t, masked, ids, wide(masked, shownColumns), shownColumns), 400)
	})
}

// mistyped makes a mistake in a cell as people do; "" where the cell has no place for it.
type mistyped struct {
	what, column string
	make         func(cell string) string
	finds        bool // what is offered shows the row that was meant
}

// swap exchanges two letters of the first word of at least n letters.
func swap(at, n int) func(string) string {
	return inWord(n, func(w []rune) []rune { w[at], w[at+1] = w[at+1], w[at]; return w })
}

// inWord changes the first word of at least n letters and returns it alone.
func inWord(n int, change func([]rune) []rune) func(string) string {
	return func(cell string) string {
		for _, w := range strings.Fields(cell) {
			if r := []rune(w); len(r) >= n && !strings.ContainsFunc(w, func(r rune) bool { return !unicode.IsLetter(r) }) {
				return string(change(slices.Clone(r)))
			}
		}
		return ""
	}
}

// digit changes the digit at a place from the end of the number before a blank.
func digit(fromEnd int) func(string) string {
	return func(cell string) string {
		number, rest, _ := strings.Cut(cell, " ")
		at := len(number) - fromEnd
		if at < 0 || number[at] < '0' || number[at] > '9' || strings.Contains(number, "…") {
			return ""
		}
		return number[:at] + string('0'+(number[at]-'0'+3)%10) + number[at+1:] + " " + rest
	}
}

// mistakes are those that people make when they type what a list shows.
func mistakes() []mistyped {
	letter := func(at int) func(string) string {
		return inWord(5, func(w []rune) []rune { w[at] = 'x'; return w })
	}
	character := func(at int) func(string) string {
		return func(id string) string {
			if id[at] == 'a' {
				return id[:at] + "b" + id[at+1:]
			}
			return id[:at] + "a" + id[at+1:]
		}
	}
	return []mistyped{
		{"two letters of a name in the wrong order", field.OpCustomer, swap(2, 6), true},
		{"the first two letters of a name in the wrong order", field.OpCustomer, swap(0, 6), true},
		{"a wrong letter in a name", field.OpCustomer, letter(3), true},
		{"a letter of a name missing", field.OpDestination, inWord(6, func(w []rune) []rune {
			return slices.Delete(w, 3, 4)
		}), true},
		{"a letter of a name twice", field.OpDestination, inWord(5, func(w []rune) []rune {
			return slices.Insert(w, 2, w[2])
		}), true},
		{"a wrong digit in an amount", field.OpAmount, digit(1), true},
		{"another wrong digit in an amount", field.OpAmount, digit(4), false},
		{"two digits too many", field.OpAmount, func(cell string) string {
			number, rest, _ := strings.Cut(cell, ".")
			return number + "77." + rest
		}, false},
		{"a year too late", field.OpCreated, func(cell string) string { return "2031" + cell[4:10] }, false},
		{"a wrong month", field.OpCreated, func(cell string) string { return cell[:5] + "01" + cell[7:10] }, false},
		{"a wrong letter in a status", field.OpStatus, letter(2), true},
		{"two letters of a status in the wrong order", field.OpStatus, func(cell string) string {
			return swap(3, 5)(cell)
		}, true},
		{"a status that does not exist", field.OpStatus, func(string) string { return "CANCELLED" }, false},
		{"a type with a letter missing", field.OpType, inWord(5, func(w []rune) []rune { return slices.Delete(w, 1, 2) }), true},
		{"a payment type in other order", field.OpPayment, swap(1, 5), true},
		{"a character of an id wrong, at the end", field.OpID, character(35), true},
		{"a character of an id wrong, in the middle", field.OpID, character(11), true},
		{"a character of an id wrong, at the beginning", field.OpID, character(3), true},
		{"the shown id with a wrong end", field.OpID, func(id string) string { return id[:7] + "…" + "zzzzzz" }, true},
		{"a digit of a reference wrong", field.OpReference, func(cell string) string {
			if len(cell) < 12 {
				return ""
			}
			return cell[:len(cell)-1] + "x"
		}, false},
	}
}

// togetherWrong are words of a row, each right, that do not go together, and what was mistyped.
func togetherWrong(row map[string]string) [][2]string {
	number, coin, _ := strings.Cut(row[field.OpAmount], " ")
	other := "EUR"
	if coin == other {
		other = "USD"
	}
	name := strings.Fields(row[field.OpCustomer] + " x")[0]
	return [][2]string{
		{"the right amount in another currency", number + " " + other},
		{"the right name on a wrong day", name + " 2019-01-01"},
		{"the right name and a wrong amount", name + " 987,654,321.09"},
		{"two statuses", row[field.OpStatus] + " status:ON_HOLD"},
		{"a mistyped field value", "customer:zzyzx " + row[field.OpStatus]},
	}
}

// TestNoMatchOffersWhatWouldMatch: what people mistype matches nothing, and what would match is one key away, in the
// list and while typing; where one character is wrong, that shows the row that was meant.
func TestNoMatchOffersWhatWouldMatch(t *testing.T) {
	racedetector.Skip(t)
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := openTypedBack(t, s, api.Admin, 400, shownColumns...)
		rows, ids := d.drawn(shownColumns), d.first(t, typedRows)
		d.Send(uitest.Size(120, 16))
		asked := 0
		try := func(what, text, id string, finds bool) {
			asked++
			d.Has("No match", "enter shows the nearest: ")
			d.Send(uitest.Key("enter"))
			shown := d.screen.Filter.Shown
			t.Logf("%s: %q offers %q", what, text, shown)
			if shown.Empty() || len(d.first(t, 1)) == 0 || d.screen.Table.SelectedID() == "" {
				t.Errorf("%s: %q offers %q, which narrows nothing", what, text, shown)
			}
			if finds && !d.holds(t, shown.String(), id) {
				t.Errorf("%s: %q offers %q, which does not show %s", what, text, shown, id)
			}
			d.Send(uitest.Key("esc"), uitest.Key("/"), uitest.Paste(text+" "))
			if d.screen.Filter.Offers() {
				d.Send(uitest.Key("enter"), uitest.Key("enter"))
			} else {
				d.Send(uitest.Key("tab"), uitest.Key("enter"))
			}
			if got := d.screen.Filter.Shown.String(); got != shown.String() {
				t.Errorf("%s: %q: the key of the input line shows %q, that of the list %q", what, text, got, shown)
			}
		}
		for _, m := range mistakes() {
			tried := 0
			for at := 0; at < len(rows) && tried < 2; at++ {
				cell := rows[at][m.column]
				if m.column == field.OpID {
					cell = ids[at]
				}
				if !said(cell) {
					continue
				}
				if text := strings.TrimSpace(m.make(cell)); text != "" && text != cell && len(d.types(t, text)) == 0 {
					tried++
					try(m.what, text, ids[at], m.finds)
				}
			}
			if tried == 0 {
				t.Errorf("%s was not tried", m.what)
			}
		}
		for at := 1; at < 40; at += 13 {
			for _, wrong := range togetherWrong(rows[at]) {
				if len(d.types(t, wrong[1])) == 0 {
					try(wrong[0], wrong[1], ids[at], false)
				}
			}
		}
		t.Logf("%d filters that match nothing", asked)
		if asked < 40 {
			t.Errorf("%d filters are asked", asked)
		}
	})
}
