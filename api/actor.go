package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// Actor is the person behind a call. Name is for display only; Identity identifies the person.
type Actor struct {
	Name    string `json:"name"`
	Role    Role   `json:"role"`
	Via     string `json:"via"`               // console, command, ssh, service
	From    string `json:"from,omitempty"`    // address and port over SSH, host name locally
	Session string `json:"session,omitempty"` // one console or connection

	// Over SSH only; the key exchange proves all of them.
	Key    string `json:"key,omitempty"`    // fingerprint of the key; with a certificate, of the certified key
	Login  string `json:"login,omitempty"`  // login name
	Cert   string `json:"cert,omitempty"`   // the certificate's key id
	Serial string `json:"serial,omitempty"` // the certificate's serial number and its signer's fingerprint
	Proof  string `json:"-"`                // the public key or certificate in authorized_keys format, to check it again
	At     string `json:"-"`                // address and port of this host that the person reached

	// Locally only, from the kernel. Name is then only a label.
	UID      string `json:"uid,omitempty"`
	LoginUID string `json:"login_uid,omitempty"` // before sudo or su, where the kernel records it
	// Host identifies what vouches for the person: locally the running kernel's id, which its containers share; over
	// SSH the fingerprint of the server's host key.
	Host  string `json:"host,omitempty"`
	Doubt string `json:"doubt,omitempty"` // why UID may be shared; completes a sentence about the UID
}

// Claim says what a local name is based on, "local uid 54321" and the doubt about it; "" for a proven name.
func (a Actor) Claim() string {
	if a.UID == "" {
		return ""
	}
	s := "local uid " + a.UID
	if a.LoginUID != "" && a.LoginUID != a.UID {
		s += ", logged in as uid " + a.LoginUID
	}
	if a.Doubt != "" {
		s += ", which " + a.Doubt
	}
	return s
}

// Role determines a person's permissions.
type Role string

// The roles.
const (
	Viewer   Role = "viewer"   // reads, masked
	Analyst  Role = "analyst"  // reads, reveals, exports
	Operator Role = "operator" // writes on documents and compliance
	OnCall   Role = "oncall"   // session, limits, doctor
	Admin    Role = "admin"    // everything
)

// Roles lists the roles, from the fewest permissions to the most.
var Roles = []Role{Viewer, Analyst, Operator, OnCall, Admin}

// Permission is one thing that a role may allow.
type Permission string

// The permissions.
const (
	MayRead       Permission = "read"
	MayReveal     Permission = "reveal masked values"
	MayExport     Permission = "export"
	MayDocuments  Permission = "change documents"
	MayCompliance Permission = "change a customer's verification"
	MayApprove    Permission = "approve another person's write"
	MaySession    Permission = "manage the session"
	MayHooks      Permission = "change the webhook settings"
	MayAudit      Permission = "read the audit trail"
	MayAuditOut   Permission = "export the audit trail"
)

// Permissions lists them allin declaration order.
var Permissions = []Permission{MayRead, MayReveal, MayExport, MayDocuments, MayCompliance, MayApprove, MaySession,
	MayHooks, MayAudit, MayAuditOut}

var grants = map[Permission][]Role{
	MayRead:       {Viewer, Analyst, Operator, OnCall},
	MayReveal:     {Analyst, Operator},
	MayExport:     {Analyst},
	MayDocuments:  {Operator},
	MayCompliance: {Operator},
	MayApprove:    {Operator},
	MaySession:    {OnCall},
	MayHooks:      {},
	MayAudit:      {Operator, OnCall},
	MayAuditOut:   {},
}

// May reports whether the role allows p. Admin allows everything; an unknown
// role or permission allows nothing.
func (r Role) May(p Permission) bool {
	who, known := grants[p]
	return known && (r == Admin || slices.Contains(who, r))
}

// Beyond lists what r allows and most does not.
func (r Role) Beyond(most Role) (out []Permission) {
	for _, p := range Permissions {
		if r.May(p) && !most.May(p) {
			out = append(out, p)
		}
	}
	return out
}

// Valid reports whether r is one of Roles.
func (r Role) Valid() bool { return slices.Contains(Roles, r) }

// WhoMay lists the roles that allow p, for the sentence that explains a refusal.
func WhoMay(p Permission) string { return strings.Join(whoMay(p), ", ") }

func whoMay(p Permission) (w []string) {
	for _, r := range Roles {
		if r.May(p) {
			w = append(w, string(r))
		}
	}
	return w
}

type actorKey struct{}

// WithActor puts the person into the context of all that they do.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf returns the person in ctx; without one, an Actor without permissions.
func ActorOf(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	return a
}

type trailKey struct{}

// WithTrail makes Need record each refusal in trail; nil ends that.
func WithTrail(ctx context.Context, trail Auditor) context.Context {
	return context.WithValue(ctx, trailKey{}, trail)
}

// Need returns a refusal unless the person in ctx has permission p, and records the refusal in the trail of ctx.
// Errors of the trail are ignored.
func Need(ctx context.Context, op string, p Permission) error {
	err := lacks(ctx, op, p)
	if trail, _ := ctx.Value(trailKey{}).(Auditor); err != nil && trail != nil {
		_ = trail.Note(context.WithoutCancel(ctx), ActorOf(ctx), Event{Name: "denied", Object: "permission", ID: string(p),
			Detail: op + ": " + string(RuleRole)})
	}
	return err
}

// lacks is Need without the record.
func lacks(ctx context.Context, op string, p Permission) error {
	a := ActorOf(ctx)
	if a.Role.May(p) {
		return nil
	}
	return LacksPermission(op, a.Role, p)
}

// WhyNot says that the role lacks p, and which roles have it; "" if the role has p.
func (r Role) WhyNot(p Permission) string {
	if r.May(p) {
		return ""
	}
	return r.forbids(p) + "; " + WhoMay(p) + " may."
}

func (r Role) forbids(p Permission) string {
	return fmt.Sprintf("Your role (%s) may not %s", cmp.Or(r, "none"), p)
}

// LacksPermission is the refusal of an act for which the role lacks p.
func LacksPermission(op string, role Role, p Permission) *Error {
	return &Error{Op: op, Kind: Refused, Rule: RuleRole,
		Public: role.forbids(p) + ".",
		Remedy: Remedy{Kind: AskRole, Names: whoMay(p)}}
}

// ReadOnly is the refusal of an act in a read-only context.
func ReadOnly(op string) *Error {
	return &Error{Op: op, Kind: Refused, Rule: RuleReadOnly, Public: "This context is read-only.",
		Remedy: Remedy{Kind: LeaveReadOnly}}
}

// User is a user of the service; only the fields that opdeck needs.
type User struct {
	UUID     untrusted.Text `json:"uuid"`
	Username untrusted.Text `json:"username"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON reads the named fields and keeps the whole record in Raw.
func (u *User) UnmarshalJSON(b []byte) error {
	return keepRecord(b, u, &u.Raw)
}

func (u User) key() string { return u.UUID.Line(64) }

// TwoFactor reports whether the user has two-factor login switched on; known is false if the record does not say or
// cannot be read.
func (u User) TwoFactor() (on, known bool) {
	return ObjectOf(u.Raw).Member("is2fa").Flag()
}

// UserNamed returns the user whose login is login.
func UserNamed(users []User, login string) (User, bool) {
	i := slices.IndexFunc(users, func(u User) bool { return strings.EqualFold(string(u.Username), login) })
	if i < 0 {
		return User{}, false
	}
	return users[i], true
}

// MaxReason is how long a reason can be, in characters.
const MaxReason = 500

// Consent is what a person said with the yes to a write.
type Consent struct {
	// Reason says why. An approval binds to it, and the audit trail keeps it.
	Reason string
	// AskOnly: the yes was to ask for approval. Nothing is sent, even if a second person has approved meanwhile.
	AskOnly bool
}

type consentKey struct{}

// WithConsent makes the writes in the returned context carry c. Of the reason one safe line is kept.
func WithConsent(ctx context.Context, c Consent) context.Context {
	c.Reason = strings.TrimSpace(untrusted.Text(c.Reason).Line(MaxReason))
	return context.WithValue(ctx, consentKey{}, c)
}

// ConsentOf is the consent in ctx; the zero value for none.
func ConsentOf(ctx context.Context) Consent {
	c, _ := ctx.Value(consentKey{}).(Consent)
	return c
}

// Subject is the record that an act changes, as the gate's own read showed it. A second person judges by it, and the
// digest of the act binds to it.
type Subject struct {
	Customer string `json:"customer,omitempty"` // name
	CUID     string `json:"cuid,omitempty"`     // of the customer, where the object is another record
	Amount   *Sum   `json:"amount,omitempty"`
	Status   string `json:"status,omitempty"`
	Document string `json:"document,omitempty"` // file name
}

// Sum is an amount as an exact decimal text.
type Sum struct {
	Value string `json:"value"`
	Code  string `json:"currency"`
}

// Decimal is the exact value.
func (s Sum) Decimal() (*apd.Decimal, error) {
	d, _, err := apd.NewFromString(s.Value)
	return d, err
}

// Empty reports whether there is no amount.
func (s Sum) Empty() bool { return s == Sum{} }

// Currency is the code as it came.
func (s Sum) Currency() untrusted.Text { return untrusted.Text(s.Code) }

// SumOf is the amount of m; nil when it is not a number.
func SumOf(m Money) *Sum {
	d, err := m.Decimal()
	if err != nil {
		return nil
	}
	return &Sum{Value: d.Text('f'), Code: m.CurrencyCode.Line(12)}
}

// SubjectOf is the subject of an act on a document of an operation; d may be the zero value.
func SubjectOf(o Operation, d Document) Subject {
	return Subject{Customer: o.Customer.Name.Line(200), CUID: o.Customer.CUID.Line(64),
		Amount: SumOf(o.SourceAmount.Sum), Status: o.Status.Line(40), Document: d.FileName.Line(200)}
}

// SecretDigest identifies a secret of that use in an act.
func (c *Client) SecretDigest(use string, v secret.Value) string { return c.opt.Digests.Of(use, v) }

// NeedsApproval reports whether a second person approves each write.
func (c *Client) NeedsApproval() bool { return c.opt.Gate.Approve != nil }

// ActKind names a call of the service or an act on the session: its command with a dot in place of the space. For a
// write it is also the name in the audit trail. Package endpoint declares each kind; package act holds the texts for
// people.
type ActKind string

// The writes to the service.
const (
	ActRemoveDocument ActKind = "document.remove"
	ActAttachDocument ActKind = "document.attach"
	ActUploadDocument ActKind = "document.upload"
	ActDeleteFile     ActKind = "customer.delete-file"
	ActShare          ActKind = "compliance.share"
	ActLink           ActKind = "compliance.link" // creates a single-use link: a GET that has an effect
	ActFinalize       ActKind = "compliance.finalize"
	ActSetApplication ActKind = "customer.set-application"
	ActSetHooks       ActKind = "hook.set"
)

// The acts on the session.
const (
	ActSessionRefresh ActKind = "session.refresh"
	ActSessionLogin   ActKind = "session.login"
	ActSessionReset   ActKind = "session.reset"
)

// ActAddNote writes down a note for colleagues, which opdeck keeps and never sends.
const ActAddNote ActKind = "note.add"

// ActAuditRestored says that a restored backup is why the audit trail is older than its checkpoints.
const ActAuditRestored ActKind = "audit.restored"
