// Package lending has the rules for lending the session to scripts: who a borrower is, which calls of the service are
// allowed and as which act, which headers are passed on, and how a refusal is returned over HTTP. A borrower never
// gets a token; its calls count in the budgets, and its writes pass the gate like all others.
//
// No bytes of a borrower's request are forwarded: path and body are parsed here and rebuilt by package api, so that
// no request can be hidden in another.
package lending

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/act"
	"opdeck/internal/act/remedy"
)

// Priority determines a borrower's priority in the budget.
type Priority string

// The priorities.
const (
	Background Priority = "background" // leaves the last slots of each class to people
	Person     Priority = "person"     // queues like a person at a console
)

// Via identifies a borrower's calls in the audit trail.
const Via = "lend"

// Borrower is a script that may use the session.
type Borrower struct {
	Name      string
	Role      api.Role
	Priority  Priority
	PerMinute int       // its own limit, for all proxies together; 0: none
	Reveal    bool      // its answers are not masked; each one is recorded before
	Who       api.Actor // in the audit trail and for approvals
}

// Context adds the borrower and its priority to the context of its calls.
func (b Borrower) Context(ctx context.Context) context.Context {
	if b.Priority != Person {
		ctx = limit.Awaited(ctx)
	}
	return api.WithActor(ctx, b.Who)
}

// bound names the ring for the borrower's own limit, which is not a class of the service.
func (b Borrower) bound() limit.Class { return limit.Class("lend:" + b.Name) }

// TakeBound waits for the borrower's own limit; without one it returns at once. The error is that of limit.Budgets.
func (b Borrower) TakeBound(ctx context.Context, budgets *limit.Budgets) error {
	if b.PerMinute <= 0 {
		return nil
	}
	return budgets.TakeBound(ctx, b.bound(), b.PerMinute)
}

// LeastKey is the minimum length of a key in characters, that of NewKey.
const LeastKey = 26

// variety is how many different characters a key has at least, and how many different steps from one to the next.
const variety = 8

// CheckKey returns an error for a key that could be guessed: too short, repeated characters, or a sequence.
func CheckKey(key secret.Value) error {
	text := key.Reveal()
	chars, steps := map[byte]bool{}, map[int]bool{}
	for i := range len(text) {
		chars[text[i]] = true
		if i > 0 {
			steps[int(text[i])-int(text[i-1])] = true
		}
	}
	const remedy = "generate a new one with: openssl rand -hex 32"
	switch {
	case len(text) < LeastKey:
		return fmt.Errorf("the key has %d characters but needs %d; %s", len(text), LeastKey, remedy)
	case len(chars) < variety || len(steps) < variety:
		return errors.New("the key can be guessed, because it repeats or counts up characters; " + remedy)
	}
	return nil
}

// Within returns a refusal if a borrower has a role that allows more than most, the role of the context that lends.
func Within(name string, role, most api.Role) error {
	more := role.Beyond(most)
	if len(more) == 0 {
		return nil
	}
	return &api.Error{Kind: api.Refused, Rule: api.RuleRole, Unsent: true,
		Public: fmt.Sprintf("The borrower %s has the role %s, which may %s. The role of this context (%s) may not.",
			name, role, more[0], most),
		Hint: "Give [lend.borrowers." + name + "] a role that allows no more than the context's, or use a context whose " +
			"role allows it (--context)."}
}

// NewKey returns a key of 130 random bits.
func NewKey() secret.Value { return secret.New(rand.Text()) }

// Keys maps keys to borrowers; it stores hashes of the keys only. It is safe for concurrent use.
type Keys struct {
	most api.Role // of the context that lends

	mu   sync.RWMutex
	list []keyed // guarded by mu
}

type keyed struct {
	sum      [sha256.Size]byte
	borrower Borrower
}

// NewKeys makes a list without keys. most is the role of the context that lends: no borrower may have a higher one.
func NewKeys(most api.Role) *Keys { return &Keys{most: most} }

// Add adds the key of b, or returns the refusal of Within.
func (k *Keys) Add(key secret.Value, b Borrower) error {
	if err := Within(b.Name, b.Role, k.most); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, keyed{sha256.Sum256([]byte(key.Reveal())), b})
	return nil
}

// Len is the number of keys.
func (k *Keys) Len() int {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return len(k.list)
}

// Find returns the borrower of a key. It takes the same time for wrong keys.
func (k *Keys) Find(key string) (b Borrower, ok bool) {
	sum := sha256.Sum256([]byte(key))
	k.mu.RLock()
	defer k.mu.RUnlock()
	found := -1
	for i, have := range k.list {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(have.sum[:], sum[:]), i, found)
	}
	if found < 0 {
		return Borrower{}, false
	}
	return k.list[found].borrower, true
}

// Headers that the proxy adds to its answers.
const (
	HeaderKey     = "X-Opdeck-Key"         // in a request: identifies the borrower
	HeaderLeft    = "X-Opdeck-Budget-Left" // calls of this class that can be sent now
	HeaderWaited  = "X-Opdeck-Waited"      // seconds that the call waited for its slot and the session
	HeaderDoubt   = "X-Opdeck-In-Doubt"    // a write without an answer, done by what a read shows: it may still arrive
	HeaderRequest = "X-Opdeck-Request"     // id of the request at the service
)

// passing are the response headers that a borrower gets. An allow-list keeps back cookies, challenges, addresses and
// anything else that a service or gateway may send.
var passing = []string{"Content-Type", "Content-Language", "Content-Disposition", "Etag", "Last-Modified",
	"X-Total-Count", "Deprecation", "Sunset"}

// Pass copies the allowed response headers. No request header is forwarded: package api makes the request.
func Pass(to, from http.Header) {
	for _, name := range passing {
		if v := from.Get(name); v != "" {
			to.Set(name, v)
		}
	}
	to.Set("Cache-Control", "no-store")
	to.Set("X-Content-Type-Options", "nosniff")
}

// Refusal is our answer in place of the service's.
type Refusal struct {
	Status int // HTTP status
	Err    *api.Error
	Allow  string // methods of the path, for 405
}

func refuse(status int, kind api.Kind, public, hint string) *Refusal {
	return &Refusal{Status: status, Err: &api.Error{Kind: kind, Public: public, Hint: hint, Unsent: true}}
}

// Failure is the answer to a call that failed with err.
func Failure(err error) *Refusal {
	e := api.AsError(err)
	return &Refusal{Status: statusOf(e), Err: e}
}

// statusOf is the HTTP status for the kind of an error. It is never 401, because the borrower would log in.
func statusOf(e *api.Error) int {
	var ours *session.Error
	switch {
	case e.Rule == api.RuleApproval && e.Remedy.ID != "":
		return http.StatusAccepted // filed, waiting for a second person
	case e.Kind == api.UnknownOutcome:
		return http.StatusGatewayTimeout
	case e.Kind == api.RateLimited:
		return http.StatusTooManyRequests
	case e.Kind == api.AuthFailed, e.Kind == api.BadConfig, e.Kind == api.Interrupted:
		return http.StatusServiceUnavailable
	case e.Kind == api.Unavailable && errors.As(e.Err, &ours):
		return http.StatusServiceUnavailable
	case e.Kind == api.Unavailable:
		return http.StatusBadGateway
	case e.Status >= 400 && e.Status < 500 && e.Status != http.StatusUnauthorized:
		return e.Status
	case e.Kind == api.Usage:
		return http.StatusBadRequest
	case e.Kind == api.NotFound:
		return http.StatusNotFound
	case e.Kind == api.Refused:
		return refusedStatus(e.Rule)
	}
	return http.StatusInternalServerError
}

func refusedStatus(rule api.Rule) int {
	switch rule {
	case api.RuleLocked, api.RuleLockUnknown, api.RuleEndState, api.RuleNotAttached, api.RuleChanged, api.RuleShared,
		api.RuleApproval, api.RuleDenied, api.RuleApplication, api.RuleDoubt:
		return http.StatusConflict
	case api.RuleFile:
		return http.StatusRequestEntityTooLarge
	case api.RuleAudit:
		return http.StatusServiceUnavailable
	}
	return http.StatusForbidden
}

// Body is the refusal as JSON: the error as on the command line, and the id of the request for approval if one was
// filed.
type Body struct {
	Error    ErrorBody `json:"error"`
	Approval string    `json:"approval,omitempty"`
}

// ErrorBody is an error in the commands' format.
type ErrorBody struct {
	Kind      api.Kind `json:"kind"`
	Message   string   `json:"message"`
	Hint      string   `json:"hint"`
	RequestID string   `json:"request_id"`
}

// Body returns the refusal for the borrower.
func (r *Refusal) Body() Body {
	e := r.Err
	out := Body{Error: ErrorBody{e.Kind, e.Public, remedy.Command(e), e.RequestID}}
	if r.Status == http.StatusAccepted {
		out.Approval = e.Remedy.ID
	}
	return out
}

// Call is a parsed request: a call of the service that scripts may make. Package endpoint declares these calls with
// their query names and bodies; anything else is refused.
type Call struct {
	*endpoint.Route
	IDs   []string
	Query url.Values
}

// Op names the call for people; "" if it was not recognised.
func (c Call) Op() string {
	if c.Route == nil {
		return ""
	}
	return c.Route.Op
}

// Writes reports whether the call changes something at the service.
func (c Call) Writes() bool { return c.Route != nil && c.Route.Writes() }

// Write does the write of the call and returns the answer that the service would have given.
func (c Call) Write(ctx context.Context, client endpoint.Caller, body endpoint.Content) (json.RawMessage, error) {
	return c.Lent.Write(ctx, client, c.IDs, body)
}

// Refusal is why a role may not make the call, in a read-only context or not; nil if it may. For writes the gate
// checks again.
func (c Call) Refusal(role api.Role, readOnly bool) *api.Error {
	row := act.Of(c.Kind)
	if row == nil {
		row = &act.Act{Name: c.Route.Op, Need: c.Need}
	}
	return row.Refusal(role, readOnly)
}

// Match parses the method and target of a request; uri is from the request line. A refusal says what to do instead.
func Match(method, uri string) (Call, *Refusal) {
	path, query, _ := strings.Cut(uri, "?")
	if bad := checkTarget(path, query); bad != nil {
		return Call{}, bad
	}
	values, err := url.ParseQuery(query)
	if err != nil {
		return Call{}, refuse(http.StatusBadRequest, api.Usage, "The query string cannot be read.",
			"Write it as name=value, joined by &, with other characters as %XX.")
	}
	const table = "docs/lending.md lists what passes"
	const auth = "Leave it out: opdeck starts, refreshes and ends the session by itself. Another client that does so " +
		"ends the session for everyone."
	route, ids, others := endpoint.Match(method, path)
	switch {
	case route != nil && route.IsLent():
		return Call{Route: route, IDs: ids, Query: values}, nil
	case route != nil && route.Lent.Instead != "":
		return Call{}, refuse(http.StatusForbidden, api.Refused, "opdeck does not lend "+path+".", route.Lent.Instead)
	case len(others) > 0:
		r := refuse(http.StatusMethodNotAllowed, api.Refused,
			method+" is not a call that opdeck knows for this path, so it was not sent.",
			table+"; this path takes "+strings.Join(others, ", ")+".")
		r.Allow = strings.Join(others, ", ")
		return Call{}, r
	case strings.HasPrefix(path, session.AuthPath):
		return Call{}, refuse(http.StatusForbidden, api.Refused, "opdeck does not lend "+path+".", auth)
	}
	return Call{}, refuse(http.StatusForbidden, api.Refused, fmt.Sprintf("opdeck does not lend this path (%s).", method),
		table+".")
}

const maxPath = 4096 // bytes

// checkTarget refuses anything but a plain path: another host's address, dots and empty segments, which programs may
// interpret differently.
func checkTarget(path, query string) *Refusal {
	bad := func(what, instead string) *Refusal {
		return refuse(http.StatusBadRequest, api.Usage, what, instead)
	}
	switch {
	case !strings.HasPrefix(path, "/"):
		return bad("The request names no path of the service.",
			"Send the path alone, like GET /v2/billing/operation; opdeck is not a proxy to other hosts.")
	case len(path) > maxPath || len(query) > 4096:
		return bad("The address is too long.", "A path has up to 4,096 characters, as has a query.")
	case strings.ContainsAny(path, "\\;#") ||
		strings.ContainsFunc(path+query, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return bad("The path contains characters that no path of the service has.",
			"In an id such characters are escaped, as in a%20b.")
	}
	for s := range strings.SplitSeq(path[1:], "/") {
		plain, err := url.PathUnescape(s)
		if err != nil || plain == "" || plain == "." || plain == ".." {
			return bad("The path has an empty part, or dots for one.",
				"Write it as the service's documents do, without a slash at the end.")
		}
	}
	return nil
}
