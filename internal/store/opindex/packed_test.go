package opindex

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/klauspost/compress/s2"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/store"
	"opdeck/internal/store/storetest"
)

// pack is the form in which earlier builds stored a record.
func pack(record []byte) []byte {
	out := make([]byte, 1+s2.MaxEncodedLen(len(record)))
	out[0] = dictionaryNumber
	return out[:1+len(dictionary().Encode(out[1:], record))]
}

// TestDictionaryStays: records that earlier builds stored were packed with it.
func TestDictionaryStays(t *testing.T) {
	sum := sha256.Sum256([]byte(dictionaryText))
	if got := hex.EncodeToString(sum[:]); got != "ca511b0ab4008761127ebdf45390ed54e480dbfc9130d70eada62069fb46c17a" {
		t.Errorf("record.dict changed: %s", got)
	}
}

// TestPackedRecords: a record of an earlier build is read to the byte, and one that is stored as it came, too.
func TestPackedRecords(t *testing.T) {
	records := [][]byte{nil, []byte("{}"), []byte("\n{ }"), bytes.Repeat([]byte(`{"opid":"`), 30_000),
		[]byte(dictionaryText), apitest.Operation(nil).Raw, apitest.HostileOperation().Raw}
	odd := indextest.Options{Odd: true, Raw: true}
	for n := range 500 {
		records = append(records, odd.Make(n).Raw)
	}
	for _, r := range records {
		if got, err := unpack(r); err != nil || !bytes.Equal(got, r) {
			t.Fatalf("%q became %q, %v", r, got, err)
		}
		if len(r) < 10 {
			continue
		}
		if got, err := unpack(pack(r)); err != nil || !bytes.Equal(got, r) {
			t.Fatalf("%q became %q, %v", r, got, err)
		}
	}
}

// TestDamagedRecords: a damaged body is an error, never a record of another length and never a panic.
func TestDamagedRecords(t *testing.T) {
	record := []byte(indextest.Options{Raw: true}.Make(3).Raw)
	body := pack(record)
	for n := 1; n < len(body); n++ {
		if got, err := unpack(body[:n]); err == nil {
			t.Fatalf("%d of %d bytes: %q", n, len(body), got)
		}
	}
	for n := range body {
		damaged := bytes.Clone(body)
		damaged[n] ^= 0x80
		if got, err := unpack(damaged); err == nil && n > 0 && n < 3 && len(got) == len(record) {
			t.Errorf("byte %d", n)
		}
	}
	if _, err := unpack([]byte{dictionaryNumber, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}); err == nil {
		t.Error("a record of 4 GB")
	}
	if _, err := unpack([]byte{2, 3, 4}); err == nil {
		t.Error("another dictionary")
	}
}

// TestStoreOfKinds: a store in which kinds had the codes and records were packed answers as before once it is migrated,
// and its records are those that came when they are derived again.
func TestStoreOfKinds(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			ctx, at := context.Background(), storetest.Bare(t, e)
			old, err := store.Open(ctx, store.Options{URL: at, Migrations: storetest.Before(t, "9999", "0014")})
			if err != nil {
				t.Fatal(err)
			}
			raw := []byte(indextest.Options{Raw: true}.Make(1).Raw)
			op, err := api.ReadOperation(raw)
			if err != nil {
				t.Fatal(err)
			}
			us, id := op.CreatedAt.UnixMicro(), string(op.OPID)
			for _, row := range []struct {
				into string
				args []any
			}{
				{"index_scope (n, base_url, account)", []any{1, "https://a.test", "m"}},
				{"index_kind (n, scope, status, type, payment, currency, tocurrency, flags)",
					[]any{7, 1, "PENDING", "WITHDRAW", "SWIFT", "EUR", "EUR", flagSaysVisible | flagSaysParent}},
				{"index_party (n, scope, digest, id, name, sort, body, ids)", []any{3, 1, "d", "C1", "Ahrend", "ahrend",
					filter.JoinTexts([]string{"Ahrend"}), filter.JoinTexts([]string{"C1"})}},
				{"index_op (n, scope, kind, customer, source, destination, created_us, updated_us, updated_ns, hi, lo, " +
					"nanos, docs, seen_us, changed_us, origin, doubt, doubt_us, digest, amount_key, received_key, fee_key, " +
					"opid, opid_fold, reference, comment, doc_text)", []any{5, 1, 7, 3, 3, 3, us, us, 0, 0, 12, 0, 0, us, us,
					0, 0, 0, 9, "1000212", "", "", id, id, "ref", "zebra", ""}},
				{"index_raw (n, body)", []any{5, pack(raw)}},
				{"index_sight (n, scope, seen_us)", []any{5, 1, us}},
				{"index_history (scope, opid, seq, at_us, updated_us, origin, ended_us, body)",
					[]any{1, id, 1, us, us, 0, us, pack(raw)}},
			} {
				if err := old.Bulk.Exec(ctx, "INSERT INTO "+row.into+" VALUES ("+store.Marks(len(row.args))+")",
					row.args...); err != nil {
					t.Fatalf("%s: %v", row.into, err)
				}
			}
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			s := storetest.OpenURL(t, at)
			x, err := New(ctx, s.Bulk, "https://a.test", "m")
			if err != nil {
				t.Fatal(err)
			}
			now := indextest.Now
			for _, text := range []string{"status:PENDING customer:ahrend", "zebra", "amount:12", "-has:hidden"} {
				f, err := filter.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				w, err := x.Window(ctx, index.Query{Filter: f, Limit: 9}, now)
				if err != nil || len(w.Rows) != 1 || !bytes.Equal(w.Rows[0].Op.Raw, raw) {
					t.Errorf("%s: %d rows, %v", text, len(w.Rows), err)
				}
			}
			g, err := x.Totals(ctx, filter.OperationExpr{}, []index.By{index.ByStatus}, 0, now)
			if err != nil || len(g.Parts) != 1 || g.Parts[0].Key != "PENDING" || g.Sums[0].Amount.String() != "12" {
				t.Errorf("%+v, %v", g, err)
			}
			for done := false; !done; {
				err := x.Derive(ctx)
				if done, _ = x.Derived(ctx); err != nil {
					t.Fatal(err)
				}
			}
			body, _, err := store.Find[[]byte](ctx, s.Bulk, "SELECT body FROM index_raw WHERE n = 5")
			if err != nil || !bytes.Equal(body, raw) {
				t.Errorf("%q, %v", body, err)
			}
			states, err := x.History(ctx, id)
			if err != nil || len(states) != 2 || !bytes.Equal(states[0].Op.Raw, raw) {
				t.Errorf("%d states, %v", len(states), err)
			}
		})
	}
}
