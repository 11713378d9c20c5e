package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

// memory is an audit.Store whose trouble a test decides about.
type memory struct {
	mu   sync.Mutex
	rows []audit.Row
	sign map[string]audit.StoredCheckpoint
	fail error // of Append
	lost error // of Append, after the rows are stored
}

func (m *memory) trouble(fail, lost error) {
	m.mu.Lock()
	m.fail, m.lost = fail, lost
	m.mu.Unlock()
}

func (m *memory) Append(_ context.Context, next func(audit.Head) ([]audit.Row, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil {
		return m.fail
	}
	rows, err := next(m.head())
	if err == nil {
		for _, r := range rows {
			if r.Checkpoint != nil {
				m.point(*r.Checkpoint)
			}
			r.Checkpoint = nil
			m.rows = append(m.rows, r)
		}
	}
	return errors.Join(err, m.lost)
}

func (m *memory) head() audit.Head {
	h := audit.Head{Chain: "6f706465-636b-4000-8000-000000000001", Epoch: 1, Hash: strings.Repeat("0", 64)}
	if n := len(m.rows); n > 0 {
		h.N, h.Hash, h.At = m.rows[n-1].Seq, m.rows[n-1].Hash, m.rows[n-1].At
	}
	return h
}

func (m *memory) Head(context.Context) (audit.Head, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.head(), nil
}

func (m *memory) filter(keep func(audit.Row) bool) []audit.Row {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []audit.Row
	for _, r := range m.rows {
		if keep(r) {
			out = append(out, r)
		}
	}
	return out
}

func (m *memory) Get(_ context.Context, uid string) (audit.Row, error) {
	got := m.filter(func(r audit.Row) bool { return r.UID == uid })
	if len(got) == 0 {
		return audit.Row{}, audit.ErrNoRecord
	}
	return got[0], nil
}

func (m *memory) Rows(_ context.Context, from int64, limit int) ([]audit.Row, error) {
	got := m.filter(func(r audit.Row) bool { return r.Seq >= from })
	return got[:min(limit, len(got))], nil
}

func (m *memory) Find(_ context.Context, q audit.Query) ([]audit.Row, error) {
	got := m.filter(func(r audit.Row) bool {
		return (q.Object == "" || r.Object == q.Object) && (q.ID == "" || r.ID == q.ID || r.Item == q.ID) &&
			(q.Event == "" || r.Event == q.Event) && (q.Before == 0 || r.Seq < q.Before)
	})
	slices.Reverse(got)
	return got[:min(q.Limit, len(got))], nil
}

func (m *memory) Open(context.Context) ([]audit.Row, error) {
	closed := map[string]bool{}
	for _, r := range m.filter(func(r audit.Row) bool { return r.Phase == audit.PhaseOutcome }) {
		closed[r.Ref] = true
	}
	return m.filter(func(r audit.Row) bool { return r.Phase == audit.PhaseIntent && !closed[r.UID] }), nil
}

func (m *memory) point(p audit.StoredCheckpoint) {
	if m.sign == nil {
		m.sign = map[string]audit.StoredCheckpoint{}
	}
	if m.sign[p.Key].N < p.N {
		m.sign[p.Key] = p
	}
}

func (m *memory) Derived(ctx context.Context) (audit.Derived, error) {
	open, err := m.Open(ctx)
	s := audit.Derived{Open: map[string]int64{}}
	for _, r := range open {
		s.Open[r.UID] = r.Seq
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s.Head = m.head()
	return s, err
}

func (m *memory) Segments(context.Context) ([]audit.Segment, error) { return nil, nil }
func (m *memory) Import(context.Context, audit.Segment, []audit.Row) error {
	return errors.ErrUnsupported
}

func (m *memory) Checkpoints(context.Context) ([]audit.StoredCheckpoint, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Values(m.sign)), nil
}

func (m *memory) PutCheckpoint(_ context.Context, p audit.StoredCheckpoint) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.point(p)
	return nil
}

// clock is a time that a test sets.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func newClock() *clock { return &clock{t: time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	c.t = c.t.Add(d)
	c.mu.Unlock()
}

var (
	ana = api.Actor{Name: "ana", Role: api.Operator, Via: "ssh", From: "192.0.2.7:5022", Key: "SHA256:ana",
		Session: "s1"}
	admin = api.Actor{Name: "kim", Role: api.Admin, Via: "command"}
	act   = api.Act{Kind: api.ActRemoveDocument, Method: "DELETE", Path: "/v2/billing/operation/op-1/document/doc-1",
		Object: "operation", ID: "op-1", Item: "doc-1", Name: "invoice.pdf", Summary: "Remove invoice.pdf",
		Reason: "wrong file", Seen: "5ee7"}
)

func as(a api.Actor) context.Context { return api.WithActor(context.Background(), a) }

// contents reads a checkpoint file; one that is not there is empty.
func contents(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return b
}

func newLog(t *testing.T, opt audit.Options) *audit.Log {
	t.Helper()
	l, err := audit.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// write puts n whole acts into the log.
func write(t *testing.T, l *audit.Log, n int) {
	t.Helper()
	for i := range n {
		a := act
		a.ID = fmt.Sprintf("op-%d", i+1)
		ref, err := l.Intent(as(ana), ana, a)
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Outcome(as(ana), ref, api.Outcome{Verdict: api.Done, Status: 200, RequestID: "r-1",
			Took: 80 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
	}
}

// verified is the report on the trail in m.
func verified(t *testing.T, m *memory) audit.Report {
	t.Helper()
	r, err := newLog(t, audit.Options{Store: m}).Prover.Verify(as(admin))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// points is a new folder for checkpoints.
func points(t testing.TB) string {
	t.Helper()
	return t.TempDir()
}

// seeded is a key that is the same in every run.
func seeded(t testing.TB, b byte) *audit.Key {
	t.Helper()
	k, err := audit.NewKey(bytes.Repeat([]byte{b}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}
