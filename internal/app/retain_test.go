package app

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/retention"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// month is a store that is used for some days of simulated time.
type month struct {
	st    *store.Store
	hooks *inbox.Inbox
	trail *audit.Log
	at    *atomic.Int64 // ns since it began
	begin time.Time
	sent  int
}

func (m *month) now() time.Time { return m.begin.Add(time.Duration(m.at.Load())) }

// newMonth opens a store of an engine, with its trail.
func newMonth(t *testing.T, e store.Engine) *month {
	t.Helper()
	m := &month{at: new(atomic.Int64), begin: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	m.st = storetest.OpenAt(t, storetest.URL(t, e), m.now)
	m.hooks = inbox.New(m.st.Bulk, "https://service.test", "machine")
	dir := t.TempDir()
	key, _, err := audit.CreateKey(filepath.Join(dir, "audit.key"))
	if err != nil {
		t.Fatal(err)
	}
	m.trail, err = audit.New(audit.Options{Store: journal.NewAudit(m.st.Core), Now: m.now, Key: key,
		Checkpoints: dir})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// day receives and merges some deliveries and makes some writes, spread over a day, with a turn of the pruner each
// hour.
func (m *month) day(t *testing.T, p interface {
	Turn(context.Context) (int, error)
}, hooks, writes int) {
	t.Helper()
	for hour := range 24 {
		m.receive(t, hooks*(hour+1)/24-hooks*hour/24)
		for n := writes * hour / 24; n < writes*(hour+1)/24; n++ {
			m.write(t, n)
		}
		m.at.Add(int64(time.Hour))
		if _, err := p.Turn(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *month) receive(t *testing.T, n int) {
	t.Helper()
	for range n {
		m.sent++
		raw := fmt.Appendf(nil, `{"hook_id":"%d","Data":{"Operation":{"opid":"op-%d","text":"%s"}}}`, m.sent, m.sent,
			strings.Repeat("x", 1000))
		got, err := m.hooks.Insert(t.Context(), receiver.Record{Key: fmt.Sprint(m.sent), HookID: fmt.Sprint(m.sent), Type: hook.TypeOperation,
			Object: hook.ObjectOperation, ObjectID: "op", Raw: raw, Hash: sha256.Sum256(raw), ReceivedAt: m.now(),
			Source:  "192.0.2.1",
			Verdict: hook.Verdict{Verifier: hook.VerifyJWT, Authenticated: true}, Status: receiver.Verified})
		if err == nil {
			err = m.hooks.Advance(t.Context(), got.Stored.Seq)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (m *month) write(t *testing.T, n int) {
	t.Helper()
	ctx := t.Context()
	act := api.Act{Kind: api.ActRemoveDocument, Method: "DELETE", Path: "/x", Object: "operation",
		ID: fmt.Sprint("op-", n)}
	ref, err := m.trail.Intent(ctx, api.Actor{Name: "ana"}, act)
	if err == nil {
		err = m.trail.Outcome(ctx, ref, api.Outcome{Verdict: api.Done, Status: 200})
	}
	if err != nil {
		t.Fatal(err)
	}
}

// bytes is what the store takes, logs included.
func (m *month) bytes(t *testing.T) (n int64) {
	t.Helper()
	sizes, err := m.st.Sizes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range sizes {
		n += s.Data + s.Log
	}
	return n
}

// rows counts what is kept of deliveries and of the trail.
func (m *month) rows(t *testing.T) (hooks, records int) {
	t.Helper()
	for table, n := range map[string]*int{"hook": &hooks, "audit": &records} {
		db := m.st.Core
		if table == "hook" {
			db = m.st.Bulk
		}
		if err := db.QueryRow(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(n); err != nil {
			t.Fatal(err)
		}
	}
	return hooks, records
}

// TestFilesStopGrowing: a store that receives and writes the same each day is as large after 30 days as after ten, and
// the trail verifies. In five days of PostgreSQL only rows are counted.
// OPDECK_TEST_LONG=1 is 100,000 deliveries and 10,000 writes.
func TestFilesStopGrowing(t *testing.T) {
	racedetector.Skip(t)
	hooks, writes, days := 60, 4, map[store.Engine]int{store.SQLite: 30, store.Postgres: 5}
	if os.Getenv("OPDECK_TEST_LONG") == "1" {
		hooks, writes, days[store.Postgres] = 100_000/30+1, 10_000/30+1, 30
	}
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			m := newMonth(t, e)
			p := &retention.Pruner{Store: turns{m.st, "one"}, Rows: ended(m.st, 24*time.Hour), Now: m.now,
				Log: slog.New(slog.DiscardHandler)}
			p.Pause = func(context.Context, time.Duration) {}
			var tenth int64
			for n := 1; n <= days[e]; n++ {
				m.day(t, p, hooks, writes)
				if n%5 == 0 {
					kept, records := m.rows(t)
					t.Logf("day %d: %d bytes, %d deliveries, %d records", n, m.bytes(t), kept, records)
					if kept > hooks*5/4 || records != 2*writes*n {
						t.Errorf("day %d: %d deliveries and %d records are kept", n, kept, records)
					}
				}
				if n == 10 {
					tenth = m.bytes(t)
				}
			}
			if last := m.bytes(t); days[e] > 10 && last > tenth*11/10 {
				t.Errorf("%d bytes after 30 days, %d after ten", last, tenth)
			}
			r, err := m.trail.Prover.Verify(api.WithActor(t.Context(), api.Actor{Name: "kim", Role: api.Admin}))
			if err != nil || !r.Intact() || r.First != 1 || r.Last != int64(days[e]*2*writes) {
				t.Errorf("%s, %v", r.Summary(), err)
			}
			t.Log(r.Summary())
		})
	}
}
