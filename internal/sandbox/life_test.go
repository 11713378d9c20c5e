package sandbox

import (
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

var morning = time.Date(2027, 3, 9, 9, 0, 0, 0, time.UTC)

// clock advances only in steps; deliveries read it too.
type clock struct{ passed atomic.Int64 } // nanoseconds since morning

func (c *clock) now() time.Time       { return morning.Add(time.Duration(c.passed.Load())) }
func (c *clock) step(d time.Duration) { c.passed.Add(int64(d)) }

// alive opens a living service.
func alive(t *testing.T, path string, c *clock) *Service {
	t.Helper()
	s, err := Open(t.Context(), Options{Path: path, Living: true, Now: c.now})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

type seen struct {
	Opid, Status         string
	CreatedAt, UpdatedAt time.Time
}

// allOperations are all operations as a read shows them, newest first.
func allOperations(t *testing.T, s *Service) (list []json.RawMessage) {
	t.Helper()
	err := s.Alter(t.Context(), func(tx Tx) (err error) {
		list, err = tx.Operations(`ORDER BY o.created DESC, o.n`)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func all(t *testing.T, s *Service) (list []seen) {
	t.Helper()
	for _, r := range allOperations(t, s) {
		var o seen
		if err := json.Unmarshal(r, &o); err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	return list
}

// TestLivingDates: the data run up to now over sixty days and hold nothing of the
// future; when the file is opened later there is a today again.
func TestLivingDates(t *testing.T) {
	t.Parallel()
	c, path := &clock{}, filepath.Join(t.TempDir(), "sandbox.db")
	s := alive(t, path, c)
	now := c.now()
	ops := all(t, s)
	if n := len(ops); n != DefaultOperations || now.Sub(ops[0].CreatedAt) > time.Hour {
		t.Errorf("%d operations, the newest of %s", n, ops[0].CreatedAt)
	}
	days := map[string]int{}
	for _, o := range ops {
		days[o.CreatedAt.Format(time.DateOnly)]++
		if o.UpdatedAt.After(now) || o.UpdatedAt.Before(o.CreatedAt) || now.Sub(o.CreatedAt) > livingSpan+24*time.Hour {
			t.Errorf("created %s, updated %s", o.CreatedAt, o.UpdatedAt)
		}
	}
	if len(days) < 60 {
		t.Errorf("operations on %d days only", len(days))
	}
	customers, err := records[customer](t.Context(), s.db, kindCustomer)
	waiting := 0
	for _, c := range customers {
		if c.Status == "VERIFY" {
			waiting++
			if now.Sub(c.UpdatedAt) > 24*time.Hour {
				t.Errorf("%s waits in VERIFY since %s", c.Display, c.UpdatedAt)
			}
		}
	}
	if err != nil || waiting == 0 {
		t.Errorf("%d wait in VERIFY: %v", waiting, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	for _, gone := range []time.Duration{time.Minute, 48 * time.Hour, 400 * 24 * time.Hour} {
		c.step(gone)
		now = c.now()
		s = alive(t, path, c)
		later := all(t, s)
		if grown := len(later) - len(ops); grown > caughtUp || (grown > 0) != (gone > time.Hour) {
			t.Errorf("%s later there are %d more operations", gone, grown)
		}
		if gone > time.Hour && now.Sub(later[0].CreatedAt) > 24*time.Hour {
			t.Errorf("%s later the newest is of %s", gone, later[0].CreatedAt)
		}
		ops = later
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBeats: of four changes three move an operation on and one adds one; each
// arrives at the receiver of this process, without a port.
func TestBeats(t *testing.T) {
	t.Parallel()
	c := &clock{}
	s := alive(t, "", c)
	defer s.Close()
	events := make(chan string, 100)
	s.Receive(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/hooks" || r.Header.Get("Authorization") == "" || r.RemoteAddr != "127.0.0.1:1" {
			t.Errorf("%s %s from %s", r.Method, r.URL, r.RemoteAddr)
		}
		var e struct {
			Data struct{ Operation struct{ Opid string } }
		}
		if err := json.Unmarshal(body, &e); err != nil {
			t.Error(err)
		}
		events <- e.Data.Operation.Opid
	}))
	before := map[string]seen{}
	for _, o := range all(t, s) {
		before[o.Opid] = o
	}
	for range 8 {
		c.step(heartbeat)
		if err := s.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-events
	}
	after := all(t, s)
	moved, added := 0, 0
	for i, o := range after {
		switch was, known := before[o.Opid]; {
		case !known:
			added++
		case was != o:
			moved++
			if i > 60 || o.UpdatedAt.Before(morning) {
				t.Errorf("operation %d of the list moved: %+v", i, o)
			}
		}
	}
	if added != 2 || moved == 0 || moved > 6 {
		t.Errorf("%d were added, %d moved", added, moved)
	}
}

// TestBeatsStayBounded: a service that lives for long neither grows without end nor
// comes to rest.
func TestBeatsStayBounded(t *testing.T) {
	t.Parallel()
	c := &clock{}
	s := alive(t, "", c)
	defer s.Close()
	_, err := s.db.ExecContext(t.Context(),
		`INSERT INTO counter(name, value) VALUES('inserted', ?); UPDATE operation SET status = 3`, mostBorn)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if err := s.beat(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	open := 0
	for _, o := range all(t, s) {
		if !o.UpdatedAt.Before(morning) {
			open++
		}
	}
	if n := len(all(t, s)); n != DefaultOperations || open == 0 {
		t.Errorf("%d operations, %d changed", n, open)
	}
}

// TestLivingKeepsHooks: an address that somebody set stays.
func TestLivingKeepsHooks(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sandbox.db")
	s, err := Open(t.Context(), Options{Path: path, HookURL: "http://127.0.0.1:1/mine"})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	s = alive(t, path, &clock{})
	defer s.Close()
	if st, err := loadSettings(t.Context(), s.db); err != nil || st.Hook.URL != "http://127.0.0.1:1/mine" {
		t.Errorf("%v %v", st.Hook, err)
	}
}
