package operations

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/internal/field"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
)

func isColumn(name string) bool { return slices.Contains(field.ColumnNames(), name) }

// heads are the columns that a frame shows.
func heads(d *listed) []string {
	for _, l := range strings.Split(d.View(), "\n") {
		if f := strings.Fields(strings.NewReplacer("▼", "", "▲", "", "UTC", "").Replace(l)); len(f) > 1 && isColumn(f[0]) && isColumn(f[1]) {
			return f
		}
	}
	return nil
}

func want(t *testing.T, d *listed, cols string) {
	t.Helper()
	if got := strings.TrimSuffix(strings.Join(heads(d), " "), " ›"); got != cols {
		t.Errorf("shown are %q, want %q\n%s", got, cols, d.View())
	}
}

// memory remembers choices as the state folder does.
type memory struct {
	chosen map[string][]string
	err    error
	keeps  int
}

func (m *memory) config() Config {
	return Config{Views: append([]View{{Name: "money", Columns: []field.Choice{{Name: "amount"}, {Name: "commission"}, {Name: "id"}}}}, views...),
		Recall: func(context.Context) (map[string][]string, error) { return maps.Clone(m.chosen), nil },
		Keep: func(_ context.Context, view string, list []string) error {
			m.keeps++
			if m.err != nil {
				return m.err
			}
			if m.chosen == nil {
				m.chosen = map[string][]string{}
			}
			m.chosen[view] = list
			return nil
		}}
}

const at80 = "created status type amount customer"

func TestColumnsAreChosenAndKept(t *testing.T) {
	m := &memory{}
	d := openWith(t, &fake{n: 30}, m.config())
	want(t, d, at80)
	d.keys("c")
	d.Has("Columns", "! payment      no room")
	for d.keys("G"); !strings.Contains(d.View(), "▌ – commission   hidden"); d.keys("k") {
		if strings.Contains(d.View(), "▌ ! payment") {
			t.Fatal("there is no commission")
		}
	}
	d.keys(" ")
	want(t, d, "created status amount customer commission")
	d.keys("<", "<", "<", "<", "<", "<", "<", "<", "<", "<", "<", "<") // to the front
	want(t, d, "commission created status amount customer")
	d.keys("down", " ")
	want(t, d, "commission status type amount customer")
	if m.keeps != 0 {
		t.Error("kept before it was done")
	}
	d.keys("enter")
	if got := strings.Join(m.chosen[""], " "); got != "commission status type payment amount customer destination documents updated id" {
		t.Errorf("kept %q", got)
	}
	again := openWith(t, &fake{n: 30}, m.config())
	want(t, again, "commission status type amount customer")
	again.keys("c", "0", "enter")
	want(t, again, at80)
	if len(m.chosen[""]) != 0 {
		t.Errorf("the usual ones are kept as a choice: %v", m.chosen)
	}
}

func TestEscLeavesColumnsAsTheyWere(t *testing.T) {
	m := &memory{}
	d := openWith(t, &fake{n: 30}, m.config())
	d.keys("c", " ", "down", " ")
	want(t, d, "type amount customer destination")
	d.keys("esc")
	want(t, d, at80)
	d.Has("30 operations")
	if m.keeps != 0 {
		t.Error("kept all the same")
	}
}

func TestOneColumnStays(t *testing.T) {
	d := open(t, &fake{n: 3})
	d.keys("c")
	for range field.ColumnNames() {
		d.keys(" ", " ", "down") // one without room is kept at first
	}
	d.keys("home")
	for range field.ColumnNames() {
		if len(d.list.columns.shown) == 1 {
			break
		}
		if slices.ContainsFunc(d.list.columns.shown, func(s field.Choice) bool {
			return s.Name == d.list.columns.chooser.list[d.list.columns.chooser.at].Name
		}) {
			d.keys(" ", " ")
		}
		d.keys("down")
	}
	if len(d.list.columns.shown) == 0 {
		t.Fatal("no column is left")
	}
}

// TestAColumnWithoutRoomIsKeptFirst, and hidden by the next press.
func TestAColumnWithoutRoomIsKeptFirst(t *testing.T) {
	d := open(t, &fake{n: 30})
	d.keys("c", "down", "down", "down", "down", "down", "down", "down") // docs
	d.Has("▌ ! documents    no room")
	d.keys(" ")
	want(t, d, "created status amount customer documents")
	d.keys(" ")
	d.Has("▌ – documents    hidden")
	want(t, d, at80)
}

func TestWidths(t *testing.T) {
	m := &memory{}
	d := openWith(t, &fake{n: 30}, m.config())
	d.keys("c", "left")
	d.Has("The column cannot be narrower.")
	d.keys("down", "right", "right", "right")
	d.Has("15 set")
	d.keys("down", "down", "down", "down", "-", "-")
	d.keys("enter")
	if got := strings.Join(m.chosen[""], " "); !strings.Contains(got, "status:15") || !strings.Contains(got, "customer:") {
		t.Errorf("kept %q", got)
	}
	d.keys("c", "end", "right")
	d.Has("space shows it first.")
}

// TestANarrowAmountSaysThatItIsCut: the person made its column too narrow. Its leading digits, a sign and the currency are in
// the column, and the whole of it above the list.
func TestANarrowAmountSaysThatItIsCut(t *testing.T) {
	m := &memory{chosen: map[string][]string{"": {"amount:12", "id"}}}
	f := &fake{ops: odd()}
	d := openWith(t, f, m.config())
	d.Has("99,999,… EUR", "amount 99,999,999,999,999,999,999.999999999 EUR")
	d.Send(uitest.Size(40, 24))
	d.Has("enter shows the amount")
}

func TestViewsHaveColumnsOfTheirOwn(t *testing.T) {
	m := &memory{}
	d := openWith(t, &fake{n: 30}, m.config())
	d.keys("v", "down", "enter")
	want(t, d, "amount commission id")
	d.keys("c", "down", " ", "enter") // without the fee
	if got := strings.Join(m.chosen["money"], " "); got != "amount id" || len(m.chosen[""]) != 0 {
		t.Errorf("kept %v", m.chosen)
	}
	d.keys("v", "enter")
	want(t, d, at80)
	d.keys("v", "down", "enter")
	want(t, d, "amount id")
	d.keys("c", "0", "enter") // the view's own again
	want(t, d, "amount commission id")
}

func TestColumnsOfTheConfig(t *testing.T) {
	m := &memory{chosen: map[string][]string{"": {"colour"}}} // from another version
	cfg := m.config()
	cfg.Columns = []field.Choice{{Name: "reference"}, {Name: "amount"}}
	d := openWith(t, &fake{n: 30}, cfg)
	want(t, d, "reference amount")
	d.Has("by created ▼", "SBX-68159091")
}

func TestEveryCellIsDrawn(t *testing.T) {
	m := &memory{chosen: map[string][]string{"": field.ColumnNames()}}
	d := openWith(t, &fake{n: 2}, m.config())
	d.Send(uitest.Size(420, 20))
	want(t, d, strings.Join(field.ColumnNames(), " "))
	d.Has("1,156.25 EUR", "3.00 USD", "SBX-68159091", "Invoice settlement", "DqCsgSE-4e95-ViYbNI", "Harbour & Finch Trading Ltd", "3 ▣")
	hostile := openWith(t, &fake{ops: append(odd(), apitest.HostileOperation())}, m.config())
	for _, w := range []int{20, 33, 80, 131, 420} { // no escape of a comment or reference reaches a frame
		hostile.Send(uitest.Size(w, 24))
	}
}

func TestAChoiceThatCannotBeKeptHolds(t *testing.T) {
	m := &memory{err: errors.New("read-only")}
	d := openWith(t, &fake{n: 30}, m.config())
	d.keys("c", " ", "enter")
	want(t, d, "status type amount customer")
	d.Has("The columns apply only until you leave")
}

// TestRowsArriveMeanwhile: columns, marks and groups go on while the list changes
// under them, and the cursor stays on its operation.
func TestRowsArriveMeanwhile(t *testing.T) {
	f := &fake{ops: odd()[:5]}
	d := open(t, f)
	arrive := func(n string) {
		f.ops = slices.Insert(slices.Clone(f.ops), 0, apitest.Operation(map[string]any{"opid": n + "-0000-4000-8000-000000000000"}))
		d.Send(news)
	}
	d.keys("down", " ", "down")
	was, marked := under(d), d.list.Table.Marked()
	d.keys("c", "down")
	arrive("aaaaaaaa")
	d.Has("6 operations", "▌ ✓ status")
	d.keys(" ", "enter", "T", "T")
	arrive("bbbbbbbb")
	d.Has("7 operations", "1 marked", "PENDING")
	want(t, d, "created type amount customer")
	d.keys("s", "down", "enter")
	arrive("cccccccc")
	if got := d.list.Table.Marked(); !slices.Equal(got, marked) {
		t.Errorf("marked is %v, was %v", got, marked)
	}
	d.keys("home")
	d.list.Table.Cursor.Select(was)
	arrive("dddddddd")
	if now := under(d); now != was {
		t.Errorf("the cursor went from %s to %s", was, now)
	}
}

func TestAChoiceThatCannotBeReadIsNone(t *testing.T) {
	m := &memory{chosen: map[string][]string{"": {"id"}}}
	cfg := m.config()
	cfg.Recall = func(context.Context) (map[string][]string, error) { return nil, errors.New("no such folder") }
	want(t, openWith(t, &fake{n: 3}, cfg), at80)
}

// TestAWiderWindowTellsRowsApartAsWell: a column that the list has room for is in each wider window; where the preview
// takes room, only those go that it stands for.
func TestAWiderWindowTellsRowsApartAsWell(t *testing.T) {
	for _, preview := range []bool{false, true} {
		cfg := Config{}
		if preview {
			cfg.Preview = func(api.Operation, int) []string { return []string{"Preview"} }
		}
		d, was, beside := openWith(t, &fake{n: 30}, cfg), []string(nil), false
		for w := 80; w <= 200; w++ {
			d.Send(uitest.Size(w, 30))
			is, began := d.list.shownNames(), preview && strings.Contains(d.View(), "Preview")
			if began && !beside {
				was = slices.DeleteFunc(was, func(name string) bool { return slices.Contains([]string{"documents", "updated", "id"}, name) })
				beside = true
			}
			for _, name := range append(was, "created", "status", "type", "amount", "customer") {
				if !slices.Contains(is, name) {
					t.Fatalf("%s is not shown at %d cells: %v", name, w, is)
				}
			}
			was = is
		}
		if preview != beside {
			t.Errorf("the preview is shown: %v", beside)
		}
	}
}

// TestNoTwoSignsOfARowAreOne in any set of signs.
func TestNoTwoSignsOfARowAreOne(t *testing.T) {
	th := theme.New(uitest.Renderer(termenv.Ascii), theme.Mono())
	for _, th := range []*theme.Theme{th, th.ASCII()} {
		says := map[string]string{}
		for _, s := range legend() {
			sign := s.Sign(th)
			if other, ok := says[sign]; ok {
				t.Errorf("%q is %q and %q", sign, other, s.Says)
			}
			says[sign] = s.Says
		}
		for _, sign := range []string{th.Signs.Cursor, th.Signs.Mark, th.Signs.Crumb, "–"} {
			if other, ok := says[sign]; ok && !strings.HasPrefix(other, "status CANCELED") {
				t.Errorf("%q is %q, too", sign, other)
			}
		}
	}
}

// shownNames are the columns that have room.
func (s *Screen) shownNames() (out []string) {
	for i, c := range s.loader.columns {
		if s.Table.Cursor.Columns.Width(i) > 0 {
			out = append(out, c.Name)
		}
	}
	return out
}
