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
func (d *Desk) Approve(ctx context.Context, id, digest, comment string) (Request, error) {
	return d.decide(ctx, id, digest, comment, Approved)
}

// Deny refuses a request; comment says why and is shown to the requester. The
// same rules as for Approve hold.
func (d *Desk) Deny(ctx context.Context, id, digest, comment string) (Request, error) {
	return d.decide(ctx, id, digest, comment, Denied)
}

func (d *Desk) decide(ctx context.Context, id, digest, comment string, to State) (Request, error) {
	who := api.ActorOf(ctx)
	r, err := d.mayDecide(ctx, who, id, digest)
	if err != nil {
		_ = d.audit.Note(ctx, who, api.Event{Name: "approval.refused", Object: r.Act.Object, ID: r.Act.ID,
			Detail: fmt.Sprintf("%s wanted for %q: %s", to, id, api.AsError(err).Public)})
		return r, err
	}
	me := person(who)
	comment, _ = untrusted.Clean(comment, maxComment)
	event := api.Event{Name: "approval." + string(to), Object: r.Act.Object, ID: r.Act.ID}
	r.Decider, r.Comment = &me, comment
	event.Detail = tell(r)
	if to == Approved { // recorded first: no approval without a record
		if err := d.audit.Note(ctx, who, event); err != nil {
			return r, untold(err)
		}
	}
	r, err = d.store.Decide(ctx, d.scope, id, Open, func(now time.Time, r *Request) {
		r.State, r.Decider, r.Decided, r.Comment = to, &me, now, comment
	})
	now, e := d.store.Now(ctx)
	if e != nil { // the times only serve display now
		now = d.now()
	}
	r = r.told(now, d.now())
	switch {
	case errors.Is(err, ErrState):
		_ = d.audit.Note(ctx, who, api.Event{Name: "approval.refused", Object: r.Act.Object, ID: r.Act.ID,
			Detail: fmt.Sprintf("%s wanted for %s, which was no longer open", to, id)})
		return r, closed(r.at(d.now()))
	case err != nil:
		return r, missing(id, err)
	case to == Denied: // a denial counts even when nobody can write it down
		if err := d.audit.Note(ctx, who, event); err != nil {
			return r, fmt.Errorf("the request is denied, but the audit trail could not be written: %w", err)
		}
	}
	return r, nil
}

// mayDecide checks the person and the request. It returns the request as far as
// it is known.
func (d *Desk) mayDecide(ctx context.Context, who api.Actor, id, digest string) (Request, error) {
	if err := api.Need(api.WithTrail(ctx, nil), op, api.MayApprove); err != nil { // decide records it; MayDecide is no attempt
		return Request{}, err
	}
	if err := d.lapse(ctx); err != nil {
		return Request{}, broken(err)
	}
	r, err := d.get(ctx, id)
	if err != nil {
		return Request{}, err
	}
	switch {
	case Bars(who, r.Requester) != nil:
		return r, Bars(who, r.Requester)
	case r.State != Open:
		return r, closed(r)
	case digest != "" && digest != r.Digest:
		return r, refuse(api.RuleChanged, "This is not the request that you looked at.", "Open it again and look at what it says now.")
	}
	return r, nil
}

// closed explains why a request cannot be decided any more.
func closed(r Request) error {
	by := ""
	if r.Decider != nil && (r.State == Approved || r.State == Denied) {
		by = " by " + r.Decider.Name
	}
	return refuse(api.RuleApproval, fmt.Sprintf("Request %s is not open any more: it is %s%s.", r.ID, r.State, by),
		"The requester can ask again by repeating the act.")
}

// Show returns one request. The person in ctx needs api.MayRead.
func (d *Desk) Show(ctx context.Context, id string) (Request, error) {
	if err := api.Need(ctx, op, api.MayRead); err != nil {
		return Request{}, err
	}
	r, err := d.get(ctx, id)
	return mask.For(ctx, r), err
}

// get returns a request as it stands by the store's clock, told by this host's.
func (d *Desk) get(ctx context.Context, id string) (Request, error) {
	r, err := d.store.Get(ctx, d.scope, id)
	if err != nil {
		return Request{}, missing(id, err)
	}
	now, err := d.store.Now(ctx)
	if err != nil {
		return Request{}, broken(err)
	}
	return r.at(now).told(now, d.now()), nil
}

// List returns the newest requests first; only those in the given states when
// there are any. The person in ctx needs api.MayRead.
func (d *Desk) List(ctx context.Context, states ...State) ([]Request, error) {
	if err := api.Need(ctx, op, api.MayRead); err != nil {
		return nil, err
	}
	if err := d.lapse(ctx); err != nil {
		return nil, broken(err)
	}
	list, err := d.store.List(ctx, Filter{Scope: d.scope, States: states, Limit: 200})
	if err != nil {
		return nil, broken(err)
	}
	now, err := d.store.Now(ctx)
	if err != nil {
		return nil, broken(err)
	}
	for i, here := 0, d.now(); i < len(list); i++ {
		list[i] = list[i].told(now, here)
	}
	return mask.For(ctx, list), nil
}

// MayDecide reports why the person in ctx cannot decide about r, nil when they
// can: for keys and buttons that say why they are off.
func (d *Desk) MayDecide(ctx context.Context, r Request) error {
	_, err := d.mayDecide(ctx, api.ActorOf(ctx), r.ID, r.Digest)
	return err
}
