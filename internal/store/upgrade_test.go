package store_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// TestLandedMigrationsStay: stores exist that a landed migration has made, so its file never changes. A change of the
// schema is a new file with the next number, and its line in testdata/migrations.sha256.
func TestLandedMigrationsStay(t *testing.T) {
	text, err := os.ReadFile("testdata/migrations.sha256")
	if err != nil {
		t.Fatal(err)
	}
	landed := strings.Split(strings.TrimSpace(string(text)), "\n")
	var have []string
	err = fs.WalkDir(store.Migrations(), "migrations", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(store.Migrations(), path)
		sum := sha256.Sum256(b)
		have = append(have, hex.EncodeToString(sum[:])+"  "+path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range landed {
		if !slices.Contains(have, line) {
			t.Errorf("changed or removed: %s", line)
		}
	}
	for _, line := range have {
		if !slices.Contains(landed, line) {
			t.Errorf("not in testdata/migrations.sha256: %s", line)
		}
	}
}

// TestUpgradedStore: a store of the first release gets the schema of a new one and keeps its rows.
func TestUpgradedStore(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			ctx, at := context.Background(), storetest.Bare(t, e)
			old, err := store.Open(ctx, store.Options{URL: at, Migrations: storetest.FirstRelease(t)})
			if err != nil {
				t.Fatal(err)
			}
			fill(t, old)
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			_, err = store.Open(ctx, store.Options{URL: at, KeepVersion: true})
			if !store.IsKind(err, store.Older) || !strings.Contains(err.Error(), "opdeck migrate") {
				t.Fatalf("%v; want Older", err)
			}
			s, fresh := storetest.OpenURL(t, at), storetest.Open(t, e)
			for _, dbs := range [][2]*store.DB{{s.Core, fresh.Core}, {s.Bulk, fresh.Bulk}} {
				if got, want := schema(t, dbs[0]), schema(t, dbs[1]); !slices.Equal(got, want) {
					t.Errorf("upgraded:\n%s\nnew:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			for query, want := range map[string]string{
				"SELECT ref || ' ' || state || ' ' || claim || ' ' || until_us FROM unsettled": "a unknown  86400001000, b not_seen  5000",
				"SELECT state FROM approval": "denied, lapsed",
				"SELECT id FROM approval WHERE body LIKE '%lapsed%' AND body LIKE '%opdeck was upgraded%'": "q1",
				"SELECT CAST(n AS TEXT) FROM approval_version":                                             "1",
				"SELECT id || body FROM job":                                                               `j{}`,
				"SELECT cuid FROM journey":                                                                 "c",
				"SELECT name FROM borrower":                                                                "night",
				"SELECT incarnation || gen || routes FROM session":                                         "i7[]",
			} {
				if got := column(t, s.Core, query); got != want {
					t.Errorf("%s: %s; want %s", query, got, want)
				}
			}
			got := column(t, s.Bulk, "SELECT opid || seq || ' ' || at_us || ' ' || ended_us FROM index_history")
			if want := "x1 10 20, x2 20 30, y1 5 5"; got != want {
				t.Errorf("history %s; want %s", got, want)
			}
		})
	}
}

// fill writes rows as the first release did.
func fill(t *testing.T, s *store.Store) {
	t.Helper()
	body := []byte("{}")
	for _, row := range []struct {
		db   *store.DB
		into string
		args []any
	}{
		{s.Core, "session (base_url, account, incarnation, gen)", []any{"u", "m", "i", 7}},
		{s.Core, "unsettled (ref, context, object_id, state, body, sent_us, next_us)",
			[]any{"a", "u m", "op1", "unknown", "{}", 1000, 2000}},
		{s.Core, "unsettled (ref, context, object_id, state, body, sent_us, next_us)",
			[]any{"b", "u m", "op1", "not_seen", "{}", 1000, 86400005000}},
		{s.Core, "approval (scope, id, requester, target, state, created_us, expires_us, body)",
			[]any{"u m", "q1", "ana", "t", "open", 1, 2, `{"state":"open"}`}},
		{s.Core, "approval (scope, id, requester, target, state, created_us, expires_us, body)",
			[]any{"u m", "q2", "ana", "t", "denied", 1, 2, `{"state":"denied"}`}},
		{s.Core, "job (id, kind, context, step, body, owner, created_us, updated_us)",
			[]any{"j", "replace_document", "u m", "remove", "{}", "ana", 1, 2}},
		{s.Core, "journey (context, cuid, body, unfinished, updated_us)", []any{"u m", "c", "{}", 1, 2}},
		{s.Core, "borrower (scope, process, name, body, seen_us)", []any{"u m", "p", "night", "{}", 1}},
		{s.Bulk, "index_history (scope, opid, seq, at_us, updated_us, origin, body)", []any{1, "x", 1, 10, 1, 0, body}},
		{s.Bulk, "index_history (scope, opid, seq, at_us, updated_us, origin, body)", []any{1, "x", 2, 20, 1, 0, body}},
		{s.Bulk, "index_history (scope, opid, seq, at_us, updated_us, origin, body)", []any{1, "y", 1, 5, 1, 0, body}},
		{s.Bulk, "index_absent (scope, opid, gone_us, seen_us, changed_us, origin, due_us, body)",
			[]any{1, "x", 40, 35, 30, 0, 0, body}},
	} {
		marks := strings.TrimSuffix(strings.Repeat("?, ", len(row.args)), ", ")
		if err := row.db.Exec(context.Background(), "INSERT INTO "+row.into+" VALUES ("+marks+")", row.args...); err != nil {
			t.Fatalf("%s: %v", row.into, err)
		}
	}
}

// column are the values of a query, sorted.
func column(t *testing.T, db *store.DB, query string) string {
	t.Helper()
	rows, err := store.List(context.Background(), db, store.Value[string], query)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(rows)
	return strings.Join(rows, ", ")
}

// schema are the definitions of all that a database holds, sorted; the columns of a table keep their order.
func schema(t *testing.T, db *store.DB) (all []string) {
	t.Helper()
	queries := []string{"SELECT type || ' ' || name || ' ' || COALESCE(sql, '') FROM sqlite_master"}
	if db.Engine() == store.Postgres {
		queries = []string{
			`SELECT table_name || ': ' || string_agg(concat_ws(' ', column_name, data_type, collation_name, is_nullable,
				column_default, identity_generation), ', ' ORDER BY ordinal_position)
				FROM information_schema.columns WHERE table_schema = 'public' GROUP BY table_name`,
			`SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'`,
			`SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal`,
			`SELECT pg_get_functiondef(p.oid) FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
				WHERE l.lanname = 'plpgsql' AND p.pronamespace = 'public'::regnamespace`,
		}
	}
	for _, q := range queries {
		rows, err := store.List(context.Background(), db, store.Value[string], q)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(rows)
		all = append(all, rows...)
	}
	return all
}

// TestNoHalfMadeStore: a new store has all of its tables or none, so that no process takes one that is being made for
// an older one.
func TestNoHalfMadeStore(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			ctx, at := context.Background(), storetest.Bare(t, e)
			if _, err := store.Open(ctx, store.Options{URL: at, Migrations: storetest.Newer(t, "no SQL;")}); err == nil {
				t.Fatal("a wrong migration is applied")
			}
			s, err := store.Open(ctx, store.Options{URL: at, KeepVersion: true})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}
