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
	tree, err := jsontree.Parse(text)
	if err != nil {
		if a.readWords(http.StatusOK, text, of.kind == ByLogin); a.outcome == Unknown {
			a.unread(of, notJSON(text), "")
		}
		return
	}
	v := tree.Root()
	seen, key := a.readPair(v, of.names)
	if seen == "" {
		return
	}
	words := parseErrorAnswer(text)
	if access, _, _, _ := of.names.pairIn(v); access == "" && !words.success {
		if a.readWords(http.StatusOK, text, of.kind == ByLogin); a.outcome != Unknown {
			return
		}
	}
	if words.object && !words.isData && words.quote != "" {
		seen, key = "it says "+sketch([]byte(words.quote)), ""
	} else {
		seen += "; it contains " + keysOf(v)
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

// keysOf lists the members of an answer and of the objects in it, without values.
func keysOf(v jsontree.Value) string {
	var out []string
	for _, o := range v.Inside() {
		if len(out) < 3 {
			out = append(out, o.Keys())
		}
	}
	if len(out) == 0 {
		return v.Keys()
	}
	return strings.Join(out, "; inside it ")
}

// readWords classifies an answer without tokens: by its words at any status or, without known words, by the status.
func (a *answer) readWords(code int, raw []byte, login bool) {
	s := parseErrorAnswer(raw)
	out, unclear := s.verdict()
	switch {
	case out == TwoFactor:
		a.outcome = TwoFactor
	case !login && (out == Refused || Dead(code, raw, false) || refusal(code, login)):
		a.outcome = Refused
	case login && out == Refused:
		a.outcome, a.unclear = Refused, unclear
	case login && refusal(code, login):
		a.outcome, a.unclear = Refused, code != http.StatusUnauthorized
	}
	if a.outcome == Refused || a.outcome == TwoFactor {
		a.said = s
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
	said       errorAnswer   // the service's words of a refusal
	unclear    bool          // a refused login that may mean the password or a code
	warning    string
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

// Names are extra names of the members that hold a pair in the answer to a login or refresh; "a.b" is the member b of
// a. "" adds none.
type Names struct {
	Access, Refresh       string
	AccessTTL, RefreshTTL string
}

// known are the usual names, most specific first (service facts 2.1 lists the first ones).
var known = struct{ access, refresh, accessTTL, refreshTTL []string }{
	access: []string{"accessToken", "access.token", "tokens.access", "access", "authToken", "bearerToken", "sessionToken",
		"jwt", "token"},
	refresh: []string{"refreshToken", "refresh.token", "tokens.refresh", "refresh"},
	accessTTL: []string{"accessTtl", "accessTokenTtl", "accessExpiresIn", "accessTokenExpiresIn", "access.ttl",
		"access.expiresIn", "expiresIn", "accessTokenExpiresAt", "accessExpiresAt", "access.expiresAt", "expiresAt", "ttl",
		"expires"},
	refreshTTL: []string{"refreshTtl", "refreshTokenTtl", "refreshExpiresIn", "refreshTokenExpiresIn", "refresh.ttl",
		"refresh.expiresIn", "refreshTokenExpiresAt", "refreshExpiresAt", "refresh.expiresAt"},
}

// pairIn finds a pair and its announced lifetimes in an answer of any usual shape.
func (n Names) pairIn(v jsontree.Value) (access, refresh, accessTTL, refreshTTL string) {
	find := func(own string, usual []string) string {
		if own != "" {
			usual = append([]string{own}, usual...)
		}
		s, _ := v.Find(usual...)
		return strings.TrimSpace(s)
	}
	return bare(find(n.Access, known.access)), bare(find(n.Refresh, known.refresh)),
		find(n.AccessTTL, known.accessTTL), find(n.RefreshTTL, known.refreshTTL)
}

// bare is a token without its scheme ("Bearer").
func bare(token string) string {
	if scheme, rest, ok := strings.Cut(token, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(rest)
	}
	return token
}

// readPair reads the pair from an answer. seen is "", or what keeps it from being one; key is the one under
// [service] that mends it.
func (a *answer) readPair(v jsontree.Value, names Names) (seen, key string) {
	access, refresh, accessTTL, refreshTTL := names.pairIn(v)
	if access == "" {
		return "it has no access token under a known name", "access_token_field"
	}
	if !tokenLike(access) || refresh != "" && !tokenLike(refresh) {
		return "its tokens cannot be sent in a header", ""
	}
	now := a.served
	if now.IsZero() {
		now = time.Now()
	}
	jwt, exp, _ := lifetimeOf(access)
	if !exp.IsZero() && !a.served.IsZero() && !exp.After(a.served) {
		return "its access token has already expired", ""
	}
	life, u, warning, ok := accessLife(announced(accessTTL, now), jwt, now)
	if !ok {
		return "it has no plausible lifetime of the access token", "access_ttl_field"
	}
	a.outcome, a.warning = OK, warning
	a.access, a.refresh = secret.New(access), secret.New(refresh)
	a.accessTTL, a.refreshTTL = life, refreshLife(announced(refreshTTL, now), u, now)
	return "", ""
}

// tokenLike reports whether s can be a token: printable ASCII without spaces, at most maxToken bytes (rule D1).
func tokenLike(s string) bool { return s != "" && len(s) <= maxToken && ascii(s) }

// isoSpan is a duration of ISO 8601 without years and months: PT5M, P1DT2H.
var isoSpan = regexp.MustCompile(`^[pP](?:(\d+)[dD])?(?:[tT](?:(\d+)[hH])?(?:(\d+)[mM])?(?:(\d+(?:\.\d+)?)[sS])?)?$`)

// announced is a lifetime as a number: unchanged, or in seconds if it has a unit or is the time of expiry; now is the
// service's clock. 0: unreadable.
func announced(s string, now time.Time) float64 {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		return v
	}
	if m := isoSpan.FindStringSubmatch(s); m != nil && len(s) > 2 {
		total := 0.0
		for i, seconds := range []float64{86400, 3600, 60, 1} {
			v, _ := strconv.ParseFloat(m[i+1], 64) // "" is 0
			total += v * seconds
		}
		return total
	}
	if d, err := time.ParseDuration(strings.ToLower(strings.ReplaceAll(s, " ", ""))); err == nil {
		return d.Seconds()
	}
	for _, form := range []string{time.RFC3339Nano, time.DateTime, http.TimeFormat} {
		if at, err := time.Parse(form, s); err == nil {
			return at.Sub(now).Seconds()
		}
	}
	return 0
}

// The service's documents give no status with their error texts, so the words count as much as the status. Unknown
// words leave it to the status alone.

// errorAnswer is the content of an answer without tokens.
type errorAnswer struct {
	texts   []string // its sentences and codes in capitals, as plain lower-case words
	quote   string   // the first sentence, unchanged, for people
	code    bool     // it requires the login's field "code", or says that two-factor is on
	object  bool     // it is a JSON object
	isData  bool     // it holds something other than an error
	success bool     // it reports success
}

// errorKeys are the usual members of error answers.
var errorKeys = []string{"error", "errors", "message", "messages", "msg", "detail", "details", "description",
	"errordescription", "reason", "title", "code", "errorcode", "errorkey", "status", "statuscode", "success", "ok",
	"type", "path", "timestamp", "requestid",
	"traceid", "field", "fault", "result", "exception"}

// wordKeys are those that hold sentences or codes.
var wordKeys = []string{"error", "errors", "message", "messages", "msg", "detail", "details", "description",
	"errordescription", "reason", "title", "code", "errorcode", "errorkey", "fault", "exception", "field", "status"}

// parseErrorAnswer parses an error answer: JSON of any usual shape, or a short plain text.
func parseErrorAnswer(raw []byte) errorAnswer {
	var s errorAnswer
	tree, err := jsontree.Parse(raw[:min(len(raw), maxAnswer)])
	if err != nil {
		if line := strings.TrimSpace(string(raw)); len(line) <= 200 && !strings.Contains(line, "<") {
			s.add(line)
		}
		return s
	}
	v := tree.Root()
	if v.Kind() == jsontree.String {
		s.add(v.Text())
		return s
	}
	s.object = v.Kind() == jsontree.Object
	s.walk(v, 0)
	return s
}

// plainKey normalises a member's name.
func plainKey(k string) string {
	return strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(k))
}

func (s *errorAnswer) walk(v jsontree.Value, depth int) {
	if depth > 4 {
		return
	}
	switch v.Kind() {
	case jsontree.Object:
		for _, m := range v.Sorted() {
			plain := plainKey(m.Name)
			if depth == 0 && !slices.Contains(errorKeys, plain) {
				s.isData = true
			}
			s.demand(plain, m.Value)
			if depth > 0 || slices.Contains(wordKeys, plain) {
				s.walk(m.Value, depth+1)
			}
		}
	case jsontree.Array:
		for _, e := range v.Members() {
			s.walk(e, depth+1)
		}
	case jsontree.String:
		s.add(v.Text())
	}
}

var codeKey = regexp.MustCompile(`2fa|twofactor|secondfactor|totp|^otp|otp(required|needed)|mfa`)

// demand detects members that mean that a code is required: {"is2fa": true}, {"code": ["required"]}, {"field":
// "code"}.
func (s *errorAnswer) demand(key string, v jsontree.Value) {
	word, _ := v.Scalar()
	word = strings.ToLower(word)
	switch v.Kind() {
	case jsontree.Word:
		s.code = s.code || word == "true" && codeKey.MatchString(key)
		s.success = s.success || word == "true" && (key == "success" || key == "ok")
	case jsontree.Array:
		s.code = s.code || v.Len() > 0 && (key == "code" || codeKey.MatchString(key))
	case jsontree.Object:
		s.code = s.code || v.Len() > 0 && key == "code"
	case jsontree.String:
		s.code = s.code || (key == "field" || key == "param" || key == "property") && word == "code" ||
			key == "code" && codeWanted.MatchString("code "+word)
	}
}

func (s *errorAnswer) add(line string) {
	line = strings.TrimSpace(line)
	if line == "" || len(line) > 400 {
		return
	}
	if s.quote == "" || !strings.Contains(s.quote, " ") && strings.Contains(line, " ") { // prefer a sentence to a code
		s.quote = line
	}
	s.texts = append(s.texts, strings.Join(strings.Fields(strings.NewReplacer("_", " ", "-", " ", ".", " ", ",", " ", ":",
		" ", "!", " ", "'", "", "’", "").Replace(strings.ToLower(line))), " "))
}

func (s errorAnswer) matches(re *regexp.Regexp) bool {
	return slices.ContainsFunc(s.texts, re.MatchString)
}

// maxQuote bounds the service's words that are kept, in characters.
const maxQuote = 160

var longWord = regexp.MustCompile(`\S{40,}`)

// words is the quote, safe to draw and to store: masked, without anything like a token, and without hide.
func (s errorAnswer) words(hide string) string {
	quote := []byte(s.quote)
	secret.Find(secret.New(hide)).Hide(quote)
	q := longWord.ReplaceAllString(string(quote), "…")
	if hide != "" {
		q = strings.ReplaceAll(q, hide, "…")
	}
	return untrusted.Text(redact.Said(q)).Line(maxQuote)
}

// Words, all in lower case and without punctuation.
var (
	// otherToken matches tokens other than the session's.
	otherToken = regexp.MustCompile(
		`\b(share|sharing|verification|kyc|kyb|sumsub|csrf|xsrf|recovery|reset|webhook|hook|push|device|document|` +
			`upload|idempotency|invite|invitation|sdk) (token|link|code|session)\b`)

	// deadSession matches words that can only mean the session.
	deadSession = regexp.MustCompile(
		`^(error )?(401 )?(unauthori[sz]ed|unauthenticated|not authenticated|not authori[sz]ed)( request)?$|` +
			`\b(log|sign) ?in again\b|\bplease (log|sign) ?in\b|\b(re ?login|re ?authenticate)\b|\bnot logged in\b|` +
			`\bunauthenticated\b|` +
			`\b(session|login) (is |has |was |has been )?(expired|ended|closed|revoked|terminated|invalidated|invalid|` +
			`over|not found)\b|\b(invalid|expired|no active) session\b|` +
			`\b(access|bearer|auth|authentication|authorization|session) token (is |was |has |has been )?(invalid|` +
			`expired|revoked|missing|required|unknown|not valid|blacklisted|not found)\b|` +
			`\b(invalid|expired|revoked|missing|unknown|no|bad)( or (expired|invalid|missing|revoked))? (access|` +
			`bearer|auth|authentication|authorization|session) (token|header)\b|` +
			`\bauthentication (is )?(required|expired|failed)\b|\bauthorization (header )?(is )?(required|missing)\b|` +
			`\bfull authentication is required\b`)

	// deadToken matches words for an expired or revoked token; in a request without another token it is the
	// session's.
	deadToken = regexp.MustCompile(
		`\b(token|jwt)( signature)? (is |was |has |has been |is not |not )?(revoked|expired|invalid|invalidated|` +
			`malformed|blacklisted|inactive|no longer valid|not valid|valid yet|active|over|unknown|not found)\b|` +
			`\b(invalid|expired|revoked|malformed|unknown|inactive|bad)( or (expired|invalid|revoked|` +
			`malformed))? (refresh )?(token|jwt)\b`)

	codeWanted = regexp.MustCompile(
		`\b(t?otp|2fa|mfa|is2fa)\b|\b(two|second|2) ?(factor|step)\b|\bone ?time ?(code|password|passcode|pin)\b|` +
			`\bauthenticator\b|` +
			`\b(verification|confirmation|security|authentication|auth|sms|login|access) (code|pin)\b|` +
			`\bcode( field)? (is |was |has |must |should |not |cannot )?(be )?(required|missing|invalid|incorrect|` +
			`wrong|expired|needed|empty|blank|not valid|blank|provided|mismatch)\b|` +
			`\b(invalid|incorrect|wrong|missing|expired|empty|bad|enter|provide|requires?|no)( the| a| your)? (code|` +
			`passcode)\b|\b(or|and)( the| a| your)? code\b`)

	passwordWrong = regexp.MustCompile(
		`\b(login|user ?name|password|credentials?)\b.{0,40}\b(incorrect|wrong|invalid|mismatch|not match|` +
			`not recogni[sz]ed|rejected)\b|\b(incorrect|wrong|invalid)\b.{0,30}\b(login|user ?name|password|` +
			`credentials?)\b|` +
			`\b(invalid|incorrect|wrong|bad|unknown|mismatched)( the| your)? (login|log in|user ?name|user|password|` +
			`pass|passwd|credentials?|e ?mail|account)\b|` +
			`\b(login|log in|user ?name|user|e ?mail|password|passwd|credentials?|account)( or | and |\/)?(login|` +
			`password|credentials?)? ?(is |are |was |were |has |have |has been |does |do |did |must |` +
			`must be )?(not )?(invalid|incorrect|wrong|unknown|found|exists?|match|valid|expired|changed|recogni[sz]ed|` +
			`blocked|locked|disabled|inactive|suspended|deleted|deactivated|rejected|refused)\b|` +
			`\b(login|authentication|sign ?in) (failed|failure|denied|refused|rejected)\b|` +
			`\bno such (user|account|login)\b|\btoo many (failed|wrong|invalid)\b`)
)

// Dead reports whether an answer says that the session's token is dead: by status 401, or by its words at another
// status. Such a call was not processed. For a request with a token of its own (ownToken), as a share, only words
// that can only mean the session count. An answer with data is never one, nor is what gateways send themselves (408,
// 429, 502, 503, 504).
func Dead(status int, body []byte, ownToken bool) bool {
	switch status {
	case http.StatusUnauthorized:
		return true
	case 0, http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable,
		http.StatusGatewayTimeout:
		return false
	}
	if status >= 300 && status < 400 || len(body) > maxAnswer {
		return false
	}
	s := parseErrorAnswer(body)
	if status < 300 && (!s.object || s.isData || s.success) {
		return false
	}
	for _, line := range s.texts {
		switch {
		case otherToken.MatchString(line):
		case deadSession.MatchString(line), !ownToken && deadToken.MatchString(line):
			return true
		}
	}
	return false
}

// verdict classifies the words of a login's answer without tokens: TwoFactor, Refused, or "" for neither. unclear:
// they may mean either.
func (s errorAnswer) verdict() (out Outcome, unclear bool) {
	code, password := s.code || s.matches(codeWanted), s.matches(passwordWrong)
	switch {
	case code && password:
		return Refused, true
	case code:
		return TwoFactor, false
	case password:
		return Refused, false
	}
	return "", false
}

// faultOf names what came instead of tokens: the service's words first, then the status.
func (a *answer) faultOf(resp *http.Response, raw []byte, of request) reach.Fault {
	if a.outcome == OK {
		return reach.Fault{}
	}
	words := parseErrorAnswer(raw)
	f := reach.Fault{Class: a.class(resp, raw, words, of), Status: a.status, Said: words.words(of.token.Reveal()),
		After: RetryAfter(resp.Header)}
	switch {
	case f.Class == reach.Moved:
		f.Target, f.Said = Elsewhere(resp.Header, of.token), ""
	case a.seen != "":
		f.Said, f.Key = a.seen, a.key
	}
	return f
}

var (
	lockedWords   = regexp.MustCompile(`\b(locked|blocked|lockout)\b`)
	disabledWords = regexp.MustCompile(`\b(disabled|deactivated|suspended|inactive|not enabled|not active|deleted)\b`)
)

func (a *answer) class(resp *http.Response, raw []byte, words errorAnswer, of request) reach.Class {
	code, wanted := words.verdict()
	switch status := reach.OfStatus(a.status); {
	case a.outcome == TwoFactor:
		return reach.TwoFactor
	case a.outcome == Throttled:
		return reach.Throttled
	case a.outcome == Unreadable:
		return reach.Unreadable
	case a.outcome == Refused && of.kind == ByLogin && (a.status == http.StatusLocked || words.matches(lockedWords)):
		return reach.Locked
	case a.outcome == Refused && of.kind == ByLogin && words.matches(disabledWords):
		return reach.Disabled
	case a.outcome == Refused && wanted:
		return reach.Unclear
	case a.outcome == Refused && of.kind == ByLogin && (code == Refused || a.status == http.StatusUnauthorized):
		return reach.Password
	case a.outcome == Refused:
		return reach.Refused
	case status != reach.None:
		return status
	case a.status == http.StatusNotFound, a.status == http.StatusMethodNotAllowed:
		return reach.NoRoute
	case a.status/100 != 2:
		return reach.Refused
	}
	switch body := strings.TrimSpace(string(raw)); {
	case strings.HasPrefix(body, "<"), strings.HasPrefix(resp.Header.Get("Content-Type"), "text/html"):
		return reach.Page
	case words.object:
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
