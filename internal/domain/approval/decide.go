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

// maxComment bounds a comment, in runes.
const maxComment = 500

// Approve lets the requester repeat the act once. The person in ctx needs api.MayApprove and must not be the
// requester. digest is that of the request as they saw it, or "" if they saw none; comment may be empty.
func (s *Service) Approve(ctx context.Context, id, digest, comment string) (Request, error) {
	return s.decide(ctx, id, digest, comment, Approved)
}

// Deny refuses a request; the requester sees the comment. The rules of Approve apply.
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
	if now, nowErr := s.store.Now(ctx); nowErr == nil { // else its times stay the store's
		r = r.onHostClock(now, s.now())
	}
	switch {
	case errors.Is(err, ErrState):
		refused(r, "%s wanted for %s, which was no longer open", to, id)
		return r, closed(r.AsOf(s.now()))
	case err != nil:
		return r, missing(id, err)
	case to == Denied: // a denial counts even if it cannot be recorded
		if err := s.audit.Note(ctx, who, decided); err != nil {
			return r, fmt.Errorf("the request is denied, but the audit trail could not be written: %w", err)
		}
	}
	return r, nil
}

// mayDecide checks the person and the request. It returns the request, as far as it is known.
func (s *Service) mayDecide(ctx context.Context, who api.Actor, id, digest string) (Request, error) {
	// decide records it; MayDecide is not an attempt
	if err := api.Need(api.WithTrail(ctx, nil), op, api.MayApprove); err != nil {
		return Request{}, err
	}
	if err := api.Unrecorded(s.audit); err != nil {
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
		return r, refuse(api.RuleChanged, "The request has changed since you read it.",
			"Open it again and read it.")
	}
	return r, nil
}

// closed says why a request can no longer be decided.
func closed(r Request) error {
	by := ""
	if r.Decider != nil && (r.State == Approved || r.State == Denied) {
		by = " by " + r.Decider.Name
	}
	return refuse(api.RuleApproval, fmt.Sprintf("Request %s is no longer open: it is %s%s.", r.ID, r.State, by),
		"To ask again, the requester repeats the write.")
}

// Show returns one request, or an api.Error of kind NotFound. The person in ctx needs api.MayRead.
func (s *Service) Show(ctx context.Context, id string) (Request, error) {
	if err := api.Need(ctx, op, api.MayRead); err != nil {
		return Request{}, err
	}
	r, err := s.get(ctx, id)
	return shownTo(ctx, r), err
}

// get returns a request with its state by the store's clock and its times by this host's.
func (s *Service) get(ctx context.Context, id string) (Request, error) {
	r, err := s.store.Get(ctx, s.scope, id)
	if err != nil {
		return Request{}, missing(id, err)
	}
	now, err := s.store.Now(ctx)
	if err != nil {
		return Request{}, unavailable(err)
	}
	return r.AsOf(now).onHostClock(now, s.now()), nil
}

// List returns requests, newest first, in the given states or, without any, in all. The person in ctx needs
// api.MayRead.
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
		list[i] = shownTo(ctx, list[i].onHostClock(now, here))
	}
	return list, nil
}

// shownTo is the request as the person in ctx may see it. With a digest someone could guess what is masked.
func shownTo(ctx context.Context, r Request) Request {
	out := mask.For(ctx, r)
	out.ID, out.Digest, out.Target, out.Act.Seen, out.Act.SecretDigest = r.ID, r.Digest, r.Target, r.Act.Seen,
		r.Act.SecretDigest // part of a digest can look like an account number
	if mask.Barred(ctx) {
		out.Digest, out.Target, out.Act.Seen, out.Act.SecretDigest = "", "", "", ""
	}
	return out
}

// MayDecide returns the reason why the person in ctx cannot decide r, nil if they can. Screens use it to explain a
// disabled key.
func (s *Service) MayDecide(ctx context.Context, r Request) error {
	_, err := s.mayDecide(ctx, api.ActorOf(ctx), r.ID, r.Digest)
	return err
}
