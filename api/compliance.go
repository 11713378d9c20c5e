package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// ShareTokenLife is how long a share token lives (spec, Limits rule 4).
const ShareTokenLife = 20 * time.Minute

// CheckShareToken looks at a pasted token before anything is sent: white space
// at the ends is dropped, anything odd inside is refused with a reason that does
// not show the token. It cannot tell whether the token is valid.
func CheckShareToken(s string) (secret.Value, error) {
	const op = "share"
	s = strings.TrimSpace(s)
	bad := func(why string) (secret.Value, error) {
		return secret.Value{}, &Error{Op: op, Kind: Usage, Public: "This does not look like a share token: " + why + ".",
			Field: FieldToken, Unsent: true, Remedy: Remedy{Kind: CopyToken}}
	}
	switch {
	case s == "":
		return bad("it is empty")
	case len(s) > 4096:
		return bad("it is longer than 4,096 characters")
	case len(s) < 8:
		return bad("it is shorter than 8 characters")
	}
	for _, r := range s {
		if unicode.IsSpace(r) {
			return bad("there is white space inside")
		}
		if r < 0x21 || r > 0x7e {
			return bad("it holds a character that tokens do not have")
		}
	}
	return secret.New(s), nil
}

// The writes of this file.
const (
	ActShare ActKind = "compliance.share"
	ActLink  ActKind = "compliance.link" // makes a single-use link: a GET that changes something
)

var (
	_ = declare(ActShare, rule{need: MayCompliance, number: "201", doing: "The share",
		flag: "applied", ownToken: true, statuses: []int{http.StatusConflict, http.StatusForbidden}, refused: shareRefused,
		advice: DiscardToken, shown: func(_ Probe, body fields, answer bool) bool { return answer && body.says("applied", true) }})
	_ = declare(ActLink, rule{need: MayCompliance, again: true, number: "202", doing: "The link",
		advice: MakeAnother, shown: func(_ Probe, body fields, answer bool) bool {
			_, ok := linkIn(body)
			return answer && ok
		}})
)

// Share presents a share token once
// (POST /v2/compliance/{customerId}/share; a general call). A token is never
// presented twice. No read proves what became of it: no document says what a
// share changes, and the application may change for other reasons. A token that
// was rejected comes back as a result that is not Applied.
func (c *Client) Share(ctx context.Context, cuid string, token secret.Value) (ShareResult, error) {
	const op = "share"
	if err := CheckID("customer id", cuid); err != nil {
		return ShareResult{}, err
	}
	field := c.opt.Service.ShareTokenField
	req := request{op: op, method: http.MethodPost, parts: []string{"/v2/compliance", ":" + cuid, "/share"},
		body: jsonBody(map[string]string{field: token.Reveal()}), content: "application/json"}
	act := newAct(ActShare, req, "customer", cuid, map[string]string{field: secret.Dots})
	act.SecretDigest = HashHex([]byte("share:" + token.Reveal()))
	act.Summary = "Share verified data with customer " + cuid
	a, err := c.send(ctx, write{act: act, req: req, probe: Probe{CUID: cuid}})
	if e := AsError(err); e != nil && e.Rule == RuleRejected {
		return ShareResult{Message: untrusted.Text(e.Public), Raw: a.body}, nil
	}
	if err != nil {
		return ShareResult{}, shareError(err)
	}
	return shareResult(a.body), nil
}

// shareResult reads the answer of a token that was applied. Sets that are
// outstanding may be absent, which means none; in a shape that cannot be read
// they are not known.
func shareResult(b []byte) ShareResult {
	res := ShareResult{Applied: true, Outstanding: []OutstandingSet{}, Raw: b}
	res.Message = untrusted.Text(object(b).find("message"))
	for _, o := range object(b).inside() {
		if o.has("outstanding") && json.Unmarshal(o.Member("outstanding").Raw(), &res.Outstanding) != nil {
			res.Outstanding = nil
		}
	}
	return res
}

// shareRefused words the three ways in which a share is refused (spec, Share rules 4 to 6).
func shareRefused(e *Error, words string, body fields, a answer) bool {
	switch {
	case body.says("applied", false) && a.status != http.StatusConflict && a.status != http.StatusForbidden:
		e.Kind, e.Rule, e.Field, e.Public, e.Remedy = Refused, RuleRejected, FieldToken, cmp.Or(words, "The service gave no reason."), Remedy{Kind: CorrectToken}
	case a.status == http.StatusForbidden && (body.exists() || len(bytes.TrimSpace(a.body)) == 0): // a page in HTML is not the service's
		e.Rule = RuleBaaS
	case a.status == http.StatusConflict:
		e.Rule = RuleShared
	default:
		return false
	}
	return true
}

// shareError words what 409 and 403 mean here (spec, Share rules 5 and 6).
func shareError(err error) error {
	out := *AsError(err)
	switch {
	case out.Kind == UnknownOutcome || out.Kind == AuthFailed:
	case out.Status == http.StatusConflict:
		out.Kind, out.Rule = Refused, RuleShared
		out.Public = "A share token was already applied to this customer; it cannot be shared again."
		out.Remedy = Remedy{Kind: MakeLink}
	case out.Rule == RuleBaaS:
		out.Kind = Refused
		out.Public = "The service forbids the share (403), which it documents for accounts on the BaaS verification program."
		out.quote(string(out.Said))
		out.Remedy = Remedy{Kind: UseLink}
	}
	return &out
}

// Link makes a short-lived, single-use address for the customer
// (GET /v2/compliance/{customerId}/web_sdk_link; a general call).
func (c *Client) Link(ctx context.Context, cuid string) (Link, error) {
	const op = "compliance link"
	if err := CheckID("customer id", cuid); err != nil {
		return Link{}, err
	}
	req := request{op: op, method: http.MethodGet, parts: []string{"/v2/compliance", ":" + cuid, "/web_sdk_link"}}
	act := newAct(ActLink, req, "customer", cuid, nil)
	act.Summary = "Make a verification link for customer " + cuid
	a, err := c.send(ctx, write{act: act, req: req, probe: Probe{CUID: cuid}})
	if err != nil {
		return Link{}, err
	}
	body := object(a.body)
	l := Link{Raw: a.body}
	l.TTL, _ = strconv.ParseInt(body.find("ttlInSeconds"), 10, 64)
	l.URL, _ = linkIn(body)
	return l, nil
}

// linkIn finds a usable address.
func linkIn(body fields) (untrusted.Text, bool) {
	for _, o := range body.inside() {
		u := untrusted.Text(o.text("url"))
		if (strings.HasPrefix(string(u), "https://") || strings.HasPrefix(string(u), "http://")) && !u.Flags().Suspicious() {
			return u, true
		}
	}
	return "", false
}
