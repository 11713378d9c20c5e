package app

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/session"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/note"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/seal"
	"opdeck/internal/store/storetest"
)

// older are state folders that older programs wrote, after a login, a list, removed documents, writes and a replacement
// that were not answered, a request for approval, a webhook and a checkpoint. The service was their own sandbox.
var older = map[string]struct {
	folder   string
	gen      int64
	doubtful int
	lapsed   string // why the request for approval ended; "": it is open until its time is over
	note     string // about an operation
	rows     int    // operations in the index
}{
	"the first release": {"testdata/upgrade-first", 2, 2, "opdeck was upgraded", "", 8}, // core 15, bulk 9
	"e03e1e20":          {"testdata/upgrade-e03e1e20", 1, 1, "", "call back on Monday", 40},
}

// unpacked copies a folder, with the modes that opdeck requires.
func unpacked(t *testing.T, folder string) string {
	t.Helper()
	state := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		rel, err := filepath.Rel(folder, path)
		if err != nil || d.IsDir() {
			return errors.Join(err, os.MkdirAll(filepath.Join(state, rel), 0o700))
		}
		b, err := content(path)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(state, strings.TrimSuffix(rel, ".gz")), b, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// content is the content of a file, without the compression of one that ends with .gz.
func content(path string) ([]byte, error) {
	if !strings.HasSuffix(path, ".gz") {
		return os.ReadFile(path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// kept are tables whose rows an upgrade neither adds nor removes.
var kept = map[bool]string{
	true: "session session_event session_count audit audit_head audit_open audit_signed approval job journey " +
		"unsettled borrower",
	false: "hook hook_scope hook_rejected index_scope index_op index_raw index_party " +
		"index_history index_look index_absent",
}

// rows counts the rows of a store of any version.
func rows(t *testing.T, state string) map[string]int {
	t.Helper()
	ctx, out := context.Background(), map[string]int{}
	st, err := store.OpenAsIs(ctx, filepath.Join(state, "opdeck.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	for core, tables := range kept {
		db := st.Bulk
		if core {
			db = st.Core
		}
		for _, name := range strings.Fields(tables) {
			var n int
			if err := db.QueryRow(ctx, "SELECT COUNT(*) FROM "+name).Scan(&n); err != nil {
				t.Fatal(err)
			}
			out[name] = n
		}
	}
	return out
}

// TestUpgrade: a store that an older program wrote is migrated, and nothing that people rely on is lost.
func TestUpgrade(t *testing.T) {
	for name, old := range older {
		t.Run(name, func(t *testing.T) {
			a := migrated(t, old.folder)
			ctx := api.WithActor(context.Background(), a.LocalActor("command"))
			upgraded(ctx, t, a, old.gen, old.doubtful)
			asked, err := a.Approvals.List(ctx)
			if err != nil || len(asked) != 1 || asked[0].Ended != old.lapsed ||
				asked[0].State != approval.Lapsed && (old.lapsed != "" || asked[0].State != approval.Open) {
				t.Errorf("approvals: %+v, %v", asked, err)
			}
			notes, err := a.Notes.About(ctx, note.Operation, "")
			if err != nil || old.note != "" && (len(notes) != 1 || string(notes[0].Text) != old.note) {
				t.Errorf("notes: %+v, %v", notes, err)
			}
			w, err := a.Index.Window(ctx, index.Query{Limit: 100}, time.Now())
			named := 0
			for _, r := range w.Rows {
				if r.Op.Customer.Name != "" {
					named++
				}
			}
			if err != nil || len(w.Rows) != old.rows || named != old.rows {
				t.Errorf("%d operations, %d with a name, %v", len(w.Rows), named, err)
			}
		})
	}
}

// migrated opens a copy of an older program's state folder after its migration; what the tables held is still there.
func migrated(t *testing.T, folder string) *App {
	t.Helper()
	ctx, state := context.Background(), unpacked(t, folder)
	opt := Options{ConfigFlag: upgradeConfig(t, ""), StateFlag: state}
	before := rows(t, state)
	if _, err := Open(ctx, opt); !store.IsKind(err, store.Older) {
		t.Fatalf("%v; want Older", err)
	}
	done, err := Migrate(ctx, opt)
	if err != nil || !done.Needed || done.Copy == "" {
		t.Fatalf("%+v, %v", done, err)
	}
	after := rows(t, state)
	for table, n := range before {
		if after[table] != n {
			t.Errorf("%s: %d rows of %d", table, after[table], n)
		}
	}
	for _, table := range strings.Fields("session audit audit_signed approval job unsettled hook index_op index_history") {
		if before[table] == 0 {
			t.Errorf("the old store has no %s", table)
		}
	}
	a, err := Open(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	return a
}

// upgradeConfig writes the config of the older programs, with more.
func upgradeConfig(t *testing.T, more string) string {
	t.Helper()
	conf := filepath.Join(t.TempDir(), "config.toml")
	text := "[contexts.stage]\nbase_url = \"http://127.0.0.1:18787\"\nlogin = \"machine@sandbox\"\n" +
		"password_env = \"UPGRADE_PASSWORD\"\nkind = \"test\"\nrole = \"admin\"\n" + more
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return conf
}

// TestUpgradeOnPostgres: the same rows in a database that e03e1e20 made. The index is read again from the service.
func TestUpgradeOnPostgres(t *testing.T) {
	ctx, state, at := context.Background(), unpacked(t, older["e03e1e20"].folder), storetest.Bare(t, store.Postgres)
	db, err := store.Open(ctx, store.Options{URL: at, Migrations: storetest.Before(t, "0018", "0012")})
	if err != nil {
		t.Fatal(err)
	}
	from, err := store.OpenAsIs(ctx, filepath.Join(state, "opdeck.db"))
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range strings.Fields(kept[true] + " note") {
		unguarded := db.Core.Exec(ctx, "ALTER TABLE "+table+" DISABLE TRIGGER USER")
		copyRows(ctx, t, from.Core, db.Core, table)
		if err := errors.Join(unguarded, db.Core.Exec(ctx, "ALTER TABLE "+table+" ENABLE TRIGGER USER")); err != nil {
			t.Fatal(err)
		}
	}
	for _, table := range []string{"hook_scope", "hook"} {
		copyRows(ctx, t, from.Bulk, db.Bulk, table)
	}
	if err := errors.Join(from.Close(), db.Close(), os.Remove(filepath.Join(state, "opdeck.db"))); err != nil {
		t.Fatal(err)
	}
	opt := Options{StateFlag: state, ConfigFlag: upgradeConfig(t, fmt.Sprintf("[store]\nurl = %q\nkey_file = %q\n", at,
		filepath.Join(state, "opdeck.db.key")))}
	if _, err := Open(ctx, opt); !store.IsKind(err, store.Older) {
		t.Fatalf("%v; want Older", err)
	}
	if done, err := Migrate(ctx, opt); err != nil || !done.Needed {
		t.Fatalf("%+v, %v", done, err)
	}
	a, err := Open(ctx, opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	ctx = api.WithActor(ctx, a.LocalActor("command"))
	upgraded(ctx, t, a, 1, 1)
	notes, err := a.Notes.About(ctx, note.Operation, "")
	if err != nil || len(notes) != 1 || string(notes[0].Text) != older["e03e1e20"].note {
		t.Errorf("notes: %+v, %v", notes, err)
	}
	events, err := a.Hooks().Inbox().List(ctx, receiver.Filter{})
	if err != nil || len(events) != 1 {
		t.Errorf("events: %+v, %v", events, err)
	}
}

// copyRows copies a table.
func copyRows(ctx context.Context, t *testing.T, from, to *store.DB, table string) {
	t.Helper()
	list, err := from.Query(ctx, "SELECT * FROM "+table)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = list.Close() }()
	names, err := list.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for list.Next() {
		values, into := make([]any, len(names)), make([]any, len(names))
		for i := range values {
			into[i] = &values[i]
		}
		err := list.Scan(into...)
		if err == nil {
			err = to.Exec(ctx, "INSERT INTO "+table+" ("+strings.Join(names, ", ")+") OVERRIDING SYSTEM VALUE VALUES ("+
				store.Marks(len(names))+")",
				values...)
		}
		if err != nil {
			t.Fatalf("%s: %v", table, err)
		}
	}
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
}

// upgraded checks what is read of the upgraded store.
func upgraded(ctx context.Context, t *testing.T, a *App, gen int64, doubtful int) {
	t.Helper()
	rep, err := a.Audit.Prover.Verify(ctx)
	if err != nil || len(rep.Problems)+rep.More > 0 {
		t.Errorf("audit: %+v, %v", rep.Problems, err)
	}
	page, err := a.Audit.Reader.Find(ctx, audit.Query{Event: audit.EventEpoch})
	if err != nil || len(page.Entries) != 1 || !strings.Contains(page.Entries[0].Detail, "records are intact") {
		t.Errorf("the epoch of this program: %+v, %v", page.Entries, err)
	}
	key, err := seal.ReadKey(filepath.Join(a.State, "opdeck.db.key"))
	if err != nil {
		t.Fatal(err)
	}
	st, err := accounts.New(a.Store.Core, accounts.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	row, err := st.Load(ctx, a.Session.Key())
	if err != nil || row.State != session.Live || row.Gen != gen || row.Access.Empty() || row.Refresh.Empty() {
		t.Errorf("session: %s, generation %d, %v", row.State, row.Gen, err)
	}
	writes, err := a.Follow.Pending(ctx)
	if err != nil || len(writes) != doubtful {
		t.Errorf("in doubt: %+v, %v", writes, err)
	}
	for _, w := range writes {
		if w.Claim == "" || w.Until.Before(w.Sent.Add(10*time.Minute)) {
			t.Errorf("%+v", w)
		}
	}
	jobs, err := a.Jobs.Store.Unfinished(ctx)
	if err != nil || len(jobs) != 1 {
		t.Errorf("replacements: %+v, %v", jobs, err)
	}
}
