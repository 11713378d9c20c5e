package receiver_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
	"opdeck/internal/store"
	"opdeck/internal/store/inbox"
	"opdeck/internal/store/storetest"
)

const testSecret = "Zk3!x9-Qv7_Lm2@Rt5#Yp8$Wn4%Bc6&H"

var clock = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func openInbox(t testing.TB) *inbox.Inbox {
	t.Helper()
	return inbox.New(storetest.Open(t, store.SQLite).Bulk, "https://service.test", "machine")
}

func verifier(t testing.TB, kind string) hook.Verifier {
	t.Helper()
	s := hook.ParseSecrets(testSecret)
	if kind == hook.VerifyNone {
		s = hook.Secrets{}
	}
	v, err := hook.NewVerifier(kind, "", s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// start makes a receiver that is closed when t ends.
func start(t testing.TB, opt receiver.Options) *receiver.Receiver {
	t.Helper()
	if opt.Verifier == nil {
		opt.Verifier = verifier(t, hook.VerifyJWT)
	}
	if opt.Now == nil {
		opt.Now = func() time.Time { return clock }
	}
	r, err := receiver.New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// request is a signed delivery of body.
func request(t testing.TB, body []byte) *http.Request {
	t.Helper()
	req := httptest.NewRequest(http.MethodPost, "/hooks", bytes.NewReader(body))
	receivertest.Sign(req.Header, "", "", testSecret, body, clock)
	return req
}

func serve(r http.Handler, req *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r.ServeHTTP(w, req)
	return w
}

// deliver sends a good delivery and wants that answer.
func deliver(t testing.TB, r http.Handler, body []byte, want int) {
	t.Helper()
	if w := serve(r, request(t, body)); w.Code != want {
		t.Fatalf("answer %d %q, want %d", w.Code, w.Body, want)
	}
}

var errDisk = errors.New("disk")

// failing is an inbox whose Insert can be made to fail or to wait.
type failing struct {
	*inbox.Inbox
	mu    sync.Mutex // guards err and calls
	err   error
	lost  bool          // err comes after the commit: its answer got lost
	gate  chan struct{} // Insert waits until it can receive; nil: never
	calls int
}

func (f *failing) set(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// called is how often Insert was called.
func (f *failing) called() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

func (f *failing) Insert(ctx context.Context, r receiver.Record) (receiver.Result, error) {
	f.mu.Lock()
	f.calls++
	f.mu.Unlock()
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			return receiver.Result{}, ctx.Err()
		}
	}
	f.mu.Lock()
	err := f.err
	f.mu.Unlock()
	if err != nil && !f.lost {
		return receiver.Result{}, err
	}
	res, failed := f.Inbox.Insert(ctx, r)
	return res, errors.Join(failed, err)
}

func stored(t testing.TB, in receiver.Inbox) []receiver.Stored {
	t.Helper()
	var all []receiver.Stored
	for seq := int64(0); ; {
		rows, err := in.After(context.Background(), seq, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) == 0 {
			return all
		}
		all, seq = append(all, rows...), rows[len(rows)-1].Seq
	}
}

// countLines counts what a log writes.
type countLines struct{ n atomic.Int64 }

func (c *countLines) Write(b []byte) (int, error) {
	c.n.Add(int64(bytes.Count(b, []byte("\n"))))
	return len(b), nil
}
