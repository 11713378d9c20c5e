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

// Update implements notify.Store.
func (m *Memory) Update(_ context.Context, scope string, change func(*notify.State, time.Time) bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var s notify.State
	if b := m.states[scope]; b != nil {
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
	}
	if !change(&s, m.Now()) {
		return nil
	}
	b, err := json.Marshal(s)
	if m.states == nil {
		m.states = map[string][]byte{}
	}
	m.states[scope] = b
	return err
}
