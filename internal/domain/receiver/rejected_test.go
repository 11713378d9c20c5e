package receiver_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/store/inbox"
)

// kept waits until the inbox holds n rejections and returns them, newest first.
func kept(t *testing.T, in *inbox.Inbox, n int64) ([]receiver.Rejection, []receiver.RejectCount) {
	t.Helper()
	for range 2000 {
		counts, err := in.RejectCounts(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var sum int64
		for _, c := range counts {
			sum += c.N
		}
		if sum < n {
			time.Sleep(5 * time.Millisecond)
			continue
		}
		list, err := in.Rejected(context.Background(), 1000)
		if err != nil || sum != n {
			t.Fatalf("%d counted, want %d; %v", sum, n, err)
		}
		return list, counts
	}
	t.Fatalf("there never were %d rejections", n)
	return nil, nil
}

// signed is a token with these claims.
func signed(t *testing.T, claims map[string]any) string {
	t.Helper()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims(claims)).SignedString([]byte(testSecret))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// tokenOf is a request whose token has these claims and does not cover the body.
func tokenOf(t *testing.T, body []byte, claims map[string]any) *http.Request {
	t.Helper()
	req := request(t, body)
	req.Header.Set("Authorization", "Bearer "+signed(t, claims))
	return req
}

// What was not accepted is counted and kept, says what to do, and holds no secret
// and nothing that could act on a terminal.
func TestRejected(t *testing.T) {
	in := openInbox(t)
	r := start(t, receiver.Options{Inbox: in, Rejects: in.Reject, Header: "Authorization"})
	body := receivertest.Body(1, "op")
	good := request(t, body).Header.Get("Authorization")
	cases := []struct {
		make     func() *http.Request
		code     int
		reason   string
		reported string
	}{
		{func() *http.Request {
			return with(request(t, body), func(r *http.Request) {
				receivertest.Sign(r.Header, "", "HS512", testSecret, body, clock)
			})
		}, 401, "algorithm", "HS512 is not allowed: [webhooks] algorithms"},
		{func() *http.Request {
			return with(request(t, body), func(r *http.Request) { r.Header.Set("Authorization", good[:len(good)-4]+"AAAA") })
		}, 401, "signature", "jwtSecret"},
		{func() *http.Request {
			return with(request(t, body), func(r *http.Request) { r.Header.Del("Authorization"); r.Header.Set("X-Jwt", good) })
		}, 401, "header", "X-Jwt contains what looks like a token"},
		{func() *http.Request { return tokenOf(t, body, map[string]any{"sub": "x"}) }, 401, "no_time", `max_age = "0s"`},
		{func() *http.Request { return tokenOf(t, body, map[string]any{"iat": clock.Unix() - 400}) }, 401, "too_old",
			"max_age is 5m0s"},
		{path(t, body, "/wrong?token="+strings.TrimPrefix(good, "Bearer ")), 404, "path", "[webhooks] path is /hooks"},
		{func() *http.Request { return with(request(t, body), func(r *http.Request) { r.Method = "PUT" }) }, 405, "method",
			"POST"},
		{func() *http.Request { return request(t, nil) }, 400, "empty", "no body"},
		{func() *http.Request { return request(t, bytes.Repeat([]byte("x"), receiver.MaxBody+1)) }, 413, "too_large",
			"262144"},
		{func() *http.Request {
			return with(request(t, bytes.Repeat([]byte("é"), 4000)), func(r *http.Request) {
				r.Header.Set("Authorization", "\x1b]0;x\a")
				r.Header.Set("User-Agent", "\x1b[31m"+good)
				r.Header.Set("X-\u202eodd", "x")
				r.RemoteAddr = "203.0.113.7:1"
			})
		}, 401, "token", "contains no JWT"},
	}
	for i, c := range cases {
		if w := serve(r, c.make()); w.Code != c.code {
			t.Errorf("%s: answer %d", c.reason, w.Code)
		}
		list, counts := kept(t, in, int64(i+1))
		x := list[0]
		if len(list) != i+1 || x.Status != c.code || x.Reason != c.reason || !strings.Contains(x.Detail, c.reported) ||
			x.Request == "" || !x.At.Equal(clock) {
			t.Errorf("%s: %+v", c.reason, x)
		}
		if !slices.ContainsFunc(counts, func(k receiver.RejectCount) bool {
			return k.Reason == c.reason && k.N == 1 && k.Detail == x.Detail && k.Source == x.Source
		}) {
			t.Errorf("%s: %+v", c.reason, counts)
		}
		said := fmt.Sprint(x.Detail, x.Request, x.Header, x.Algorithm, x.Claims, string(x.Source))
		if untrusted.Text(said).Flags().Suspicious() {
			t.Errorf("%s: unsafe text %q", c.reason, said)
		}
		for _, part := range strings.Split(good, ".") {
			if strings.Contains(said, part[:20]) {
				t.Errorf("%s: a token is kept: %s", c.reason, said)
			}
		}
		if len(x.Body) > receiver.MaxRejectedBody {
			t.Errorf("%s: %d bytes are kept", c.reason, len(x.Body))
		}
	}
	list, _ := kept(t, in, int64(len(cases)))
	if x := list[len(list)-1]; x.Algorithm != "HS512" ||
		!slices.Equal(x.Claims, []string{"body_sha256", "exp", "iat", "jti"}) || x.Size != int64(len(body)) ||
		!bytes.Equal(x.Body, body) {
		t.Errorf("%+v", x)
	}
	var tr receiver.Trouble
	_, tr.Rejected = kept(t, in, int64(len(cases)))
	if n, last := tr.Refusals(); n != int64(len(cases)) || last.Reason == "" {
		t.Error(n, last)
	}
	passer := path(t, body, "/.env")()
	passer.Header.Del("Authorization")
	serve(r, passer)
	_, tr.Rejected = kept(t, in, int64(len(cases)+1))
	if n, _ := tr.Refusals(); n != int64(len(cases)) || !slices.ContainsFunc(tr.Rejected,
		func(c receiver.RejectCount) bool { return c.Reason == "stray" && c.Stray() && c.N == 1 }) {
		t.Error(n, tr.Rejected)
	}
}

// flakyRejects cannot write for a while.
type flakyRejects struct {
	*inbox.Inbox
	mu  sync.Mutex // guards err
	err error
}

func (f *flakyRejects) Reject(ctx context.Context, counts []receiver.RejectCount, kept []receiver.Rejection) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return f.err
	}
	return f.Inbox.Reject(ctx, counts, kept)
}

// A flood costs one line a minute and little room; what cannot be noted waits.
func TestRejectedFlood(t *testing.T) {
	in, lines := openInbox(t), &countLines{}
	flaky := &flakyRejects{Inbox: in, err: errors.New("locked")}
	r := start(t, receiver.Options{Inbox: in, Rejects: flaky.Reject,
		Log: slog.New(slog.NewTextHandler(lines, nil))})
	for i := range 3000 {
		serve(r, with(request(t, []byte("flood")), func(r *http.Request) {
			r.Header.Set("Authorization", "x")
			r.RemoteAddr = fmt.Sprintf("[2001:db8::%x]:9", i%50) // one /64
		}))
		if i == 1500 {
			flaky.mu.Lock()
			flaky.err = nil
			flaky.mu.Unlock()
		}
	}
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	list, counts := kept(t, in, 3000)
	if len(list) != receiver.MaxRejected || len(counts) != 1 {
		t.Errorf("%d are kept, %+v", len(list), counts)
	}
	if n := lines.n.Load(); n > 4 { // one for the reason, from two sources, and those about the store
		t.Errorf("%d lines", n)
	}
}

// While storing fails the log has one line a minute for each reason, and it counts
// what it holds back.
func TestQuietLog(t *testing.T) {
	in, lines, now := &failing{Inbox: openInbox(t), err: errDisk}, &countLines{}, clock
	r := start(t, receiver.Options{Inbox: in, Log: slog.New(slog.NewTextHandler(lines, nil)),
		Now: func() time.Time { return now }})
	for i := range 300 {
		deliver(t, r, receivertest.Body(i, "op"), 503)
	}
	if n := lines.n.Load(); n != 1 {
		t.Errorf("%d lines for 300 deliveries", n)
	}
	in.set(errors.New("another reason"))
	deliver(t, r, receivertest.Body(1, "op"), 503)
	now = now.Add(time.Minute)
	deliver(t, r, receivertest.Body(1, "op"), 503)
	if n := lines.n.Load(); n != 3 {
		t.Errorf("%d lines", n)
	}
}

// A retry that carries its first token is taken; a captured token over another
// body is not, also after a restart.
func TestLateTokens(t *testing.T) {
	in, now := openInbox(t), clock
	open := func() *receiver.Receiver {
		return start(t, receiver.Options{Inbox: in, Rejects: in.Reject,
			Now: func() time.Time { return now }})
	}
	r := open()
	claims := map[string]any{"iat": clock.Unix(), "exp": clock.Unix() + 3600}
	send := func(body []byte, want int, outcome receiver.Outcome) {
		t.Helper()
		w := serve(r, tokenOf(t, body, claims))
		if w.Code != want || want == 200 && strings.TrimSpace(w.Body.String()) != string(outcome) {
			t.Errorf("answer %d %q, want %d %s", w.Code, w.Body, want, outcome)
		}
	}
	send(receivertest.Body(1, "op"), 200, receiver.OutcomeNew)
	now = now.Add(20 * time.Minute)
	r = open()
	send(receivertest.Body(1, "op"), 200, receiver.OutcomeDuplicate)
	send(receivertest.Body(2, "forged"), 401, "")
	send(receivertest.Body(1, "forged"), 401, "")
	claims["sub"] = "another token, of a delivery that never came"
	send(receivertest.Body(3, "op"), 200, receiver.OutcomeNew)
	send(receivertest.Body(4, "forged"), 401, "")
	send(receivertest.Body(3, "op"), 200, receiver.OutcomeDuplicate)
	now = clock.Add(time.Hour + 2*time.Minute)
	send(receivertest.Body(3, "op"), 401, "")
	rows := stored(t, in)
	if len(rows) != 2 || rows[0].Deliveries != 2 || rows[1].Deliveries != 2 || rows[0].Verdict.Bound ||
		rows[0].Verdict.Token != nil {
		t.Errorf("%+v", rows)
	}
	list, counts := kept(t, in, 4)
	if list[0].Reason != "expired" || list[1].Reason != "token_reused" || counts[1].N != 3 {
		t.Errorf("%+v %+v", list, counts)
	}
}
