package operations

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

func TestScreens(t *testing.T) {
	refused := &api.Error{Kind: api.Unavailable, Public: "The index cannot be read."}
	for name, c := range map[string]struct {
		f    *fake
		keys []string
		text string
	}{
		"list":     {f: &fake{ops: odd()}},
		"empty":    {f: &fake{}},
		"error":    {f: &fake{err: refused}},
		"hostile":  {f: &fake{ops: []api.Operation{apitest.HostileOperation(), apitest.Operation(nil)}}},
		"long":     {f: &fake{n: 100_000}},
		"marked":   {f: &fake{n: 30}, keys: []string{" ", " "}},
		"filter":   {f: &fake{n: 30}, keys: []string{"/"}, text: "status:PENDING am"},
		"wrong":    {f: &fake{n: 30}, keys: []string{"/"}, text: "status:PENDING amount>=x"},
		"totals":   {f: &fake{ops: odd()}, keys: []string{"T"}},
		"columns":  {f: &fake{ops: odd()}, keys: []string{"c", "G", "k", "k", " "}},
		"bystatus": {f: &fake{ops: odd()}, keys: []string{"T", "T"}},
		"sort":     {f: &fake{n: 30}, keys: []string{"s"}},
		"views":    {f: &fake{n: 30}, keys: []string{"v"}},
		"reread":   {f: &fake{n: 30}, keys: []string{" ", " ", " ", "r"}},
		"export":   {f: &fake{n: 30}, keys: []string{"e"}},
	} {
		for size, wh := range shelltest.Drawn(name, "list", "totals", "columns") {
			t.Run(name+"-"+size, func(t *testing.T) {
				d := open(t, c.f, admin)
				d.Send(uitest.Size(wh[0], wh[1]))
				d.keys(c.keys...)
				if c.text != "" {
					d.Send(uitest.Type(c.text))
				}
				golden.RequireEqual(t, d.View())
			})
		}
	}
}

func TestMoneyIsExact(t *testing.T) {
	d := open(t, &fake{ops: odd()})
	d.Send(uitest.Size(120, 60))
	exact := ""
	for range odd() {
		exact += d.View()
		d.keys("down")
	}
	for _, c := range apitest.OddMoney() {
		number, _, _ := strings.Cut(c.Want, " ")
		short, _, _ := strings.Cut(draw.Shortened(c.Want), " ")
		if len(short) < 20 {
			d.Has(short)
		}
		if !strings.Contains(exact, number) {
			t.Errorf("%s is not shown when the cursor is on its row", number)
		}
	}
	d.keys("T").Send(uitest.Size(120, 100))
	d.Send(uitest.Size(121, 100))
	for _, c := range apitest.OddMoney() {
		number, _, _ := strings.Cut(c.Want, " ")
		if !strings.Contains(d.View(), number) {
			t.Errorf("%s is not among the totals\n%s", number, d.View())
		}
	}
}

// TestAHundredThousandRows: whatever is looked at, only a window of it is read.
func TestAHundredThousandRows(t *testing.T) {
	f := &fake{n: 100_000}
	d := open(t, f)
	d.Has("100,000 operations", "1 of 100,000")
	for range 120 {
		d.keys("pgdown")
	}
	if got := under(d); got <= id(1000) || got >= id(5000) {
		t.Errorf("after 120 pages the cursor is on %s", got)
	}
	if strings.Contains(d.View(), "\n    …") {
		t.Errorf("rows are missing:\n%s", d.View())
	}
	d.keys("end")
	d.Has("100,000 of 100,000")
	if under(d) != id(99_999) {
		t.Errorf("end is %s", under(d))
	}
	for range 60 {
		d.keys("pgup")
	}
	if got := under(d); got >= id(99_500) || got <= id(90_000) {
		t.Errorf("60 pages above the end the cursor is on %s", got)
	}
	d.keys("home")
	if under(d) != id(0) {
		t.Errorf("home is %s", under(d))
	}
	if f.most > 6*readAhead {
		t.Errorf("%d rows were asked for at once", f.most)
	}
	if held := len(d.list.loader.rows.Shown()); held > 3*readAhead {
		t.Errorf("%d rows are held", held)
	}
}

// TestTheCursorFollowsTheOperation when rows come above it.
func TestTheCursorFollowsTheOperation(t *testing.T) {
	f := &fake{ops: odd()[:5]}
	d := open(t, f)
	d.keys("down", "down", " ")
	was := under(d)
	f.ops = append([]api.Operation{apitest.Operation(map[string]any{"opid": "ffffffff-0000-4000-8000-000000000000"})}, f.ops...)
	d.Send(news)
	d.Has("6 operations", "1 marked")
	if under(d) == "" || d.list.Table.Marked()[0] == under(d) {
		t.Logf("the cursor is on %s, the mark on %v", under(d), d.list.Table.Marked())
	}
	if now := under(d); now != was {
		t.Errorf("the cursor went from %s to %s", was, now)
	}
}

func TestFilterWhileTyped(t *testing.T) {
	f := &fake{n: 40}
	d := open(t, f)
	d.keys("/")
	d.Send(uitest.Type("status:PENDING"))
	if n := d.list.loader.rows.Len(); n != 20 {
		t.Errorf("%d rows while it is typed", n)
	}
	d.keys("esc")
	d.Has("40 operations")
	d.keys("/")
	d.Send(uitest.Type("status:PENDING"))
	d.keys("enter")
	d.Has("20 operations match", "status:PENDING")
	d.keys("/")
	d.Send(uitest.Type(" amount>=x"))
	d.Has("is not an amount", "^")
	before := f.calls
	d.keys("enter") // what is wrong is not applied, and stays to be mended
	d.Has("is not an amount")
	if f.calls != before {
		t.Error("a wrong filter was asked for")
	}
	d.keys("esc")
	d.Has("20 operations match")
	d.keys("esc")
	d.Has("40 operations")
	d.keys("esc")
	d.Has("q leaves", "40 operations")
}

func TestTypedFilterIsNotLostUnasked(t *testing.T) {
	d := open(t, &fake{n: 4})
	d.keys("/")
	d.Send(uitest.Type("status:X"))
	d.keys("ctrl+c")
	d.Has("Discard the filter you typed?")
}

// TestStaleWindowIsDropped: the answer to an older filter changes nothing.
func TestStaleWindowIsDropped(t *testing.T) {
	f := &fake{n: 40}
	d := open(t, f)
	old := d.list.loader.load("")
	d.keys("/")
	d.Send(uitest.Type("status:PENDING"))
	d.keys("enter")
	d.Send(old())
	d.Has("20 operations match")
}

func TestMarksSurviveNewsAndSorting(t *testing.T) {
	f := &fake{n: 40}
	d := open(t, f)
	d.keys(" ", " ", " ")
	d.Has("3 marked")
	d.Send(news)
	d.Has("3 marked")
	d.keys("y")
	d.Has("3 operation ids")
	d.keys("esc")
	if strings.Contains(d.View(), "marked") {
		t.Error("esc does not unmark")
	}
	f.n = 100_000
	d.Send(news)
	d.keys("*")
	d.Has("Filter first")
}

func TestRereadAsksForTheFrozenList(t *testing.T) {
	f := &fake{n: 40}
	d := open(t, f)
	d.keys(" ", " ", " ", "r")
	d.Has("Reload 3 marked operations, one by one?", "3 billing calls", id(0))
	d.keys() // nothing is read yet
	if len(f.reads) != 0 {
		t.Fatal("read before the answer")
	}
	d.list.Table.Unmark() // what happens meanwhile does not matter
	d.Send(d.clock.Wait(shelltest.Armed), uitest.Key("y"))
	if len(f.reads) != 3 || f.reads[0] != id(0) || f.reads[2] != id(2) {
		t.Errorf("read %v", f.reads)
	}
	d.Has("3 operations reloaded.")
	f.readErr = &api.Error{Kind: api.NotFound, Public: "gone"}
	d.keys(" ", "r")
	d.Send(d.clock.Wait(shelltest.Armed), uitest.Key("y"))
	d.Has("could not be read")
}

func TestReloadReadsOnePage(t *testing.T) {
	f := &fake{n: 4}
	d := open(t, f)
	d.keys("r")
	if f.pages != 1 {
		t.Errorf("%d pages", f.pages)
	}
	f.readErr = &api.Error{Kind: api.RateLimited, Public: "The budget of billing calls is used up for another 12s."}
	d.keys("r")
	d.Has("The budget of billing calls", "4 operations")
}

func TestSortMenu(t *testing.T) {
	d := open(t, &fake{n: 4})
	d.keys("s")
	d.Has("created, reversed", "oldest first", "largest first", "A to Z")
	d.keys("enter")
	if d.list.loader.order().Desc || d.list.loader.order().Field != "created" {
		t.Errorf("sorted by %v", d.list.loader.order())
	}
	d.keys("s")
	d.Send(uitest.Type("amou"))
	d.keys("enter")
	if d.list.loader.order().String() != "-amount" {
		t.Errorf("sorted by %v", d.list.loader.order())
	}
}

func TestViewsAreCounted(t *testing.T) {
	d := open(t, &fake{n: 40})
	d.keys("v")
	d.Has("everything", "pending", "20  config", "is not an amount")
	d.keys("down", "enter")
	d.Has("20 operations match", "status:PENDING")
	d.keys("v", "down", "down", "enter")
	d.Has("Correct it under [views]")
	d.Send(d.clock.Wait(time.Second))
	d.keys("esc", "v", "down", "down", "down", "enter")
	d.Has("an unknown field: colour")
}

func TestExport(t *testing.T) {
	f := &fake{n: 4}
	there := map[string]bool{}
	f.export = func(s index.Sheet, path string, progress func(done, total int)) (int, error) {
		if there[path] {
			return 0, &api.Error{Kind: api.Usage, Public: "A file with that name exists already.", Err: os.ErrExist}
		}
		there[path] = true
		progress(1, 4)
		return 4, nil
	}
	d := open(t, f, admin)
	d.keys("e")
	d.Has("Export 4 operations", "operations.csv")
	d.Send(uitest.Type("x"))
	d.keys("enter")
	d.Has("must end in .csv or .jsonl")
	d.keys("backspace", "enter")
	d.Has("Exported 4 operations to /home/ana/operations.csv (1.2 kB), of the index:")
	d.keys("e", "enter")
	d.Has("operations.csv exists already. An export overwrites no file", "Export 4 operations")
	d.keys("home") // the name is there to change
	d.Send(uitest.Type("new-"))
	d.keys("enter")
	d.Has("Exported 4 operations to /home/ana/new-operations.csv")
	f.export = func(index.Sheet, string, func(done, total int)) (int, error) {
		return 1, &api.Error{Kind: api.Usage, Public: "The file cannot be created."}
	}
	d.keys("e", "enter")
	d.Has("The export", "The file cannot be created.")
}

func TestOpensWhatIsUnderTheCursor(t *testing.T) {
	d := open(t, &fake{n: 0})
	d.keys("enter", "d", "y", "J", "Y") // nothing is there: nothing happens
	d2 := open(t, &fake{n: 4})
	d2.keys("J")
	d2.Has(`"comment": "Invoice settlement"`)
}

// TestAChangedOperationShowsAtOnce, an older state never.
func TestAChangedOperationShowsAtOnce(t *testing.T) {
	d := open(t, &fake{n: 4})
	newer := apitest.Operation(map[string]any{"opid": id(1), "status": "FAILED", "updatedAt": "2026-03-02T11:50:00Z"})
	d.Send(ui.Changed{Kind: ui.KindOperation, ID: id(1), Object: newer})
	d.Has("FAILED")
	older := apitest.Operation(map[string]any{"opid": id(1), "status": "PROCESSING", "updatedAt": "2026-03-02T11:00:00Z"})
	d.Send(ui.Changed{Kind: ui.KindOperation, ID: id(1), Object: older})
	d.Has("FAILED")
}

func TestUpdateAndViewNeverWait(t *testing.T) {
	f := &fake{n: 40}
	clock := uitest.NewClock()
	factory := func(env *ui.Env, p ui.Place) ui.Screen {
		return New(env, f, f.caller(), Config{Views: views, Export: f.write}, p.Arg)
	}
	shelltest.PressAll(clock, factory, ui.Place{Kind: ui.KindOperations},
		ui.Changed{Kind: ui.KindOperation, ID: id(1), Object: f.at(filter.OperationExpr{}, 1).Op}, news)
	if f.calls != 0 {
		t.Errorf("%d questions outside a command", f.calls)
	}
}

func TestEverySize(t *testing.T) {
	d := open(t, &fake{ops: []api.Operation{apitest.HostileOperation()}})
	shelltest.Sizes(d.Run)
	d.keys("T")
	shelltest.Sizes(d.Run)
	d.keys("c", "down", "down")
	for _, wh := range [][2]int{{20, 5}, {30, 8}, {50, 16}, {79, 23}, {200, 60}} {
		d.Send(uitest.Size(wh[0], wh[1]))
	}
	d.keys("esc", "/")
	d.Send(uitest.Type("amount>=x"))
	shelltest.Sizes(d.Run)
}

// An empty answer says how old it is, and what it is worth while the index does
// not hold everything.
func TestNothingMatches(t *testing.T) {
	asOf := uitest.NewClock().Now().Add(-5 * time.Minute)
	for name, c := range map[string]struct {
		fresh index.Freshness
		off   bool
		says  string
		age   bool
	}{
		"complete": {index.Freshness{AsOf: asOf, Complete: true}, false, "No operation matches “status:PENDING”.", true},
		"reading":  {index.Freshness{AsOf: asOf}, false, "No match yet for “status:PENDING”; more operations are being read.", true},
		"off":      {index.Freshness{}, true, "No operation that was read matches “status:PENDING”.", false},
	} {
		t.Run(name, func(t *testing.T) {
			f := &fake{n: 1, fresh: c.fresh, filling: !c.fresh.Complete}
			d := openWith(t, f, Config{Views: views, Off: c.off}, admin)
			d.keys("/").Send(uitest.Type("status:PENDING"))
			d.Has(c.says)
			d.keys("enter")
			d.Has(c.says, "clears it")
			if strings.Contains(d.View(), "index, 5m ago") != c.age {
				t.Errorf("the age:\n%s", d.View())
			}
			f.n = 30
			d.keys("esc")
			age := "index, 30s ago"
			if c.age {
				age = "index: newest 30s, oldest 5m"
			}
			if strings.Contains(d.View(), c.says) || !strings.Contains(d.View(), age) {
				t.Errorf("with rows again:\n%s", d.View())
			}
		})
	}
}

// TestWhatIsKnownOfTheRow: h and C open history and customer of the operation under the cursor.
func TestWhatIsKnownOfTheRow(t *testing.T) {
	for key, kind := range map[string]string{"h": ui.KindHistory, "C": ui.KindCompliance} {
		d := open(t, &fake{n: 3})
		d.keys(key).Has("No screen for this: " + kind + ".")
	}
}
