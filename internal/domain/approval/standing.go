package approval

import (
	"context"
	"errors"
	"time"

	"opdeck/api"
)

// Judge says what keeps a person from being who they were when they asked or
// decided: a key that was removed, a certificate that was revoked or has expired.
// now is the role that they have today. The error is for people.
type Judge func(p Person) (now api.Role, err error)

// SetJudge names who knows the people. It must be called before anything else;
// without it no approval counts.
func (d *Desk) SetJudge(j Judge) { d.judge = j }

// mayStill says why a person may not approve any more, nil when they may.
func (d *Desk) mayStill(p Person) *api.Error {
	if d.judge == nil {
		return refuse(api.RuleRole, p.Name+" cannot be looked up here", "")
	}
	switch role, err := d.judge(p); {
	case err != nil:
		return refuse(api.RuleRole, p.Name+" may not approve any more: "+err.Error(), "")
	case !role.May(api.MayApprove):
		return refuse(api.RuleRole, p.Name+" may not approve any more: their role is "+string(role)+" now", "")
	}
	return nil
}

// spoiled says why an approval of who's does not count any more, nil when it does
// or when there is none.
func (d *Desk) spoiled(who api.Actor, r Request) *api.Error {
	if r.State != Approved || r.Decider == nil {
		return nil
	}
	if err := Bars(who, *r.Decider); err != nil {
		return refuse(api.RuleRole, r.Decider.Name+" does not count as a second person: "+err.Public, "")
	}
	return d.mayStill(*r.Decider)
}

// lost is the refusal when the approval of r does not count any more.
func lost(r Request) error {
	return refuse(api.RuleApproval, "Approval "+r.ID+" does not count any more. "+r.Ended+".", "Repeat the act: that asks for a new approval.")
}

// Waiting counts the requests that are open, and those that were approved and not
// used yet, by state; 1000 at most.
func (d *Desk) Waiting(ctx context.Context) (map[State]int, error) {
	list, err := d.store.List(ctx, Filter{Scope: d.scope, States: []State{Open, Approved}, Limit: 1000})
	if err != nil {
		return nil, err
	}
	now, err := d.store.Now(ctx)
	n := map[State]int{}
	for _, r := range list {
		n[r.at(now).State]++
	}
	return n, err
}

// Recheck ends what rests on somebody who is known at host and has lost the key or
// the role that it rests on: approvals that were not used yet, and requests of keys
// that are gone.
func (d *Desk) Recheck(ctx context.Context, host string) error {
	list, err := d.store.List(ctx, Filter{Scope: d.scope, States: []State{Open, Approved}, Limit: 1000})
	for _, r := range list {
		why := d.fallen(host, r)
		if why == "" {
			continue
		}
		r, lapseErr := d.store.Decide(ctx, d.scope, r.ID, r.State, func(_ time.Time, r *Request) { r.State, r.Ended = Lapsed, why })
		switch {
		case errors.Is(lapseErr, ErrState):
		case lapseErr != nil:
			err = errors.Join(err, lapseErr)
		default:
			_ = d.audit.Note(ctx, api.Actor{Name: "opdeck", Via: "service"},
				api.Event{Name: "approval.lapsed", Object: r.Act.Object, ID: r.Act.ID, Detail: tell(r)})
		}
	}
	return err
}

// fallen says why a request ends before its time; "" when it does not.
func (d *Desk) fallen(host string, r Request) string {
	if d.judge == nil {
		return ""
	}
	if r.Requester.Host == host {
		if _, err := d.judge(r.Requester); err != nil {
			return r.Requester.Name + " cannot use it any more: " + err.Error()
		}
	}
	if r.State == Approved && r.Decider != nil && r.Decider.Host == host {
		if why := d.mayStill(*r.Decider); why != nil {
			return why.Public
		}
	}
	return ""
}
