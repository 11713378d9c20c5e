package audit_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/audit"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/liveness"
	"opdeck/internal/store/seal"
	"opdeck/internal/store/storetest"
)

// each runs a test on both engines; open makes another handle on one database.
func each(t *testing.T, run func(t *testing.T, open func() *store.Store)) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			url := storetest.URL(t, e)
			run(t, func() *store.Store { return storetest.OpenURL(t, url) })
		})
	}
}

func TestStoreKeepsOneChainForAllWriters(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		const writers, acts = 3, 10
		var group sync.WaitGroup
		for w := range writers {
			l := newLog(t, audit.Options{Store: journal.NewAudit(open().Core)})
			group.Go(func() {
				for i := range acts {
					a := act
					a.ID = fmt.Sprintf("op-%d-%d", w, i)
					ref, err := l.Intent(as(ana), ana, a)
					if err != nil {
						t.Error(err)
						return
					}
					if err := l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done}); err != nil {
						t.Error(err)
					}
				}
			})
		}
		group.Wait()
		l := newLog(t, audit.Options{Store: journal.NewAudit(open().Core)})
		r, err := l.Prover.Verify(as(admin))
		if err != nil || !r.Intact() || r.Records != 2*writers*acts || len(r.Unsettled) != 0 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestStoreFinds(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		ctx, c, st := context.Background(), newClock(), journal.NewAudit(open().Core)
		if h, err := st.Head(ctx); err != nil || h.N != 0 || h.Hash != strings.Repeat("0", 64) {
			t.Fatalf("%+v, %v", h, err)
		}
		l := newLog(t, audit.Options{Store: st, Now: c.Now})
		write(t, l, 3) // records 1 to 6
		c.add(time.Hour)
		if err := l.Note(as(admin), admin, api.Event{Name: "reveal", Object: "operation", ID: "op-2",
			Detail: "account"}); err != nil {
			t.Fatal(err)
		}
		ref, err := l.Intent(as(admin), admin, api.Act{Kind: api.ActShare, Object: "customer", ID: "cu-1"})
		if err != nil {
			t.Fatal(err)
		}
		for name, q := range map[string]struct {
			audit.Query
			want []int64
		}{
			"all":              {audit.Query{}, []int64{8, 7, 6, 5, 4, 3, 2, 1}},
			"person":           {audit.Query{Actor: "kim"}, []int64{8, 7}},
			"object":           {audit.Query{Object: "operation", ID: "op-2"}, []int64{7, 4, 3}},
			"item":             {audit.Query{ID: "doc-1", Phase: audit.PhaseOutcome}, []int64{6, 4, 2}},
			"event":            {audit.Query{Event: "compliance.share"}, []int64{8}},
			"events":           {audit.Query{Event: "document.*", Limit: 2}, []int64{6, 5}},
			"no such event":    {audit.Query{Event: "document"}, nil},
			"from":             {audit.Query{From: c.t}, []int64{8, 7}},
			"until":            {audit.Query{Until: c.t, Before: 3}, []int64{2, 1}},
			"a question mark?": {audit.Query{Actor: "' OR 1=1 --?"}, nil},
		} {
			if q.Limit == 0 {
				q.Limit = 100
			}
			rows, err := st.Find(ctx, q.Query)
			var got []int64
			for _, r := range rows {
				got = append(got, r.Seq)
			}
			if err != nil || fmt.Sprint(got) != fmt.Sprint(q.want) {
				t.Errorf("%s: %v, %v; want %v", name, got, err, q.want)
			}
		}
		open1, err := st.Open(ctx)
		if err != nil || len(open1) != 1 || open1[0].UID != ref {
			t.Errorf("open: %v, %v", open1, err)
		}
		if _, err := st.Get(ctx, "no such"); !errors.Is(err, audit.ErrNoRecord) {
			t.Error(err)
		}
		one, err := st.Get(ctx, ref)
		if err != nil || audit.Hash(one.Bytes) != one.Hash || !one.At.Equal(c.t) || one.Seq != 8 || one.Actor != "kim" {
			t.Errorf("%+v, %v", one, err)
		}
	})
}

func TestStoreRefusesChanges(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		ctx, db := context.Background(), open().Core
		l := newLog(t, audit.Options{Store: journal.NewAudit(db)})
		write(t, l, 2)
		columns := "seq, uid, at_us, event, phase, ref, boot, actor, object, object_id, item, bytes, hash"
		for _, query := range []string{
			"UPDATE audit SET actor = 'eve' WHERE seq = 1",
			"DELETE FROM audit WHERE seq = 1",
			"DELETE FROM audit",
			"INSERT INTO audit (" + columns + ") SELECT 9, 'u', at_us, event, phase, ref, boot, actor, object, object_id, " +
				"item, bytes, hash FROM audit WHERE seq = 1",
			"UPDATE audit_head SET n = 1",
			"UPDATE audit_head SET n = n + 1, chain = 'other'",
			"DELETE FROM audit_head",
		} {
			if err := db.Exec(ctx, query); err == nil {
				t.Errorf("%s went through", query)
			}
		}
		extra := []string{"TRUNCATE audit", "TRUNCATE audit_head"}
		if db.Engine() == store.SQLite {
			extra = []string{
				"INSERT OR REPLACE INTO audit SELECT seq, uid, at_us, event, phase, ref, boot, 'eve', object, object_id, item, " +
					"bytes, hash FROM audit WHERE seq = 1",
				"INSERT OR REPLACE INTO audit SELECT 5, uid, at_us, event, phase, ref, boot, 'eve', object, object_id, item, " +
					"bytes, hash FROM audit WHERE seq = 1",
				"INSERT OR REPLACE INTO audit_head SELECT 1, chain, 2, hash, at_us FROM audit_head",
			}
		}
		for _, query := range extra {
			if err := db.Exec(ctx, query); err == nil {
				t.Errorf("%s went through", query)
			}
		}
		write(t, l, 1)
		if r, err := l.Prover.Verify(as(admin)); err != nil || !r.Intact() || r.Records != 6 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// TestAppendIsAllOrNothing: a row that is refused takes its neighbours with it.
func TestAppendIsAllOrNothing(t *testing.T) {
	each(t, func(t *testing.T, open func() *store.Store) {
		ctx, st := context.Background(), journal.NewAudit(open().Core)
		err := st.Append(ctx, func(h audit.Head) ([]audit.Row, error) {
			row := audit.Row{Seq: 1, UID: "a", At: time.Now(), Phase: audit.PhaseNote, Bytes: []byte("{}"), Hash: "x"}
			again := row
			again.Seq = 2
			return []audit.Row{row, again}, nil
		})
		if err == nil {
			t.Fatal("two records with one identity")
		}
		if h, err := st.Head(ctx); err != nil || h.N != 0 {
			t.Errorf("%+v, %v", h, err)
		}
	})
}

// TestDiskFull lets a real database run out of pages between intent and outcome.
func TestDiskFull(t *testing.T) {
	ctx, db := context.Background(), storetest.Open(t, store.SQLite).Core
	pages := func(n int) {
		if err := db.Exec(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	l := newLog(t, audit.Options{Store: journal.NewAudit(db)})
	g := api.Gate{Audit: l, Now: time.Now}
	first, err := g.Begin(as(ana), endpoint.Rule(act.Kind), act, nil)
	if err != nil {
		t.Fatal(err)
	}
	pages(1) // SQLite takes the present size instead
	long := act
	long.Reason = strings.Repeat("long ", 150)
	for range 1000 {
		if _, err = g.Begin(as(ana), endpoint.Rule(long.Kind), long, nil); err != nil {
			break
		}
	}
	if api.AsError(err) == nil || api.AsError(err).Rule != api.RuleAudit || !store.IsKind(err, store.Full) {
		t.Fatalf("%v, want a refusal because the disk is full", err)
	}
	out := api.Outcome{Verdict: api.Denied, Detail: strings.Repeat("long ", 150)}
	if err := g.End(as(ana), first, out); !store.IsKind(err, store.Full) {
		t.Fatalf("%v, want that the disk is full", err)
	}
	if open, err := l.Unsettled(ctx); err != nil || len(open) != 1 || open[0].Seq != 1 {
		t.Errorf("unsettled: %v, %v", open, err)
	}
	if p, err := l.Reader.Find(as(ana), audit.Query{Limit: 1}); err != nil || len(p.Entries) != 1 {
		t.Errorf("reading stopped: %v", err)
	}
	pages(1 << 20)
	if err := l.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Prover.Verify(as(admin)); err != nil || !r.Intact() || len(r.Unsettled) == 0 ||
		r.Unsettled[0].Seq == 1 {
		t.Errorf("%+v, %v", r, err)
	}
}

const crashURL = "OPDECK_AUDIT_CRASH"

// boots knows the processes that share the database of s.
func boots(t *testing.T, s *store.Store) audit.Alive {
	t.Helper()
	if b := liveness.NewBoots(s.Core); b != nil {
		return b
	}
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, bytes.Repeat([]byte("0f"), 32), 0o600); err != nil {
		t.Fatal(err)
	}
	key, err := seal.ReadKey(file)
	if err != nil {
		t.Fatal(err)
	}
	session, err := accounts.New(s.Core, accounts.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	b := session.Boots()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if release, ok := b.Hold("tried"); ok { // its connection is there
			release(false)
			break
		}
	}
	return b
}

// TestCrashBetweenIntentAndOutcome kills a process (this test again, as a child)
// that has stored an intent and not yet its outcome. As long as it lives the act is
// under way; as soon as it is dead the act is shown.
func TestCrashBetweenIntentAndOutcome(t *testing.T) {
	if url := os.Getenv(crashURL); url != "" {
		s, err := store.Open(context.Background(), store.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		l := newLog(t, audit.Options{Store: journal.NewAudit(s.Core), Alive: boots(t, s)})
		write(t, l, 1)
		if _, err := l.Intent(as(ana), ana, act); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close(context.Background()) }) // never: it keeps l and its mark from the collector
		fmt.Println("stored")
		select {} // until it is killed
	}
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) { crash(t, storetest.URL(t, e)) })
	}
}

func crash(t *testing.T, url string) {
	s := storetest.OpenURL(t, url)
	l := newLog(t, audit.Options{Store: journal.NewAudit(s.Core), Alive: boots(t, s)})
	child := exec.Command(os.Args[0], "-test.run=^TestCrashBetweenIntentAndOutcome$")
	child.Env = append(os.Environ(), crashURL+"="+url)
	said, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "stored\n" {
		_ = child.Process.Kill()
		t.Fatalf("the child said %q, %v", line, err)
	}
	if open, err := l.Unsettled(t.Context()); err != nil || len(open) != 0 {
		t.Errorf("while it lives: %+v, %v", open, err)
	}
	_ = child.Process.Kill() // nothing is flushed, closed or deferred
	_ = child.Wait()
	var open []audit.Entry
	for end := time.Now().Add(time.Minute); len(open) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if open, err = l.Unsettled(t.Context()); err != nil { // PostgreSQL notices the end by and by
			t.Fatal(err)
		}
	}
	if len(open) != 1 || open[0].Seq != 3 || open[0].ID != "op-1" || open[0].Damaged {
		t.Fatalf("unsettled: %+v, %v", open, err)
	}
	r, err := l.Prover.Verify(as(admin))
	if err != nil || !r.Intact() || len(r.Unsettled) != 1 || r.Unsettled[0].Seq != 3 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := l.Settle(as(admin), admin, open[0].UID, "read again: it is gone"); err != nil {
		t.Fatal(err)
	}
	if r, err := l.Prover.Verify(as(admin)); err != nil || !r.Intact() || len(r.Unsettled) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

func storeOf(t *testing.T) audit.Store { return journal.NewAudit(storetest.Open(t, store.SQLite).Core) }
