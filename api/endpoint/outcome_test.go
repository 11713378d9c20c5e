package endpoint_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/api/secret"
	"opdeck/api/session"
)

const (
	theOp, theDoc, theCustomer = "op-1", "doc-1", "cust-1"
	hookSecret                 = "4f1c0b7d9e2a4c68b35d7f90a1e2c4d6"
	settleWait                 = 10 * time.Second
	callTime                   = 5 * time.Second
	lateAfter                  = 15 * time.Minute
)

// contrary is a service with one operation and one customer that answers writes as a test says, regardless of their
// effect.
type contrary struct {
	answer  reaction
	reads   string // "new": the wanted state shows, "old": it does not, "fail": reads fail, "silent": they cannot show it
	kind    api.ActKind
	sent    int
	applied atomic.Bool
}

// reaction is how the service answers a write.
type reaction struct {
	name   string
	status int
	body   string
	kind   string                          // content type; "" is JSON
	fail   func(*http.Request) error       // instead of an answer
	unsent bool                            // fail happens before a connection is had
	cut    bool                            // the body breaks off
	late   time.Duration                   // the write is applied this long after its answer
	header http.Header                     // of the answer
	proper bool                            // body is the kind's own good answer
	other  bool                            // with proper: all words in it are others
	means  func(k api.ActKind) api.Verdict // what the answer proves by itself
}

func always(v api.Verdict) func(api.ActKind) api.Verdict {
	return func(api.ActKind) api.Verdict { return v }
}

func (w *contrary) RoundTrip(r *http.Request) (*http.Response, error) {
	write := r.Method != http.MethodGet || strings.HasSuffix(r.URL.Path, "/web_sdk_link")
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
		r.Body.Close()
	}
	if !write {
		w.got(r)
		return w.read(r)
	}
	if w.answer.unsent {
		return nil, w.answer.fail(r)
	}
	w.got(r)
	w.sent++
	if w.reads == "new" && w.answer.late > 0 {
		time.AfterFunc(w.answer.late, func() { w.applied.Store(true) })
	} else {
		w.applied.Store(w.reads == "new")
	}
	if w.answer.fail != nil {
		return nil, w.answer.fail(r)
	}
	body := w.answer.body
	if w.answer.proper {
		body = w.good()
	}
	if w.answer.other {
		body = wordsOf.ReplaceAllString(body, `:"another"`)
	}
	return reply(r, w.answer.status, w.answer.kind, body, w.answer.header, w.answer.cut), nil
}

func (w *contrary) got(r *http.Request) {
	if t := httptrace.ContextClientTrace(r.Context()); t != nil && t.GotConn != nil {
		t.GotConn(httptrace.GotConnInfo{})
	}
}

type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

func reply(r *http.Request, status int, kind, body string, h http.Header, cut bool) *http.Response {
	if kind == "" {
		kind = "application/json"
	}
	var in io.Reader = strings.NewReader(body)
	if cut {
		in = broken{strings.NewReader(body[:len(body)/2])}
	}
	out := http.Header{"Content-Type": {kind}}
	for k, v := range h {
		out[k] = v
	}
	return &http.Response{StatusCode: status, Status: fmt.Sprint(status), Header: out, Body: io.NopCloser(in), Request: r,
		ProtoMajor: 1, ProtoMinor: 1}
}

func operation(docs ...string) string {
	list := []string{}
	for _, d := range docs {
		list = append(list, fmt.Sprintf(`{"guid":%q,"fileName":%q,"isLock":false}`, d, d+".pdf"))
	}
	return fmt.Sprintf(`{"item":{"opid":%q,"status":"PENDING","documents":[%s]}}`, theOp, strings.Join(list, ","))
}

// wordsOf are the members of a JSON document that are texts.
var wordsOf = regexp.MustCompile(`:"[^"]*"`)

// good is the proper answer to the write, and what a read shows once it is done.
func (w *contrary) good() string {
	switch w.kind {
	case api.ActRemoveDocument:
		return operation("other")
	case api.ActAttachDocument:
		return operation("other", theDoc)
	case api.ActUploadDocument:
		return `{"id":"file-9","name":"a.pdf","size":6}`
	case api.ActShare:
		return `{"applied":true,"outstanding":["PROOF_OF_RESIDENCE"]}`
	case api.ActLink:
		return `{"url":"https://verify.example/x","ttlInSeconds":900}`
	}
	return `{"success":true,"message":"well done"}`
}

func (w *contrary) read(r *http.Request) (*http.Response, error) {
	body := `{"items":[],"meta":{"total":"0"}}`
	switch p := r.URL.Path; {
	case strings.Contains(p, "/file/") && w.reads != "fail":
		if w.kind == api.ActDeleteFile && w.applied.Load() {
			return reply(r, 404, "", `{"error":"Document not found: file-1"}`, nil, false), nil
		}
		return reply(r, 200, "application/pdf", "%PDF-1", http.Header{"Content-Disposition": {"attachment"}}, false), nil
	case strings.HasSuffix(p, "/file") && w.kind == api.ActDeleteFile:
		if body = `{"items":[{"id":"file-1","name":"a.pdf","size":6,"isLock":false},{"id":"file-2","name":"b.pdf","size":6}],"meta":{"total":"2"}}`; w.applied.Load() {
			body = `{"items":[{"id":"file-2","name":"b.pdf","size":6}],"meta":{"total":"1"}}`
		}
	case strings.HasSuffix(p, "/file"):
		if w.applied.Load() {
			body = `{"items":[{"guid":"file-9","fileName":"a.pdf","size":"6"}],"meta":{"total":"1"}}`
		}
	case strings.HasSuffix(p, "/application") && w.reads == "silent": // as the service's documents show it
		body = `{"individual":{"firstName":"Old"}}`
	case strings.HasSuffix(p, "/application"):
		body = `{"status":"DRAFT","individual":{"firstName":"Old"}}`
		if w.applied.Load() {
			body = `{"status":"SUBMITTED","individual":{"firstName":"Ana","lastName":"B"}}`
		}
	case strings.HasSuffix(p, "/hook/get"):
		body = `{"enabled":false,"hookUrl":"","jwtSecret":""}`
		if w.applied.Load() {
			body = `{"enabled":true,"hookUrl":"https://h.example","jwtSecret":"` + hookSecret +
				`","hookCustomer":true,"hookOperation":false,"hookDepositAccount":false,"hookCounterparty":false}`
		}
	default:
		there := w.kind == api.ActRemoveDocument
		if there != w.applied.Load() {
			body = operation("other", theDoc)
		} else {
			body = operation("other")
		}
	}
	if w.reads == "fail" && (w.sent > 0 || w.kind == api.ActFinalize) {
		return reply(r, 503, "", `{"error":"unavailable"}`, nil, false), nil
	}
	return reply(r, 200, "", body, nil, false), nil
}

// plainSession lends a token and repeats a call after a 401, as the session does.
type plainSession struct{}

func (plainSession) Do(ctx context.Context, _ session.Route, send api.Send) error {
	for range 3 {
		if status, _, err := send(ctx, secret.New("t")); status != http.StatusUnauthorized {
			return err
		}
	}
	return &api.Error{Kind: api.AuthFailed, Public: "The session is refused."}
}

// followed records the calls of a Follower.
type followed struct {
	pending []api.Pending
	ended   []api.Outcome
	doubt   *api.Doubt // of the next write
	asked   string     // the claim that Doubt was asked for last
}

func (f *followed) Sending(_ context.Context, p api.Pending) (*api.Doubt, error) {
	f.pending = append(f.pending, p)
	return &api.Doubt{Ref: p.Ref, Until: time.Now().Add(lateAfter)}, nil
}
func (f *followed) Ended(_ context.Context, _ string, o api.Outcome) error {
	f.ended = append(f.ended, o)
	return nil
}
func (f *followed) Claimed(context.Context, api.Probe, string) (bool, error) { return false, nil }
func (f *followed) Doubt(_ context.Context, claim string, _ time.Time) (*api.Doubt, error) {
	f.asked = claim
	return f.doubt, nil
}

func clientOf(t *testing.T, rt http.RoundTripper, base string) (*endpoint.Wire, *trail, *followed) {
	t.Helper()
	tr, fo := &trail{}, &followed{}
	c, err := endpoint.New(api.Options{BaseURL: base, Transport: rt, Session: plainSession{}.Do, Timeout: callTime,
		SettleWait: settleWait, Now: time.Now, UserAgent: "test",
		Gate: &api.Gate{Audit: tr, Follow: fo, Now: time.Now}})
	if err != nil {
		t.Fatal(err)
	}
	return c, tr, fo
}

// writes are all kinds of write, as one call each.
var writes = map[api.ActKind]func(context.Context, *endpoint.Wire) error{
	api.ActRemoveDocument: func(ctx context.Context, c *endpoint.Wire) error {
		_, err := endpoint.Do(ctx, c, endpoint.RemoveDocument, api.RemoveDocument{OPID: theOp, GUID: theDoc})
		return err
	},
	api.ActAttachDocument: func(ctx context.Context, c *endpoint.Wire) error {
		_, err := endpoint.Do(ctx, c, endpoint.AttachDocument, endpoint.Attachment{OPID: theOp, GUID: theDoc})
		return err
	},
	api.ActUploadDocument: func(ctx context.Context, c *endpoint.Wire) error {
		f, err := endpoint.Do(ctx, c, endpoint.UploadDocument, api.Upload{CUID: theCustomer, FileName: "a.pdf",
			Content: []byte("%PDF-1")})
		if err == nil && f.ID != "file-9" {
			return fmt.Errorf("uploaded as %q", f.ID)
		}
		return err
	},
	api.ActShare: func(ctx context.Context, c *endpoint.Wire) error {
		res, err := endpoint.Do(ctx, c, endpoint.Share, endpoint.ShareToken{CUID: theCustomer,
			Token: secret.New("share-token-1")})
		if err == nil && !res.Applied {
			return &api.Error{Kind: api.Refused, Rule: api.RuleRejected, Public: res.Message.Line(100)}
		}
		return err
	},
	api.ActLink: func(ctx context.Context, c *endpoint.Wire) error {
		_, err := endpoint.Do(ctx, c, endpoint.MakeLink, theCustomer)
		return err
	},
	api.ActFinalize: func(ctx context.Context, c *endpoint.Wire) error {
		_, err := endpoint.Do(ctx, c, endpoint.Finalize, theCustomer)
		return err
	},
	api.ActSetApplication: func(ctx context.Context, c *endpoint.Wire) error {
		_, err := endpoint.Do(ctx, c, endpoint.SetApplication, endpoint.NewApplication{CUID: theCustomer,
			Body: json.RawMessage(`{"individual":{"application":{"firstName":"Ana"}}}`)})
		return err
	},
	api.ActDeleteFile: func(ctx context.Context, c *endpoint.Wire) error {
		_, err := endpoint.Do(ctx, c, endpoint.DeleteFile, api.DeleteFile{CUID: theCustomer, ID: "file-1"})
		return err
	},
	api.ActSetHooks: func(ctx context.Context, c *endpoint.Wire) error {
		_, err := endpoint.Do(ctx, c, endpoint.SetHooks, api.HookSettings{Enabled: true, HookURL: "https://h.example",
			JWTSecret: secret.New(hookSecret), HookCustomer: true})
		return err
	},
}

// unreadable are the writes that no read proves.
var unreadable = []api.ActKind{api.ActShare, api.ActLink}

func except(other api.Verdict, v api.Verdict, kinds ...api.ActKind) func(api.ActKind) api.Verdict {
	return func(k api.ActKind) api.Verdict {
		for _, x := range kinds {
			if x == k {
				return v
			}
		}
		return other
	}
}

const html = "<html><body>Please log in to the portal</body></html>"

func reset(*http.Request) error { return syscall.ECONNRESET }

func timeout(r *http.Request) error { <-r.Context().Done(); return r.Context().Err() }

// reactions are the answers that a write may get, and what each proves.
var reactions = []reaction{
	{name: "proper", status: 200, proper: true, means: always(api.Done)},
	{name: "proper as text/plain", status: 200, proper: true, kind: "text/plain", means: always(api.Done)},
	{name: "201 proper", status: 201, proper: true, means: always(api.Done)},
	{name: "proper, in other words", status: 200, proper: true, other: true, means: except(api.Unclear, api.Done,
		api.ActShare, api.ActFinalize, api.ActDeleteFile, api.ActSetApplication, api.ActSetHooks)},
	{name: "proper and an error", status: 200, body: `{"error":"it broke","success":true,"applied":true,"id":"file-9","url":"https://x.example","item":{"opid":"op-1","documents":[]}}`, means: always(api.Unclear)},
	{name: "item and an error", status: 200, body: `{"error":"it broke","item":{"opid":"op-1","documents":[{"guid":"doc-1"}]}}`, means: always(api.Unclear)},
	{name: "members twice", status: 200, body: `{"success":false,"success":true,"applied":false,"applied":true,` +
		`"id":"file-8","id":"file-9","url":"https://y.example","url":"https://x.example","item":{"opid":"op-1",` +
		`"documents":[{"guid":"doc-1"}],"documents":[]}}`, means: always(api.Unclear)},
	{name: "two ids", status: 200, body: `{"id":"file-9","item":{"fileId":"file-8"}}`, means: always(api.Unclear)},
	{name: "200 HTML", status: 200, kind: "text/html", body: html, means: always(api.Unclear)},
	{name: "200 {}", status: 200, body: `{}`, means: always(api.Unclear)},
	{name: "200 null", status: 200, body: `null`, means: always(api.Unclear)},
	{name: "200 list", status: 200, body: `[]`, means: always(api.Unclear)},
	{name: "200 empty", status: 200, means: always(api.Unclear)},
	{name: "200 error", status: 200, body: `{"error":"Document is locked and cannot be removed"}`,
		means: always(api.Denied)},
	{name: "200 error in other words", status: 200, body: `{"error":"No way"}`, means: always(api.Denied)},
	{name: "200 error object", status: 200, body: `{"error":{"code":7,"message":"No way"}}`, means: always(api.Denied)},
	{name: "200 error of the way", status: 200, body: `{"error":"upstream request timeout"}`, means: always(api.Unclear)},
	{name: "200 success false", status: 200, body: `{"success":false,"message":"Not now"}`, means: always(api.Denied)},
	{name: "200 success false without words", status: 200, body: `{"success":false}`, means: always(api.Denied)},
	{name: "200 success false as a text", status: 200, body: `{"success":"false"}`, means: always(api.Unclear)},
	{name: "200 success false, internal error", status: 200, body: `{"success":false,"message":"Internal error"}`,
		means: always(api.Unclear)},
	{name: "200 applied false", status: 200, body: `{"applied":false,"message":""}`, means: always(api.Denied)},
	{name: "200 message only", status: 200, body: `{"message":"accepted for processing"}`, means: always(api.Unclear)},
	{name: "200 text", status: 200, kind: "text/plain", body: "OK", means: always(api.Unclear)},
	{name: "200 success", status: 200, body: `{"success":true,"message":"OK"}`,
		means: except(api.Unclear, api.Done, api.ActFinalize, api.ActDeleteFile, api.ActSetApplication, api.ActSetHooks)},
	{name: "201 {}", status: 201, body: `{}`, means: always(api.Unclear)},
	{name: "202 {}", status: 202, body: `{"status":"queued"}`, means: always(api.Unclear)},
	{name: "204", status: 204, means: always(api.Unclear)},
	{name: "item without documents", status: 200, body: `{"item":{"opid":"op-1","status":"PENDING"}}`,
		means: always(api.Unclear)},
	{name: "item with null documents", status: 200, body: `{"item":{"opid":"op-1","documents":null}}`,
		means: always(api.Unclear)},
	{name: "documents without ids", status: 200, body: `{"item":{"opid":"op-1","documents":[{"fileName":"x"}]}}`,
		means: always(api.Unclear)},
	{name: "item of another operation", status: 200, body: `{"item":{"opid":"op-2","documents":[]}}`,
		means: always(api.Unclear)},
	{name: "the old state", status: 200, body: `{"item":{"opid":"op-1","documents":[{"guid":"doc-1"}]}}`,
		means: except(api.Unclear, api.Done, api.ActAttachDocument)},
	{name: "400 words", status: 400, body: `{"error":"Wrong state"}`, means: always(api.Denied)},
	{name: "400 problem words", status: 400, body: `{"title":"Bad","detail":"Wrong state"}`, means: always(api.Denied)},
	{name: "409 words", status: 409, body: `{"success":false,"message":"Already there"}`, means: always(api.Denied)},
	{name: "422 words", status: 422, body: `{"message":"Wrong"}`, means: always(api.Denied)},
	{name: "409 empty", status: 409, means: except(api.Unclear, api.Denied, api.ActShare)},
	{name: "403 empty", status: 403, means: except(api.Unclear, api.Denied, api.ActShare)},
	{name: "403 HTML", status: 403, kind: "text/html", body: html, means: always(api.Unclear)},
	{name: "403 words", status: 403, body: `{"error":"Forbidden for you"}`, means: always(api.Denied)},
	{name: "403 of the session", status: 403, body: `{"error":"Token revoked. Please log in again"}`, means: always(api.Denied)},
	{name: "401", status: 401, body: `{"error":"Unauthorized"}`, means: always(api.Denied)},
	{name: "400 HTML", status: 400, kind: "text/html", body: html, means: always(api.Unclear)},
	{name: "400 timed out", status: 400, body: `{"error":"context deadline exceeded"}`, means: always(api.Unclear)},
	{name: "404 empty", status: 404, means: always(api.Unclear)},
	{name: "408", status: 408, body: `{"error":"Document is locked and cannot be removed"}`, means: always(api.Unclear)},
	{name: "425", status: 425, body: `{"error":"no"}`, means: always(api.Unclear)},
	{name: "429 words", status: 429, body: `{"success":false,"message":"no"}`, header: http.Header{"Retry-After": {"7"}},
		means: always(api.Unclear)},
	{name: "499", status: 499, body: `{"error":"Document not found: x"}`, means: always(api.Unclear)},
	{name: "500 HTML", status: 500, kind: "text/html", body: html, means: always(api.Unclear)},
	{name: "500 known words", status: 500, body: `{"error":"Cannot modify documents for completed operations"}`,
		means: always(api.Denied)},
	{name: "500 known words in others", status: 500, body: `{"code":2,"message":"rpc error: code = Unknown desc = Customer not found: cust-1"}`, means: always(api.Unclear)},
	{name: "500 known words about an id", status: 500, body: `{"message":"Customer not found: cust-1"}`, means: always(api.Denied)},
	{name: "500 empty", status: 500, means: always(api.Unclear)},
	{name: "500 internal", status: 500, body: `{"error":"internal"}`, means: always(api.Unclear)},
	{name: "500 success false", status: 500, body: `{"success":false,"applied":false,"message":"panic"}`,
		means: always(api.Unclear)},
	{name: "502", status: 502, body: `{"error":"Document is locked and cannot be removed"}`, means: always(api.Unclear)},
	{name: "503", status: 503, body: `{"error":"no"}`, means: always(api.Unclear)},
	{name: "504", status: 504, kind: "text/html", body: html, means: always(api.Unclear)},
	{name: "redirect", status: 302, header: http.Header{"Location": {"https://elsewhere.example/"}},
		means: always(api.Unclear)},
	{name: "cut answer", status: 200, proper: true, cut: true, means: always(api.Unclear)},
	{name: "reset after sending", fail: reset, means: always(api.Unclear)},
	{name: "time-out", fail: timeout, means: always(api.Unclear)},
	{name: "late delivery", fail: timeout, late: callTime + 4*time.Second, means: always(api.Unclear)},
	{name: "502, late delivery", status: 502, late: 4 * time.Second, means: always(api.Unclear)},
	{name: "connection refused", fail: func(*http.Request) error { return syscall.ECONNREFUSED }, unsent: true,
		means: always(api.Failed)},
	{name: "TLS handshake failure", fail: func(*http.Request) error { return errors.New("tls: handshake failure") },
		unsent: true, means: always(api.Failed)},
}

// answered are the reactions that prove nothing and are an answer all the same: the request arrives no more, and what a
// read shows is its own work.
var answered = []string{"proper, in other words", "200 {}", "two ids", "200 null", "200 list", "200 empty", "200 message only",
	"200 text", "200 success", "201 {}", "204", "item without documents", "item with null documents",
	"documents without ids", "item of another operation", "the old state"}

// TestEveryWriteEveryAnswer: whatever the answer, a write is sent at most once, and neither done nor not done is
// reported or audited without proof.
func TestEveryWriteEveryAnswer(t *testing.T) {
	for kind, do := range writes {
		for _, re := range reactions {
			if re.other && kind == api.ActUploadDocument { // its proof is an id that the service chooses
				continue
			}
			all := []string{"new", "old", "fail"}
			if kind == api.ActFinalize {
				all = append(all, "silent")
			}
			for _, reads := range all {
				t.Run(string(kind)+"/"+re.name+"/"+reads, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { oneAnswer(t, kind, do, re, reads) })
				})
			}
		}
	}
}

func oneAnswer(t *testing.T, kind api.ActKind, do func(context.Context, *endpoint.Wire) error, re reaction,
	reads string) {
	w := &contrary{answer: re, reads: reads, kind: kind}
	c, tr, fo := clientOf(t, w, "https://service.invalid")
	began := time.Now()
	book := &evidence.Book{}
	err := do(evidence.In(api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin}), book), c)
	want := re.means(kind)
	if want == api.Unclear && reads == "new" && !slices.Contains(unreadable, kind) {
		if want = api.Seen; slices.Contains(answered, re.name) {
			want = api.Done
		}
	}
	accepted := want == api.Unclear && reads == "silent" && slices.Contains(append(answered, "202 {}"), re.name)
	if accepted { // no read can prove it: its 2xx is its outcome
		want = api.Done
	}
	sends := 1
	if want == api.Failed {
		sends = 0
	}
	if re.status == 401 || re.name == "403 of the session" {
		sends = 3 // the session was refused, so the call was not processed
	}
	if w.sent != sends {
		t.Errorf("sent %d times, want %d", w.sent, sends)
	}
	if len(tr.outcomes) != 1 || tr.outcomes[0].Verdict != want || len(fo.pending) != 1 || len(fo.ended) != 1 ||
		fo.ended[0].Verdict != want {
		t.Fatalf("want %s, audited %+v, followed %+v (%v)", want, tr.outcomes, fo.ended, err)
	}
	e := api.AsError(err)
	switch want {
	case api.Done, api.Seen:
		until := began.Add(lateAfter).UTC().Format("until 15:04:05 UTC")
		if err != nil || strings.Contains(fmt.Sprint(book.About("")), until) != (want == api.Seen) {
			t.Errorf("%s, and reported as %v, %v", want, err, book.About(""))
		}
		if strings.Contains(tr.outcomes[0].Detail, "accepted (") != accepted {
			t.Errorf("accepted %v, audited as %q", accepted, tr.outcomes[0].Detail)
		}
	case api.Unclear:
		if api.KindOf(err) != api.UnknownOutcome || !strings.Contains(e.Public, "Sent at ") {
			t.Errorf("unknown, and reported as %v", err)
		}
		if reported := e.Public; strings.Contains(reported, "othing was changed") || strings.Contains(reported, "try again") &&
			kind != api.ActShare {
			t.Errorf("reported as not done: %s", reported)
		}
	case api.Denied, api.Failed:
		if k := api.KindOf(err); k == "" || k == api.UnknownOutcome || k == api.Internal || want == api.Denied &&
			k == api.Unavailable {
			t.Errorf("%s, and reported as %v (%s)", want, err, k)
		}
	}
	if took := time.Since(began); took > settleWait+3*callTime {
		t.Errorf("it took %s", took)
	}
}

// TestNothingLeft: without a connection nothing was sent; a real transport says so.
func TestNothingLeft(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	refused := "http://" + l.Addr().String()
	l.Close()
	tls := httptest.NewTLSServer(http.NotFoundHandler())
	tls.Config.ErrorLog = nil
	defer tls.Close()
	for name, base := range map[string]string{"refused": refused, "certificate not trusted": tls.URL} {
		t.Run(name, func(t *testing.T) {
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			c, tr, _ := clientOf(t, transport, base)
			_, err := endpoint.Do(api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Admin}), c, endpoint.MakeLink,
				theCustomer)
			if api.KindOf(err) != api.Unavailable || len(tr.outcomes) != 1 || tr.outcomes[0].Verdict != api.Failed {
				t.Errorf("%v, audited %+v", err, tr.outcomes)
			}
		})
	}
}
