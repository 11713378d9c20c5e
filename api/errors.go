package api

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"opdeck/api/elapsed"
	"opdeck/api/jsontree"
	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/redact"
	"opdeck/api/secret"
	"opdeck/api/session"
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

// fault returns the Error of a transport failure or an unsuccessful status; nil for a good answer.
func (c *Client) fault(ctx context.Context, r Request, a Answer, err error) error {
	switch {
	case a.err != nil:
		return c.noAnswer(ctx, r, a)
	case refusedHere(err):
		return refusal(ctx, r, a, err)
	case err != nil && (a.Status != http.StatusUnauthorized || knowsMore(err)):
		return wayError(ctx, r.Op, err)
	case a.Status >= 200 && a.Status < 300:
		return nil
	}
	e := Classify(r.Op, a.Status, a.Body)
	e.ofAddress(r)
	e.RequestID = a.RequestID
	e.asksToWait(session.RetryAfter(a.Header))
	e.leads(session.Elsewhere(a.Header, secret.Value{}))
	if a.Status == http.StatusUnauthorized && err != nil {
		e.Err = err
	}
	return e
}

// ofAddress is the error of a 404 to a call without an id: there is no id to check, the address itself is not there.
func (e *Error) ofAddress(r Request) {
	if e.Status != http.StatusNotFound || e.Rule != "" || strings.Contains(r.Route, "{") {
		return
	}
	e.Kind, e.Remedy = Unavailable, Remedy{Kind: CheckBaseURL}
	e.Public, e.own = "The service has nothing at this address (404).", ""
	if e.Said != "" {
		e.Quote(string(e.Said))
	}
}

// refusal is the error of a call whose route refuses a session that other routes accept: with a 401, or with words
// that elsewhere mean the session.
func refusal(ctx context.Context, r Request, a Answer, err error) error {
	e := Classify(r.Op, a.Status, a.Body)
	if a.Status == http.StatusUnauthorized {
		e.Kind, e.Rule, e.Remedy = Refused, RuleForbidden, Remedy{Kind: AskOperator}
		e.Public = "The service refuses this call (401) but accepts the session for other calls: the machine account is " +
			"not authorised for this one."
		e.Quote(string(e.Said))
	}
	e.RequestID, e.Err = a.RequestID, err
	return e
}

// asksToWait adds the wait that a 429 or 503 asked for, and what opdeck does about it.
func (e *Error) asksToWait(asked time.Duration) {
	say := func(d time.Duration) string { return elapsed.Whole(d.Round(time.Second)) }
	add := ""
	switch held := limit.HoldFor(asked); {
	case e.Status == http.StatusTooManyRequests && asked <= 0:
		e.RetryAfter, add = held, " It does not say how long to wait; opdeck waits "+say(held)+"."
	case e.Status == http.StatusTooManyRequests && asked > held:
		e.RetryAfter, add = held, " It asks to wait "+say(asked)+"; opdeck waits "+say(held)+"."
	case e.Status == http.StatusTooManyRequests:
		e.RetryAfter, add = held, " It asks to wait "+say(asked)+", and opdeck waits."
	case e.Status == http.StatusServiceUnavailable && asked > 0:
		e.RetryAfter, add = asked, " It asks to wait "+say(asked)+"."
		e.Remedy = Remedy{Kind: TryAfter}
	}
	e.amend(add)
}

// amend appends to the sentence, before the service's words.
func (e *Error) amend(add string) {
	quoted := e.own != ""
	if e.Public = e.Own() + add; quoted {
		e.Quote(string(e.Said))
	}
}

// leads adds the target of a redirection.
func (e *Error) leads(where string) {
	if e.Status >= 300 && e.Status < 400 && e.Status != http.StatusNotModified {
		e.amend(" The target is " + where + ".")
	}
}

// noAnswer is the error of a request without a usable answer.
func (c *Client) noAnswer(ctx context.Context, r Request, a Answer) error {
	e := &Error{Op: r.Op, Kind: Unavailable, RequestID: a.RequestID, Err: a.err,
		Public: "The service did not answer.", Remedy: Remedy{Kind: CheckNetwork}}
	var coding *jsontree.CodingError
	var cut *CutError
	switch {
	case errors.Is(a.err, errTooLarge):
		e.Public, e.Remedy = "The answer is larger than 16 MB and was not read.", Remedy{Kind: AskForLess}
	case errors.As(a.err, &coding):
		e.Public = "The answer has the Content-Encoding " + coding.Name + ", which opdeck does not read."
		e.Remedy = Remedy{Kind: AskSupport}
	case errors.Is(a.err, jsontree.ErrPacked):
		e.Public, e.Remedy = "The compressed answer cannot be unpacked.", Remedy{Kind: AskSupport}
	case ctx.Err() != nil && !r.write:
		return stopped(ctx, r.Op, a.err)
	case errors.As(a.err, &cut) && !errors.Is(a.err, context.DeadlineExceeded):
		e.Public = "The service answered, and its answer was cut off " + cut.after() + "."
	case errors.Is(a.err, context.DeadlineExceeded):
		e.Public = "The service did not answer within " + c.opt.Timeout.String() + "."
	case !a.sent:
		e.Public, e.RequestID = "There is no connection to the service.", "" // the request did not leave
	}
	return e
}

func stopped(ctx context.Context, op string, err error) error {
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return &Error{Op: op, Kind: Unavailable, Public: "The call timed out.", Err: err}
	}
	return &Error{Op: op, Kind: Interrupted, Public: "Stopped.", Err: err}
}

// NoRoom is the error of a call that was not sent because of err: no room in a budget in time, or the end of ctx.
func NoRoom(op string, err error) error {
	var full *limit.Exhausted
	if errors.As(err, &full) {
		return wayError(context.Background(), op, err)
	}
	return stopped(context.Background(), op, err)
}

// wayError is the error of a call that was not sent: no session, no slot.
func wayError(ctx context.Context, op string, err error) error {
	var e *Error
	var full *limit.Exhausted
	switch {
	case errors.As(err, &e):
		out := *e
		out.Op = op
		return &out
	case errors.As(err, &full):
		return &Error{Op: op, Kind: RateLimited, Rule: RuleRate, RetryAfter: full.RetryAfter, Err: err,
			Public: "The budget of " + string(full.Class) + " calls is used up for another " +
				elapsed.Whole(full.RetryAfter.Round(time.Second)) + ".",
			Remedy: Remedy{Kind: SeeLimits}}
	case ctx.Err() != nil:
		return stopped(ctx, op, err)
	}
	return &Error{Op: op, Kind: AuthFailed, Public: "There is no session for this call.", Err: err,
		Remedy: Remedy{Kind: SessionStatus}}
}

// The five messages of document removal (spec, Errors) and those of the public pages; <id> stands for any id. The
// service's documents give no status with them, so the words decide, if they are the whole message: they are the
// service's refusal at any status. The page with the message of the last row is cut.
var messages = []struct {
	re   *regexp.Regexp
	kind Kind
	rule Rule
	say  string
	do   RemedyKind
}{
	{says("Operation not found: <id>"), NotFound, RuleOperationUnknown,
		"The service has no such operation.", RecheckID},
	{says("Document not found: <id>"), NotFound, RuleDocumentUnknown,
		"The service has no such document.", Reload},
	{says("Document <id> is not attached to operation <id>"), Refused, RuleNotAttached,
		"The document is not attached to this operation.", Reload},
	{says("Cannot modify documents for completed operations"), Refused, RuleEndState,
		"Documents of a completed operation cannot be changed.", AskSupport},
	{says("Document is locked and cannot be removed"), Refused, RuleLocked,
		"The document is locked and cannot be removed.", LiftLock},
	{says("Customer not found: <id>"), NotFound, RuleCustomerUnknown,
		"The service has no such customer.", RecheckID},
	{says("Application is not configured"), Refused, RuleApplication,
		"The service refused this: the application is not configured, so it cannot be submitted yet.", PrepareApplication},
}

// says matches a message in which an id may stand for each <id>.
func says(message string) *regexp.Regexp {
	return regexp.MustCompile(`^` + strings.ReplaceAll(regexp.QuoteMeta(message), "<id>", `\S+`) + `\.?$`)
}

// knownMessage reports whether these words are one of the messages.
func knownMessage(said string) bool {
	for _, m := range messages {
		if m.re.MatchString(said) {
			return true
		}
	}
	return false
}

// Classify returns the Error of an unsuccessful answer: by its words if the status is ambiguous, else by its status.
func Classify(op string, status int, body []byte) *Error {
	said := Said(body)
	e := &Error{Op: op, Status: status, Said: untrusted.Text(said)}
	for _, m := range messages {
		if m.re.MatchString(said) {
			e.Kind, e.Rule, e.Public, e.Remedy = m.kind, m.rule, m.say, Remedy{Kind: m.do}
			e.Err = errors.New("service: " + said)
			return e
		}
	}
	e.byStatus(status)
	if said != "" {
		e.Quote(said)
		e.Err = errors.New("service: " + said)
	}
	return e
}

// Quote adds the service's words to the sentence, unless they only repeat that there were too many requests.
func (e *Error) Quote(said string) {
	e.own = e.Public
	bare := strings.TrimRight(said, ".! ")
	repeats := e.Status == http.StatusTooManyRequests && strings.EqualFold(bare, http.StatusText(e.Status))
	if bare != "" && !repeats {
		e.Public += " It says: " + said
	}
}

func (e *Error) byStatus(status int) {
	set := func(k Kind, r Rule, public string, do RemedyKind) {
		e.Kind, e.Rule, e.Public, e.Remedy = k, r, public, Remedy{Kind: do}
	}
	switch {
	case status == http.StatusUnauthorized:
		set(AuthFailed, "", "The service refused the session.", Login)
	case status == http.StatusForbidden:
		set(Refused, RuleForbidden, "The service does not allow this account to do that.", AskOperator)
	case status == http.StatusNotFound || status == http.StatusGone:
		set(NotFound, "", "The service did not find it.", RecheckID)
	case status == http.StatusRequestEntityTooLarge || status == http.StatusUnsupportedMediaType:
		set(Refused, RuleFile, "The service does not accept this file.", SmallerFile)
		e.Field = FieldFile
	case status == http.StatusTooManyRequests:
		set(RateLimited, RuleRate, "The service refused the call (429: too many requests).", WaitTogether)
	case status >= 300 && status < 400:
		set(Unavailable, "", "The service redirected the call, and opdeck follows no redirects.", CheckBaseURL)
	case status >= 500:
		set(Unavailable, "", "The service failed ("+strconv.Itoa(status)+").", TryLater)
	default:
		set(Refused, "", "The service refused this ("+strconv.Itoa(status)+").", NoRemedy)
	}
}

// maxQuote bounds the service's words that are kept, in characters.
const maxQuote = 300

// Said returns the sentence in an error answer: {"error": "…"}, {"message": "…"}, or the same nested deeper, as Quote
// takes it in.
func Said(body []byte) string {
	if len(body) > maxAnswer {
		return ""
	}
	words := ObjectOf(body).words("error", "errors", "message", "detail", "description", "reason", "title")
	return cmp.Or(words, bareMessage(body))
}

// bareMessage is a documented message of the service that is the whole body, as a JSON text or as plain text. Any
// other text may come from a proxy.
func bareMessage(body []byte) string {
	text := strings.TrimSpace(strings.TrimPrefix(string(body), string(byteOrderMark)))
	if v := ParseJSON([]byte(text)); v.Kind() == jsontree.String {
		text = v.Text()
	}
	if line := string(Quote(text, maxQuote)); len(text) <= 300 && knownMessage(line) {
		return line
	}
	return ""
}

func safeLine(s string, max int) string { return untrusted.Text(s).Line(max) }

// Quote takes in a text of the service: whatever quotes the service quotes this. It is one safe line of at most max
// characters, without tokens and masked (redact.Said).
func Quote(s string, max int) untrusted.Text { return untrusted.Text(safeLine(redact.Said(s), max)) }

// Remedy says what can be done about an error, as data. Package internal/act/remedy words it for each surface.
type Remedy struct {
	Kind  RemedyKind
	ID    string        // id of the object concerned
	Names []string      // to choose from or to look at: roles, contexts, settings
	Wait  time.Duration // until a retry makes sense; 0: at once
	Who   string        // NextStep: who can do it
}

// RemedyKind names a remedy.
type RemedyKind string

// The remedies.
const (
	NoRemedy RemedyKind = ""

	// Ids and what is shown.
	RecheckID   RemedyKind = "check_id"     // it may belong to another account or context
	CopyID      RemedyKind = "copy_id"      // it was mistyped
	Reload      RemedyKind = "reload"       // the documents may have changed
	ReloadFiles RemedyKind = "reload_files" // the customer's files may have changed
	LookAgain   RemedyKind = "look_again"   // and decide again
	History     RemedyKind = "history"      // holds the last states of the operation ID
	AwaitSync   RemedyKind = "await_sync"   // it decides whether the operation is gone

	// Writes.
	Force              RemedyKind = "force"          // lets the service decide
	CopyToken          RemedyKind = "copy_token"     // from the provider, once more
	CorrectToken       RemedyKind = "correct_token"  // and share again: nothing was changed
	DiscardToken       RemedyKind = "discard_token"  // a new one shows the outcome
	MakeAnother        RemedyKind = "make_another"   // an unseen link expires
	MakeLink           RemedyKind = "make_link"      // it shows the customer what is missing
	UseLink            RemedyKind = "use_link"       // instead of a share
	PrepareApplication RemedyKind = "prepare"        // there is none to submit
	FollowOutcome      RemedyKind = "follow_outcome" // do not repeat yet
	AwaitApproval      RemedyKind = "await_approval" // wait for the request ID, then repeat the act
	LookFirst          RemedyKind = "look_first"     // it may have been done
	SmallerFile        RemedyKind = "smaller_file"   // or one of another kind
	SayEach            RemedyKind = "say_each"       // give each setting that was not reported
	ReadWhole          RemedyKind = "read_whole"     // what was read masked is not sent back

	// Other people.
	AskRole     RemedyKind = "ask_role" // one of the roles in Names may do it
	AskOperator RemedyKind = "ask_operator"
	AskSupport  RemedyKind = "ask_support"
	LiftLock    RemedyKind = "lift_lock" // a compliance team can
	// ReportRequest: the request's id helps the service's operator.
	ReportRequest RemedyKind = "report_request"

	// Session, budgets, network.
	Login          RemedyKind = "login"
	SessionStatus  RemedyKind = "session_status"
	FixCredentials RemedyKind = "fix_credentials"
	NoSecondFactor RemedyKind = "no_second_factor" // for the machine account
	SeeLimits      RemedyKind = "see_limits"
	WaitTogether   RemedyKind = "wait_together" // all instances wait
	LendSession    RemedyKind = "lend_session"  // to the script that logs in by itself
	TryLater       RemedyKind = "try_later"
	TryAfter       RemedyKind = "try_after" // the time that the service asked for
	CheckNetwork   RemedyKind = "check_network"
	NextStep       RemedyKind = "next_step" // of the verdict: Names is the sentence, ID the command
	Doctor         RemedyKind = "doctor"    // looks at each step, or at ID

	// Config and host.
	LeaveReadOnly  RemedyKind = "leave_read_only"
	ChooseContext  RemedyKind = "choose_context" // one of Names
	CheckBaseURL   RemedyKind = "check_base_url"
	AskForLess     RemedyKind = "ask_for_less" // in one call
	NameListField  RemedyKind = "name_list_field"
	CompareAnswers RemedyKind = "compare_answers" // of the service with what is expected
	FixSettings    RemedyKind = "fix_settings"    // Names, in the part ID of the config
	OtherFile      RemedyKind = "other_file"      // for the log
	CheckStore     RemedyKind = "check_store"     // its disk or database
	RestoreStore   RemedyKind = "restore_store"   // its file was deleted or replaced
	WaitingEvents  RemedyKind = "waiting_events"  // are tried again
)
