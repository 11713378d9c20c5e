package api

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"opdeck/api/evidence"
)

// Act is one write, exactly as it would be sent. It holds no secret: dots replace secrets in Body, and SecretDigest
// binds the act to them.
type Act struct {
	Kind    ActKind         `json:"kind"`
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	Body    json.RawMessage `json:"body,omitempty"`
	Object  string          `json:"object"`            // "operation" or "customer"; "session" for our own
	ID      string          `json:"id"`                // its opid or cuid
	Item    string          `json:"item,omitempty"`    // document guid
	Name    string          `json:"name,omitempty"`    // the item's display name, safe to draw
	Summary string          `json:"summary,omitempty"` // one sentence, safe to draw
	Reason  string          `json:"reason,omitempty"`
	Subject Subject         `json:"subject,omitzero"`
	Lifted  []Rule          `json:"lifted,omitempty"` // guards of the console that --force lifts here
	// Seen is the digest of what the person saw of the object when they decided.
	Seen string `json:"seen,omitempty"`
	// SecretDigest is the keyed digest of a secret (Client.SecretDigest), or the SHA-256 of a file, that Body does not
	// show.
	SecretDigest string `json:"secret_digest,omitempty"`
}

// Digest identifies the act: same kind, request, object, content seen, lifted guards and reason.
func (a Act) Digest() string {
	a.Summary, a.Name = "", ""
	b, err := json.Marshal(a)
	if err != nil { // Body comes from json.Marshal, so it is valid
		panic(fmt.Sprintf("api: act cannot be encoded: %v", err))
	}
	return HashHex(b)
}

// HashHex is the SHA-256 of b in hex.
func HashHex(b []byte) string { s := sha256.Sum256(b); return hex.EncodeToString(s[:]) }

// Verdict is the outcome of a write in a word.
type Verdict string

// The verdicts.
const (
	Done    Verdict = "done"     // the request's own answer says so, alone or with a read
	Seen    Verdict = "seen"     // a read shows the wanted state; the request has no answer and may still arrive
	Denied  Verdict = "refused"  // the service said no
	Failed  Verdict = "failed"   // nothing was sent
	Unclear Verdict = "unknown"  // sent, and nothing proves the outcome yet
	NotSeen Verdict = "not_seen" // the wanted state did not show in time; the write may still have been done
)

// Outcome is the outcome of a write, for the audit trail.
type Outcome struct {
	Verdict   Verdict       `json:"verdict"`
	Status    int           `json:"status,omitempty"`
	Rule      Rule          `json:"rule,omitempty"`
	Detail    string        `json:"detail,omitempty"` // safe text
	RequestID string        `json:"request_id,omitempty"`
	After     string        `json:"after,omitempty"` // digest of the object in the answer
	Took      time.Duration `json:"took_ns,omitempty"`
	Found     string        `json:"found,omitempty"` // id of the object that the write created
	Looked    time.Time     `json:"looked,omitzero"` // for unknown: the last time that it was looked up

	Why evidence.Conclusion `json:"why,omitzero"`
}

// Event is an audited event that is not a write: a denied attempt, a reveal, an export, a login, a reload.
type Event struct {
	Name   string `json:"name"`
	Object string `json:"object,omitempty"`
	ID     string `json:"id,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Auditor keeps the audit trail. Intent is durable when it returns nil.
type Auditor interface {
	Intent(ctx context.Context, who Actor, act Act) (ref string, err error)
	Outcome(ctx context.Context, ref string, out Outcome) error
	Note(ctx context.Context, who Actor, e Event) error
}

// Unrecorded is why trail can record nothing at all, nil if it can: what must be recorded is refused with it before
// anything is asked or sent. An Auditor that knows such a reason has a method Unrecorded.
func Unrecorded(trail Auditor) error {
	if t, is := trail.(interface{ Unrecorded() error }); is {
		return t.Unrecorded()
	}
	return nil
}

// NotRecorded is the refusal of op because the trail could not be written; undone says what was not done. A cause that
// is such a refusal itself is returned as it is.
func NotRecorded(op, undone string, err error) error {
	if e := (*Error)(nil); errors.As(err, &e) && e.Rule == RuleAudit {
		return e
	}
	return &Error{Op: op, Kind: Refused, Rule: RuleAudit, Public: "The audit trail cannot be written, so " + undone + ".",
		Remedy: Remedy{Kind: CheckStore}, Err: err}
}

// Approver requires a second person. Check spends an approval that matches the act's digest and returns its id.
// Without one it files a request (or finds the open one) and returns a refusal with RuleApproval, RuleDenied or
// RuleChanged.
type Approver interface {
	Check(ctx context.Context, who Actor, act Act) (id string, err error)
	Settle(ctx context.Context, id string, out Outcome) error
}

// Pending is a write that is about to leave, kept until its outcome is known.
type Pending struct {
	Ref      string // of the intent in the audit trail
	Act      Act
	Who      Actor
	Approval string // id of the approval, "" for none
	Probe    Probe
	Claim    string    // see WriteRule.Claim
	Date     time.Time // by the service's clock; zero: not known
}

// Follower keeps writes across processes until they are settled.
type Follower interface {
	// Sending stores a write before it leaves, and returns the one that holds its claim: p, which is then durable, or
	// another one, and nothing was stored. Of concurrent calls in all processes, one is stored.
	Sending(ctx context.Context, p Pending) (*Doubt, error)
	// Ended takes the outcome: a write without an answer of its own is followed up, any other is dropped.
	Ended(ctx context.Context, ref string, out Outcome) error
	// Doubt returns the write that holds a claim and may still arrive; nil for none. date is the service's time, zero
	// if not known.
	Doubt(ctx context.Context, claim string, date time.Time) (*Doubt, error)
	// Claimed reports whether another write of the kind of p created the object with that id.
	Claimed(ctx context.Context, p Probe, id string) (bool, error)
}

// Doubt is a write that may have been sent and has no answer of its own.
type Doubt struct {
	Ref   string // of the intent in the audit trail
	What  string // names it for people, safe to draw: "Removing a.pdf, operation 62387cd9"
	Who   string // safe to draw
	Sent  time.Time
	Until time.Time // after it the write is not expected to arrive, and may be sent again
}

// Gate checks every write, in this order: role, read-only, a trail that records, doubt, guard, approval, audit intent;
// then the call; then its outcome. Nothing else in this program sends a write.
type Gate struct {
	ReadOnly bool             // the context forbids writes
	Audit    Auditor          // required
	Approve  Approver         // nil: no approval needed
	Follow   Follower         // nil: unknown outcomes are not followed up
	Now      func() time.Time // required

	service serviceClock // from the answers' Date headers
}

// Date is the service's time by its newest answer, up to a second behind; zero: not known.
func (g *Gate) Date() time.Time { return g.service.now(g.Now()) }

// Permit is an act that may be sent. End must settle it.
type Permit struct {
	Pending
	began    time.Time
	followed bool
	until    time.Time // while its request has no answer, it may arrive until then; zero: not known
}

// Begin permits an act of the rule or refuses it. guard is opdeck's own check of the object (locked, end state); nil
// for none.
func (g *Gate) Begin(ctx context.Context, rule WriteRule, act Act, guard func() error) (*Permit, error) {
	who := ActorOf(ctx)
	if err := g.refuse(ctx, rule, act, guard); err != nil {
		g.denied(ctx, who, act, err)
		return nil, err
	}
	p := &Permit{Pending: Pending{Act: act, Who: who}, began: g.Now()}
	if g.Approve != nil && !rule.touchesSession() && !rule.isNote() {
		id, err := g.Approve.Check(ctx, who, act)
		if err != nil {
			g.denied(ctx, who, act, err)
			return nil, err
		}
		p.Approval = id
	}
	ref, err := g.Audit.Intent(ctx, who, act)
	if err != nil {
		if p.Approval != "" { // the approval was not used: give it back
			_ = g.Approve.Settle(context.WithoutCancel(ctx), p.Approval, Outcome{Verdict: Failed})
		}
		return nil, NotRecorded(string(act.Kind), "nothing was sent", err)
	}
	p.Ref = ref
	return p, nil
}

// Own permits an act of opdeck on its own session or records, which is no call of the service and has no proof: do is
// the act, its error the outcome. approval is the id of the approval that the act has used, "" for none.
func (g *Gate) Own(ctx context.Context, need Permission, act Act, do func(approval string) error) error {
	permit, err := g.Begin(ctx, WriteRule{Kind: act.Kind, Need: need}, act, nil)
	if err != nil {
		return err
	}
	out := Outcome{Verdict: Done}
	if err = do(permit.Approval); err != nil {
		out = Outcome{Verdict: Failed, Detail: AsError(err).Public}
	}
	return errors.Join(err, g.End(ctx, permit, out))
}

// follow stores the act, so that any process can look up its outcome. An act that cannot be stored is not sent.
func (g *Gate) follow(ctx context.Context, rule WriteRule, p *Permit, probe Probe) error {
	if g.Follow == nil {
		return nil
	}
	p.Probe, p.Claim, p.Date = probe, rule.Claim(p.Act), g.Date()
	holder, err := g.Follow.Sending(ctx, p.Pending)
	if p.followed = err == nil && holder.Ref == p.Ref; p.followed {
		p.until = holder.Until
		return nil
	}
	if err == nil {
		no := InDoubt(p.Act, *holder)
		return errors.Join(no, g.End(ctx, p, Outcome{Verdict: Failed, Rule: RuleDoubt, Detail: no.Public}))
	}
	return unnoted(p.Act, errors.Join(err, g.End(ctx, p, Outcome{Verdict: Failed, Rule: RuleAudit,
		Detail: "the write could not be recorded in the store"})))
}

func (g *Gate) refuse(ctx context.Context, rule WriteRule, act Act, guard func() error) error {
	if rule.Need == "" || rule.Kind != act.Kind {
		return &Error{Op: string(act.Kind), Kind: Internal, Public: "opdeck does not know this write."}
	}
	if err := lacks(ctx, string(act.Kind), rule.Need); err != nil { // denied records it
		return err
	}
	if g.ReadOnly && !rule.isNote() {
		return ReadOnly(string(act.Kind))
	}
	if err := Unrecorded(g.Audit); err != nil {
		return err
	}
	// before guard, which would report the effect of an act in doubt as the reason
	if err := g.doubted(ctx, rule, act); err != nil || guard == nil {
		return err
	}
	return guard()
}

// doubted refuses to repeat a request that may still arrive, or to send its opposite.
func (g *Gate) doubted(ctx context.Context, rule WriteRule, act Act) error {
	claim := rule.Claim(act)
	if g.Follow == nil || claim == "" {
		return nil
	}
	d, err := g.Follow.Doubt(ctx, claim, g.Date())
	switch {
	case err != nil:
		return unnoted(act, err)
	case d == nil:
		return nil
	}
	return InDoubt(act, *d)
}

// InDoubt is the refusal of act because of the write d.
func InDoubt(act Act, d Doubt) *Error {
	return &Error{Op: string(act.Kind), Kind: Refused, Rule: RuleDoubt, Unsent: true, Remedy: Remedy{Kind: FollowOutcome},
		Public: fmt.Sprintf("%s: sent by %s at %s, and no answer says whether it was done (%s). It may still arrive until "+
			"%s, and until then opdeck sends nothing that repeats or undoes it.", d.What, cmp.Or(d.Who, "another person"),
			d.Sent.UTC().Format(clock), d.Ref, d.Until.UTC().Format(clock))}
}

// clock is the time of day in sentences of this package.
const clock = "15:04:05 UTC"

// MayArrive says until when a request whose outcome no answer told may still arrive, zero if not known: the end of a
// sentence.
func MayArrive(until time.Time) string {
	if until.IsZero() {
		return "no answer says whether our request was done, and it may still arrive"
	}
	return "no answer says whether our request was done, and it may still arrive until " + until.UTC().Format(clock)
}

// unnoted is the refusal of a write that the store cannot record.
func unnoted(act Act, err error) *Error {
	return &Error{Op: string(act.Kind), Kind: Refused, Rule: RuleAudit,
		Public: "The write cannot be recorded in the store, so nothing was sent.", Remedy: Remedy{Kind: CheckStore}, Err: err}
}

// denied records a refused attempt. The refusal holds even if the trail cannot be written.
func (g *Gate) denied(ctx context.Context, who Actor, act Act, err error) {
	e := AsError(err)
	_ = g.Audit.Note(ctx, who, Event{Name: "denied", Object: act.Object, ID: act.ID,
		Detail: string(act.Kind) + ": " + string(e.Rule)})
}

// End records the outcome of the act. If it cannot be stored, the act stays open in the trail, where it counts as
// unknown.
func (g *Gate) End(ctx context.Context, p *Permit, out Outcome) error {
	out.Took = g.Now().Sub(p.began)
	ctx = context.WithoutCancel(ctx) // the person may have left; the outcome is recorded all the same
	err := g.Audit.Outcome(ctx, p.Ref, out)
	if p.Approval != "" {
		err = errors.Join(err, g.Approve.Settle(ctx, p.Approval, out))
	}
	if p.followed && err == nil { // else it stays open and is looked up like that of a process that died
		err = g.Follow.Ended(ctx, p.Ref, out)
	}
	return err
}
