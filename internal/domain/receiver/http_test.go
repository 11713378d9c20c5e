package receiver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
)

// W07, W09, W10, W11, W15, W16: a defined answer each, and what it leaves behind.
func TestAnswers(t *testing.T) {
	good := receivertest.Body(1, "op")
	pad := func(n int) []byte { return append(bytes.Repeat([]byte(" "), n-len(good)), good...) }
	cases := []struct {
		name   string
		make   func() *http.Request
		code   int
		status receiver.Status // of the one row; "": no row
		reason hook.Reason
	}{
		{"good", func() *http.Request { return request(t, good) }, 200, receiver.Verified, ""},
		{"256 KiB", func() *http.Request { return request(t, pad(256<<10)) }, 200, receiver.Verified, ""},
		{"one more", func() *http.Request { return request(t, pad(256<<10+1)) }, 413, "", ""},
		{"one more, chunked", func() *http.Request {
			r := request(t, pad(256<<10+1))
			r.ContentLength = -1
			return r
		}, 413, "", ""},
		{"chunked", func() *http.Request {
			r := request(t, good)
			r.ContentLength = -1
			return r
		}, 200, receiver.Verified, ""},
		{"empty", func() *http.Request { return request(t, nil) }, 400, "", ""},
		{"shorter than said", func() *http.Request {
			r := request(t, good)
			r.ContentLength++
			return r
		}, 400, "", ""},
		{"GET", func() *http.Request { return with(request(t, good), func(r *http.Request) { r.Method = "GET" }) }, 405, "",
			""},
		{"HEAD", func() *http.Request { return with(request(t, good), func(r *http.Request) { r.Method = "HEAD" }) }, 405, "",
			""},
		{"PUT", func() *http.Request { return with(request(t, good), func(r *http.Request) { r.Method = "PUT" }) }, 405, "",
			""},
		{"dots", path(t, good, "/hooks/../x"), 404, "", ""},
		{"dots home", path(t, good, "/x/../hooks"), 404, "", ""},
		{"two slashes", path(t, good, "http://h//hooks"), 404, "", ""},
		{"slash behind", path(t, good, "/hooks/"), 404, "", ""},
		{"escaped", path(t, good, "/%68ooks"), 404, "", ""},
		{"other case", path(t, good, "/Hooks"), 404, "", ""},
		{"query", path(t, good, "/hooks?a=b"), 200, receiver.Verified, ""},
		{"gzip", func() *http.Request {
			return with(request(t, good), func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") })
		}, 415, "", ""},
		{"identity", func() *http.Request {
			return with(request(t, good), func(r *http.Request) { r.Header.Set("Content-Encoding", "identity") })
		}, 200, receiver.Verified, ""},
		{"no token", func() *http.Request {
			return with(request(t, good), func(r *http.Request) { r.Header.Del("Authorization") })
		}, 401, "", ""},
		{"no JSON", func() *http.Request { return request(t, []byte("hello")) }, 200, receiver.Quarantined, hook.ReasonJSON},
		{"duplicate key", func() *http.Request {
			return request(t, []byte(`{"hook_id":"a","hook_id":"b"}`))
		}, 200, receiver.Quarantined, hook.ReasonDuplicate},
		{"unknown type", func() *http.Request {
			return request(t, bytes.Replace(good, []byte(`"hook_type":1`), []byte(`"hook_type":6`), 1))
		}, 200, receiver.Quarantined, hook.ReasonType},
		{"unknown object", func() *http.Request {
			return request(t, bytes.Replace(good, []byte(`"Operation"`), []byte(`"Card"`), 1))
		}, 200, receiver.Quarantined, hook.ReasonData},
	}
	in := openInbox(t)
	for _, c := range cases {
		before := len(stored(t, in))
		r := start(t, receiver.Options{Inbox: in})
		req := c.make()
		if c.code == 200 { // another hook_id for each
			req = fresh(t, req, before+1)
		}
		w := serve(r, req)
		rows := stored(t, in)[before:]
		if w.Code != c.code || (len(rows) == 1) != (c.status != "") {
			t.Errorf("%s: answer %d %q, %d rows", c.name, w.Code, w.Body, len(rows))
			continue
		}
		if len(rows) == 1 && (rows[0].Status != c.status || rows[0].Reason != c.reason || len(rows[0].Raw) == 0) {
			t.Errorf("%s: %+v", c.name, rows[0])
		}
		if c.code == 405 && w.Header().Get("Allow") != "POST" {
			t.Errorf("%s: no Allow", c.name)
		}
	}
}

func with(r *http.Request, change func(*http.Request)) *http.Request {
	change(r)
	return r
}

func path(t *testing.T, body []byte, target string) func() *http.Request {
	return func() *http.Request {
		req := httptest.NewRequest(http.MethodPost, target, bytes.NewReader(body))
		req.Header = request(t, body).Header
		return req
	}
}

// fresh gives a request's body the hook_id of n and signs it again.
func fresh(t *testing.T, req *http.Request, n int) *http.Request {
	t.Helper()
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	body = bytes.Replace(body, []byte(receivertest.ID(1)), []byte(receivertest.ID(1000+n)), 1)
	next := request(t, body)
	next.URL, next.ContentLength = req.URL, min(req.ContentLength, int64(len(body)))
	for k, v := range req.Header {
		if k != "Authorization" {
			next.Header[k] = v
		}
	}
	return next
}

// Every failure of authentication looks alike from outside.
func TestUnauthorizedIsUniform(t *testing.T) {
	in := openInbox(t)
	r := start(t, receiver.Options{Inbox: in})
	body := receivertest.Body(1, "op")
	var first string
	for _, auth := range []string{"", "Basic dTpw", "Bearer x", "Bearer a.b.c", strings.Repeat("a", 9000)} {
		req := request(t, body)
		req.Header.Set("Authorization", auth)
		w := serve(r, req)
		got := fmt.Sprint(w.Code, w.Header(), w.Body)
		if first == "" {
			first = got
		}
		if w.Code != 401 || got != first {
			t.Errorf("%q: %s", auth, got)
		}
	}
	bad := request(t, body)
	bad.Body = io.NopCloser(bytes.NewReader(append([]byte(" "), body[1:]...)))
	if w := serve(r, bad); fmt.Sprint(w.Code, w.Header(), w.Body) != first {
		t.Error("another body is reported apart")
	}
	if n := len(stored(t, in)); n != 0 {
		t.Errorf("%d are stored", n)
	}
}

// W13, W14, W24.
func TestOneRowForEachID(t *testing.T) {
	in := openInbox(t)
	r := start(t, receiver.Options{Inbox: in})
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			if w := serve(r, request(t, receivertest.Body(1, "op"))); w.Code != 200 {
				t.Error(w.Code)
			}
		})
	}
	wg.Wait()
	deliver(t, r, receivertest.Body(1, "forged"), 200)
	deliver(t, r, receivertest.Body(1, "forged"), 200)
	gone, leave := context.WithCancel(context.Background())
	leave()
	if w := serve(r, request(t, receivertest.Body(2, "op")).WithContext(gone)); w.Code != 200 {
		t.Error("the sender left, and its row with it:", w.Code)
	}
	deliver(t, r, receivertest.Body(2, "op"), 200)
	rows := stored(t, in)
	if len(rows) != 3 || rows[0].Deliveries != 10 || rows[1].Status != receiver.Conflict || rows[1].Deliveries != 2 ||
		rows[2].Deliveries != 2 {
		t.Errorf("%+v", rows)
	}
}

// W21: a failing inbox is 503 with Retry-After, never 200, and heals by itself.
func TestStoreFailure(t *testing.T) {
	in := &failing{Inbox: openInbox(t)}
	r := start(t, receiver.Options{Inbox: in})
	in.set(errDisk)
	for i := range 5 {
		w := serve(r, request(t, receivertest.Body(i, "op")))
		if w.Code != 503 || w.Header().Get("Retry-After") != "5" || strings.Contains(w.Body.String(), "disk") {
			t.Fatal(w.Code, w.Header(), w.Body)
		}
	}
	if n := len(stored(t, in)); n != 0 {
		t.Fatal(n)
	}
	in.set(nil)
	deliver(t, r, receivertest.Body(1, "op"), 200)
	if c := r.Counters(); c.Refused != 5 {
		t.Errorf("%+v", c)
	}
}

// W23: a commit whose answer got lost is answered 503; the next try is a
// duplicate of the row that is there.
func TestLostCommit(t *testing.T) {
	in := &failing{Inbox: openInbox(t), err: errDisk, lost: true}
	r := start(t, receiver.Options{Inbox: in})
	deliver(t, r, receivertest.Body(1, "op"), 503)
	in.set(nil)
	deliver(t, r, receivertest.Body(1, "op"), 200)
	if rows := stored(t, in); len(rows) != 1 || rows[0].Deliveries != 2 {
		t.Errorf("%+v", rows)
	}
}

// Requests beyond the bound are refused at once; those at work are stored.
func TestBounded(t *testing.T) {
	in := &failing{Inbox: openInbox(t), gate: make(chan struct{})}
	r := start(t, receiver.Options{Inbox: in, AtWork: 3, StoreTimeout: time.Minute})
	answers := make(chan int, 3)
	for n := range 3 {
		go func() { answers <- serve(r, request(t, receivertest.Body(n, "op"))).Code }()
	}
	for in.called() != 3 {
		time.Sleep(time.Millisecond)
	}
	deliver(t, r, receivertest.Body(9, "op"), 503)
	if c := r.Counters(); c.AtWork != 3 || c.Limited != 1 {
		t.Errorf("%+v", c)
	}
	close(in.gate)
	for range 3 {
		if code := <-answers; code != 200 {
			t.Error(code)
		}
	}
	if n := len(stored(t, in)); n != 3 {
		t.Error(n)
	}
}

// An inbox that hangs is 503 after a while. A closed receiver waits for what is at work and stores nothing more.
func TestCloseAndSlowInbox(t *testing.T) {
	in := &failing{Inbox: openInbox(t), gate: make(chan struct{})}
	slow := start(t, receiver.Options{Inbox: in, StoreTimeout: 20 * time.Millisecond})
	deliver(t, slow, receivertest.Body(1, "op"), 503)
	r, err := receiver.New(receiver.Options{Inbox: in, Verifier: verifier(t, hook.VerifyJWT),
		Now: func() time.Time { return clock }})
	if err != nil {
		t.Fatal(err)
	}
	code := make(chan int)
	go func() { code <- serve(r, request(t, receivertest.Body(2, "op"))).Code }()
	for in.called() != 2 {
		time.Sleep(time.Millisecond)
	}
	closed := make(chan error)
	go func() { closed <- r.Close(context.Background()) }()
	in.gate <- struct{}{}
	if code, err := <-code, <-closed; code != 200 || err != nil {
		t.Error(code, err)
	}
	deliver(t, r, receivertest.Body(3, "op"), 503)
	if n := len(stored(t, in)); n != 1 {
		t.Error(n, "rows")
	}
}

// W27: the sender's address is believed from the proxy only.
func TestProxy(t *testing.T) {
	in := openInbox(t)
	r := start(t, receiver.Options{Inbox: in, Proxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}})
	for i, c := range []struct {
		peer, forwarded string
		code            int
		source          string
	}{
		{"203.0.113.9:1", "192.0.2.1", 403, ""},
		{"10.1.1.1:1", "192.0.2.1", 200, "192.0.2.1"},
		{"10.1.1.1:1", "127.0.0.1, 192.0.2.1", 200, "192.0.2.1"},
		{"10.1.1.1:1", "198.51.100.7, 192.0.2.1, 10.2.2.2", 200, "192.0.2.1"},
		{"10.1.1.1:1", "rubbish", 200, "10.1.1.1"},
		{"[::ffff:10.1.1.1]:1", "2001:db8::1", 200, "2001:db8::1"},
		{"10.1.1.1:1", "", 200, "10.1.1.1"},
		{"nonsense", "", 403, ""},
	} {
		req := request(t, receivertest.Body(100+i, "op"))
		req.RemoteAddr = c.peer
		if c.forwarded != "" {
			req.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if w := serve(r, req); w.Code != c.code {
			t.Errorf("%+v: %d", c, w.Code)
		}
		s, err := in.Get(context.Background(), receivertest.ID(100+i))
		if (err == nil) != (c.code == 200) || string(s.Source) != c.source {
			t.Errorf("%+v: source %q, %v", c, s.Source, err)
		}
	}
	direct := start(t, receiver.Options{Inbox: in})
	req := request(t, receivertest.Body(200, "op"))
	req.Header.Set("X-Forwarded-For", "192.0.2.77")
	serve(direct, req)
	if s, _ := in.Get(context.Background(), receivertest.ID(200)); s.Source != "192.0.2.1" {
		t.Error("the header was believed without a proxy:", s.Source)
	}
}

// verify = "none" takes what this host sends, and no web page in its browser.
func TestNoneOnLoopback(t *testing.T) {
	in := openInbox(t)
	r := start(t, receiver.Options{Inbox: in, Verifier: verifier(t, hook.VerifyNone)})
	for i, c := range []struct {
		change func(*http.Request)
		code   int
	}{
		{func(*http.Request) {}, 200},
		{func(r *http.Request) { r.RemoteAddr, r.Host = "[::1]:9", "localhost:8788" }, 200},
		{func(r *http.Request) { r.RemoteAddr = "192.0.2.1:9" }, 401},
		{func(r *http.Request) { r.Header.Set("Origin", "https://evil.test") }, 401},
		{func(r *http.Request) { r.Host = "evil.test" }, 401},
		{func(r *http.Request) { r.Header.Set("X-Forwarded-For", "127.0.0.1") }, 401},
	} {
		req := request(t, receivertest.Body(i, "op"))
		req.RemoteAddr, req.Host = "127.0.0.1:9", "127.0.0.1:8788"
		c.change(req)
		if w := serve(r, req); w.Code != c.code {
			t.Errorf("%d: %d", i, w.Code)
		}
	}
	for _, s := range stored(t, in) {
		if s.Status != receiver.Unverified || s.Verdict.Authenticated {
			t.Errorf("%+v", s)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	in := openInbox(t)
	for _, o := range []receiver.Options{
		{}, {Inbox: in, Path: "hooks"}, {Inbox: in, Path: "//hooks"}, {Inbox: in, Path: "/a?b"},
		{Inbox: in, Verifier: verifier(t, hook.VerifyNone), Proxies: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}},
	} {
		if r, err := receiver.New(o); err == nil {
			_ = r.Close(context.Background())
			t.Errorf("%+v was taken", o)
		}
	}
	r, err := receiver.New(receiver.Options{Inbox: in}) // for Send only
	if err != nil {
		t.Fatal(err)
	}
	deliver(t, r, receivertest.Body(1, "op"), 401)
	if err := r.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
}
