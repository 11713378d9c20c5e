package session

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"time"

	"opdeck/api/reach"
	"opdeck/api/secret"
)

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
