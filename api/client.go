package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/api/untrusted"
)

// Session lends the shared access token to calls. Do reserves a slot of the
// class, waits for a live pair, and calls send at most three times: again only
// after a status 401, which says that nothing was done.
type Session interface {
	Do(ctx context.Context, route session.Route, send Send) error
}

// Send makes one attempt with the given access token and reports the status and
// header of the answer; err when there was no answer.
type Send func(ctx context.Context, token secret.Value) (status int, header http.Header, err error)

// Options configure a Client. All but the hooks, Log and Service are required.
type Options struct {
	BaseURL   string
	Transport http.RoundTripper // for API calls; auth calls have their own
	Session   Session
	Gate      *Gate
	Timeout   time.Duration // of one attempt
	// SettleWait is how long a write whose answer proves nothing is looked at
	// before it is reported as unknown; 0: one look.
	SettleWait time.Duration
	Service    Service
	UserAgent  string
	Log        *slog.Logger
	Now        func() time.Time
	Sleep      func(ctx context.Context, d time.Duration) error // nil: a timer

	// OnCall is told about every phase of every call, and twice a second how much of a
	// large body went; OnOperations about operations that were read or changed: a page of
	// the list (page true) or a single one, as they were at the moment of asking or later.
	// Both must be quick, and may be called from several goroutines.
	OnCall       func(Call)
	OnOperations func(ctx context.Context, ops []Operation, page bool, seenAt time.Time)
}

// Service holds what the service's documents leave open (config, [service]).
type Service struct {
	ShareTokenField string // "token"
	ListField       string // of the array that holds a list, "data.rows"; "": found by itself
	UploadIDField   string // where an upload's answer holds the id, beside the known names; "a.b" for b within a
	PageSize        int    // 100
	Paging          Paging
	Phases          map[string]Phase // status words beside the known ones
}

// CallPhase is where a call is.
type CallPhase int

// The phases, in order.
const (
	CallWaits CallPhase = iota // for a slot in its budget, or for the session
	CallRuns                   // it was sent
	CallEnded
)

// Call is one call in one of its phases, for the activity list, the log and
// metrics. Route is a template: it holds no id and no secret.
type Call struct {
	ID    string // ours, the same in all phases
	Phase CallPhase
	Write bool
	// Background: nobody waits for it; it gives way to calls of people.
	Background bool
	Op         string
	Class      limit.Class
	Method     string
	Route      string
	Status     int    // 0: no answer
	Error      string // one safe line; "" when it went well
	Kind       Kind
	At         time.Time
	Took       time.Duration // waiting for a slot and a session included
	Ran        time.Time     // when the attempt began; zero: none did yet
	Moved      int64         // bytes of a large body so far, of what a write sends or a read answers
	Size       int64         // of that body; 0: not told
	RequestID  string
}

// Client makes calls. It is safe for concurrent use.
type Client struct {
	opt  Options
	base *url.URL
	http *http.Client
}

// New checks the options and makes a Client.
func New(opt Options) (*Client, error) {
	base, err := url.Parse(strings.TrimRight(opt.BaseURL, "/"))
	if err != nil || base.Host == "" {
		return nil, &Error{Kind: BadConfig, Public: "base_url is not a valid address."}
	}
	if opt.Transport == nil || opt.Session == nil || opt.Gate == nil || opt.Now == nil || opt.Timeout <= 0 {
		return nil, &Error{Kind: Internal, Public: "The client is not set up completely."}
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

// Phase classifies an operation's status, words of the config included.
func (c *Client) Phase(o Operation) Phase {
	if p, ok := c.opt.Service.Phases[string(o.Status)]; ok {
		return p
	}
	return o.Phase()
}

// MaxID is the longest identifier of the service, in bytes.
const MaxID = 512

// CheckID accepts what can be an identifier: a text that people can see, up to MaxID bytes. In a path it is escaped
// (EscapeID); what programs on the way would take for "here" or "up", escaped or not, it may not hold.
func CheckID(what, id string) error {
	visible := untrusted.Text(id).Flags()&(untrusted.Control|untrusted.Format|untrusted.Invalid) == 0
	for part := range strings.FieldsFuncSeq(id, func(r rune) bool { return r == '/' || r == '\\' }) {
		visible = visible && part != "." && part != ".."
	}
	if id != "" && len(id) <= MaxID && visible && strings.TrimSpace(id) == id {
		return nil
	}
	return &Error{Kind: Usage, Rule: RuleIdentifier, Remedy: Remedy{Kind: CopyID},
		Public: fmt.Sprintf("Not a valid %s: visible characters, up to %d bytes of them, and no part “.” or “..”.",
			what, MaxID)}
}

// EscapeID is an identifier as one segment of a path.
func EscapeID(id string) string { return url.PathEscape(id) }

// Service is what Options says that the service's documents leave open.
func (c *Client) Service() Service { return c.opt.Service }

// Now is the client's clock.
func (c *Client) Now() time.Time { return c.opt.Now() }

// ServiceNow is the service's time as its newest answer told it, up to a second behind; zero:
// none did.
func (c *Client) ServiceNow() time.Time { return c.opt.Gate.Date() }

// Claimed is Follower.Claimed; where nobody follows writes, nothing is claimed.
func (c *Client) Claimed(ctx context.Context, p Probe, id string) (bool, error) {
	if c.opt.Gate.Follow == nil {
		return false, nil
	}
	return c.opt.Gate.Follow.Claimed(ctx, p, id)
}

// Log is the client's log.
func (c *Client) Log() *slog.Logger { return c.opt.Log }

type dryRunKey struct{}

// ErrDryRun is returned by a write in a dry run, after it was recorded.
var ErrDryRun = errors.New("dry run: nothing was sent")

// DryRun makes every write in the returned context record its act and send
// nothing.
func DryRun(ctx context.Context) (context.Context, *[]Act) {
	acts := new([]Act)
	return context.WithValue(ctx, dryRunKey{}, acts), acts
}

// IsDryRun reports whether ctx is one of DryRun, where not even a read is sent.
func IsDryRun(ctx context.Context) bool { return ctx.Value(dryRunKey{}) != nil }

// Saw shows operations to the observer; items that could not be read as operations are
// left out.
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
