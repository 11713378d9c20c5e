package session

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api/jsontree"
	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/redact"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// read classifies an answer (rules D1, D3, D4, D6, D7) and names its fault. raw is its body, complete if broken is nil;
// of is the request.
func (a *answer) read(resp *http.Response, raw []byte, broken error, of request) {
	text := a.classify(resp, raw, broken, of)
	switch {
	case a.outcome == Unreadable, broken == nil && len(raw) <= maxAnswer:
		a.fault = a.faultOf(resp, text, of)
	case broken != nil:
		a.fault = reach.OfError(broken, true, time.Now())
	default:
		a.fault = reach.Fault{Class: reach.TooLong, Status: a.status}
	}
}

// classify sets the outcome and returns the answer's text.
func (a *answer) classify(resp *http.Response, raw []byte, broken error, of request) []byte {
	code := resp.StatusCode
	text, unpacked := jsontree.Unpack(raw, resp.Header.Get("Content-Encoding"), maxAnswer)
	if code/100 == 2 {
		switch age := resp.Header.Get("Age"); {
		case broken != nil:
			a.unread(of, brokenOff(raw, broken), "")
		case len(raw) > maxAnswer:
			a.unread(of, "it is longer than any answer to a login"+beginning(text), "")
		case age != "" && age != "0":
			a.unread(of, "it comes from a cache", "")
		case unpacked != nil:
			a.unread(of, coded(resp.Header.Get("Content-Encoding"), unpacked), "")
		default:
			a.readGood(text, of)
		}
		return text
	}
	if a.retryAfter = min(RetryAfter(resp.Header), MaxBackoff); code == http.StatusTooManyRequests {
		a.outcome = Throttled
		a.retryAfter = limit.HoldFor(RetryAfter(resp.Header))
	} else if broken == nil && len(raw) <= maxAnswer && code/100 != 3 {
		a.readWords(code, text, of.kind == ByLogin)
	}
	return text
}

// readGood classifies a complete answer with a good status.
func (a *answer) readGood(text []byte, of request) {
	v, err := jsontree.Parse(text)
	if err != nil {
		a.unread(of, notJSON(text), "")
		return
	}
	seen, key := a.readPair(v, of.names)
	if seen == "" {
		return
	}
	if a.readWords(http.StatusOK, text, of.kind == ByLogin); a.outcome != Unknown {
		return
	}
	if said := message(text); said != "" && key == accessTokenKey {
		seen, key = "it says "+sketch([]byte(said)), ""
	} else {
		seen += "; it contains " + v.Keys()
	}
	a.unread(of, seen, key)
}

// unread is a good status without a pair that can be read. A login may have made one all the same, and the next one
// would end it, and every other client's session: it is Unreadable.
func (a *answer) unread(of request, seen, key string) {
	a.seen, a.key = seen, key
	if a.outcome = Unknown; of.kind == ByLogin {
		a.outcome = Unreadable
	}
}

// readWords classifies an answer without tokens: by its status and, whatever that is, by the documented refusals and
// the name of a two-factor code, or the service's own member for it, is2fa (rules D6, D7).
func (a *answer) readWords(code int, raw []byte, login bool) {
	v, err := jsontree.Parse(raw)
	switch said := message(raw); {
	case twoFactor.MatchString(said), err == nil && string(v.Member("is2fa").Raw()) == "true":
		a.outcome = TwoFactor
	case refusal(code, login), !login && slices.Contains(refreshRefusals, said):
		a.outcome = Refused
	}
}

func refusal(code int, login bool) bool {
	switch code {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden:
		return true
	case http.StatusUnprocessableEntity, http.StatusLocked:
		return login
	case http.StatusNotFound, http.StatusGone:
		return !login
	}
	return false
}

// RetryAfter parses the header of an answer: seconds, or a date relative to the answer's own Date (rule D4). 0:
// none. The result may exceed any reasonable wait.
func RetryAfter(h http.Header) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseFloat(v, 64); err == nil {
		return time.Duration(min(max(0, n), mostAsked.Seconds()) * float64(time.Second))
	}
	at, err := http.ParseTime(v)
	if err != nil {
		return 0
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(0, at.Sub(date)), mostAsked)
}

// mostAsked bounds a Retry-After.
const mostAsked = 365 * 24 * time.Hour

// maxAnswer bounds the bytes read of an answer (rule H5), maxToken the length of a token (rule D1).
const (
	maxAnswer = 64 << 10
	maxToken  = 16 << 10
)

// authClient sends logins and refreshes. It uses the RoundTripper directly: no redirects, no cookies, no *url.Error
// with a token in it (rules H2, H3).
type authClient struct {
	rt          http.RoundTripper
	baseURL     string
	loginPath   string
	refreshPath string // ends with "/"; the refresh token follows
	names       Names  // of the members of an answer
	userAgent   string
}

// answer is the result of a login or refresh.
type answer struct {
	outcome    Outcome
	status     int
	access     secret.Value
	refresh    secret.Value
	accessTTL  time.Duration
	refreshTTL time.Duration
	retryAfter time.Duration // what the service asks for; 0: nothing
	served     time.Time     // the service's Date
	detail     string        // what the fault does not say; our own text
	seen       string        // what came with a good status instead of a pair, safe to draw: "it is empty"
	key        string        // the key under [service] that names what was not found in it; "": none
	warning    string
	assumed    Assumed
	fault      reach.Fault
}

func (a *authClient) login(ctx context.Context, account string, password secret.Value) answer {
	body, err := json.Marshal(map[string]string{"login": account, "password": password.Reveal()})
	if err != nil {
		return answer{outcome: NotSent, detail: "the login cannot be encoded"}
	}
	return a.send(ctx, request{kind: ByLogin, method: http.MethodPost, path: a.loginPath, body: body, names: a.names})
}

func (a *authClient) refresh(ctx context.Context, token secret.Value) answer {
	return a.send(ctx, request{kind: ByRefresh, method: http.MethodGet,
		path: a.refreshPath + escapeSegment(token.Reveal()), token: token, names: a.names})
}

// request is a login or refresh.
type request struct {
	kind         Kind
	method, path string
	body         []byte
	token        secret.Value // in the path of a refresh
	names        Names
}

// escapeSegment escapes s as one path segment that decodes to the same bytes and that no proxy treats as "." or "..".
func escapeSegment(s string) string {
	if s == "." || s == ".." {
		return strings.ReplaceAll(s, ".", "%2E")
	}
	return url.PathEscape(s)
}

func (a *authClient) send(ctx context.Context, of request) answer {
	var asked, got bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { asked = true },
		GotConn: func(httptrace.GotConnInfo) { got = true },
	})
	u, err := url.Parse(a.baseURL + of.path)
	if err != nil {
		return answer{outcome: NotSent, detail: "the address of the auth call cannot be built"} // err holds the token
	}
	req := (&http.Request{
		Method: of.method, URL: u, Host: u.Host, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Accept": {"application/json"}, "Cache-Control": {"no-store"},
			"User-Agent": {a.userAgent}},
		Body:          io.NopCloser(bytes.NewReader(of.body)), // without GetBody, net/http does not resend it
		ContentLength: int64(len(of.body)),
	}).WithContext(ctx)
	if of.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := a.rt.RoundTrip(req)
	if err != nil {
		ans := answer{outcome: Unknown}
		if asked && !got {
			ans.outcome = NotSent
		}
		ans.fault = reach.OfError(err, got, time.Now())
		return ans
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	ans := answer{status: resp.StatusCode, outcome: Unknown}
	ans.served, _ = http.ParseTime(resp.Header.Get("Date"))
	ans.read(resp, raw, err, of)
	return ans
}

// Names are the names of the members that hold a pair in the answer to a login or refresh, in place of the usual ones;
// "a.b" is the member b of a. "": the usual ones.
type Names struct {
	Access, Refresh       string
	AccessTTL, RefreshTTL string
}

// The keys under [service] that name what was not found.
const (
	accessTokenKey = "access_token_field"
	accessTTLKey   = "access_ttl_field"
)

// member is the member of an answer under the configured name, else under the first of the usual ones that it has:
// the documented name first (service facts 2.1).
func member(v jsontree.Value, configured string, usual ...string) jsontree.Value {
	if configured != "" {
		usual = []string{configured}
	}
	return v.Named(usual...)
}

// readPair reads the pair from an answer. seen is "", or what keeps it from being one; key is the one under
// [service] that mends it.
func (a *answer) readPair(v jsontree.Value, names Names) (seen, key string) {
	access := member(v, names.Access, "accessToken", "access_token").Text()
	refresh := member(v, names.Refresh, "refreshToken", "refresh_token").Text()
	if access == "" {
		return "it has no access token under a known name", accessTokenKey
	}
	if !tokenLike(access) || refresh != "" && !tokenLike(refresh) {
		return "its tokens cannot be sent in a header", ""
	}
	jwt, exp, _ := lifetimeOf(access)
	if !exp.IsZero() && !a.served.IsZero() && !exp.After(a.served) {
		return "its access token has already expired", ""
	}
	accessTTL := member(v, names.AccessTTL, "accessTtl", "access_ttl", "expires_in")
	told := announced(accessTTL)
	if a.accessTTL, a.warning = accessLife(told, jwt); a.accessTTL <= lastUse {
		return "its access token lives for " + a.accessTTL.String() + ", which is too short for a call", accessTTLKey
	}
	a.assumed.Access = (told == 0 || told > longestAccess) && jwt < time.Second
	refreshTTL := member(v, names.RefreshTTL, "refreshTtl", "refresh_ttl", "refresh_expires_in")
	told = announced(refreshTTL)
	a.refreshTTL, a.assumed.Refresh = refreshLife(told), told == 0
	a.outcome, a.access, a.refresh = OK, secret.New(access), secret.New(refresh)
	return "", ""
}

// tokenLike reports whether s can be a token: printable ASCII without spaces, at most maxToken bytes (rule D1).
func tokenLike(s string) bool { return s != "" && len(s) <= maxToken && ascii(s) }

// announced is a lifetime, which is documented as a number of seconds; 0: there is none, or it has another form.
func announced(v jsontree.Value) time.Duration {
	if v.Kind() != jsontree.Number {
		return 0
	}
	n, err := strconv.ParseFloat(string(v.Raw()), 64)
	if err != nil || !(n >= 1) || n > longest.Seconds() {
		return 0
	}
	return time.Duration(n * float64(time.Second))
}

// message is what a documented error answer says: the text of "error", or of "message" where there is no such member
// (service facts, section 1); "" for every other answer.
func message(raw []byte) string {
	v, err := jsontree.Parse(raw[:min(len(raw), maxAnswer)])
	if err != nil {
		return ""
	}
	for _, name := range []string{"error", "message"} {
		if m := v.Member(name); m.Kind() != 0 {
			return strings.TrimSpace(m.Text())
		}
	}
	return ""
}

// maxQuote bounds the service's words that are kept, in characters.
const maxQuote = 160

var longWord = regexp.MustCompile(`\S{40,}`)

// quote is what an answer says, safe to draw and to store: masked, without anything like a token, and without hide.
func quote(said string, hide secret.Value) string {
	text := []byte(said)
	secret.Find(hide).Hide(text)
	q := longWord.ReplaceAllString(string(text), "…")
	if !hide.Empty() {
		q = strings.ReplaceAll(q, hide.Reveal(), "…")
	}
	return untrusted.Text(redact.Said(q)).Line(maxQuote)
}

// twoFactor matches words that name a two-factor code (rule D6).
var twoFactor = regexp.MustCompile(`(?i)(^|[^a-z0-9])(t?otp|2fa|two[-_ ]?factor)([^a-z0-9]|$)`)

// revoked is the documented message about a pair that another login or refresh ended. Its status is not documented.
const revoked = "Token revoked. Please log in again"

// refreshRefusals are the documented messages of a refused refresh (service facts 2.1).
var refreshRefusals = []string{"Invalid or expired refresh token", revoked}

// Dead reports whether an answer says that the session's token is dead: by status 401, or by the documented message at
// any status. Such a call was not processed.
func Dead(status int, body []byte) bool {
	return status == http.StatusUnauthorized || status != 0 && message(body) == revoked
}

// faultOf names what came instead of tokens.
func (a *answer) faultOf(resp *http.Response, raw []byte, of request) reach.Fault {
	if a.outcome == OK {
		return reach.Fault{}
	}
	f := reach.Fault{Class: a.class(resp, raw, of), Status: a.status, Said: quote(message(raw), of.token),
		After: RetryAfter(resp.Header)}
	switch {
	case f.Class == reach.Moved:
		f.Target, f.Said = Elsewhere(resp.Header, of.token), ""
	case a.seen != "":
		f.Said, f.Key = a.seen, a.key
	}
	return f
}

func (a *answer) class(resp *http.Response, raw []byte, of request) reach.Class {
	switch status := reach.OfStatus(a.status); {
	case a.outcome == TwoFactor:
		return reach.TwoFactor
	case a.outcome == Throttled:
		return reach.Throttled
	case a.outcome == Unreadable:
		return reach.Unreadable
	case a.outcome == Refused && of.kind == ByLogin && a.status == http.StatusLocked:
		return reach.Locked
	case a.outcome == Refused && of.kind == ByLogin && a.status == http.StatusUnauthorized:
		return reach.Password
	case a.outcome == Refused && of.kind == ByRefresh && a.status == http.StatusNotFound &&
		!slices.Contains(refreshRefusals, message(raw)):
		return reach.NoRoute
	case a.outcome == Refused:
		return reach.Refused
	case status != reach.None:
		return status
	case a.status == http.StatusNotFound, a.status == http.StatusMethodNotAllowed:
		return reach.NoRoute
	case a.status/100 != 2:
		return reach.Refused
	}
	body := bytes.TrimSpace(raw)
	switch {
	case bytes.HasPrefix(body, []byte("<")), strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"):
		return reach.Page
	case bytes.HasPrefix(body, []byte("{")):
		return reach.Unreadable
	}
	return reach.Garbage
}

// hide removes the password from the service's words.
func (a *answer) hide(password secret.Value) {
	if !password.Empty() {
		a.fault.Said = strings.ReplaceAll(a.fault.Said, password.Reveal(), "…")
	}
}
