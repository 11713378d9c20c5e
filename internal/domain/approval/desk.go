package approval

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"opdeck/api"
)

// Desk takes requests and decisions for one context. It implements
// api.Approver.
type Desk struct {
	store Store
	audit api.Auditor
	scope string
	now   func() time.Time // for people only
	judge Judge            // nil: nobody's word counts
}

var _ api.Approver = (*Desk)(nil)

// New returns the desk for a service and an account: approvals of one pair are
// worth nothing at another. What lapses, lapses by the store's clock; now is this
// host's, by which people are told times, nil for time.Now.
func New(store Store, audit api.Auditor, baseURL, account string, now func() time.Time) *Desk {
	if now == nil {
		now = time.Now
	}
	return &Desk{store: store, audit: audit, scope: baseURL + " " + account, now: now}
}

const op = "approval"

// Check spends the approval of the act and returns its id. Without one it files
// a request, or finds the one that waits, and returns a refusal: RuleApproval
// (wait), RuleDenied, or RuleChanged when the content differs from what was
// asked about; the next attempt then files a new request.
func (d *Desk) Check(ctx context.Context, who api.Actor, act api.Act) (string, error) {
	if fold(who.Name) == "" {
		return "", refuse(api.RuleApproval, "Nobody is signed in, so nobody can be asked to approve.", "Start with a name: a person's own account, or an SSH key with name=….")
	}
	if err := d.lapse(ctx); err != nil {
		return "", broken(err)
	}
	var v verdict
	err := d.store.Update(ctx, d.scope, person(who).id(), target(act), func(now time.Time, known []Request) ([]Request, error) {
		v = d.weigh(who, act, now, known)
		return v.changed, nil
	})
	if err != nil {
		return "", broken(err)
	}
	for i, r := range v.changed {
		e := api.Event{Name: v.events[i], Object: r.Act.Object, ID: r.Act.ID, Detail: tell(r)}
		if err := d.audit.Note(ctx, who, e); err != nil && v.refusal == nil {
			_ = d.store.Settle(ctx, d.scope, v.id, api.Failed) // spent, and nothing is sent
			return "", untold(err)
		}
	}
	if v.refusal != nil {
		return "", v.refusal
	}
	return v.id, nil
}

// verdict is what Check finds in the requests for one target.
type verdict struct {
	id      string // of the approval that is spent
	refusal error
	changed []Request
	events  []string // one for each changed request
}

func (v *verdict) change(r Request, event string) {
	v.changed, v.events = append(v.changed, r), append(v.events, event)
}

// weigh decides about an act at the store's time now. known are requests for the same
// target that were filed under who's login name or user id, newest first.
func (d *Desk) weigh(who api.Actor, act api.Act, now time.Time, known []Request) (v verdict) {
	digest, here := act.Digest(), d.now()
	for _, r := range known {
		if r = r.at(now); !Asked(who, r) {
			continue
		}
		same := r.Digest == digest
		why := d.spoiled(who, r)
		switch {
		case why != nil:
			r.State, r.Ended = Lapsed, why.Public
			v.change(r, "approval.lapsed")
			v.refusal = lost(r)
		case (r.State == Open || r.State == Approved) && !same:
			r.State = Void
			v.change(r, "approval.void")
		case r.State == Approved && v.id == "" && v.refusal == nil:
			r.State, r.Spent, v.id = Spent, now, r.ID
			v.change(r, "approval.spent")
		case r.State == Open && v.id == "" && v.refusal == nil:
			v.refusal = waiting(r.told(now, here))
		case same && v.id == "" && v.refusal == nil && now.Before(r.Expires) && (r.State == Denied || r.State == Spent && (r.Verdict == "" || r.Verdict == api.Unclear)):
			v.refusal = over(r.told(now, here))
		}
	}
	switch {
	case v.id != "" || v.refusal != nil:
	case len(v.changed) > 0:
		v.refusal = refuse(api.RuleChanged, "This is not what approval was asked for: the object, or the request itself, has changed since.",
			"The approval is void. Look again; the next attempt asks for a new one.")
	default:
		r := d.file(who, act, now)
		v.change(r, "approval.requested")
		v.refusal = waiting(r.told(now, here))
	}
	return v
}

// file makes a request. The id is short enough to be read out; the store
// refuses one that is taken.
func (d *Desk) file(who api.Actor, act api.Act, now time.Time) Request {
	id := "r" + strings.ReplaceAll(uuid.Must(uuid.NewRandom()).String(), "-", "")[:11]
	return Request{ID: id, Scope: d.scope, State: Open, Act: act, Digest: act.Digest(), Target: target(act),
		Requester: person(who), Created: now, Expires: now.Add(Lifetime)}
}

// Settle notes what became of the act.
func (d *Desk) Settle(ctx context.Context, id string, out api.Outcome) error {
	if err := d.store.Settle(ctx, d.scope, id, out.Verdict); err != nil {
		return fmt.Errorf("approval %s: %w", id, err)
	}
	return nil
}

// lapse ends what has run out of time, and records it.
func (d *Desk) lapse(ctx context.Context) error {
	gone, err := d.store.Lapse(ctx, d.scope)
	for _, r := range gone {
		_ = d.audit.Note(ctx, api.Actor{Name: "opdeck", Via: "service"},
			api.Event{Name: "approval.lapsed", Object: r.Act.Object, ID: r.Act.ID, Detail: tell(r)})
	}
	return err
}

// tell is what the trail keeps of a request.
func tell(r Request) string {
	s := fmt.Sprintf("approval %s of %s for %s, act %s", r.ID, r.Act.Kind, r.Requester, r.Digest)
	if r.Decider != nil {
		s += ", decided by " + r.Decider.String()
	}
	if r.Ended != "" {
		s += ", " + r.Ended
	}
	if r.Act.Item != "" {
		s += ", item " + r.Act.Item
	}
	if r.Comment != "" {
		s += ": " + r.Comment
	}
	return s
}

func refuse(rule api.Rule, public, hint string) *api.Error {
	return &api.Error{Op: op, Kind: api.Refused, Rule: rule, Public: public, Hint: hint}
}

func waiting(r Request) error {
	return refuse(api.RuleApproval, fmt.Sprintf("A second person must approve this first: request %s.", r.ID),
		fmt.Sprintf("Ask a colleague to look at request %s before %s, then repeat the act as it is.", r.ID, clock(r.Expires)))
}

// over is the refusal while a denied or just spent request still counts.
func over(r Request) error {
	if r.State == Spent {
		return refuse(api.RuleApproval, fmt.Sprintf("Approval %s was used at %s for this same act, and its outcome is not known yet.", r.ID, clock(r.Spent)),
			fmt.Sprintf("Wait for the outcome, or read the object again. A new approval can be asked for after %s.", clock(r.Expires)))
	}
	return refuse(api.RuleDenied, fmt.Sprintf("%s denied this (request %s)%s.", r.Decider.Name, r.ID, colon(r.Comment)),
		fmt.Sprintf("Speak with them. The same act can be asked for again after %s.", clock(r.Expires)))
}

func colon(s string) string {
	if s == "" {
		return ""
	}
	return ": " + strings.TrimRight(s, ".")
}

func clock(t time.Time) string { return t.UTC().Format("15:04 UTC") }

// broken is the refusal when the requests cannot be read or written.
func broken(err error) error {
	return &api.Error{Op: op, Kind: api.Unavailable, Public: "The requests for approval cannot be read or written, so nothing was done.",
		Hint: "Look at the disk or the database of the store.", Err: err}
}

func untold(err error) error {
	return &api.Error{Op: op, Kind: api.Refused, Rule: api.RuleAudit, Public: "The audit trail cannot be written, so nothing was done.",
		Hint: "Look at the disk or the database of the store; reading goes on.", Err: err}
}

func missing(id string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return &api.Error{Op: op, Kind: api.NotFound, Public: fmt.Sprintf("There is no request %q here.", id), Hint: "approval list shows those of this context.", Err: err}
	}
	return broken(err)
}
