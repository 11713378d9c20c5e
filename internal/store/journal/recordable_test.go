package journal_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// TestRecordable: the try of what a write needs works on every engine and leaves nothing; a table that is gone and one
// that refuses rows are named by the database itself, until they are restored.
func TestRecordable(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ctx, db := t.Context(), s.Core
		works := func() {
			t.Helper()
			if err := journal.Recordable(ctx, db, "a"); err != nil {
				t.Fatal(err)
			}
		}
		refuses := func(word string) {
			t.Helper()
			err := journal.Recordable(ctx, db, "a")
			if says := store.Says(err); err == nil || !strings.Contains(says, word) {
				t.Errorf("%v, %q, want %q", err, says, word)
			}
		}
		run := func(statements ...string) {
			t.Helper()
			for _, one := range statements {
				if err := db.Exec(ctx, one); err != nil {
					t.Fatal(one, err)
				}
			}
		}
		works()
		for _, table := range []string{"audit", "audit_open", "audit_signed", "audit_head", "unsettled", "approval"} {
			n := -1
			if err := db.QueryRow(ctx, "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil || n != 0 {
				t.Errorf("%s has %d rows after a try, %v", table, n, err)
			}
		}
		for _, table := range []string{"audit_open", "audit_signed", "unsettled", "approval"} {
			run("ALTER TABLE " + table + " RENAME TO away")
			refuses(table)
			run("ALTER TABLE away RENAME TO " + table)
			works()
		}
		for _, table := range []string{"audit", "audit_open", "unsettled"} {
			if s.Core.Engine() == store.Postgres {
				run(`CREATE OR REPLACE FUNCTION refusing() RETURNS trigger LANGUAGE plpgsql AS
					'BEGIN RAISE EXCEPTION ''no rows today''; END'`,
					"CREATE TRIGGER refusing BEFORE INSERT ON "+table+" FOR EACH ROW EXECUTE FUNCTION refusing()")
				refuses("no rows today")
				run("DROP TRIGGER refusing ON " + table)
			} else {
				run("CREATE TRIGGER refusing BEFORE INSERT ON " + table +
					" BEGIN SELECT RAISE(ABORT, 'no rows today'); END")
				refuses("no rows today")
				run("DROP TRIGGER refusing")
			}
			works()
		}
	})
}

// TestRecordableRights: a user of PostgreSQL who may only read records no write, and the server's words name the table.
func TestRecordableRights(t *testing.T) {
	at := storetest.URL(t, store.Postgres)
	s := storetest.OpenURL(t, at)
	role := "reader_" + strings.ToLower(strings.ReplaceAll(t.Name(), "/", "_"))
	run := func(statements ...string) {
		t.Helper()
		for _, one := range statements {
			if err := s.Core.Exec(context.WithoutCancel(t.Context()), one); err != nil {
				t.Fatal(one, err)
			}
		}
	}
	run("CREATE ROLE "+role+" LOGIN", "GRANT SELECT, UPDATE ON ALL TABLES IN SCHEMA public TO "+role,
		"GRANT INSERT ON audit_head, audit, audit_open, audit_signed TO "+role)
	t.Cleanup(func() { run("DROP OWNED BY "+role, "DROP ROLE "+role) })
	to, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	to.User = url.User(role)
	theirs, err := store.Open(t.Context(), store.Options{URL: to.String(), KeepVersion: true})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = theirs.Close() }()
	err = journal.Recordable(t.Context(), theirs.Core, "a")
	if says := store.Says(err); !store.IsKind(err, store.NoRight) ||
		!strings.HasPrefix(says, "permission denied for table unsettled; ") || !strings.Contains(says, "GRANT SELECT, INSERT") {
		t.Errorf("%v, %q", err, says)
	}
	run("GRANT ALL ON ALL TABLES IN SCHEMA public TO " + role)
	if err := journal.Recordable(t.Context(), theirs.Core, "a"); err != nil {
		t.Error(err)
	}
}
