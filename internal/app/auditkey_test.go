package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/verdict"
)

// TestAuditKeyIsNotReplaced: a key that is missing while checkpoints of this host exist is an error that says what to
// do;
// a new one is made for a trail that has not begun, or by hand, which the trail records.
func TestAuditKeyIsNotReplaced(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(conf, []byte("[contexts.box]\nsandbox = true\nrole = \"admin\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	open := func(anew bool) (*App, error) {
		return Open(context.Background(), Options{ConfigFlag: conf, StateFlag: state, NewAuditKey: anew})
	}
	a, err := open(false) // an empty trail gets a key
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Audit.Note(context.Background(), a.LocalActor("command"), api.Event{Name: "console.open"}); err != nil {
		t.Fatal(err)
	}
	file := a.AuditKeyFile()
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	missing := func(what string) {
		t.Helper()
		_, err := open(false)
		e := api.AsError(err)
		if err == nil || e.Kind != api.BadConfig || !strings.Contains(e.Public, what) ||
			!strings.Contains(e.Hint, "audit checkpoint --new-key") {
			t.Errorf("%v", err)
		}
		if _, err := os.Lstat(file); err == nil {
			t.Error("a key was made")
		}
	}
	missing("the trail has")
	for _, name := range []string{"opdeck.db", "opdeck.db-wal", "opdeck.db-shm"} {
		if err := os.Rename(filepath.Join(state, name), filepath.Join(dir, name)); err != nil && name == "opdeck.db" {
			t.Fatal(err)
		}
	}
	missing("there are checkpoints in") // the store is gone too
	for _, name := range []string{"opdeck.db", "opdeck.db-wal", "opdeck.db-shm"} {
		_ = os.Remove(filepath.Join(state, name))
		_ = os.Rename(filepath.Join(dir, name), filepath.Join(state, name))
	}
	a, err = open(true)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	list := recordsOf(t, a, "audit.key")
	if len(list) != 1 || !strings.Contains(list[0], "a new key was created on request") {
		t.Errorf("%q", list)
	}
}

// TestNewHostReads: a host that never signed, with a store whose trail began elsewhere, opens without a key; nothing is
// recorded there, and all that must be is refused with one error.
func TestNewHostReads(t *testing.T) {
	dir := t.TempDir()
	conf := filepath.Join(dir, "config.toml")
	text := "[store]\nurl = \"sqlite:" + filepath.Join(dir, "store", "opdeck.db") + "\"\n" +
		"[contexts.box]\nsandbox = true\nrole = \"admin\"\napproval = \"second_person\"\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	open := func(state string) *App {
		a, err := Open(t.Context(), Options{ConfigFlag: conf, StateFlag: filepath.Join(dir, state)})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Close() })
		return a
	}
	first := open("first")
	ctx := api.WithActor(t.Context(), first.LocalActor("command"))
	asks := api.Act{Kind: api.ActAuditRestored, Object: "audit", ID: "x"}
	if err := first.Gate.Own(ctx, api.MayAuditOut, asks, func(string) error { return nil }); err == nil {
		t.Fatal("no second person is asked")
	}
	before, err := first.Audit.Reader.Find(ctx, audit.Query{})
	if err != nil || len(before.Entries) == 0 {
		t.Fatal(before, err)
	}
	list, err := first.Approvals.List(ctx)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	a := open("second")
	if _, err := os.Lstat(a.AuditKeyFile()); err == nil {
		t.Error("a key was made")
	}
	refused := func(what string, err error) {
		t.Helper()
		if e := api.AsError(err); err == nil || e.Rule != api.RuleAudit || !e.Unsent ||
			!strings.Contains(e.Public, "has no audit key") || !strings.Contains(e.Hint, "audit checkpoint --new-key") {
			t.Errorf("%s: %v", what, err)
		}
	}
	other := api.Act{Kind: api.ActAuditRestored, Object: "audit", ID: "y"}
	refused("an act", a.Gate.Own(ctx, api.MayAuditOut, other, func(string) error { return nil }))
	_, err = a.Approvals.Approve(ctx, list[0].ID, "", "")
	refused("an approval", err)
	_, err = a.Approvals.Deny(ctx, list[0].ID, "", "")
	refused("a denial", err)
	_, err = mask.Reveal(ctx, a.Audit, api.Event{Name: audit.EventReveal, Object: "operation", ID: "x"})
	refused("a reveal", err)
	refused("an outcome", a.Audit.Outcome(ctx, before.Entries[0].UID, api.Outcome{Verdict: api.Done}))
	refused("a note", a.Audit.Note(ctx, a.LocalActor("command"), api.Event{Name: "console.open"}))
	refused("the start of a server", a.Audit.Start(ctx, a.LocalActor("command")))
	_, err = a.Audit.Prover.NewestNote(ctx)
	refused("a checkpoint", err)
	if left, err := a.Approvals.List(ctx); err != nil || len(left) != 1 {
		t.Errorf("requests: %v, %v", left, err)
	}
	rep, err := VerifyAudit(ctx, a)
	if err != nil || len(rep.Problems) > 0 || rep.Intact() || rep.Exit() != audit.ExitUnreadable {
		t.Errorf("%+v, %v", rep, err)
	}
	after, err := a.Audit.Reader.Find(ctx, audit.Query{})
	if err != nil || after.Entries[0].Seq != before.Entries[0].Seq {
		t.Errorf("the trail grew from %d to %d, %v", before.Entries[0].Seq, after.Entries[0].Seq, err)
	}
	if p := Verdict(ctx, a).Of(verdict.PartAudit); p != verdict.Warned {
		t.Errorf("audit: %v", p)
	}
	if p := Verdict(ctx, first).Of(verdict.PartAudit); p != verdict.Good {
		t.Errorf("audit on the first host, after the check on the second: %v", p)
	}
}

// recordsOf are the details of the records of an event.
func recordsOf(t *testing.T, a *App, event string) (out []string) {
	t.Helper()
	rows, err := a.Audit.Reader.Find(api.WithActor(context.Background(), a.LocalActor("command")),
		audit.Query{Event: event})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range rows.Entries {
		out = append(out, e.Detail)
	}
	return out
}
