package api

import (
	"cmp"
	"errors"
	"fmt"
	"time"

	"opdeck/api/reach"
	"opdeck/api/untrusted"
)

// Kind says what can be done about an error. It determines the exit code.
type Kind string

// The kinds (outward contract, section 2).
const (
	Internal       Kind = "internal"        // a bug, or an answer that makes no sense
	Unavailable    Kind = "unavailable"     // the service or the network failed
	Usage          Kind = "usage"           // wrong arguments, confirmation missing
	BadConfig      Kind = "config"          // a mistake in the config
	AuthFailed     Kind = "auth"            // credentials refused, two-factor, no session
	NotFound       Kind = "not_found"       // unknown operation, document, customer
	Refused        Kind = "refused"         // a rule, of the service or ours, says no
	RateLimited    Kind = "rate_limited"    // no room in the budget in time, or status 429
	UnknownOutcome Kind = "unknown_outcome" // sent, and the outcome is not proven yet
	Interrupted    Kind = "interrupted"     // the person stopped it
)

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{Internal, Unavailable, Usage, BadConfig, AuthFailed, NotFound, Refused, RateLimited, UnknownOutcome,
		Interrupted}
}

// Exit returns the process exit code of the kind.
func (k Kind) Exit() int {
	switch k {
	case Usage, BadConfig:
		return 2
	case AuthFailed:
		return 3
	case NotFound:
		return 4
	case Refused:
		return 5
	case RateLimited:
		return 6
	case UnknownOutcome:
		return 7
	case Interrupted:
		return 130
	}
	return 1
}

// Rule names the rule behind a refusal.
type Rule string

// The rules: the service's first, then our own.
const (
	RuleOperationUnknown Rule = "operation_unknown" // spec, Errors: Operation not found
	RuleDocumentUnknown  Rule = "document_unknown"  // Document not found
	RuleNotAttached      Rule = "not_attached"      // Document … is not attached to operation …
	RuleAttached         Rule = "attached"          // the document is attached already
	RuleEndState         Rule = "end_state"         // Cannot modify documents for completed operations
	RuleLocked           Rule = "locked"            // Document is locked and cannot be removed
	RuleLockUnknown      Rule = "lock_unknown"      // the service does not say whether it is locked
	RuleShared           Rule = "already_shared"    // 409 on share
	RuleBaaS             Rule = "baas"              // 403 on share
	RuleRejected         Rule = "rejected"          // share answered applied false
	RuleCustomerUnknown  Rule = "customer_unknown"
	RuleApplication      Rule = "application" // Application is not configured
	RuleFile             Rule = "file"        // too large, or of a kind that is not accepted
	RuleForbidden        Rule = "forbidden"
	RuleRate             Rule = "rate"
	RuleReadOnly         Rule = "read_only"
	RuleRole             Rule = "role"
	RuleApproval         Rule = "approval_pending"
	RuleDenied           Rule = "approval_denied"
	RuleChanged          Rule = "changed"    // the object is not the one that the person saw
	RuleAudit            Rule = "audit"      // the intent could not be stored
	RuleDoubt            Rule = "in_doubt"   // the same write or its opposite was sent, with an unknown outcome
	RuleIdentifier       Rule = "identifier" // not usable in a path
)

// The inputs that an Error can name as wrong, by the service's member names.
const (
	FieldToken  = "token"
	FieldFile   = "file"
	FieldType   = "type"
	FieldURL    = "hookUrl"
	FieldSecret = "jwtSecret"
)

// Error is what every call returns when it fails. Public is a sentence for people and Remedy is what they can do;
// neither holds a secret or a raw answer.
type Error struct {
	Op         string // "remove document"
	Kind       Kind
	Rule       Rule
	Public     string
	Field      string         // the wrong input, by one of the names above; "" if not known
	Said       untrusted.Text // the service's own words, for people; Public repeats them where they add something
	Remedy     Remedy         // internal/act/remedy words it for each surface
	Hint       string         // a surface's own advice, as a sentence in its terms
	Unsent     bool           // we refused it: nothing was sent
	Status     int            // HTTP status, 0 without an answer
	RequestID  string
	RetryAfter time.Duration
	Fault      reach.Fault // what came instead of a useful answer; Class None: the service answered, or was not asked
	Err        error       // the cause, for the log

	own string // Public before Quote
}

// Own is Public without the service's words, which may name a person.
func (e *Error) Own() string { return cmp.Or(e.own, e.Public) }

// Say replaces the sentence; it may contain the service's words.
func (e *Error) Say(public string) { e.Public, e.own = public, e.Own() }

func (e *Error) Error() string {
	if e.Op == "" {
		return e.Public
	}
	return e.Op + ": " + e.Public
}

func (e *Error) Unwrap() error { return e.Err }

// AsError returns the Error in err, or wraps err in an internal one.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	var known interface{ Public() *Error }
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known): // from a package that words its own errors, as store
		return known.Public()
	}
	return &Error{Kind: Internal, Public: err.Error(), Err: err}
}

// KindOf returns the kind of err; "" for nil.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	return AsError(err).Kind
}

// Refusal returns an Error of kind Refused.
func Refusal(op string, rule Rule, format string, args ...any) *Error {
	return &Error{Op: op, Kind: Refused, Rule: rule, Public: fmt.Sprintf(format, args...)}
}
