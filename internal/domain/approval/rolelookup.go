package approval

import (
	"context"
	"errors"
	"slices"
	"time"

	"opdeck/api"
)

// RoleLookup returns a person's current role, or an error for people that says why they have none any more: their key
// was removed, or their certificate was revoked or has expired.
type RoleLookup func(p Person) (now api.Role, err error)

// SetRoleLookup must be called before any other method; without a RoleLookup no approval is valid.
func (s *Service) SetRoleLookup(l RoleLookup) { s.roleOf = l }

// mayNoLonger says why a person may no longer approve; nil if they may.
func (s *Service) mayNoLonger(p Person) *api.Error {
	if s.roleOf == nil {
		return refuse(api.RuleRole, p.Name+" cannot be looked up here", "")
	}
	switch role, err := s.roleOf(p); {
	case err != nil:
		return refuse(api.RuleRole, p.Name+" may no longer approve: "+err.Error(), "")
	case !role.May(api.MayApprove):
		return refuse(api.RuleRole, p.Name+" may no longer approve: their role is now "+string(role), "")
	}
	return nil
}

// invalid says why the approval given by who is no longer valid; nil if it is valid or there is none.
func (s *Service) invalid(who api.Actor, r Request) *api.Error {
	if r.State != Approved || r.Decider == nil {
		return nil
	}
	if err := WhyNotSecond(who, *r.Decider); err != nil {
		return refuse(api.RuleRole, r.Decider.Name+" does not count as a second person: "+err.Public, "")
	}
	return s.mayNoLonger(*r.Decider)
}

// revoked is the refusal if the approval of r is no longer valid.
func revoked(r Request) error {
	return refuse(api.RuleApproval, "Approval "+r.ID+" no longer counts. "+r.Ended+".",
		"Repeat the write to ask for a new approval.")
}

// Waiting counts the open requests and the unused approvals, by state; 1000 at most.
func (s *Service) Waiting(ctx context.Context) (map[State]int, error) {
	list, err := s.store.List(ctx, Filter{Scope: s.scope, States: []State{Open, Approved}, Limit: 1000})
	if err != nil {
		return nil, err
	}
	now, err := s.store.Now(ctx)
	n := map[State]int{}
	for _, r := range list {
		n[r.AsOf(now).State]++
	}
	return n, err
}

// Usable finds an approved request that the person in ctx can send now: of one of these acts, about an object among
// ids. The first of the acts must be about an item among ids too.
func (s *Service) Usable(ctx context.Context, acts []api.ActKind, ids []string) (Request, bool, error) {
	list, err := s.List(ctx, Approved)
	for _, r := range list {
		item := r.Act.Item == "" || slices.Contains(ids, r.Act.Item) || r.Act.Kind != acts[0]
		if IsRequester(api.ActorOf(ctx), r) && slices.Contains(acts, r.Act.Kind) && slices.Contains(ids, r.Act.ID) && item {
			return r, true, nil
		}
	}
	return Request{}, false, err
}

// Recheck ends unused approvals whose approver, known at host, has lost their key or
// their role, and requests whose requester has lost theirs.
func (s *Service) Recheck(ctx context.Context, host string) error {
	list, err := s.store.List(ctx, Filter{Scope: s.scope, States: []State{Open, Approved}, Limit: 1000})
	for _, r := range list {
		why := s.lapseReason(host, r)
		if why == "" {
			continue
		}
		r, lapseErr := s.store.Decide(ctx, s.scope, r.ID, r.State,
			func(_ time.Time, r *Request) { r.State, r.Ended = Lapsed, why })
		switch {
		case errors.Is(lapseErr, ErrState):
		case lapseErr != nil:
			err = errors.Join(err, lapseErr)
		default:
			s.noteLapsed(ctx, r)
		}
	}
	return err
}

// lapseReason says why a request lapses early; "" if it does not.
func (s *Service) lapseReason(host string, r Request) string {
	if s.roleOf == nil {
		return ""
	}
	if r.Requester.Host == host {
		if _, err := s.roleOf(r.Requester); err != nil {
			return r.Requester.Name + " can no longer use it: " + err.Error()
		}
	}
	if r.State == Approved && r.Decider != nil && r.Decider.Host == host {
		if why := s.mayNoLonger(*r.Decider); why != nil {
			return why.Public
		}
	}
	return ""
}
