package approval

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"opdeck/api"
)

// Service handles requests and decisions for one context. It implements api.Approver.
type Service struct {
	store  Store
	audit  api.Auditor
	scope  string
	now    func() time.Time // for display only
	roleOf RoleLookup       // nil: no approval is valid
}

var _ api.Approver = (*Service)(nil)

// New returns the Service of one base URL and account; approvals are valid only for that pair. Requests expire by the
// store's clock. now is this host's clock for display; nil: time.Now.
func New(store Store, audit api.Auditor, baseURL, account string, now func() time.Time) *Service {
	if now == nil {
		now = time.Now
	}
	return &Service{store: store, audit: audit, scope: baseURL + " " + account, now: now}
}

const op = "approval"

// Check spends the approval of the act and returns its id. Without one it files
// a request, or finds the one that waits, and returns a refusal: RuleApproval
// (wait), RuleDenied, or RuleChanged when the content differs from what was
// asked about; the next attempt then files a new request. The same act with another
// reason is another request. Where ctx asks only (api.Consent), no approval is spent.
func (s *Service) Check(ctx context.Context, who api.Actor, act api.Act) (string, error) {
	if fold(who.Name) == "" {
		return "", refuse(api.RuleApproval, "You are not logged in as a person, so you cannot ask for approval.",
			"Start with a name: a person's own account, or an SSH key with name=….")
	}
	if err := s.lapse(ctx); err != nil {
		return "", unavailable(err)
	}
	var v verdict
	err := s.store.Update(ctx, s.scope, person(who).id(), target(act),
		func(now time.Time, known []Request) ([]Request, error) {
			v = s.evaluate(attempt{who, act, api.ConsentOf(ctx).AskOnly}, now, known)
			return v.changed, nil
		})
	if err != nil {
		return "", unavailable(err)
	}
	for i, r := range v.changed {
		if err := s.audit.Note(ctx, who, event(v.events[i], r)); err != nil && v.refusal == nil {
			_ = s.store.Settle(ctx, s.scope, v.id, api.Failed) // spent, but nothing is sent
			return "", notRecorded(err)
		}
	}
	if v.refusal != nil {
		return "", v.refusal
	}
	return v.id, nil
}

// verdict is the result of evaluate.
type verdict struct {
	id      string // of the spent approval
	refusal error
	changed []Request
	events  []string // one for each changed request
}

func (v *verdict) change(r Request, event string) {
	v.changed, v.events = append(v.changed, r), append(v.events, event)
}

// attempt is an act that someone wants to send, or to ask for only.
type attempt struct {
	who     api.Actor
	act     api.Act
	askOnly bool
}

// evaluate decides about an attempt at the store's time now. known are requests for the same
// target that were filed under the person's login name or user id, newest first.
func (s *Service) evaluate(a attempt, now time.Time, known []Request) (v verdict) {
	whole, content, here := a.act.Digest(), actDigest(a.act), s.now()
	other := "" // a request for the same act with another reason
	// The refusal is that a request with another reason has no known outcome. A denial of the same reason says more, and
	// two requests of one millisecond may be in either order.
	unclear := false
	undecided := func() bool { return v.id == "" && v.refusal == nil }
	for _, r := range known {
		if r = r.AsOf(now); !IsRequester(a.who, r) {
			continue
		}
		same, sameReason := actDigest(r.Act) == content, r.Digest == whole
		live := r.State == Open || r.State == Approved
		why := s.invalid(a.who, r)
		switch {
		case why != nil:
			r.State, r.Ended = Lapsed, why.Public
			v.change(r, "approval.lapsed")
			if undecided() && (sameReason || !same) {
				v.refusal = revoked(r)
			}
		case live && !same:
			r.State = Void
			v.change(r, "approval.void")
		case live && !sameReason:
			other = r.ID
		case r.State == Approved && undecided() && a.askOnly:
			v.refusal = approved(r.onHostClock(now, here))
		case r.State == Approved && undecided():
			r.State, r.Spent, v.id = Spent, now, r.ID
			v.change(r, "approval.spent")
		case r.State == Open && undecided():
			v.refusal = waiting(r.onHostClock(now, here), other)
		case r.State == Denied && sameReason && now.Before(r.Expires) && (undecided() || unclear):
			v.refusal, unclear = stillCounts(r.onHostClock(now, here)), false
		case undecided() && now.Before(r.Expires) &&
			r.State == Spent && same && (r.Verdict == "" || r.Verdict == api.Unclear):
			v.refusal, unclear = stillCounts(r.onHostClock(now, here)), !sameReason
		}
	}
	switch {
	case !undecided():
	case slices.Contains(v.events, "approval.void"):
		v.refusal = refuse(api.RuleChanged,
			"The object or the request changed after approval was asked for.",
			"The approval is void. Check the object; the next attempt asks for a new approval.")
	default:
		r := s.file(a.who, a.act, now)
		v.change(r, "approval.requested")
		v.refusal = waiting(r.onHostClock(now, here), other)
	}
	return v
}

// file makes a request. Its id is short enough to read out; the store refuses a duplicate.
func (s *Service) file(who api.Actor, act api.Act, now time.Time) Request {
	id := "r" + strings.ReplaceAll(uuid.Must(uuid.NewRandom()).String(), "-", "")[:11]
	return Request{ID: id, Scope: s.scope, State: Open, Act: act, Digest: act.Digest(), Target: target(act),
		Requester: person(who), Created: now, Expires: now.Add(Lifetime)}
}

// Settle records the outcome of the act.
func (s *Service) Settle(ctx context.Context, id string, out api.Outcome) error {
	if err := s.store.Settle(ctx, s.scope, id, out.Verdict); err != nil {
		return fmt.Errorf("approval %s: %w", id, err)
	}
	return nil
}

// lapse ends expired requests and records that.
func (s *Service) lapse(ctx context.Context) error {
	if api.Unrecorded(s.audit) != nil { // another process records it; until then it is shown as what it is
		return nil
	}
	gone, err := s.store.Lapse(ctx, s.scope)
	for _, r := range gone {
		s.noteLapsed(ctx, r)
	}
	return err
}

func (s *Service) noteLapsed(ctx context.Context, r Request) {
	_ = s.audit.Note(ctx, api.Actor{Name: "opdeck", Via: "service"}, event("approval.lapsed", r))
}

func event(name string, r Request) api.Event {
	return api.Event{Name: name, Object: r.Act.Object, ID: r.Act.ID, Detail: auditDetail(r)}
}

// Version increases with each change of any request, except by time alone.
func (s *Service) Version(ctx context.Context) (int64, error) { return s.store.Version(ctx) }

// auditDetail describes a request for the audit trail.
func auditDetail(r Request) string {
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

// waiting is the refusal while r is open. other is a request for the same act with another reason, "" for none.
func waiting(r Request, other string) error {
	e := refuse(api.RuleApproval, fmt.Sprintf("A second person must approve this (request %s). Nothing is sent yet.",
		r.ID),
		fmt.Sprintf("Ask a colleague to approve request %s before %s.", r.ID, clock(r.Expires)))
	if other != "" {
		e.Public += fmt.Sprintf(" Request %s for the same write has another reason and is not changed.", other)
	}
	e.Remedy = api.Remedy{Kind: api.AwaitApproval, ID: r.ID}
	return e
}

// approved is the refusal of an attempt that only asked, though r was approved meanwhile.
func approved(r Request) error {
	return refuse(api.RuleApproval, fmt.Sprintf("%s has approved this in the meantime (request %s). Nothing is sent yet.",
		r.Decider.Name, r.ID),
		fmt.Sprintf("Repeat it to send it, before %s.", clock(r.Expires)))
}

// stillCounts is the refusal while a denied or just spent request still counts.
func stillCounts(r Request) error {
	if r.State == Spent {
		return refuse(api.RuleApproval,
			fmt.Sprintf("Approval %s was used at %s for the same write, and its outcome is still unknown.", r.ID,
				clock(r.Spent)),
			fmt.Sprintf("Wait for the outcome, or check the object. You can ask for a new approval after %s.",
				clock(r.Expires)))
	}
	return refuse(api.RuleDenied, fmt.Sprintf("%s denied this (request %s)%s.", r.Decider.Name, r.ID, colon(r.Comment)),
		fmt.Sprintf("Ask them why. You can ask for approval again after %s.", clock(r.Expires)))
}

func colon(s string) string {
	if s == "" {
		return ""
	}
	return ": " + strings.TrimRight(s, ".")
}

func clock(t time.Time) string { return t.UTC().Format("15:04 UTC") }

// unavailable is the refusal if the requests cannot be read or written.
func unavailable(err error) error {
	return &api.Error{Op: op, Kind: api.Unavailable,
		Public: "opdeck cannot read or write approval requests, so it did nothing.",
		Hint:   "Check the disk or the database of the store.", Err: err}
}

func notRecorded(err error) error { return api.NotRecorded(op, "nothing was done", err) }

func missing(id string, err error) error {
	if errors.Is(err, ErrNotFound) {
		return &api.Error{Op: op, Kind: api.NotFound, Public: fmt.Sprintf("There is no request %q in this context.", id),
			Hint: "opdeck approval list shows the requests.", Err: err}
	}
	return unavailable(err)
}
