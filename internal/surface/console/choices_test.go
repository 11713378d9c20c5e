package console

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/views/operations"
)

func person(name, via string) context.Context {
	return api.WithActor(context.Background(), api.Actor{Name: name, Role: api.Viewer, Via: via})
}

func chosen(t *testing.T, d *backend, ctx context.Context) string {
	t.Helper()
	all, err := d.Columns(ctx)
	if err != nil && !errors.Is(err, errDamaged) {
		t.Fatal(err)
	}
	return strings.Join(all[""], " ")
}

// TestEverybodyHasTheirOwnChoice: over SSH by name, on the host by user, and it is
// there again in the next console.
func TestEverybodyHasTheirOwnChoice(t *testing.T) {
	a, _ := open(t)
	for _, p := range []struct{ name, via, column string }{{"ana", "ssh", "commission"}, {"bob", "ssh", "documents!"}, {"ana", "console", "id"}, {"../../x", "ssh", "cuid"}} {
		if err := (&backend{app: a}).KeepColumns(person(p.name, p.via), "", []string{p.column}); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []struct{ name, via, column string }{{"ana", "ssh", "commission"}, {"bob", "ssh", "documents!"}, {"ana", "console", "id"}, {"../../x", "ssh", "cuid"}, {"eve", "ssh", ""}} {
		if got := chosen(t, &backend{app: a}, person(p.name, p.via)); got != p.column {
			t.Errorf("%s has %q, chose %q", p.name, got, p.column)
		}
	}
	files, err := os.ReadDir(filepath.Join(a.State, choicesFolder))
	files = slices.DeleteFunc(files, func(f os.DirEntry) bool { return f.Name() == ".lock" })
	if err != nil || len(files) != 4 {
		t.Errorf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm() != 0o600 || strings.Contains(f.Name(), "ana") {
			t.Errorf("%s %v", f.Name(), info.Mode())
		}
	}
}

// TestTwoConsolesOfOnePerson keep choices for different views.
func TestTwoConsolesOfOnePerson(t *testing.T) {
	a, _ := open(t)
	ctx := person("ana", "ssh")
	one, two := &backend{app: a}, &backend{app: a}
	chosen(t, one, ctx)
	chosen(t, two, ctx)
	for _, err := range []error{one.KeepColumns(ctx, "", []string{"id"}), two.KeepColumns(ctx, "money", []string{"commission"})} {
		if err != nil {
			t.Error(err)
		}
	}
	all, err := (&backend{app: a}).Columns(ctx)
	if err != nil || !slices.Equal(all[""], []string{"id"}) || !slices.Equal(all["money"], []string{"commission"}) {
		t.Errorf("%v %v", all, err)
	}
	if err := two.KeepColumns(ctx, "", nil); err != nil || chosen(t, &backend{app: a}, ctx) != "" {
		t.Errorf("a choice is not forgotten: %v", err)
	}
}

func TestADamagedChoiceIsNone(t *testing.T) {
	a, _ := open(t)
	ctx := person("ana", "ssh")
	path := (&backend{app: a}).choicesFile(ctx)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"", "{", "[]", `{"operations": 7}`, `{"operations": {"": ["id"]}}` + strings.Repeat(" ", maxChoices)} {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := chosen(t, &backend{app: a}, ctx); got != "" {
			t.Errorf("%.20q gives %q", s, got)
		}
	}
	if err := (&backend{app: a}).KeepColumns(ctx, "", []string{"colour"}); err == nil {
		t.Error("a column that there is not is kept")
	}
	if err := (&backend{app: a}).KeepColumns(ctx, "", []string{"id"}); err != nil || chosen(t, &backend{app: a}, ctx) != "id" {
		t.Errorf("a damaged file stays: %v", err)
	}
	if b, err := os.ReadFile(path + ".damaged"); err != nil || !strings.HasSuffix(string(b), " ") {
		t.Errorf("the damaged file is lost: %v", err)
	}
}

// TestAStateFolderThatCannotBeWritten: the choice holds for this console.
func TestAStateFolderThatCannotBeWritten(t *testing.T) {
	a, _ := open(t)
	ctx := person("ana", "ssh")
	if err := os.WriteFile(filepath.Join(a.State, choicesFolder), nil, 0o600); err != nil { // a file where the folder belongs
		t.Fatal(err)
	}
	d := &backend{app: a}
	err := d.KeepColumns(ctx, "", []string{"id"})
	if err == nil || strings.Contains(api.AsError(err).Public, a.State) {
		t.Errorf("%v", err)
	}
	if chosen(t, d, ctx) != "id" {
		t.Error("the choice is gone")
	}
}

// TestAStoreInMemoryWritesNothing, and the choice outlives the screen.
func TestAStoreInMemoryWritesNothing(t *testing.T) {
	a, _ := open(t)
	copied := app.App{Config: a.Config, State: a.State}
	copied.Config.Store.URL = "memory"
	ctx, d := person("ana", "ssh"), &backend{app: &copied}
	if err := d.KeepColumns(ctx, "", []string{"id"}); err != nil || chosen(t, d, ctx) != "id" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(a.State, choicesFolder)); err == nil {
		t.Error("the choice was written")
	}
}

// TestTheConfigsColumnsReachTheList.
func TestTheConfigsColumnsReachTheList(t *testing.T) {
	if got := chosenColumns([]string{"id", "fee:20"}); !slices.Equal(got, []field.Choice{{Name: "id"}, {Name: "commission", Width: 20}}) {
		t.Errorf("%v", got)
	}
	if got := chosenColumns([]string{"colour"}); got != nil {
		t.Errorf("%v", got)
	}
}

// TestConsolesOfOnePersonLoseNothing: views and filters that two consoles keep at
// once are all there afterwards, beside the columns.
func TestConsolesOfOnePersonLoseNothing(t *testing.T) {
	a, _ := open(t)
	ctx := person("ana", "ssh")
	const each = 20
	var wg sync.WaitGroup
	for i := range 2 {
		d := &backend{app: a}
		wg.Go(func() {
			for k := range each {
				name := strings.Repeat("x", i*each+k+1)
				err := errors.Join(d.KeepView(ctx, "", &operations.View{Name: name, Filter: "status:PENDING", Sort: "-amount", Columns: field.UsualColumns()}),
					d.KeepFilter(ctx, ui.KindOperations, name), d.KeepColumns(ctx, name, []string{"id"}))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	d := &backend{app: a}
	views, err := d.OwnViews(ctx)
	if err != nil || len(views) != 2*each || len(views[0].Columns) == 0 || !views[0].Own {
		t.Errorf("%d views, %v", len(views), err)
	}
	filters, err := d.Filters(ctx, ui.KindOperations)
	columns, err2 := d.Columns(ctx)
	if err = errors.Join(err, err2); err != nil || len(filters) != 2*each || len(columns) != 2*each {
		t.Errorf("%d filters, columns of %d views, %v", len(filters), len(columns), err)
	}
	if err := d.KeepView(ctx, "x", &operations.View{Name: "y", Filter: "z"}); err != nil {
		t.Error(err)
	}
	if err := d.KeepView(ctx, "xx", nil); err != nil {
		t.Error(err)
	}
	views, err = (&backend{app: a}).OwnViews(ctx)
	has := func(name string) bool {
		return slices.ContainsFunc(views, func(v operations.View) bool { return v.Name == name })
	}
	if err != nil || has("x") || has("xx") || !has("y") || len(views) != 2*each-1 {
		t.Errorf("after renaming and deleting: %+v, %v", views, err)
	}
	if list, err := (&backend{app: a}).OwnViews(person("bob", "ssh")); len(list) != 0 || err != nil {
		t.Errorf("bob has %v, %v", list, err)
	}
}

// TestFiltersAreBounded: the latest first, each once, fifty of a kind of list.
func TestFiltersAreBounded(t *testing.T) {
	a, _ := open(t)
	ctx := person("ana", "ssh")
	d := &backend{app: a}
	for i := range maxFilters + 10 {
		if err := d.KeepFilter(ctx, ui.KindEvents, fmt.Sprint("amount>", i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range []string{"amount>30", "", strings.Repeat("x", maxFilterText+1)} {
		if err := d.KeepFilter(ctx, ui.KindEvents, text); err != nil {
			t.Fatal(err)
		}
	}
	got, err := (&backend{app: a}).Filters(ctx, ui.KindEvents)
	if err != nil || len(got) != maxFilters || got[0] != "amount>30" || got[1] != "amount>59" || slices.Contains(got[1:], "amount>30") {
		t.Errorf("%q, %v", got, err)
	}
	if other, _ := d.Filters(ctx, ui.KindAudit); len(other) > 0 {
		t.Errorf("another list has %q", other)
	}
}

// TestAStoppedConsoleHoldsNobodyUp: a console that was stopped while it changed the
// person's file makes the others fail, not wait for ever.
func TestAStoppedConsoleHoldsNobodyUp(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ana.json")
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var inner error
		if err := locked(path, func() error {
			inner = locked(path, func() error { t.Error("two change the file at once"); return nil })
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); inner == nil || took < choiceWait || took > 2*choiceWait {
			t.Errorf("after %v: %v", took, inner)
		}
	})
}

// TestTheThemeIsKeptForThePerson: the next console of the person opens in it, that of others in the config's.
func TestTheThemeIsKeptForThePerson(t *testing.T) {
	a, _ := open(t)
	ana, bob := person("ana", "ssh"), person("bob", "ssh")
	if err := (&backend{app: a}).keepTheme(ana, "light"); err != nil {
		t.Fatal(err)
	}
	if got := (&backend{app: a}).chosenTheme(ana); got != "light" {
		t.Errorf("ana has %q", got)
	}
	if got := (&backend{app: a}).chosenTheme(bob); got != a.Config.UI.Theme {
		t.Errorf("bob has %q", got)
	}
	if err := (&backend{app: a}).keepTheme(bob, "no such theme"); err != nil {
		t.Fatal(err)
	}
	if got := (&backend{app: a}).chosenTheme(bob); got != a.Config.UI.Theme {
		t.Errorf("an unknown theme is %q", got)
	}
}
