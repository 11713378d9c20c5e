package endpoint_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/sandbox"
)

// large answers every download with a document of that size.
type large struct {
	next     http.RoundTripper
	size     int64
	reported bool  // by a Content-Length
	ends     int64 // where it breaks off; 0: it does not
	read     int64
	shut     bool
	step     func() // between two pieces; may be nil
}

func (l *large) RoundTrip(r *http.Request) (*http.Response, error) {
	if !strings.Contains(r.URL.Path, "/file/") {
		return l.next.RoundTrip(r)
	}
	resp := &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/pdf"}}, Body: l,
		ContentLength: -1, Request: r}
	if l.reported {
		resp.ContentLength = l.size
		resp.Header.Set("Content-Length", strconv.FormatInt(l.size, 10))
	}
	return resp, nil
}

func (l *large) Read(b []byte) (int, error) {
	switch {
	case l.ends > 0 && l.read >= l.ends:
		return 0, io.ErrUnexpectedEOF
	case l.read >= l.size:
		return 0, io.EOF
	}
	n := min(int64(len(b)), l.size-l.read, 64<<10)
	if l.step != nil {
		l.step()
	}
	for i := range b[:n] {
		b[i] = 'x'
	}
	l.read += n
	return int(n), nil
}

func (l *large) Close() error { l.shut = true; return nil }

type discarded struct{ n int64 }

func (d *discarded) Write(b []byte) (int, error) { d.n += int64(len(b)); return len(b), nil }

// TestLargeDocuments: saving passes all of it on without holding it.
func TestLargeDocuments(t *testing.T) {
	for name, c := range map[string]large{
		"small":               {size: 1000, reported: true},
		"large":               {size: 200 << 20, reported: true},
		"of no reported size": {size: 200 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, false, sandbox.Options{})
			saved := c
			saved.next = r.wire.next
			r.wire.next = &saved
			var out discarded
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			n, err := endpoint.Do(r.ctx, r.client, endpoint.DownloadDocument, endpoint.Download{CUID: "C1", GUID: "f-1",
				To: &out})
			runtime.ReadMemStats(&after)
			if err != nil || n != c.size || out.n != n || !saved.shut {
				t.Errorf("%d of %d bytes, closed: %v, %v", n, c.size, saved.shut, err)
			}
			if took := after.TotalAlloc - before.TotalAlloc; c.size > 1<<20 && took > uint64(c.size)/2 {
				t.Errorf("%d bytes were allocated for %d", took, c.size)
			}
		})
	}
}

// TestDocumentThatBreaksOff: its bytes so far are no document, and a file that cannot be
// written is reported as that.
func TestDocumentThatBreaksOff(t *testing.T) {
	r := newRig(t, false, sandbox.Options{})
	r.wire.next = &large{next: r.wire.next, size: 1 << 20, reported: true, ends: 1 << 19}
	var b bytes.Buffer
	if n, err := endpoint.Do(r.ctx, r.client, endpoint.DownloadDocument, endpoint.Download{CUID: "C1", GUID: "f-1",
		To: &b}); api.KindOf(err) != api.Unavailable || n >= 1<<20 {
		t.Errorf("%d bytes, %v", n, err)
	}
	r.wire.next = &large{next: r.wire.next, size: 1 << 20, reported: true}
	if _, err := endpoint.Do(r.ctx, r.client, endpoint.DownloadDocument, endpoint.Download{CUID: "C1", GUID: "f-1",
		To: failing{}}); !strings.Contains(api.AsError(err).Public, "could not be written") {
		t.Error(err)
	}
	if _, err := endpoint.Do(r.ctx, newRig(t, true, sandbox.Options{}).client, endpoint.DownloadDocument,
		endpoint.Download{CUID: "C1", GUID: "f-1", To: io.Discard}); api.KindOf(err) != api.NotFound {
		t.Error(err)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no room") }

// slowly takes a request's body in small pieces, as a slow line does.
type slowly struct {
	next http.RoundTripper
	step func()
}

func (s slowly) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil && r.ContentLength > 256<<10 {
		var b bytes.Buffer
		for {
			if _, err := io.CopyN(&b, r.Body, 64<<10); err != nil {
				break
			}
			s.step()
		}
		r.Body = io.NopCloser(&b)
	}
	return s.next.RoundTrip(r)
}

// TestUploadReportsItsBytes: the progress of a large body is reported at most twice a second and at its end; that of a
// small one is not.
func TestUploadReportsItsBytes(t *testing.T) {
	for name, size := range map[string]int{"large": 4 << 20, "small": 1 << 10} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			now := time.Now()
			var reported []api.Call
			r := newRig(t, false, sandbox.Options{})
			r.wire.next = slowly{r.wire.next, func() { mu.Lock(); now = now.Add(100 * time.Millisecond); mu.Unlock() }}
			r.remake(func(o *api.Options) {
				o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
				o.OnCall = func(c api.Call) {
					if c.Size > 0 {
						reported = append(reported, c)
					}
				}
			})
			cuid := string(r.customer(api.Corporate).CUID)
			body := append([]byte("%PDF-1.4\n"), make([]byte, size)...)
			if _, err := endpoint.Do(r.ctx, r.client, endpoint.UploadDocument, api.Upload{CUID: cuid, FileName: "a.pdf",
				Content: body, Type: "INVOICE"}); err != nil {
				t.Fatal(err)
			}
			if size < 256<<10 {
				if len(reported) > 0 {
					t.Errorf("reported of a small body: %+v", reported)
				}
				return
			}
			if n := len(reported); n < 5 || n > 20 {
				t.Fatalf("reported %d times in about 6 s", n)
			}
			for i, c := range reported {
				if !c.Write || c.Phase != api.CallRuns || c.Ran.IsZero() || i > 0 && c.Moved <= reported[i-1].Moved {
					t.Errorf("%+v", c)
				}
			}
			if last := reported[len(reported)-1]; last.Moved != last.Size || last.Size < int64(size) {
				t.Errorf("at the end %d of %d", last.Moved, last.Size)
			}
		})
	}
}

// TestDownloadReportsItsBytes: the progress of a large answer is reported even if its length was not; the call ends
// with the last byte, and with an error if that is missing.
func TestDownloadReportsItsBytes(t *testing.T) {
	const size = 4 << 20
	for name, c := range map[string]struct {
		l     large
		most  int64 // reported
		total int64
		kind  api.Kind
	}{
		"known":      {large{size: size, reported: true}, size, size, ""},
		"unknown":    {large{size: size}, size - 1, 0, ""},
		"small":      {large{size: 1 << 10, reported: true}, 0, 0, ""},
		"small too":  {large{size: 200 << 10}, 0, 0, ""},
		"broken off": {large{size: size, reported: true, ends: size / 2}, size / 2, size, api.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			now, l := time.Now(), c.l
			l.step = func() { now = now.Add(100 * time.Millisecond) }
			var reported []api.Call
			r := newRig(t, false, sandbox.Options{})
			l.next, r.wire.next = r.wire.next, &l
			r.remake(func(o *api.Options) {
				o.Now = func() time.Time { return now }
				o.OnCall = func(call api.Call) { reported = append(reported, call) }
			})
			if _, err := endpoint.Do(r.ctx, r.client, endpoint.DownloadDocument, endpoint.Download{CUID: "C1", GUID: "f-1",
				To: io.Discard}); api.KindOf(err) != c.kind {
				t.Fatal(err)
			}
			last := reported[len(reported)-1]
			if last.Phase != api.CallEnded || last.Kind != c.kind || last.Took < now.Sub(last.At) {
				t.Errorf("the end is %+v", last)
			}
			var moved []api.Call
			for _, call := range reported[:len(reported)-1] {
				if call.Phase == api.CallEnded {
					t.Errorf("it had ended before: %+v", call)
				}
				if call.Moved > 0 {
					moved = append(moved, call)
				}
			}
			if c.most == 0 {
				if len(moved) > 0 {
					t.Errorf("reported of a small body: %+v", moved)
				}
				return
			}
			if n, most := len(moved), int(last.Took/(500*time.Millisecond))+2; n < 4 || n > most {
				t.Fatalf("reported %d times in %s", n, last.Took)
			}
			for i, call := range moved {
				if call.Write || call.Phase != api.CallRuns || call.Ran.IsZero() || call.Size != c.total || call.Moved > c.most ||
					i > 0 && call.Moved <= moved[i-1].Moved {
					t.Errorf("%+v", call)
				}
			}
			if came := moved[len(moved)-1].Moved; c.kind == "" && c.total > 0 && came != c.total {
				t.Errorf("at the end %d of %d", came, c.total)
			}
		})
	}
}

// TestOnlyAWholeAnswerIsAFile: a part, an answer without content, one that broke off, an
// error with the status of a file and a web page are reported as that, and nothing of them is kept.
func TestOnlyAWholeAnswerIsAFile(t *testing.T) {
	for name, c := range map[string]struct {
		serve func(http.ResponseWriter)
		says  string
	}{
		"a part": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Range", "bytes 0-3/100")
			w.WriteHeader(http.StatusPartialContent)
			_, _ = w.Write([]byte("%PDF"))
		}, "206 Partial Content"},
		"no content": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) }, "204 No Content"},
		"broken off": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "100")
			_, _ = w.Write([]byte("%PD"))
		}, "after 3 of 100 bytes"},
		"an error with 200": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"success":false,"message":"Not for you"}`))
		}, "It says: Not for you"},
		"an error called a PDF": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "application/pdf")
			_, _ = w.Write([]byte(`{"error":"gone"}`))
		}, "It says: gone"},
		"a web page": {func(w http.ResponseWriter) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = w.Write([]byte("<html>Please log in</html>"))
		}, "web page"},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { c.serve(w) }))
			defer srv.Close()
			client := clientAt(t, srv.URL)
			var out bytes.Buffer
			if _, err := endpoint.Do(t.Context(), client, endpoint.DownloadDocument, endpoint.Download{CUID: "C1", GUID: "f-1",
				To: &out}); err == nil || out.Len() != 0 || !strings.Contains(api.AsError(err).Public, c.says) {
				t.Errorf("%d bytes were kept: %v", out.Len(), err)
			}
		})
	}
}

// TestANamedAnswerIsAFile: what the service gives a name is the file, whatever it holds; so
// is JSON that reports no failure.
func TestANamedAnswerIsAFile(t *testing.T) {
	for _, c := range []struct{ name, kind, body string }{
		{`attachment; filename="a.html"`, "text/html", "<html>a contract</html>"},
		{`attachment; filename="a.json"`, "application/json", `{"success":false}`},
		{"", "application/json", `{"success":true,"error":null}`},
		{"", "", "%PDF-1"},
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", c.name)
			w.Header().Set("Content-Type", c.kind)
			_, _ = w.Write([]byte(c.body))
		}))
		defer srv.Close()
		var out bytes.Buffer
		if _, err := endpoint.Do(t.Context(), clientAt(t, srv.URL), endpoint.DownloadDocument,
			endpoint.Download{CUID: "C1", GUID: "f-1", To: &out}); err != nil || out.String() != c.body {
			t.Errorf("%+v: %q, %v", c, out.String(), err)
		}
	}
}

// clientAt reads from a server without a session of its own.
func clientAt(t *testing.T, url string) *endpoint.Wire {
	t.Helper()
	client, err := endpoint.New(api.Options{BaseURL: url, Transport: http.DefaultTransport, Session: lends{}.Do,
		Gate:    &api.Gate{Audit: &trail{}, Now: time.Now},
		Timeout: 5 * time.Second, Now: time.Now, Sleep: func(context.Context, time.Duration) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	return client
}
