package approval_test

import (
	"context"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
)

// memory is a store for one goroutine.
type memory struct {
	approval.Store
	list []approval.Request // oldest first
	by   []string           // who asked, as the Service names them
}

// now is the store's time, which does not change.
var now = time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)

func (m *memory) Now(context.Context) (time.Time, error) { return now, nil }

func (m *memory) Update(_ context.Context, _, requester, target string, change func(time.Time, []approval.Request) ([]approval.Request, error)) error {
	var known []approval.Request
	for i, r := range slices.Backward(m.list) {
		if m.by[i] == requester && r.Target == target {
			known = append(known, r)
		}
	}
	changed, err := change(now, known)
	for _, r := range changed {
		if i := slices.IndexFunc(m.list, func(q approval.Request) bool { return q.ID == r.ID }); i >= 0 {
			m.list[i] = r
		} else {
			m.list, m.by = append(m.list, r), append(m.by, requester)
		}
	}
	return err
}

func (m *memory) Decide(_ context.Context, _, id string, from approval.State, change func(time.Time, *approval.Request)) (approval.Request, error) {
	for i, r := range m.list {
		if r.ID == id && r.State == from && now.Before(r.Expires) {
			change(now, &m.list[i])
			return m.list[i], nil
		}
	}
	return approval.Request{}, approval.ErrState
}

// approve makes an approval past the Service.
func (m *memory) approve(id string, by api.Actor) {
	for i := range m.list {
		if m.list[i].ID == id {
			p := approval.Person{Name: by.Name, Role: by.Role, Key: by.Key, Login: by.Login, Cert: by.Cert, UID: by.UID, LoginUID: by.LoginUID, Host: by.Host, Doubt: by.Doubt}
			m.list[i].State, m.list[i].Decider = approval.Approved, &p
		}
	}
}

func (m *memory) Lapse(context.Context, string) ([]approval.Request, error) {
	return nil, nil
}

func (m *memory) Get(_ context.Context, _, id string) (approval.Request, error) {
	for _, r := range m.list {
		if r.ID == id {
			return r, nil
		}
	}
	return approval.Request{}, approval.ErrNotFound
}

func (m *memory) List(context.Context, approval.Filter) ([]approval.Request, error) {
	return slices.Clone(m.list), nil
}
