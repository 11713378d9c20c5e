package approval

import (
	"context"
	"errors"
	"fmt"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
)

// maxComment bounds a comment, in characters.
const maxComment = 500

// Approve lets the requester repeat the act, once. The person in ctx needs
// api.MayApprove and must be another one than the requester. digest is that of
// the request which they looked at, or "" when they looked at nothing in
// particular; comment may be empty.
func (s *Service) Approve(ctx context.Context, id, digest, comment string) (Request, error) {
	return s.decide(ctx, id, digest, comment, Approved)
}

// Deny refuses a request; comment says why and is shown to the requester. The
// same rules as for Approve hold.
func (s *Service) Deny(ctx context.Context, id, digest, comment string) (Request, error) {
	return s.decide(ctx, id, digest, comment, Denied)
}

func (s *Service) decide(ctx context.Context, id, digest, comment string, to State) (Request, error) {
	who := api.ActorOf(ctx)
	refused := func(r Request, format string, args ...any) {
		_ = s.audit.Note(ctx, who,
			api.Event{Name: "approval.refused", Object: r.Act.Object, ID: r.Act.ID, Detail: fmt.Sprintf(format, args...)})
	}
	r, err := s.mayDecide(ctx, who, id, digest)
	if err != nil {
		refused(r, "%s wanted for %q: %s", to, id, api.AsError(err).Public)
		return r, err
	}
	me := person(who)
	comment, _ = untrusted.Clean(comment, maxComment)
	r.Decider, r.Comment = &me, comment
	decided := event("approval."+string(to), r)
	if to == Approved { // recorded first: no approval without a record
		if err := s.audit.Note(ctx, who, decided); err != nil {
			return r, notRecorded(err)
		}
	}
	r, err = s.store.Decide(ctx, s.scope, id, Open, func(now time.Time, r *Request) {
		r.State, r.Decider, r.Decided, r.Comment = to, &me, now, comment
	})
	if now, nowErr := s.store.Now(ctx); nowErr == nil { // else its times are as the store has them
		r = r.onHostClock(now, s.now())
	}
	switch {
	case errors.Is(err, ErrState):
		refused(r, "%s wanted for %s, which was no longer open", to, id)
		return r, closed(r.asOf(s.now()))
	case err != nil:
		return r, missing(id, err)
	case to == Denied: // a denial counts even when nobody can write it down
		if err := s.audit.Note(ctx, who, decided); err != nil {
			return r, fmt.Errorf("the request is denied, but the audit trail could not be written: %w", err)
		}
	}
	return r, nil
}

// mayDecide checks the person and the request. It returns the request as far as
// it is known.
func (s *Service) mayDecide(ctx context.Context, who api.Actor, id, digest string) (Request, error) {
	// decide records it; MayDecide is not an attempt
	if err := api.Need(api.WithTrail(ctx, nil), op, api.MayApprove); err != nil {
		return Request{}, err
	}
	if err := s.lapse(ctx); err != nil {
		return Request{}, unavailable(err)
	}
	r, err := s.get(ctx, id)
	if err != nil {
		return Request{}, err
	}
	switch {
	case WhyNotSecond(who, r.Requester) != nil:
		return r, WhyNotSecond(who, r.Requester)
	case r.State != Open:
		return r, closed(r)
	case digest != "" && digest != r.Digest:
		return r, refuse(api.RuleChanged, "The request is not the one that you read.",
			"Open it again and read it.")
	}
	return r, nil
}

// closed explains why a request cannot be decided any more.
func closed(r Request) error {
	by := ""
	if r.Decider != nil && (r.State == Approved || r.State == Denied) {
		by = " by " + r.Decider.Name
	}
	return refuse(api.RuleApproval, fmt.Sprintf("Request %s is no longer open: it is %s%s.", r.ID, r.State, by),
		"The requester can try again to ask anew.")
}

// Show returns one request. The person in ctx needs api.MayRead.
func (s *Service) Show(ctx context.Context, id string) (Request, error) {
	if err := api.Need(ctx, op, api.MayRead); err != nil {
		return Request{}, err
	}
	r, err := s.get(ctx, id)
	return mask.For(ctx, r), err
}

// get returns a request as it stands by the store's clock, told by this host's.
func (s *Service) get(ctx context.Context, id string) (Request, error) {
	r, err := s.store.Get(ctx, s.scope, id)
	if err != nil {
		return Request{}, missing(id, err)
	}
	now, err := s.store.Now(ctx)
	if err != nil {
		return Request{}, unavailable(err)
	}
	return r.asOf(now).onHostClock(now, s.now()), nil
}

// List returns the newest requests first; only those in the given states when
// there are any. The person in ctx needs api.MayRead.
func (s *Service) List(ctx context.Context, states ...State) ([]Request, error) {
	if err := api.Need(ctx, op, api.MayRead); err != nil {
		return nil, err
	}
	if err := s.lapse(ctx); err != nil {
		return nil, unavailable(err)
	}
	list, err := s.store.List(ctx, Filter{Scope: s.scope, States: states, Limit: 200})
	if err != nil {
		return nil, unavailable(err)
	}
	now, err := s.store.Now(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	for i, here := 0, s.now(); i < len(list); i++ {
		list[i] = list[i].onHostClock(now, here)
	}
	return mask.For(ctx, list), nil
}

// MayDecide reports why the person in ctx cannot decide about r, nil when they
// can: for keys and buttons that say why they are off.
func (s *Service) MayDecide(ctx context.Context, r Request) error {
	_, err := s.mayDecide(ctx, api.ActorOf(ctx), r.ID, r.Digest)
	return err
}
