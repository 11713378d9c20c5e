// Package answerstest has a store of answers in memory, and the suite that every store of answers passes.
package answerstest

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"opdeck/api/reach"
	"opdeck/internal/domain/answers"
)

// Memory is a store in memory.
type Memory struct {
	mu     sync.Mutex
	rows   map[[3]string]answers.Last // guarded by mu
	writes int                        // guarded by mu
}

var _ answers.Store = (*Memory)(nil)

// Put implements answers.Store.
func (m *Memory) Put(_ context.Context, scope string, list []answers.Answer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rows == nil {
		m.rows = map[[3]string]answers.Last{}
	}
	m.writes++
	now := time.Now()
	var known []answers.Last
	for key, l := range m.rows {
		if key[0] == scope {
			known = append(known, l)
		}
	}
	for _, l := range answers.After(known, list, now) {
		m.rows[[3]string{scope, l.Class, l.Route}] = l
	}
	for key, l := range m.rows {
		if now.Sub(l.Good) > answers.Kept && now.Sub(l.Failed) > answers.Kept {
			delete(m.rows, key)
		}
	}
	return nil
}

// All implements answers.Store.
func (m *Memory) All(_ context.Context, scope string) ([]answers.Last, time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []answers.Last
	for key, l := range m.rows {
		if key[0] == scope {
			out = append(out, l)
		}
	}
	slices.SortFunc(out, func(a, b answers.Last) int {
		return cmp.Or(cmp.Compare(a.Class, b.Class), cmp.Compare(a.Route, b.Route))
	})
	return out, time.Now(), nil
}

// Writes is how often Put was called.
func (m *Memory) Writes() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.writes
}

// Run checks that a store fulfils the contract.
func Run(t *testing.T, s answers.Store) {
	fault := reach.Fault{Class: reach.Maintenance, Status: 503, Said: "back soon", After: time.Minute}
	put := func(t *testing.T, scope string, list ...answers.Answer) []answers.Last {
		t.Helper()
		scope += " " + t.Name()
		if err := s.Put(t.Context(), scope, list); err != nil {
			t.Fatal(err)
		}
		all, now, err := s.All(t.Context(), scope)
		if err != nil || now.IsZero() {
			t.Fatal(now, err)
		}
		return all
	}
	billing := answers.Answer{Class: "billing", Route: "GET /v2/operations", By: "a"}
	failed := func(ago time.Duration) answers.Answer {
		a := billing
		a.Fault, a.Ago, a.By = fault, ago, "b"
		return a
	}
	t.Run("FailuresAndTheirBeginning", func(t *testing.T) {
		ok := billing
		ok.Ago = time.Minute
		put(t, "x", ok)
		put(t, "x", failed(30*time.Second))
		all := put(t, "x", failed(10*time.Second))
		if len(all) != 1 || all[0].Class != "billing" || all[0].Route != billing.Route || all[0].By != "b" ||
			all[0].Fault.Said != fault.Said || all[0].Fault.After != time.Minute ||
			!near(all[0].Failed.Sub(all[0].Since), 20*time.Second) || !near(all[0].Since.Sub(all[0].Good), 30*time.Second) {
			t.Fatalf("%+v", all)
		}
		late := billing
		late.Ago = 40 * time.Second // it comes late: the failures are newer
		if all = put(t, "x", late); all[0].Since.IsZero() || !near(all[0].Failed.Sub(all[0].Good), 30*time.Second) {
			t.Errorf("%+v", all)
		}
		if all = put(t, "x", billing); !all[0].Since.IsZero() || !all[0].Good.After(all[0].Failed) ||
			!all[0].Over.Equal(all[0].Good) || all[0].By != "a" {
			t.Errorf("%+v", all)
		}
	})
	t.Run("Objects", func(t *testing.T) {
		useless := func(object, shape string) answers.Answer {
			a := billing
			a.Object, a.Fault, a.Ago = object, reach.Fault{Class: reach.Useless, Shape: shape}, time.Second
			return a
		}
		put(t, "o", useless("a", "404"))
		if all := put(t, "o", useless("b", "404"), useless("b", "404")); len(all[0].Objects) != 2 {
			t.Errorf("%+v", all)
		}
		if all := put(t, "o", billing); len(all[0].Objects) != 0 {
			t.Errorf("after a useful answer: %+v", all)
		}
	})
	t.Run("ScopesAndOrder", func(t *testing.T) {
		put(t, "y", failed(0))
		other := billing
		other.Class = "account"
		all := put(t, "x", billing, other)
		if len(all) != 2 || all[0].Class != "account" || !all[1].Failed.IsZero() {
			t.Errorf("%+v", all)
		}
	})
	t.Run("OldOnesGo", func(t *testing.T) {
		old := billing
		old.Ago, old.Class = answers.Kept+time.Hour, "old"
		put(t, "x", old)
		if all := put(t, "x", billing); len(all) != 1 || all[0].Class != "billing" {
			t.Errorf("%+v", all)
		}
	})
}

func near(a, b time.Duration) bool { return (a - b).Abs() < 5*time.Second }
