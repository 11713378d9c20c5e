package console

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/journey"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// read fills the index with a page of the built-in service.
func read(t *testing.T, a *app.App) []api.Operation {
	t.Helper()
	ctx, _ := as(api.Admin)
	page, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{Size: 100})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Index.Page(ctx, page.Items, a.Now()); err != nil {
		t.Fatal(err)
	}
	return page.Items
}

// TestBeginningsCostNoCall: on the built-in service an operation is opened from the
// beginning of its id, its reference and its customer without a call.
func TestBeginningsCostNoCall(t *testing.T) {
	a, c := open(t)
	ops := read(t, a)
	ctx, d, f := newDesk(a, api.Admin)
	defer f.close()
	calls := 0
	defer a.OnCall(func(api.Call) { calls++ })()
	op := ops[3]
	o := ui.Options{Context: ctx, Make: d.screen, Finder: &finder{backend: d}, Commands: d.commands, Now: c.Now, Tick: uitest.NewClock().Tick, Theme: theme.New(uitest.Renderer(termenv.Ascii), theme.Mono())}
	for _, typed := range []string{string(op.OPID)[:8], string(op.OPID)[:7] + "…" + string(op.OPID)[30:], string(op.Reference)} {
		r := uitest.Drive(t, ui.New(shelltest.Complete(o)), uitest.Size(120, 40), uitest.Key("o"), uitest.Type(typed), uitest.Key("enter"))
		if at := r.Model.(*ui.Shell).Top().Place(); at != (ui.Place{Kind: ui.KindOperation, ID: string(op.OPID)}) {
			t.Errorf("%q opened %v\n%s", typed, at, r.View())
		}
	}
	name := string(op.Customer.Name)
	r := uitest.Drive(t, ui.New(shelltest.Complete(o)), uitest.Size(120, 40), uitest.Key(":"), uitest.Type(name))
	if !strings.Contains(r.View(), "customer "+string(op.Customer.CUID)) {
		t.Errorf("the palette does not know %s\n%s", name, r.View())
	}
	if calls > 0 {
		t.Errorf("%d calls", calls)
	}
}

func recentIDs(t *testing.T, f *finder, ctx context.Context) string {
	t.Helper()
	list, err := f.Recent(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, r := range list {
		out = append(out, r.Place.Kind+" "+r.Place.ID)
	}
	return strings.Join(out, ", ")
}

// TestRecentsAreOfOnePerson, newest first, each once, at most ten; nothing but ids is kept.
func TestRecentsAreOfOnePerson(t *testing.T) {
	a, _ := open(t)
	ana, bob := person("ana", "ssh"), person("bob", "ssh")
	f := &finder{backend: &backend{app: a}}
	for _, p := range []ui.Place{{Kind: ui.KindOperation, ID: "one"}, {Kind: ui.KindDocuments, ID: "two"}, {Kind: ui.KindCompliance, ID: "D1"}, {Kind: ui.KindOperation, ID: "one"}} {
		if err := f.Opened(ana, p); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Opened(ana, ui.Place{Kind: ui.KindOperation, ID: "no id/../at all"}); err == nil {
		t.Error("what is no id is kept")
	}
	again := &finder{backend: &backend{app: a}} // the next console
	if got := recentIDs(t, again, ana); got != "operation one, compliance D1, operation two" {
		t.Errorf("ana opened %s", got)
	}
	for _, ctx := range []context.Context{bob, person("ana", "console")} {
		if got := recentIDs(t, again, ctx); got != "" {
			t.Errorf("somebody else sees %s", got)
		}
	}
	for i := range 30 {
		if err := f.Opened(bob, ui.Place{Kind: ui.KindOperation, ID: strings.Repeat("x", i+1)}); err != nil {
			t.Fatal(err)
		}
	}
	if got := recentIDs(t, again, bob); strings.Count(got, ",") != keptRecent-1 {
		t.Errorf("bob opened %s", got)
	}
	files, err := os.ReadDir(filepath.Join(a.State, recentFolder))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		info, err := file.Info()
		b, err2 := os.ReadFile(filepath.Join(a.State, recentFolder, file.Name()))
		if err != nil || err2 != nil || info.Mode().Perm() != 0o600 || strings.Contains(string(b), a.Context.Login) {
			t.Errorf("%s %v %s", file.Name(), info.Mode(), b)
		}
	}
}

// TestRecentsOfAStoreInMemory hold for the console; another account has its own.
func TestRecentsOfAStoreInMemory(t *testing.T) {
	a, _ := open(t)
	copied := app.App{Config: a.Config, State: a.State, Index: a.Index, Now: a.Now}
	copied.Config.Store.URL = "memory"
	f, ctx := &finder{backend: &backend{app: &copied}}, person("ana", "ssh")
	if err := f.Opened(ctx, ui.Place{Kind: ui.KindOperation, ID: "one"}); err != nil || recentIDs(t, f, ctx) != "operation one" {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(a.State, recentFolder)); err == nil {
		t.Error("something was written")
	}
}

// TestADamagedRecentFileIsNone, and is written again.
func TestADamagedRecentFileIsNone(t *testing.T) {
	a, _ := open(t)
	d, ctx := &backend{app: a}, person("ana", "ssh")
	path := d.personFile(ctx, recentFolder)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"", "{", "[]", `{"scopes": 7}`, strings.Repeat(" ", maxRecentFile+1)} {
		if err := os.WriteFile(path, []byte(s), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := recentIDs(t, &finder{backend: d}, ctx); got != "" {
			t.Errorf("%.20q gives %s", s, got)
		}
	}
	if err := (&finder{backend: d}).Opened(ctx, ui.Place{Kind: ui.KindOperation, ID: "one"}); err != nil || recentIDs(t, &finder{backend: d}, ctx) != "operation one" {
		t.Errorf("%v", err)
	}
}

// TestTheNoticeOfABegunVerification names the customer, and what it says leads there.
func TestTheNoticeOfABegunVerification(t *testing.T) {
	a, c := open(t)
	ops := read(t, a)
	ctx, who := as(api.Admin)
	op := ops[0]
	if err := a.Journeys.Store.SaveJourney(ctx, journey.Record{CUID: string(op.Customer.CUID), Applied: true, AppliedAt: c.Now(), Updated: c.Now()}); err != nil {
		t.Fatal(err)
	}
	folk := newPeople(a, who)
	var said []string
	for _, m := range folk.reminders(ctx) {
		said = append(said, m.(ui.Toast).Text)
	}
	want := "1 verification waits: " + op.Customer.Name.Line(40) + "; K lists it."
	if !slices.Contains(said, want) {
		t.Fatalf("%q does not hold %q", said, want)
	}
	f := newFeed(ctx, a, folk, nil)
	defer f.close()
	d := &backend{app: a, feed: f}
	o := ui.Options{Context: ctx, Make: d.screen, Finder: &finder{backend: d}, Commands: d.commands, Now: c.Now, Tick: uitest.NewClock().Tick, Theme: theme.New(uitest.Renderer(termenv.Ascii), theme.Mono())}
	r := uitest.Drive(t, ui.New(shelltest.Complete(o)), uitest.Size(40, 12), ui.Toast{Level: ui.Warning, Text: want})
	if n := strings.Count(r.View(), "verif"); n != 1 {
		t.Errorf("the notice has %d lines of 12:\n%s", n, r.View())
	}
	r.Send(uitest.Key(":"), uitest.Type("verif"), uitest.Key("enter"))
	if at := r.Model.(*ui.Shell).Top().Place(); at != (ui.Place{Kind: ui.KindCompliance, ID: string(op.Customer.CUID)}) {
		t.Errorf(": verif opened %v\n%s", at, r.View())
	}
	if line := unfinished(ctx, a, "4 lists")[0].sentence; !strings.HasSuffix(line, "; 4 lists it.") {
		t.Errorf("plain mode says %q", line)
	}
}

// TestTheNamesOfACustomer: a customer has the same name in the record and in operations; one that operations alone have
// is shown beside the record.
func TestTheNamesOfACustomer(t *testing.T) {
	a, _ := open(t)
	ctx, _ := as(api.Admin)
	op := read(t, a)[0]
	cuid := string(op.Customer.CUID)
	j, err := a.Journeys.Read(ctx, cuid)
	if err != nil {
		t.Fatal(err)
	}
	f := &finder{backend: &backend{app: a}}
	if names := f.otherNames(ctx, j.Customer, cuid); len(names) > 0 || j.Customer.DisplayName() == "" {
		t.Errorf("%q in the record, also %q", j.Customer.DisplayName(), names)
	}
	j.Customer.Company = "renamed"
	if names := f.otherNames(ctx, j.Customer, cuid); !slices.Contains(names, op.Customer.Name) {
		t.Errorf("%q in operations is not among %q", op.Customer.Name, names)
	}
}

// TestContextsInside: the other contexts of the config are offered, over SSH none.
func TestContextsInside(t *testing.T) {
	a := &app.App{Context: config.Context{Name: "stage"}}
	a.Config.Contexts = map[string]config.Context{"stage": {}, "prod": {Kind: config.Production, ReadOnly: true}}
	want := []ui.About{{Context: "prod", Environment: ui.Production, ReadOnly: true},
		{Context: "sandbox", Environment: ui.Sandbox}}
	if got := otherContexts(a, api.Actor{Via: "console"}); !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	if got := otherContexts(a, api.Actor{Via: "ssh"}); got != nil {
		t.Errorf("over SSH %v", got)
	}
}
