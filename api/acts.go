package api

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// ActKind names a write at the service, or an act on the session. It is the name
// of its command with a dot for the space, and the name in the audit trail. The
// writes at the service are declared beside their calls; package act holds what
// people read about them.
type ActKind string

// The acts on the session.
const (
	ActSessionRefresh ActKind = "session.refresh"
	ActSessionLogin   ActKind = "session.login"
	ActSessionReset   ActKind = "session.reset"
)

var (
	_ = declare(ActSessionRefresh, rule{need: MaySession, number: "401"})
	_ = declare(ActSessionLogin, rule{need: MaySession, number: "402"})
	_ = declare(ActSessionReset, rule{need: MaySession, number: "403"})
)

// ActKinds lists all writes, in the order of their numbers.
func ActKinds() []ActKind {
	return slices.SortedFunc(maps.Keys(rules), func(a, b ActKind) int { return strings.Compare(rules[a].number, rules[b].number) })
}

// Needs returns the permission that an act asks for; empty for an unknown one,
// which the gate refuses.
func (k ActKind) Needs() Permission { return rules[k].need }

// AuditNumber is the stable number of the act's event in the audit trail; empty
// for an unknown one.
func (k ActKind) AuditNumber() string { return rules[k].number }

// Doing names the write for people while its outcome is not known: "Removing". It
// is the kind itself for one without a word.
func (k ActKind) Doing() string { return cmp.Or(rules[k].doing, string(k)) }

// TouchesSession reports whether the act concerns only our own session: it needs
// no second person.
func (k ActKind) TouchesSession() bool { return k.Needs() == MaySession }
