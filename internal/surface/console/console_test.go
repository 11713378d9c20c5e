package console

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
	"opdeck/internal/sandbox/faulty"
	"opdeck/ui"
	"opdeck/ui/keymap"
	"opdeck/views/limits"
	"opdeck/views/sessions"
)

// clock is a time that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time { c.mu.Lock(); defer c.mu.Unlock(); return c.now }

// open is an App on the built-in service, all in an empty folder.
func open(t *testing.T) (*app.App, *clock) {
	t.Helper()
	c := &clock{now: time.Now()}
	env := map[string]string{"HOME": t.TempDir(), "OPDECK_STATE": t.TempDir()}
	a, err := app.Open(t.Context(), app.Options{Getenv: func(k string) string { return env[k] }, Now: c.Now, Around: faulty.Odd})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a, c
}

func as(role api.Role) (context.Context, api.Actor) {
	who := api.Actor{Name: "ana", Role: role, Via: "ssh", From: "here"}
	return mask.ByCaller(api.WithActor(context.Background(), who)), who
}

func newDesk(a *app.App, role api.Role) (context.Context, *backend, *feed) {
	ctx, who := as(role)
	f := newFeed(ctx, a, newPeople(a, who), nil)
	return ctx, &backend{app: a, feed: f, files: hostFiles{app: a}}, f
}

// waitingNews counts the waiting news.
func waitingNews(f *feed) map[string]int {
	out := map[string]int{}
	for _, m := range f.take() {
		switch m := m.(type) {
		case sessions.News:
			out["status"]++
		case limits.News:
			out["usage"]++
		case ui.SessionFacts:
			out["session "+m.State]++
		case ui.BudgetFacts:
			out["budget"]++
		case ui.CallFacts:
			out["call"]++
		case ui.Changed:
			out["changed "+m.Kind]++
		default:
			out["other"]++
		}
	}
	return out
}

// TestTheFeedReportsOnlyChanges: a second look at the same store says nothing.
func TestTheFeedReportsOnlyChanges(t *testing.T) {
	a, _ := open(t)
	ctx, _, f := newDesk(a, api.Admin)
	defer f.close()
	f.read(ctx)
	if got := waitingNews(f); got["status"] != 1 || got["usage"] != 1 || got["budget"] != 6 || got["session none"] != 1 {
		t.Errorf("first: %v", got)
	}
	f.read(ctx) // the first look made this instance known
	waitingNews(f)
	f.read(ctx)
	if got := waitingNews(f); got["status"]+got["usage"]+got["budget"]+got["session none"] != 0 {
		t.Errorf("nothing changed, and yet: %v", got)
	}
	if _, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{Size: 3}); err != nil {
		t.Fatal(err)
	}
	f.read(ctx)
	got := waitingNews(f)
	if got["status"] != 1 || got["session live"] != 1 || got["usage"] != 1 || got["call"] == 0 {
		t.Errorf("after a call: %v", got)
	}
}

// TestTheListHearsThatItWasConfirmed: a page without news makes the shown rows newer; the same page again does not.
func TestTheListHearsThatItWasConfirmed(t *testing.T) {
	a, _ := open(t)
	ctx, _, f := newDesk(a, api.Admin)
	defer f.close()
	for i, step := range []struct {
		newest string
		want   int
	}{{"", 0}, {"2026-03-02T12:00:00Z", 0}, {"2026-03-02T12:00:00Z", 0}, {"2026-03-02T12:01:00Z", 1}, {"2026-03-02T12:01:00Z", 0}} {
		if step.newest != "" {
			if err := a.Index.Unmasked().SetMeta(ctx, "sync", `{"version":2,"news":{"at":"`+step.newest+`"}}`); err != nil {
				t.Fatal(err)
			}
		}
		waitingNews(f)
		f.read(ctx)
		if got := waitingNews(f)["changed "+ui.KindOperations]; got != step.want {
			t.Errorf("step %d: reported %d times, want %d", i, got, step.want)
		}
	}
}

// TestNewsOfOneObjectReplaceEachOther, and there is an end to what waits.
func TestNewsOfOneObjectReplaceEachOther(t *testing.T) {
	a, _ := open(t)
	_, _, f := newDesk(a, api.Admin)
	defer f.close()
	f.take()
	for i := range 3 * maxNews {
		f.changed(api.Operation{OPID: "same"}, "service")
		f.put("key "+strings.Repeat("x", i), ui.Toast{})
	}
	if n := len(f.take()); n > maxNews {
		t.Errorf("%d news wait", n)
	}
	if n := len(f.take()); n != 0 {
		t.Errorf("%d news were reported twice", n)
	}
}

// numbers are the account numbers that the service really has.
func numbers(t *testing.T, ctx context.Context, a *app.App, opid string) []string {
	t.Helper()
	op, err := endpoint.Do(ctx, a.Client, endpoint.GetOperation, opid)
	if err != nil {
		t.Fatal(err)
	}
	return []string{string(op.Source.Account.Number), string(op.Destination.CounterpartyAccount.Number)}
}

// TestNoNumberReachesAScreenOfAViewer, by whatever way an operation comes.
func TestNoNumberReachesAScreenOfAViewer(t *testing.T) {
	a, _ := open(t)
	ctx, d, f := newDesk(a, api.Viewer)
	defer f.close()
	page, err := endpoint.Do(ctx, d.app.Client, endpoint.ListOperations, api.OperationQuery{Size: 2})
	if err != nil {
		t.Fatal(err)
	}
	opid := string(page.Items[0].OPID)
	analyst, _ := as(api.Analyst)
	secrets := numbers(t, analyst, a, opid)
	one, err := endpoint.Do(ctx, d.app.Client, endpoint.GetOperation, opid)
	if err != nil {
		t.Fatal(err)
	}
	known, _, ok := d.app.Known(ctx, opid)
	if !ok {
		t.Fatal("what was read is not known")
	}
	window, err := listing{a.Index, a.Now}.Window(ctx, index.Query{Sort: index.Sort{Field: "created", Desc: true}, Limit: 2})
	if err != nil || len(window.Ops) == 0 {
		t.Fatal(window, err)
	}
	f.take()
	numbers(t, analyst, a, opid) // a read by somebody else is news here
	var changed api.Operation
	for _, n := range f.take() {
		if c, ok := n.(ui.Changed); ok && c.Object != nil {
			changed = c.Object.(api.Operation)
		}
	}
	for way, op := range map[string]api.Operation{"list": page.Items[0], "read": one, "known": known, "index": window.Ops[0], "news": changed} {
		if string(op.OPID) != opid {
			t.Fatalf("%s is of another operation", way)
		}
		text := string(op.Raw) + string(op.Source.Account.Number) + string(op.Destination.CounterpartyAccount.Number)
		for _, s := range secrets {
			if strings.Contains(text, s) {
				t.Errorf("%s: %s reaches the screen", way, s)
			}
		}
		if !strings.HasPrefix(string(op.Source.Account.Number), "••••") {
			t.Errorf("%s: the number is %q", way, op.Source.Account.Number)
		}
	}
	analyst, open, g := newDesk(a, api.Analyst)
	defer g.close()
	if op, err := endpoint.Do(analyst, open.app.Client, endpoint.GetOperation, opid); err != nil || string(op.Source.Account.Number) != secrets[0] {
		t.Errorf("an analyst sees %q, %v", op.Source.Account.Number, err)
	}
}

// TestRevealIsAudited, and refused to whom it is not allowed.
func TestRevealIsAudited(t *testing.T) {
	a, _ := open(t)
	place := ui.Place{Kind: ui.KindOperation, ID: "op-1"}
	viewer, _ := as(api.Viewer)
	if err := reveal(a)(viewer, place); err == nil {
		t.Error("a viewer may reveal")
	}
	analyst, _ := as(api.Analyst)
	if err := reveal(a)(analyst, place); err != nil {
		t.Fatal(err)
	}
	n := 0
	admin, _ := as(api.Admin)
	list, err := a.Audit.Reader.Find(admin, audit.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Entries {
		if e.Event == audit.EventReveal {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d reveals are recorded", n)
	}
}

// TestRolesBarKeys: the key of an act asks for the act's permission, and says who has it.
func TestRolesBarKeys(t *testing.T) {
	for _, a := range act.All() {
		for _, role := range api.Roles {
			why := mayPress(role)(keymap.Key{Act: a})
			if may := (a.Need == "" || role.May(a.Need)) && a.Offered(role); (why == "") != may {
				t.Errorf("%s as %s: %q", a.Name, role, why)
			}
			if why != "" && (!strings.Contains(why, string(role)) || !strings.Contains(why, "admin")) {
				t.Errorf("%s as %s: %q", a.Name, role, why)
			}
		}
	}
}

func TestUnfinishedIsEmptyAtFirst(t *testing.T) {
	a, _ := open(t)
	ctx, d, f := newDesk(a, api.Admin)
	defer f.close()
	jobs, err := a.UnfinishedJobs(ctx, "")
	if err != nil || len(jobs) != 0 {
		t.Errorf("%v %v", jobs, err)
	}
	if _, err := d.files.ReadUpload(ctx, "/nowhere/x.pdf"); err == nil {
		t.Error("a missing file is uploaded")
	}
}
