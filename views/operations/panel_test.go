package operations

import (
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// twoByTwo are totals by status, and within them by type.
func twoByTwo(by []index.By) index.Group {
	sum := func(c string, n int64, d *apd.Decimal) index.Sum {
		return index.Sum{Currency: untrusted.Text(c), Count: n, Amount: d}
	}
	all := index.Group{Count: 9, Sums: []index.Sum{sum("EUR", 6, apd.New(12345678901234567, -2)), sum("USD", 3, apd.New(5, -1))}}
	pending := index.Group{Key: "PENDING", Count: 5, Sums: []index.Sum{sum("EUR", 4, apd.New(100, 0)), sum("USD", 1, apd.New(5, -1))}}
	if len(by) > 1 {
		pending.Parts = []index.Group{{Key: "WITHDRAW", Count: 5, Sums: pending.Sums}}
	}
	none := index.Group{Count: 4, Sums: []index.Sum{sum("EUR", 2, apd.New(1, 0)), sum("USD", 2, apd.New(0, 0))}}
	all.Parts = []index.Group{pending, none}
	return all
}

func TestPanelGoesThroughItsPages(t *testing.T) {
	d := open(t, &fake{ops: odd()})
	d.Send(uitest.Size(120, 40))
	for _, want := range []string{"by day", "PENDING", "PENDING", "PENDING", "PENDING", "PENDING"} {
		d.keys("T")
		d.Has("by status", want, "2026-01-01", "2026-02-09")
	}
	d.keys("T")
	lacks(t, d, "by status")
	d.keys("T", "esc")
	lacks(t, d, "by status")
}

// TestACellFilters: enter shows what is in the cell, esc what was shown before.
func TestACellFilters(t *testing.T) {
	f := &fake{n: 40, totals: twoByTwo}
	d := open(t, f)
	d.Send(uitest.Size(120, 40))
	d.typed("amount>=5 OR amount<2").keys("enter", "T", "T", "tab", "down", "right", "right")
	d.Has("▌USD paid", "0.50 USD in 1 operation: PENDING")
	d.keys("enter")
	if got, want := d.list.Filter.Shown.String(), "(amount>=5 OR amount<2) status:PENDING currency:USD"; got != want {
		t.Errorf("filtered by %q, want %q", got, want)
	}
	if got := f.asked[len(f.asked)-1]; !strings.HasSuffix(got, "currency:USD") {
		t.Errorf("the totals are of %q", got)
	}
	d.keys("esc")
	if got := d.list.Filter.Shown.String(); got != "amount>=5 OR amount<2" {
		t.Errorf("esc leaves %q", got)
	}
	d.keys("down", "enter")
	d.Has("Cannot filter by")
	d.keys("tab", "down")
	if under(d) != id(2) {
		t.Errorf("the cursor of the list is on %s", under(d))
	}
}

// TestASecondGrouping lies within the first.
func TestASecondGrouping(t *testing.T) {
	var asked []index.By
	f := &fake{n: 4, totals: func(by []index.By) index.Group { asked = by; return twoByTwo(by) }}
	d := open(t, f)
	d.Send(uitest.Size(120, 40))
	d.keys("T", "T", ".", "down", "enter")
	d.Has("each split by type", "status, type", "  WITHDRAW", "123,456,789,012,345.67")
	if !slices.Equal(asked, []index.By{index.ByStatus, index.ByType}) {
		t.Errorf("asked by %v", asked)
	}
	said := strings.Join(d.list.Content().Sections[0].Lines, "\n")
	for _, want := range []string{"From 2026-01-01 to 2026-02-09", "all statuses: 9 operations, 123,456,789,012,345.67 EUR, 0.50 USD", "PENDING, WITHDRAW: 5 operations", "?: 4 operations"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not said in\n%s", want, said)
		}
	}
	d.keys("tab")
	if c := d.list.Content(); c.Table != d.list.totals.panel.table || c.Table.Cursor.Len() != 4 || !d.list.Select(d.list.totals.panel.grid.rows[2].id) {
		t.Errorf("the totals are no table to plain mode: %+v", c)
	}
}

func TestTotalsAreExported(t *testing.T) {
	f := &fake{n: 4, totals: twoByTwo}
	var got index.Sheet
	f.export = func(s index.Sheet, _ string, _ func(done, total int)) (int, error) { got = s; return 4, nil }
	d := open(t, f, admin)
	d.keys("T", "T", "tab", "e")
	d.Has("Export the totals by status", "totals.csv")
	d.keys("enter")
	d.Has("Exported 4 sums to /home/ana/totals.csv (1.2 kB)")
	if !got.Totals || !slices.Equal(got.By, []index.By{index.ByStatus}) || got.Format != index.CSV {
		t.Errorf("exported %+v", got)
	}
}

// TestTotalsAtEverySize, with the cursor in them.
func TestTotalsAtEverySize(t *testing.T) {
	f := &fake{ops: odd(), totals: twoByTwo}
	d := open(t, f)
	d.keys("T", "T", "tab", "right", "right")
	shelltest.Sizes(d.Run)
	d.Send(uitest.Size(40, 12))
	d.Has("by status", "PENDING", "▌USD paid")
}

// TestNamesOfGroupsKeepRoom: currencies give way before the name of a group is cut short.
func TestNamesOfGroupsKeepRoom(t *testing.T) {
	d := open(t, &fake{n: 40, totals: func([]index.By) index.Group {
		sum := index.Sum{Currency: "EUR", Count: 1, Amount: apd.New(12345678901234567, -2)}
		all := index.Group{Count: 1, Sums: []index.Sum{sum}, Parts: []index.Group{{Key: "c", Name: "The International Consortium", Count: 1}}}
		for _, c := range []untrusted.Text{"USD", "GBP", "JPY"} {
			sum.Currency = c
			all.Sums = append(all.Sums, sum)
		}
		return all
	}})
	d.Send(uitest.Size(80, 24))
	d.keys("T", "T")
	d.Has("The International", "more currenc")
}

// TestTotalsAreSorted by the column in focus: the largest in a currency is asked with one key.
func TestTotalsAreSorted(t *testing.T) {
	d := open(t, &fake{n: 40, totals: twoByTwo})
	d.Send(uitest.Size(120, 40))
	first := func(want string) {
		t.Helper()
		if got := d.list.totals.panel.grid.rows[1].label(); got != want {
			t.Errorf("first is %s, want %s", got, want)
		}
	}
	d.keys("T", "T", "tab")
	first("PENDING")
	d.keys("right", "right", "s")
	d.Has("▌USD paid ▼")
	first("PENDING")
	d.keys("s")
	d.Has("▌USD paid ▲", "▌ ")
	first("?")
	d.keys("tab")
	if got := d.list.Content().Sections[0].Title; !strings.HasSuffix(got, "sorted by USD paid, smallest first") {
		t.Errorf("said as %q", got)
	}
	if got := d.list.loader.order().Field; got != index.UsualSort("created").Field {
		t.Errorf("the list is sorted by %s", got)
	}
	d.keys("tab", "left", "left", "s")
	d.Has("Sort totals by", "operations", "largest first", "EUR paid", "A to Z")
	d.keys("enter")
	d.Has("status ▲")
	first("PENDING")
}

// TestMixedCurrenciesAreThoseOfAllRows, also of those that are not in memory: all that are have US dollars.
func TestMixedCurrenciesAreThoseOfAllRows(t *testing.T) {
	d := open(t, &fake{n: 40, totals: twoByTwo})
	d.Send(uitest.Size(120, 40))
	lacks(t, d, "currencies are mixed")
	d.keys("s")
	d.Send(uitest.Type("amou"))
	d.keys("enter")
	d.Has("by number only: currencies are mixed")
}
