package operations

import (
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/ui/uitest"
)

// TestMarkedRowsAreMeant by the keys about more than one row: export, totals, JSON.
func TestMarkedRowsAreMeant(t *testing.T) {
	f := &fake{ops: odd()}
	d := open(t, f, admin)
	d.keys("down", " ", " ")
	marked := d.list.Table.Marked()
	d.Has("2 marked", "export 2 marked")
	d.keys("e")
	d.Has("Export 2 marked", "Writes 2 marked operations")
	d.keys("esc")
	if q, n := d.list.loader.meant(); n != 2 || q.String() != "id:"+strings.Join(marked, ",") {
		t.Errorf("meant are %d: %s", n, q)
	}
	d.keys("T")
	d.Has("2 marked operations")
	d.keys("esc")
	d.Has("2 marks cleared; U restores them.")
	if q, n := d.list.loader.meant(); n != 0 || !q.Empty() {
		t.Errorf("without marks %d are meant: %s", n, q)
	}
	if d.list.totals.panel.marked != 0 {
		t.Error("the totals are still those of the marked")
	}
	d.keys("U")
	d.Has("2 marks restored.")
	item := d.list.Item()
	if item.Title != "2 marked operations" || !strings.HasPrefix(string(item.JSON), "[{") || strings.Count(string(item.JSON), `"opid"`) != 2 {
		t.Errorf("%s: %s %s", item.Title, item.JSON, item.NoJSON)
	}
	d.keys("/", "q", "q", "x", "z", "enter", "U")
	d.Has("No cleared marks to restore in this list.")
	d.keys("esc", "esc", "esc", "U")
	d.Has("2 marks restored.")
	d.keys("esc", "U", "U")
	d.Has("No cleared marks to restore in this list.")
}

// TestOfIDsFindsThose: the filter of marked rows is one of the language.
func TestOfIDsFindsThose(t *testing.T) {
	ops := odd()
	q := filter.OfIDs([]string{string(ops[1].OPID), string(ops[2].OPID)})
	again, err := filter.Parse(q.String())
	if err != nil || again.String() != q.String() {
		t.Fatalf("%s: %v", q, err)
	}
	for i, op := range ops {
		if got := q.Match(op, uitest.NewClock().Now()); got != (i == 1 || i == 2) {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// TestSortByTheColumnUnderTheCursor: once sorts, twice reverses, and the cursor begins
// at the top.
func TestSortByTheColumnUnderTheCursor(t *testing.T) {
	d := open(t, &fake{n: 300})
	d.keys("end", "right", "right", "s")
	d.Has("by status ▲", "▌status", "1 of 300")
	d.keys("s")
	d.Has("by status ▼")
	d.keys("esc")
	d.keys("s")
	d.Has("▌ status, reversed")
	d.keys("esc", "left", "s")
	d.Has("Sort by")
}

// TestAReloadDoesNotOvertakeASort: rows of the new order begin at their top, also when a
// reload around the old row is asked for meanwhile.
func TestAReloadDoesNotOvertakeASort(t *testing.T) {
	d := open(t, &fake{n: 300})
	d.keys("end")
	_, sorted := d.list.views.useView(View{Sort: "-updated"})
	again := d.list.loader.load(d.list.Table.Cursor.SelectedID())
	d.Send(sorted(), again())
	d.Has("by updated ▼", "1 of 300")
	if strings.Contains(d.View(), "is gone") {
		t.Errorf("a row is called gone\n%s", d.View())
	}
}

// TestColumnsScrollSideways: the cursor brings in those that the window has no room for;
// the first column stays.
func TestColumnsScrollSideways(t *testing.T) {
	d := open(t, &fake{n: 30})
	d.Has(" ›")
	heads := strings.Fields(strings.Split(d.View(), "\n")[4])
	for range 20 {
		d.keys("right")
	}
	line := strings.Split(d.View(), "\n")[4]
	if !strings.Contains(line, "‹") || !strings.Contains(line, heads[0]) || !strings.Contains(line, "▌") || strings.Contains(line, "›") {
		t.Errorf("at the right end: %q", line)
	}
	for range 20 {
		d.keys("left")
	}
	if now := strings.Fields(strings.Split(d.View(), "\n")[4]); strings.Join(now, " ") != strings.Join(heads, " ") {
		t.Errorf("back again: %v, were %v", now, heads)
	}
}

// TestThePreviewCostsNoCall, follows the cursor, and is switched by its key.
func TestThePreviewCostsNoCall(t *testing.T) {
	f := &fake{n: 30}
	drawn := 0
	d := openWith(t, f, Config{Preview: func(op api.Operation, w int) []string {
		drawn++
		return []string{"Preview of " + string(op.OPID[:8])}
	}})
	d.Send(uitest.Size(160, 45))
	calls, at := f.calls, drawn
	for range 5 {
		d.keys("down")
		d.Has("Preview of " + under(d)[:8])
	}
	if f.calls != calls || drawn != at+5 {
		t.Errorf("%d calls and %d drawings for 5 moves", f.calls-calls, drawn-at)
	}
	d.keys("|")
	if strings.Contains(d.View(), "Preview of") {
		t.Errorf("it is not switched off\n%s", d.View())
	}
	d.keys("|")
	d.Has("Preview of " + under(d)[:8])
	d.Send(uitest.Size(139, 45))
	if strings.Contains(d.View(), "Preview of") {
		t.Error("it is drawn where it has no room")
	}
}

// TestNewRowsAtTheTopAreSeen: the cursor follows its row, the list stays at its top and
// says how many came.
func TestNewRowsAtTheTopAreSeen(t *testing.T) {
	f := &fake{ops: odd()[:5]}
	d := open(t, f)
	was := under(d)
	f.ops = append(odd()[5:7:7], f.ops...)
	d.Send(news)
	from, _ := d.list.Table.Cursor.Visible()
	if under(d) != was || from != 0 {
		t.Errorf("the cursor is on %s, was on %s; the window begins at %d", under(d), was, from)
	}
	d.Has("▲ 2 new", "3 of 7")
	d.keys("up")
	if strings.Contains(d.View(), "new  ") {
		t.Errorf("still called new\n%s", d.View())
	}
}

// TestMarkedExport writes the marked operations, not those that are shown.
func TestMarkedExport(t *testing.T) {
	f := &fake{n: 30}
	asked := ""
	f.export = func(s index.Sheet, _ string, _ func(done, total int)) (int, error) {
		asked = s.Filter.String()
		return 1, nil
	}
	d := open(t, f, admin)
	d.keys(" ", "e")
	d.Has("Export 1 marked", "Writes 1 marked operation, ")
	d.keys("enter")
	if !strings.HasPrefix(asked, "id:") {
		t.Errorf("exported %q", asked)
	}
}
