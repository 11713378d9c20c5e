package api

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

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
