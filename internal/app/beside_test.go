package app

import (
	"path/filepath"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/note"
	"opdeck/internal/store/journal"
)

// TestTermsAboutOwnRecords: is:waiting is what a person can decide or send now, is:doubt a write with an unknown
// outcome, and a note finds its operation.
func TestTermsAboutOwnRecords(t *testing.T) {
	a, err := Open(t.Context(), Options{StateFlag: filepath.Join(t.TempDir(), "state"), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx := api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin, UID: "1001", Host: "here", Via: "console"})
	ben := api.WithActor(t.Context(), api.Actor{Name: "ben", Role: api.Admin, UID: "1002", Host: "here", Via: "console"})
	page, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{Size: 3})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, o := range page.Items {
		ids = append(ids, string(o.OPID))
	}
	if _, err := a.Approvals.Check(ctx, api.ActorOf(ctx), api.Act{Kind: api.ActRemoveDocument, Object: "operation", ID: ids[0], Item: "d"}); err == nil {
		t.Fatal("no approval was asked for")
	}
	if _, err := journal.NewUnsettled(a.Store.Core, a.Scope()).Add(t.Context(), followup.Row{Ref: "r", State: followup.Unknown, Sent: time.Now(),
		Until: time.Now().Add(time.Hour), Write: followup.Write{Object: "operation", ID: ids[1], Who: "ana"}}, func(followup.Row) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Notes.Add(ctx, note.Operation, ids[2], "Ruft zurück"); err != nil {
		t.Fatal(err)
	}
	count := func(want int64, typed string, as api.Actor) {
		t.Helper()
		f, err := filter.Parse(typed)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := a.Index.Count(api.WithActor(t.Context(), as), f, a.Now()); n != want || err != nil {
			t.Errorf("%s: %d for %s, want %d, %v", typed, n, as.Name, want, err)
		}
	}
	count(1, "is:waiting id:"+ids[0], api.ActorOf(ben))
	count(0, "is:waiting", api.ActorOf(ctx))
	count(1, "is:doubt id:"+ids[1], api.ActorOf(ctx))
	count(1, "note:ZURUCK", api.ActorOf(ben))
	count(1, "ruft id:"+ids[2], api.ActorOf(ben))
}
