package app

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

// TestAuditKeyIsNotReplaced: a key that is missing while the trail or checkpoints exist is an error that says what to
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
			!strings.Contains(e.Hint, "audit key --new") {
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
	if len(list) != 1 || !strings.Contains(list[0], "a new key was made by hand") {
		t.Errorf("%q", list)
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
