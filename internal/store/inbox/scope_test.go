package inbox_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
	"opdeck/internal/store/opindex"
	"opdeck/internal/store/storetest"
)

// before7 takes the tables of the inbox back to those without scopes.
func before7(t *testing.T, s *store.Store) {
	t.Helper()
	dir := map[store.Engine]string{store.SQLite: "sqlite", store.Postgres: "postgres"}[s.Bulk.Engine()]
	b, err := os.ReadFile("../migrations/bulk/" + dir + "/0007_inbox_scope.sql")
	if err != nil {
		t.Fatal(err)
	}
	_, down, _ := strings.Cut(string(b), "-- +goose Down\n")
	for _, sql := range append(strings.Split(down, ";\n"), "DELETE FROM opdeck_bulk_version WHERE version_id = 7") {
		if strings.TrimSpace(sql) == "" {
			continue
		}
		if err := s.Bulk.Exec(context.Background(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
}

// oldHook stores a delivery as a program without scopes did.
func oldHook(t *testing.T, s *store.Store, n int, opid, cuid string) {
	t.Helper()
	r := receivertest.Record(n, opid)
	err := s.Bulk.Exec(context.Background(), `INSERT INTO hook (hook_key, hook_id, hook_type, object, object_id, cuid, raw, body_sha256, received_us, source,
 verifier, authenticated, bound, status, reason, detail, last_us) VALUES (?, ?, 1, 'Operation', ?, ?, ?, ?, 1, 'x', 'jwt', 1, 1, 'verified', '', '', 1)`,
		r.Key, r.HookID, opid, cuid, r.Raw, r.Hash[:])
	if err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, x *opindex.Index, from index.Origin, ops ...api.Operation) {
	t.Helper()
	var b index.Batch
	for _, o := range ops {
		b.Entries = append(b.Entries, index.Entry{Op: o, Origin: from, Seen: indextest.Now})
	}
	if _, err := x.Put(context.Background(), b); err != nil {
		t.Fatal(err)
	}
}

// TestInboxGetsScopes: what an older program stored goes to the account that is
// known to have it, and is nobody's where two may.
func TestInboxGetsScopes(t *testing.T) {
	const service = "https://service.test"
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		for _, owners := range []int{1, 2} {
			t.Run(fmt.Sprint(e, owners), func(t *testing.T) {
				ctx, url := context.Background(), storetest.URL(t, e)
				open := func() *store.Store {
					s, err := store.Open(ctx, store.Options{URL: url})
					if err != nil {
						t.Fatal(err)
					}
					return s
				}
				s := open()
				before7(t, s)
				op := func(id, cuid string) api.Operation {
					o := indextest.Options{}.Make(1)
					o.OPID, o.Customer.CUID = untrusted.Text(id), untrusted.Text(cuid)
					o.Raw = nil
					return o
				}
				names := []string{"a", "b"}[:owners]
				for i, name := range names {
					x, err := opindex.New(ctx, s.Bulk, service, name)
					if err != nil {
						t.Fatal(err)
					}
					put(t, x, index.List, op("own-"+name, "cust-"+name), op("both", "cust-both"))
					put(t, x, index.Hook, op("own-"+[]string{"b", "a"}[i], "cust-"+[]string{"b", "a"}[i])) // what the missing scope did
					if err := x.SetMeta(ctx, "events", fmt.Sprint(3+i)); err != nil {
						t.Fatal(err)
					}
				}
				for n, h := range [][2]string{{"own-a", ""}, {"own-b", ""}, {"both", ""}, {"elsewhere", "cust-a"}, {"elsewhere-2", "cust-both"}, {"elsewhere-3", ""}} {
					oldHook(t, s, n, h[0], h[1])
				}
				for _, sql := range []string{
					"INSERT INTO hook_attempt (hook_key, act, target, at_us, status, latency_us, error) VALUES ('" + receivertest.ID(0) + "', 'forward', 'x', 1, 200, 1, '')",
					"INSERT INTO hook_code (field, code, word, opid, at_s, at_ns, exact) VALUES ('status', 1, 'PENDING', 'own-a', 1, 1, 1), ('status', 1, 'PENDING', 'both', 1, 1, 1)",
				} {
					if err := s.Bulk.Exec(ctx, sql); err != nil {
						t.Fatal(err)
					}
				}
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open()
				defer func() { _ = s.Close() }()
				seen := func(in *inbox.Inbox) string {
					rows, err := in.After(ctx, 0, 100)
					if err != nil {
						t.Fatal(err)
					}
					var out []string
					for _, r := range rows {
						out = append(out, fmt.Sprint(r.Seq, " ", r.ObjectID))
					}
					return strings.Join(out, ", ")
				}
				a := inbox.New(s.Bulk, service, "a")
				wantA, wantB, wantNone, codes := "1 own-a, 4 elsewhere", "2 own-b", "3 both, 5 elsewhere-2, 6 elsewhere-3", 1
				if owners == 1 {
					wantA, wantB, wantNone, codes = "1 own-a, 2 own-b, 3 both, 4 elsewhere, 5 elsewhere-2, 6 elsewhere-3", "", "", 2
				}
				if got := seen(a); got != wantA {
					t.Errorf("a has %s", got)
				}
				if got := seen(inbox.New(s.Bulk, service, "b")); got != wantB {
					t.Errorf("b has %s", got)
				}
				if got := seen(a.Unassigned()); got != wantNone {
					t.Errorf("nobody has %s", got)
				}
				if mark, err := a.Merged(ctx); err != nil || mark != 3 {
					t.Errorf("the mark is %d, %v", mark, err)
				}
				if tries, err := a.Attempts(ctx, receivertest.ID(0)); err != nil || len(tries) != 1 {
					t.Error(tries, err)
				}
				if ev, err := a.Evidence(ctx); err != nil || len(ev) != 1 || ev[0].Count != codes {
					t.Error(ev, err)
				}
				res, err := a.Insert(ctx, []receiver.Record{receivertest.Record(50, "new")})
				if err != nil || res[0].Stored.Seq != 7 {
					t.Errorf("%+v %v", res, err)
				}
				if _, err := a.Unassigned().Insert(ctx, []receiver.Record{receivertest.Record(51, "new")}); err == nil {
					t.Error("stored for nobody")
				}
			})
		}
	}
}
