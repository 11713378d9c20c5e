package app

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"opdeck/api"
	"opdeck/internal/app/config"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// TestMigration: a newer program changes an older store only when reported to, after a copy that the old one uses.
func TestMigration(t *testing.T) {
	ctx, dir := context.Background(), t.TempDir()
	conf, state := filepath.Join(dir, "config.toml"), filepath.Join(dir, "state")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(conf, []byte(text+"[contexts.box]\nsandbox = true\nrole = \"admin\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("")
	old := Options{ConfigFlag: conf, StateFlag: state}
	newer := old
	newer.migrations = storetest.Newer(t, "ALTER TABLE turn ADD COLUMN colour TEXT NOT NULL DEFAULT 'red';")
	note := func(opt Options) error {
		a, err := Open(ctx, opt)
		if err != nil {
			return err
		}
		if err := a.Audit.Note(ctx, a.LocalActor("command"), api.Event{Name: "console.open"}); err != nil {
			t.Error(err)
		}
		return a.Close()
	}
	if err := note(old); err != nil {
		t.Fatal(err)
	}
	err := note(newer)
	if e := api.AsError(err); !store.IsKind(err, store.Older) || e.Remedy.ID != "opdeck migrate" || e.Kind.Exit() != 1 {
		t.Fatalf("a newer program: %v", err)
	}
	if err := note(old); err != nil {
		t.Fatalf("the old program after it: %v", err)
	}
	person := func(x config.Context) context.Context { return api.WithActor(ctx, LocalActor(x, "command")) }
	if _, needed, err := Older(ctx, newer, person); err != nil || !needed {
		t.Fatal(needed, err)
	}
	done, err := Migrate(ctx, newer)
	if err != nil || done.Core != 99 || done.Copy == "" {
		t.Fatalf("%+v, %v", done, err)
	}
	if err := note(old); !store.IsKind(err, store.Newer) {
		t.Errorf("the old program on the new tables: %v", err)
	}
	_, bulk, err := store.Files("sqlite:"+done.Copy, "")
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{done.Copy: "opdeck.db", bulk: "opdeck-index.db"} { // the way back
		if err := os.Rename(from, filepath.Join(state, to)); err != nil {
			t.Fatal(err)
		}
	}
	if err := note(old); err != nil {
		t.Errorf("the old program on the copy: %v", err)
	}
}

// TestOlderWithoutAConfig: the store of the built-in service is migrated by a command that runs as it is written.
func TestOlderWithoutAConfig(t *testing.T) {
	home := t.TempDir()
	opt := Options{StateFlag: filepath.Join(home, "state"),
		Getenv: func(name string) string { return map[string]string{"XDG_CONFIG_HOME": home}[name] }}
	a, err := Open(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	opt.migrations = storetest.Newer(t, "CREATE TABLE newer (n INTEGER);")
	if _, err = Open(context.Background(), opt); api.AsError(err).Remedy.ID != "opdeck migrate -c sandbox" {
		t.Errorf("%v: %q", err, api.AsError(err).Remedy.ID)
	}
}
