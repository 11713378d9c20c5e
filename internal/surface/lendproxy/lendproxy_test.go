package lendproxy

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/lending"
)

// TestReads: a read passes as the service sent it to a borrower that is declared so, which is recorded
// before; to any other borrower it is masked. It feeds the index.
func TestReads(t *testing.T) {
	r := newRig(t, "")
	op, _ := r.operation(false)
	path := "/v2/billing/operation/" + string(op.OPID)
	direct := ""
	r.set(func(next http.Handler, w http.ResponseWriter, req *http.Request) {
		var sent strings.Builder
		next.ServeHTTP(teeing{w, &sent}, req)
		direct = sent.String()
		if req.Header.Get(lending.HeaderKey) != "" || strings.Contains(req.Header.Get("Cookie"), "c=") || req.Header.Get("X-Forwarded-For") != "" || req.Host == "evil.example" {
			t.Errorf("the service got %v", req.Header)
		}
	})
	a := r.send(http.DefaultClient, "GET", r.url+path, "", map[string]string{lending.HeaderKey: keyOf("analyst-reveal"), "Authorization": "Bearer of-mine", "Cookie": "c=1",
		"X-Forwarded-For": "1.2.3.4", "Proxy-Authorization": "x", "Connection": "keep-alive, X-Other"})
	if a.status != 200 || a.body != direct || a.header.Get(lending.HeaderRequest) == "" || a.header.Get(lending.HeaderWaited) == "" {
		t.Errorf("%d %q, the service sent %q, %v", a.status, a.body, direct, a.header)
	}
	if left, err := strconv.Atoi(a.header.Get(lending.HeaderLeft)); err != nil || left < 1 {
		t.Errorf("budget left %q", a.header.Get(lending.HeaderLeft))
	}
	if got := r.revealed(); len(got) != 1 || got[0].ID != string(op.OPID) || got[0].Actor.Name != "analyst-reveal" {
		t.Errorf("recorded: %+v", got)
	}
	for _, role := range []string{"viewer", "analyst", "admin"} {
		masked := r.call(role, "GET", path, "")
		if masked.status != 200 || masked.body == direct || !strings.Contains(masked.body, "••••") || !json.Valid([]byte(masked.body)) {
			t.Errorf("a borrower (%s) sees %d %s", role, masked.status, masked.body)
		}
	}
	if got := r.revealed(); len(got) != 1 {
		t.Errorf("recorded: %+v", got)
	}
	ctx := api.WithActor(t.Context(), api.Actor{Name: "x", Role: api.Admin})
	if rec, err := r.app.Index.Get(ctx, string(op.OPID)); err != nil || string(rec.Op.Raw) == "" {
		t.Errorf("the index knows nothing: %v", err)
	}
	if a := r.call("viewer", "GET", "/v2/billing/operation/none-such", ""); a.status != 404 || !strings.Contains(a.body, "not found") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

type teeing struct {
	http.ResponseWriter
	to io.Writer
}

func (w teeing) Write(b []byte) (int, error) { _, _ = w.to.Write(b); return w.ResponseWriter.Write(b) }

// TestEcho: a service that sends back what it was sent does not give the token away,
// in a body of any size, in a header, in an error, or in the answer to a write.
func TestEcho(t *testing.T) {
	r := newRig(t, "")
	op, doc := r.operation(false)
	status, filler := 200, 0
	r.set(func(_ http.Handler, w http.ResponseWriter, req *http.Request) {
		token := req.Header.Get("Authorization")
		w.Header().Set("X-Total-Count", token)
		w.Header().Set("Content-Disposition", "attachment; filename="+token)
		w.Header().Set("Set-Cookie", "session="+token)
		w.Header().Set("WWW-Authenticate", token)
		w.Header().Set("Location", "https://elsewhere.example/?"+token)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error":"`+strings.Repeat("x", filler)+token+` is odd","message":"`+token+`"}`)
	})
	for _, status = range []int{200, 400, 403, 404, 409, 500, 302} {
		for _, filler = range []int{0, 5, 32<<10 - 200, 64<<10 - 100, 200 << 10} {
			for _, c := range []struct{ who, method, path, body string }{
				{"admin", "GET", "/v2/customer", ""}, {"viewer", "GET", "/v2/billing/operation", ""},
				{"admin", "POST", "/v2/billing/operation/" + string(op.OPID) + "/document", `{"documentId":"` + string(doc.GUID) + `"}`},
			} {
				if c.method == "POST" && filler > 0 {
					continue
				}
				a := r.call(c.who, c.method, c.path, c.body)
				all := a.body
				for k, v := range a.header {
					all += k + strings.Join(v, "")
				}
				if strings.Contains(all, marker) {
					t.Errorf("%s %s as %s, %d with %d: the token is in the answer (%d)", c.method, c.path, c.who, status, filler, a.status)
				}
				for _, name := range []string{"Set-Cookie", "Www-Authenticate", "Location", "Authorization"} {
					if a.header.Get(name) != "" {
						t.Errorf("%s passed", name)
					}
				}
				if status == 302 && c.method == "GET" && (a.status != 502 || a.err.Kind != api.Unavailable) {
					t.Errorf("a redirection gave %d %s", a.status, a.body)
				}
			}
		}
	}
}

// TestOurOwnPaths are refused with a sentence, and nothing reaches the service.
func TestOurOwnPaths(t *testing.T) {
	r := newRig(t, "")
	r.set(func(_ http.Handler, _ http.ResponseWriter, req *http.Request) {
		t.Errorf("%s %s was sent", req.Method, req.URL)
	})
	for _, c := range []struct {
		method, path string
		status       int
		hint         string
	}{
		{"POST", "/v2/auth/login", 403, "Leave the login out"},
		{"GET", "/v2/auth/refresh/abc", 403, "Leave the refresh out"},
		{"POST", "/v2/auth/logout", 403, "by itself"},
		{"GET", "/v2/hook/get", 403, "opdeck hook get"},
		{"GET", "/v2/user", 403, "docs/lending.md"},
		{"POST", "/v2/billing/operation", 405, "GET"},
		{"DELETE", "/v2/customer/abc", 405, "GET"},
		{"PUT", "/v2/customer/abc/application", 405, "GET, POST, PATCH"},
		{"GET", "/v2/customer/%2e%2e", 400, ""},
		{"GET", "/v2/customer/..", 400, ""},
		{"GET", "/v2//customer", 400, ""},
		{"GET", "/v2/customer/", 400, ""},
		{"GET", "//evil.example/v2/customer", 400, ""},
		{"GET", "/v2/customer?x=%zz", 400, ""},
		{"GET", "/v2/customer?a=1;b=2", 400, ""},
		{"GET", "/sandbox/stats", 403, ""},
	} {
		a := r.raw(c.method+" "+c.path+" HTTP/1.1", "Content-Length: 0")
		if a.status != c.status || !strings.Contains(a.err.Hint, c.hint) || a.err.Message == "" {
			t.Errorf("%s %s: %d %s", c.method, c.path, a.status, a.body)
		}
	}
}

// raw sends lines as they are and reads one answer.
func (r *rig) raw(line string, headers ...string) answer {
	r.t.Helper()
	text := line + "\r\nHost: 127.0.0.1\r\n" + lending.HeaderKey + ": " + keyOf("admin") + "\r\n" + strings.Join(headers, "\r\n") + "\r\n\r\n"
	status, body, _ := r.bytes(text)
	a := answer{status: status, body: body}
	var said lending.Body
	if json.Unmarshal([]byte(body), &said) == nil {
		a.err = said.Error
	}
	return a
}

// bytes sends text and returns the first answer, and how many answers arrived before the lender closed the
// connection.
func (r *rig) bytes(text string) (status int, body string, answers int) {
	r.t.Helper()
	c, err := net.Dial("tcp", r.lender.Addr())
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(c, text)
	_ = c.(*net.TCPConn).CloseWrite()
	b, _ := io.ReadAll(c)
	first, rest, _ := strings.Cut(string(b), "\r\n\r\n")
	if f := strings.Fields(first); len(f) > 1 {
		status, _ = strconv.Atoi(f[1])
	}
	body, _, _ = strings.Cut(rest, "HTTP/1.1")
	return status, body, strings.Count(string(b), "HTTP/1.1 ")
}

// TestWire: what can be read in two ways is refused, and ends the connection, so that
// no request hides behind another.
func TestWire(t *testing.T) {
	r := newRig(t, "")
	head := "Host: 127.0.0.1\r\n" + lending.HeaderKey + ": " + keyOf("admin") + "\r\n"
	hidden := "GET /v2/customer HTTP/1.1\r\n" + head + "\r\n"
	before := r.calls("customers")
	for _, c := range []struct {
		name, text string
		status     int
	}{
		{"two lengths", "POST /v2/hook/set HTTP/1.1\r\n" + head + "Content-Length: 3\r\nContent-Length: 5\r\n\r\n", 400},
		{"two lengths in one", "POST /v2/hook/set HTTP/1.1\r\n" + head + "Content-Length: 3, 5\r\n\r\n", 400},
		{"length and chunks", "POST /v2/hook/set HTTP/1.1\r\n" + head + "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411},
		{"chunks", "POST /v2/hook/set HTTP/1.1\r\n" + head + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411},
		{"odd encoding", "POST /v2/hook/set HTTP/1.1\r\n" + head + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501},
		{"encoding with a space", "POST /v2/hook/set HTTP/1.1\r\n" + head + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400},
		{"negative length", "POST /v2/hook/set HTTP/1.1\r\n" + head + "Content-Length: -1\r\n\r\n", 400},
		{"length with a sign", "POST /v2/hook/set HTTP/1.1\r\n" + head + "Content-Length: +4\r\n\r\n", 400},
		{"absolute", "GET http://127.0.0.1/v2/customer HTTP/1.1\r\n" + head + "\r\n", 400},
		{"another host", "GET http://evil.example/v2/customer HTTP/1.1\r\n" + head + "\r\n", 421},
		{"another host in the header", "GET /v2/customer HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421},
		{"no host", "GET /v2/customer HTTP/1.1\r\n\r\n", 400},
		{"two hosts", "GET /v2/customer HTTP/1.1\r\nHost: evil.example\r\n" + head + "\r\n", 400},
		{"two keys", "GET /v2/customer HTTP/1.1\r\n" + head + lending.HeaderKey + ": x\r\n\r\n", 400},
		{"CONNECT", "CONNECT evil.example:443 HTTP/1.1\r\n" + head + "\r\n", 421},
		{"CONNECT here", "CONNECT 127.0.0.1:443 HTTP/1.1\r\n" + head + "\r\n", 400},
		{"OPTIONS", "OPTIONS * HTTP/1.1\r\n" + head + "\r\n", 400},
		{"HTTP/1.0", "GET /v2/customer HTTP/1.0\r\n" + head + "\r\n", 505},
		{"HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 411},
		{"upgrade", "GET /v2/customer HTTP/1.1\r\n" + head + "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", 400},
		{"folded header", "GET /v2/customer HTTP/1.1\r\n" + head + "X: a\r\n b\r\n\r\n", 0},
		{"bare CR", "GET /v2/customer HTTP/1.1\r\n" + head + "X: a\rb\r\n\r\n", 400},
		{"NUL", "GET /v2/customer HTTP/1.1\r\n" + head + "X: a\x00b\r\n\r\n", 400},
		{"large header", "GET /v2/customer HTTP/1.1\r\n" + head + "X: " + strings.Repeat("a", 30<<10) + "\r\n\r\n", 431},
		{"long address", "GET /v2/customer?" + strings.Repeat("a", 5000) + " HTTP/1.1\r\n" + head + "\r\n", 400},
		{"a read with a body", "GET /v2/customer HTTP/1.1\r\n" + head + "Content-Length: " + strconv.Itoa(len(hidden)) + "\r\n\r\n" + hidden, 413},
		{"too large", "POST /v2/hook/set HTTP/1.1\r\n" + head + "Content-Length: 99999999\r\n\r\n", 413},
	} {
		text := c.text
		closes := c.name != "folded header" && c.name != "OPTIONS" && c.name != "long address" && c.name != "absolute" && c.name != "CONNECT here"
		if closes && c.name != "a read with a body" {
			text += hidden
		}
		status, body, answers := r.bytes(text)
		if c.status != 0 && status != c.status || closes && answers > 1 {
			t.Errorf("%s: %d %q, %d answers", c.name, status, body, answers)
		}
	}
	if n := r.calls("customers") - before; n > 1 { // the folded header is read as one line
		t.Errorf("%d calls passed", n)
	}
}

// TestWhoCalls: keys, tokens in their place, no one, and the socket's user.
func TestWhoCalls(t *testing.T) {
	r := newRig(t, "")
	get := func(header map[string]string) answer {
		return r.send(http.DefaultClient, "GET", r.url+"/v2/customer", "", header)
	}
	for name, c := range map[string]struct {
		header map[string]string
		status int
	}{
		"key": {map[string]string{lending.HeaderKey: keyOf("viewer")}, 200}, "bearer": {map[string]string{"Authorization": "Bearer " + keyOf("viewer")}, 200},
		"nobody": {nil, 403}, "wrong": {map[string]string{lending.HeaderKey: keyOf("viewer") + "x"}, 403},
		"basic": {map[string]string{"Authorization": "Basic eDp5"}, 403}, "half": {map[string]string{lending.HeaderKey: keyOf("viewer")[:10]}, 403},
	} {
		if a := get(c.header); a.status != c.status || c.status == 403 && a.err.Kind != api.AuthFailed {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	st, err := os.Lstat(r.socket)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", st.Mode(), err)
	}
	if a := r.send(r.onSocket(), "GET", "http://opdeck/v2/customer", "", nil); a.status != 200 {
		t.Errorf("on the socket: %d %s", a.status, a.body)
	}
	if a := r.send(r.onSocket(), "GET", "http://opdeck/v2/customer", "", map[string]string{lending.HeaderKey: "wrong"}); a.status != 403 {
		t.Errorf("on the socket with a wrong key: %d", a.status)
	}
	if _, bad := r.lender.owner(peer{local: true, uid: "4294967294"}); knowsPeer && bad == nil {
		t.Error("another user is let in")
	}
	if _, err := Open(t.Context(), r.app, Options{Socket: r.socket}); err == nil {
		t.Error("two listen at one socket")
	}
	r.stop()
	if _, err := os.Lstat(r.socket); err == nil {
		t.Error("the socket stays")
	}
}

// TestSocketPlaces: what is no dead socket stays where it is.
func TestSocketPlaces(t *testing.T) {
	path := t.TempDir() + "/s"
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := listenSocket(t.Context(), path); err == nil {
		t.Error("a file was replaced")
	}
	_ = os.Remove(path)
	dead, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	dead.(*net.UnixListener).SetUnlinkOnClose(false)
	_ = dead.Close()
	l, err := listenSocket(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	taken, err := listenLoopback(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if _, err := listenLoopback(t.Context(), taken.Addr().String()); err == nil ||
		!strings.Contains(err.Error(), "replace the keys") {
		t.Errorf("a port that another process has: %v", err)
	}
	for _, addr := range []string{"0.0.0.0:0", ":0", "localhost:0", "8789"} {
		if _, err := listenLoopback(context.Background(), addr); err == nil {
			t.Errorf("%s is listened at", addr)
		}
	}
}

// TestRoom: a borrower's own bound, which all its proxies share, and a full budget are
// 429 with the time of the ring.
func TestRoom(t *testing.T) {
	r := newRig(t, "|\n[lend.borrowers.slow]\nkey_env = \"KEY_slow\"\nrole = \"viewer\"\nper_minute = 2\n")
	for i, want := range []int{200, 200, 429} {
		a := r.call("slow", "GET", "/v2/customer?meta.pageSize=1", "")
		if a.status != want {
			t.Fatalf("call %d: %d %s", i, a.status, a.body)
		}
		if wait, _ := strconv.Atoi(a.header.Get("Retry-After")); want == 429 && (wait < 50 || wait > 62 || a.err.Kind != api.RateLimited) {
			t.Errorf("come back in %q: %s", a.header.Get("Retry-After"), a.body)
		}
	}
	if a := r.call("viewer", "GET", "/v2/customer?meta.pageSize=1", ""); a.status != 200 {
		t.Errorf("another borrower: %d %s", a.status, a.body)
	}
	r.set(func(_ http.Handler, w http.ResponseWriter, _ *http.Request) { // its own 429: the ring waits for all
		w.Header().Set("Retry-After", "40")
		w.WriteHeader(429)
	})
	for range 2 {
		a := r.call("analyst", "GET", "/v2/customer", "")
		if wait, _ := strconv.Atoi(a.header.Get("Retry-After")); a.status != 429 || wait < 38 || wait > 41 {
			t.Errorf("%d, come back in %q: %s", a.status, a.header.Get("Retry-After"), a.body)
		}
	}
}

// TestNoSession: without one a borrower learns why, with status 503, and never a 401.
func TestNoSession(t *testing.T) {
	r := newRig(t, "")
	r.badLogin = true
	for range 3 {
		a := r.call("admin", "GET", "/v2/customer", "")
		if a.status != 503 || a.err.Kind != api.AuthFailed || !strings.Contains(a.err.Message, "refuses the login or password") || !strings.Contains(a.err.Hint, "opdeck session reset") {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
}

// TestBrokenAnswer: one that breaks off is not taken for whole.
func TestBrokenAnswer(t *testing.T) {
	r := newRig(t, "")
	r.set(func(_ http.Handler, w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "200000")
		_, _ = io.WriteString(w, strings.Repeat("x", 100_000))
	})
	req, err := http.NewRequestWithContext(t.Context(), "GET", r.url+"/v2/customer", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(lending.HeaderKey, keyOf("admin-reveal"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if b, err := io.ReadAll(resp.Body); err == nil {
		t.Errorf("%d bytes came as if whole", len(b))
	}
}

// TestManyAtOnce: 200 borrowers call at once, and each gets its answer.
func TestManyAtOnce(t *testing.T) {
	r := newRig(t, "")
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			role := string(api.Roles[i%len(api.Roles)])
			if a := r.send(client, "GET", r.url+"/v2/customer?meta.pageSize=1", "", map[string]string{lending.HeaderKey: keyOf(role)}); a.status != 200 {
				t.Errorf("%d %s", a.status, a.body)
			}
		})
	}
	all.Wait()
	client.CloseIdleConnections()
}
