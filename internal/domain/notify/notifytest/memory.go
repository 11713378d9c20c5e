// Package notifytest has a store of notices in memory and the suite that every such store passes.
package notifytest

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"opdeck/internal/domain/notify"
)

// Memory is a store in memory.
type Memory struct {
	Now func() time.Time

	mu     sync.Mutex
	states map[string][]byte // guarded by mu: JSON by scope
}

var _ notify.Store = (*Memory)(nil)

// State implements notify.Store.
func (m *Memory) State(_ context.Context, scope string) (notify.State, time.Time, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.read(scope)
	return s, m.Now(), err
}

func (m *Memory) read(scope string) (s notify.State, err error) {
	if b := m.states[scope]; b != nil {
		err = json.Unmarshal(b, &s)
	}
	return s, err
}

// Update implements notify.Store.
func (m *Memory) Update(_ context.Context, scope string, change func(*notify.State, time.Time) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.read(scope)
	if err != nil || !change(&s, m.Now()) {
		return err
	}
	if m.states == nil {
		m.states = map[string][]byte{}
	}
	m.states[scope], err = json.Marshal(s)
	return err
}
