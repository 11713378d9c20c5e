package approval_test

import (
	"context"
	"slices"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
)

// memory is a store in this process.
type memory struct {
	approval.Store
	clock func() time.Time // nil: now
	mu    sync.Mutex
	list  []approval.Request // oldest first
	by    []string           // who asked, as the Service names them
}

// now is the store's time, which does not change.
var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func (m *memory) time() time.Time {
	if m.clock == nil {
		return now
	}
	return m.clock()
}

func (m *memory) Now(context.Context) (time.Time, error) { return m.time(), nil }

func (m *memory) Update(_ context.Context, scope, requester, target string,
	change func(time.Time, []approval.Request) ([]approval.Request, error)) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	var known []approval.Request
	for i, r := range slices.Backward(m.list) {
		if m.by[i] == requester && r.Target == target && r.Scope == scope {
			known = append(known, r)
		}
	}
	changed, err := change(m.time(), known)
	for _, r := range changed {
		if i := m.index(r.Scope, r.ID); i >= 0 {
			m.list[i] = r
		} else {
			m.list, m.by = append(m.list, r), append(m.by, requester)
		}
	}
	return err
}

func (m *memory) index(scope, id string) int {
	return slices.IndexFunc(m.list, func(r approval.Request) bool { return r.ID == id && r.Scope == scope })
}

func (m *memory) Decide(_ context.Context, scope, id string, from approval.State,
	change func(time.Time, *approval.Request)) (approval.Request, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.index(scope, id)
	if i < 0 || m.list[i].State != from || !m.time().Before(m.list[i].Expires) {
		return approval.Request{}, approval.ErrState
	}
	change(m.time(), &m.list[i])
	return m.list[i], nil
}

func (m *memory) Settle(_ context.Context, scope, id string, v api.Verdict) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.index(scope, id)
	if i < 0 || m.list[i].State != approval.Spent {
		return approval.ErrState
	}
	m.list[i].Verdict = v
	return nil
}

// approve makes an approval past the Service.
func (m *memory) approve(id string, by api.Actor) {
	for i := range m.list {
		if m.list[i].ID == id {
			p := approval.Person{Name: by.Name, Role: by.Role, Key: by.Key, Login: by.Login, Cert: by.Cert, UID: by.UID,
				LoginUID: by.LoginUID, Host: by.Host, Doubt: by.Doubt}
			m.list[i].State, m.list[i].Decider = approval.Approved, &p
		}
	}
}

func (m *memory) Lapse(_ context.Context, scope string) (gone []approval.Request, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, r := range m.list {
		if r.Scope == scope && (r.State == approval.Open || r.State == approval.Approved) && !m.time().Before(r.Expires) {
			m.list[i].State = approval.Lapsed
			gone = append(gone, m.list[i])
		}
	}
	return gone, nil
}

func (m *memory) Get(_ context.Context, scope, id string) (approval.Request, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := m.index(scope, id); i >= 0 {
		return m.list[i], nil
	}
	return approval.Request{}, approval.ErrNotFound
}

func (m *memory) List(_ context.Context, f approval.Filter) ([]approval.Request, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []approval.Request
	for _, r := range slices.Backward(m.list) {
		if r.Scope == f.Scope && (len(f.States) == 0 || slices.Contains(f.States, r.State)) {
			out = append(out, r)
		}
	}
	return out, nil
}
