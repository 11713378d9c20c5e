// Package api is the client of the payments and compliance service: its records (operation, document, customer, …) as
// Go types that lose nothing of the wire, the client, the Gate that every write passes, and errors whose kind says
// what can be done. It reports the outcome of a write only with proof: docs/outcomes.md, outcome.go.
//
// It imports no screen and no SQL. The session (one token pair for all processes) and the budgets (recommended rates,
// shared by all instances) are in the packages below it.
package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"opdeck/api/jsontree"
	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/api/untrusted"
)

// Send makes one attempt with the given access token. It returns the status and header of the answer, or an error if
// there was none.
type Send func(ctx context.Context, token secret.Value) (status int, header http.Header, err error)

// Options configure a Client. All but the hooks, Log and Service are required.
type Options struct {
	BaseURL   string
	Transport http.RoundTripper // for API calls; logins use their own
	// Session lends the shared access token to a call: it reserves a slot of the class, waits for a live pair, and calls
	// send at most three times: it repeats only after status 401, which means that nothing was done.
	Session func(ctx context.Context, route session.Route, send Send) error
	Gate    *Gate
	Timeout time.Duration // for each attempt
	// SettleWait is how long a write without proof is looked up before it is reported as unknown; 0: one read.
	SettleWait time.Duration
	Service    Service
	UserAgent  string
	Log        *slog.Logger
	Now        func() time.Time
	Digests    secret.Digests                                   // of secrets in acts
	Sleep      func(ctx context.Context, d time.Duration) error // nil: a timer

	// OnCall gets every phase of every call, and twice a second the progress of a large body. OnOperations gets
	// operations that were read or changed: a page of the list (page true) or a single one, no older than the time of
	// the request; it may complete their documents' locks. OnLocked gets a removal that the service refused because of a
	// lock. They must return quickly and be safe for concurrent use.
	OnCall       func(Call)
	OnOperations func(ctx context.Context, ops []Operation, page bool, seenAt time.Time)
	OnLocked     func(ctx context.Context, act Act)
}

// Service holds settings for what the service's documents leave open (config, [service]).
type Service struct {
	ShareTokenField string // "token"
	ListField       string // path of the array in an answer with a list, "data.rows"; "": detected
	UploadIDField   string // path of the id in an upload's answer, beside the known names; "a.b" for b within a
	LinkField       string // path of the address in the answer with a compliance link, beside "url"
	PageSize        int    // 100
	Paging          Paging
	Phases          map[string]Phase // status words beside the known ones
}

// CallPhase is the phase of a call.
type CallPhase int

// The phases, in order.
const (
	CallWaits CallPhase = iota // for a slot in its budget, or for the session
	CallRuns                   // on the wire
	CallEnded
)

// Call is one call in one phase, for the activity list, the log and metrics. Route is a template: it holds no id and
// no secret.
type Call struct {
	ID    string // ours, the same in all phases
	Phase CallPhase
	Write bool
	// Background: no one waits for it, so calls of people go first.
	Background bool
	Op         string
	Class      limit.Class
	Method     string
	Route      string
	Status     int    // 0: no answer
	Error      string // one safe line; "" for success
	Kind       Kind
	At         time.Time
	Took       time.Duration // waiting for a slot and a session included
	Ran        time.Time     // when the attempt began; zero: not yet
	Moved      int64         // bytes of a large body so far, sent by a write or received by a read
	Size       int64         // of that body in bytes; 0: not known
	RequestID  string
	Object     string      // a digest of the ids in its path; "": none
	Useful     bool        // of an ended call: its answer could be used
	Fault      reach.Fault // of an ended call: what came instead of a useful answer; Class None: nothing
}

// Client calls the service. It is safe for concurrent use.
type Client struct {
	opt  Options
	base *url.URL
	http *http.Client
}

// New checks the options and returns a Client.
func New(opt Options) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(opt.BaseURL, "/"))
	if err != nil || base.Host == "" {
		return nil, &Error{Kind: BadConfig, Public: "base_url is not a valid address."}
	}
	if opt.Transport == nil || opt.Session == nil || opt.Gate == nil || opt.Now == nil || opt.Timeout <= 0 {
		return nil, &Error{Kind: Internal, Public: "The client is not fully configured."}
	}
	if opt.Service.ShareTokenField == "" {
		opt.Service.ShareTokenField = "token"
	}
	if opt.Service.PageSize == 0 {
		opt.Service.PageSize = 100
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Sleep == nil {
		opt.Sleep = limit.Sleep
	}
	return &Client{opt: opt, base: base, http: &http.Client{
		Transport:     opt.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// ReadOnly reports whether the gate refuses all writes.
func (c *Client) ReadOnly() bool { return c.opt.Gate.ReadOnly }

// Phase classifies an operation's status; it knows the config's words too.
func (c *Client) Phase(o Operation) Phase {
	if p, ok := c.opt.Service.Phases[string(o.Status)]; ok {
		return p
	}
	return o.Phase()
}

// MaxID is the longest identifier of the service, in bytes.
const MaxID = 512

// CheckID returns an error of kind Usage unless id can be an identifier: visible characters, at most MaxID bytes, and
// no part "." or "..", which proxies resolve even when escaped. what names it in the error.
func CheckID(what, id string) error {
	visible := untrusted.Text(id).Flags()&(untrusted.Control|untrusted.Format|untrusted.Invalid) == 0
	for part := range strings.FieldsFuncSeq(id, func(r rune) bool { return r == '/' || r == '\\' }) {
		visible = visible && part != "." && part != ".."
	}
	if id != "" && len(id) <= MaxID && visible && strings.TrimSpace(id) == id {
		return nil
	}
	return &Error{Kind: Usage, Rule: RuleIdentifier, Remedy: Remedy{Kind: CopyID},
		Public: fmt.Sprintf("Not a valid %s: use up to %d bytes of visible characters, and no “.” or “..” as a part.",
			what, MaxID)}
}

// EscapeID escapes an identifier as one segment of a path.
func EscapeID(id string) string { return url.PathEscape(id) }

// Service returns the settings for what the service's documents leave open.
func (c *Client) Service() Service { return c.opt.Service }

// Now is the client's clock.
func (c *Client) Now() time.Time { return c.opt.Now() }

// ServiceNow is the service's time by the Date header of its newest answer, up to a second behind; zero: not known.
func (c *Client) ServiceNow() time.Time { return c.opt.Gate.Date() }

// Claimed is Follower.Claimed; false without a Follower.
func (c *Client) Claimed(ctx context.Context, p Probe, id string) (bool, error) {
	if c.opt.Gate.Follow == nil {
		return false, nil
	}
	return c.opt.Gate.Follow.Claimed(ctx, p, id)
}

func (c *Client) Log() *slog.Logger { return c.opt.Log }

type dryRunKey struct{}

// ErrDryRun is returned by a write in a dry run once it is recorded.
var ErrDryRun = errors.New("dry run: nothing was sent")

// DryRun makes every write in the returned context record its act instead of sending it.
func DryRun(ctx context.Context) (context.Context, *[]Act) {
	acts := new([]Act)
	return context.WithValue(ctx, dryRunKey{}, acts), acts
}

// IsDryRun reports whether ctx was made by DryRun; then reads are not sent either.
func IsDryRun(ctx context.Context) bool { return ctx.Value(dryRunKey{}) != nil }

// Saw passes operations to OnOperations; items that could not be read as operations are left out.
func (c *Client) Saw(ctx context.Context, at time.Time, page bool, ops ...Operation) {
	if c.opt.OnOperations == nil {
		return
	}
	usable := make([]Operation, 0, len(ops))
	for _, o := range ops {
		if o.OPID != "" {
			usable = append(usable, o)
		}
	}
	c.opt.OnOperations(ctx, usable, page, at)
}

type announceKey struct{}

// announced reports each act's announcement once.
type announced struct {
	notify    func(op, said string)
	mu        sync.Mutex
	announced map[string]bool // guarded by mu
}

// WithAnnouncements makes the calls in the returned context report when an answer announces the end of this form of
// the call (headers Deprecation and Sunset). notify is called once for each act, on the caller's goroutine, and must
// not block; said is one safe line.
func WithAnnouncements(ctx context.Context, notify func(op, said string)) context.Context {
	return context.WithValue(ctx, announceKey{}, &announced{notify: notify, announced: map[string]bool{}})
}

// announce reports what the headers of an answer announce.
func announce(ctx context.Context, op string, h http.Header) {
	a, ok := ctx.Value(announceKey{}).(*announced)
	said := ending(h)
	if !ok || said == "" {
		return
	}
	a.mu.Lock()
	announced := a.announced[op]
	a.announced[op] = true
	a.mu.Unlock()
	if !announced {
		a.notify(op, said)
	}
}

// Announcement is the sentence for people about an announcement.
func Announcement(op, said string) string {
	return "The service announces that it will retire this form of the call “" + op + "” (" + said + ")."
}

// ending is what the headers say about the end of a call, "" if nothing.
func ending(h http.Header) string {
	var out []string
	for _, name := range []string{"Deprecation", "Sunset"} {
		if v := strings.TrimSpace(h.Get(name)); v != "" && !strings.EqualFold(v, "false") {
			out = append(out, name+": "+string(Quote(v, 80)))
		}
	}
	return strings.Join(out, ", ")
}

// Standing is the meaning of a status of a customer, an account or a counterparty's account. The service's webhook
// pages list all words and call them steps and results; its answers use ACCEPT where one page has ACCEPTED.
type Standing int

// The standings.
const (
	StandingUnknown Standing = iota // a word that is not on the service's pages
	StandingNew
	StandingUnderWay // moderation, verification: no result yet
	StandingAccepted
	StandingRejected
	StandingBanned
)

var standings = map[string]Standing{
	"NEW": StandingNew, "MODERATION": StandingUnderWay, "MODERATED": StandingUnderWay, "VERIFY": StandingUnderWay,
	"PROCESSING": StandingUnderWay, "PROGRESS": StandingUnderWay, "ACCEPT": StandingAccepted, "ACCEPTED": StandingAccepted,
	"REJECT": StandingRejected, "REJECTED": StandingRejected, "BANNED": StandingBanned,
}

// StandingOf classifies a status word.
func StandingOf(status untrusted.Text) Standing { return standings[strings.ToUpper(string(status))] }

// Submitted reports whether an application's status shows that it was submitted and has no result yet. The service's
// pages word that only in prose, "draft to submitted"; its customers are then under way.
func Submitted(status untrusted.Text) bool {
	word := strings.ToUpper(string(status))
	return word == "SUBMITTED" || word == "UNDER_REVIEW" || StandingOf(status) == StandingUnderWay
}

// Says explains a status that is not a result, as the end of a sentence; "" for results, which explain themselves,
// and for unknown words.
func (s Standing) Says() string {
	switch s {
	case StandingNew:
		return "not reviewed yet"
	case StandingUnderWay:
		return "no result yet"
	}
	return ""
}

// Reached reports whether an ended call shows anything about the service: a useful answer, or what came instead.
func (c Call) Reached() bool { return c.Useful || c.Fault.Class != reach.None }

// use judges a call: whether its answer was of use, or what came instead of a useful one. e is the error of the call,
// that of reading its answer included. Neither means that the call says nothing about the service: it was refused for
// a reason of its own, in the words of the service's documents, or for its session.
func (c *Client) use(r Request, a Answer, e error) (useful bool, f reach.Fault) {
	f = c.reached(r, a)
	err := AsError(e)
	good := a.Status >= 200 && a.Status < 300
	switch {
	case f.Class != reach.None, a.err != nil, a.Status == 0, forSession(r, a) == http.StatusUnauthorized:
		return false, f
	case r.write:
		return good && r.take(a) == nil, f
	case good && r.Raw:
		if like := jsonLike(a.Header); !like || !empty(a.Body) {
			return like || !isPage(a), f
		}
	case good && err == nil && !empty(a.Body):
		return true, f
	case good && (err == nil || err.Kind == NotFound || err.Status == 0): // there is none; or the error is ours
		return false, f
	case strings.Contains(r.Route, "{") && knownMessage(Said(a.Body)):
		return false, f
	}
	return false, reach.Fault{Class: reach.Useless, Status: a.Status, Shape: shapeOf(a), Said: Said(a.Body)}
}

// empty reports whether an answer holds nothing: no object or array, or an object without members.
func empty(body []byte) bool {
	v := ParseJSON(bytes.TrimSpace(body))
	return v.Kind() != jsontree.Array && (v.Kind() != jsontree.Object || v.Len() == 0)
}

func isPage(a Answer) bool {
	return bytes.HasPrefix(bytes.TrimSpace(a.Body), []byte("<")) ||
		strings.HasPrefix(a.Header.Get("Content-Type"), "text/html")
}

// maxShape bounds an answer that is named literally, in bytes.
const maxShape = 8

// shapeOf names an answer of no use: "404 Not Found", "200 with {}".
func shapeOf(a Answer) string {
	body := bytes.TrimSpace(a.Body)
	if a.Status < 200 || a.Status >= 300 {
		name := strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)))
		if isPage(a) {
			name += ", a web page"
		}
		return name
	}
	switch {
	case len(body) == 0:
		return fmt.Sprintf("%d without content", a.Status)
	case len(body) <= maxShape && empty(body):
		return fmt.Sprintf("%d with %s", a.Status, safeLine(string(body), maxShape))
	}
	return fmt.Sprintf("%d with other JSON", a.Status)
}

// objectOf is a short digest of the ids in the path of a call; "" without any.
func objectOf(r Request) string {
	if !strings.Contains(r.Route, "{") {
		return ""
	}
	sum := sha256.Sum256([]byte(r.Path))
	return hex.EncodeToString(sum[:4])
}

// reached is what kept a call from any answer of the service, by the network, its status or its form.
func (c *Client) reached(r Request, a Answer) reach.Fault {
	if a.err != nil {
		if knowsMore(a.err) || errTooLarge == a.err || errors.Is(a.err, context.Canceled) { // we left: it says nothing
			return reach.Fault{}
		}
		return reach.OfError(a.err, a.sent, c.opt.Now())
	}
	f := reach.Fault{Class: reach.OfStatus(a.Status), Status: a.Status}
	switch body := bytes.TrimSpace(a.Body); {
	case f.Class != reach.None:
		f.Said, f.After = Said(a.Body), session.RetryAfter(a.Header)
		if f.Class == reach.Moved {
			f.Target = session.Elsewhere(a.Header, secret.Value{})
		}
	case a.Status == http.StatusTooManyRequests:
		f.Class, f.After = reach.Throttled, session.RetryAfter(a.Header)
	case r.Raw || a.Status/100 != 2 || len(body) == 0:
		return reach.Fault{}
	case isPage(a):
		f.Class = reach.Page
	case !strings.ContainsRune("{[\"tfn-0123456789", rune(body[0])):
		f.Class = reach.Garbage
	}
	if f.Class == reach.None {
		return reach.Fault{}
	}
	return f
}
