// Package approval requires a second person for writes in contexts that are configured so. The first attempt files a
// request; another person, with another name and another key, approves or denies it; the requester then repeats the
// same act, which spends the approval.
//
// An approval is bound to the exact act: kind, request, object, the content that the requester saw, lifted guards and
// the reason. If the object has changed when the requester repeats the act, the approval is void; the same act with
// another reason is another request. Requests expire after 30 minutes.
//
// This is a control of opdeck, not of the service: anyone with the account's password can call the service without
// it.
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
	"opdeck/api/limit"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
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
	made := attempt{who, act, api.ConsentOf(ctx).AskOnly, s.now()}
	err := s.store.Update(ctx, s.scope, person(who).id(), target(act),
		func(now time.Time, known []Request) ([]Request, error) {
			v = s.evaluate(made, now, known)
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
	at      time.Time // by this host's clock
}

// evaluate decides about an attempt at the store's time now. known are requests for the same
// target that were filed under the person's login name or user id, newest first.
func (s *Service) evaluate(a attempt, now time.Time, known []Request) (v verdict) {
	whole, content, ahead := a.act.Digest(), actDigest(a.act), limit.Apart(now, a.at, s.now())
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
			v.refusal = approved(r.onHostClock(ahead))
		case r.State == Approved && undecided():
			r.State, r.Spent, v.id = Spent, now, r.ID
			v.change(r, "approval.spent")
		case r.State == Open && undecided():
			v.refusal = waiting(r.onHostClock(ahead), other)
		case r.State == Denied && sameReason && now.Before(r.Expires) && (undecided() || unclear):
			v.refusal, unclear = stillCounts(r.onHostClock(ahead)), false
		case undecided() && now.Before(r.Expires) &&
			r.State == Spent && same && (r.Verdict == "" || r.Verdict == api.Unclear):
			v.refusal, unclear = stillCounts(r.onHostClock(ahead)), !sameReason
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
		v.refusal = waiting(r.onHostClock(ahead), other)
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
	if _, ahead, clockErr := s.clock(ctx); clockErr == nil { // else its times stay the store's
		r = r.onHostClock(ahead)
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
	now, ahead, err := s.clock(ctx)
	if err != nil {
		return Request{}, unavailable(err)
	}
	return r.AsOf(now).onHostClock(ahead), nil
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
	_, ahead, err := s.clock(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	for i := range list {
		list[i] = shownTo(ctx, list[i].onHostClock(ahead))
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

// Lifetime is how long after its filing a request can be used, approved or not.
const Lifetime = 30 * time.Minute

// State is the state of a request.
type State string

// The states.
const (
	Open     State = "open"     // waiting for another person
	Approved State = "approved" // the requester may repeat the act
	Denied   State = "denied"
	Lapsed   State = "lapsed" // expired
	Spent    State = "spent"  // the act went through the gate
	Void     State = "void"   // the act was repeated after its object or its content changed
)

// Request is a write that needs, or had, an approval.
type Request struct {
	ID        string      `json:"id"`
	Scope     string      `json:"scope"` // base_url and account
	State     State       `json:"state"`
	Act       api.Act     `json:"act"`
	Digest    string      `json:"digest"` // of the act, with the content seen
	Target    string      `json:"target"` // identifies the object of the act, without its content
	Requester Person      `json:"requester"`
	Created   time.Time   `json:"created"`
	Expires   time.Time   `json:"expires"`
	Decider   *Person     `json:"decider,omitempty"`
	Decided   time.Time   `json:"decided,omitzero"`
	Comment   string      `json:"comment,omitempty"`
	Spent     time.Time   `json:"spent,omitzero"`
	Ended     string      `json:"ended,omitempty"`   // why it lapsed early
	Verdict   api.Verdict `json:"verdict,omitempty"` // outcome of the act
}

// actDigest identifies an act whatever its reason.
func actDigest(a api.Act) string {
	a.Reason = ""
	return a.Digest()
}

// target identifies what an act is about, whatever the content of the object
// and of the request.
func target(a api.Act) string {
	t := api.Act{Kind: a.Kind, Method: a.Method, Path: a.Path, Object: a.Object, ID: a.ID, Item: a.Item}
	if t.Item == "" {
		t.Item = a.Name
	}
	return t.Digest()
}

// LimitTimes cuts times that are implausibly far ahead: the store's clock was set back, or a host's own clock wrote
// them. It reports whether it changed anything.
func (r *Request) LimitTimes(now time.Time) bool {
	if !r.Expires.After(now.Add(Lifetime)) {
		return false
	}
	r.Expires = now.Add(Lifetime)
	if r.Created.After(now) {
		r.Created = now
	}
	return true
}

// clock returns the store's time, and how far that clock is ahead of this host's.
func (s *Service) clock(ctx context.Context) (now time.Time, ahead time.Duration, err error) {
	before := s.now()
	now, err = s.store.Now(ctx)
	return now, limit.Apart(now, before, s.now()), err
}

// onHostClock returns the request for display on this host, which is that far behind the store's clock.
func (r Request) onHostClock(ahead time.Duration) Request {
	for _, t := range []*time.Time{&r.Created, &r.Expires, &r.Decided, &r.Spent} {
		*t = limit.Moved(*t, ahead)
	}
	return r
}

// AsOf returns the request at a time: it may have expired by then.
func (r Request) AsOf(now time.Time) Request {
	if r.Waits() && !now.Before(r.Expires) {
		r.State = Lapsed
	}
	return r
}

// Waits reports whether time can end the request.
func (r Request) Waits() bool { return r.State == Open || r.State == Approved }

// ErrNotFound: there is no such request.
var ErrNotFound = errors.New("approval: no such request")

// ErrState: the request is no longer in the required state, because of a concurrent change.
var ErrState = errors.New("approval: the request is not in that state any more")

// Filter selects requests.
type Filter struct {
	Scope  string  // required
	States []State // empty: all
	Limit  int     // newest first; 0 means 100
}

// Store keeps requests. Each change increases the version. All times are the store's, so that hosts need not agree
// about the time; times implausibly far ahead are cut (session protocol, rule G3).
type Store interface {
	// Now is the store's clock.
	Now(ctx context.Context) (time.Time, error)
	// Update calls change, in one transaction, with the time and the newest requests
	// of that scope, requester and target (at most 100), and stores those it returns:
	// new ones are added, known ones replaced. No other Update or Decide runs beside it.
	Update(ctx context.Context, scope, requester, target string,
		change func(now time.Time, known []Request) ([]Request, error)) error
	// Decide changes a request that is in state from and has not expired; else ErrState, or ErrNotFound if there is
	// none.
	Decide(ctx context.Context, scope, id string, from State, change func(now time.Time, r *Request)) (Request, error)
	// Lapse sets the state of expired requests to Lapsed and returns them.
	Lapse(ctx context.Context, scope string) ([]Request, error)
	// Settle records the outcome of a spent request.
	Settle(ctx context.Context, scope, id string, v api.Verdict) error
	// Get returns one request, or ErrNotFound.
	Get(ctx context.Context, scope, id string) (Request, error)
	// List returns the newest requests first.
	List(ctx context.Context, f Filter) ([]Request, error)
	// Version increases with each change; it is cheap to read.
	Version(ctx context.Context) (int64, error)
}
