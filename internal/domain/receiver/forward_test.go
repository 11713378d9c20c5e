package receiver_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
)

// A stored body, sent by hand, read again and passed on, stays the same to the
// byte and makes no new row.
func TestSendReplayForward(t *testing.T) {
	ctx := context.Background()
	in := openInbox(t)
	r := start(t, receiver.Options{Inbox: in})
	body := append([]byte(" \r\n"), receivertest.Body(1, "op")...)
	res, err := r.Send(ctx, body)
	if err != nil || res.Outcome != receiver.OutcomeNew || res.Stored.Status != receiver.Unverified ||
		res.Stored.Source != receiver.Manual {
		t.Fatalf("%+v %v", res, err)
	}
	for _, bad := range [][]byte{nil, make([]byte, receiver.MaxBody+1)} {
		if _, err := r.Send(ctx, bad); err == nil {
			t.Error("taken:", len(bad))
		}
	}
	notified := make(chan struct{}, 1)
	defer r.Notify(notified)()
	if s, err := r.Replay(ctx, receivertest.ID(1)); err != nil || s.Seq != res.Stored.Seq {
		t.Error(s, err)
	}
	<-notified
	junk, err := r.Send(ctx, []byte("{"))
	if err != nil || junk.Stored.Status != receiver.Quarantined {
		t.Fatal(err)
	}
	<-notified
	var bad *hook.Malformed
	if _, err := r.Replay(ctx, junk.Stored.Key); !errors.As(err, &bad) {
		t.Error(err)
	}
	if _, err := r.Replay(ctx, "none"); !errors.Is(err, receiver.ErrNotFound) {
		t.Error(err)
	}

	other := start(t, receiver.Options{Inbox: openInbox(t), Now: time.Now}) // a second receiver takes our signature
	target := httptest.NewServer(other)
	defer target.Close()
	f := forwarder(t, in, target.URL+"/hooks?key=secret", signer(t, hook.VerifyJWT))
	a, err := f.Replay(ctx, receivertest.ID(1))
	if err != nil || !a.OK() || a.Status != 200 || a.Latency <= 0 || strings.Contains(a.Target, "secret") {
		t.Errorf("%+v %v", a, err)
	}
	if c := other.Counters(); c.Stored != 1 {
		t.Errorf("%+v", c)
	}
	all, err := in.Attempts(ctx, receivertest.ID(1))
	if err != nil || len(all) != 2 || all[0].Act != "replay" || all[1].Act != "local" {
		t.Errorf("%+v %v", all, err)
	}
	if n := len(stored(t, in)); n != 2 {
		t.Error(n, "rows")
	}
}

func forwarder(t *testing.T, in receiver.Inbox, target string, sign hook.Signer) *receiver.Forwarder {
	t.Helper()
	f, err := receiver.NewForwarder(in, target, sign)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f
}

func TestForwardTargets(t *testing.T) {
	for target, ok := range map[string]bool{
		"http://127.0.0.1:1/x": true, "http://localhost/x": true, "http://[::1]:9/": true, "https://a.test/x": true,
		"http://a.test/x": false, "ftp://127.0.0.1/": false, "127.0.0.1:80": false, "https://u:p@a.test/": false,
		"file:///etc/passwd": false, "": false, "http://127.0.0.1.a.test/": false,
	} {
		if _, err := receiver.NewForwarder(openInbox(t), target, nil); (err == nil) != ok {
			t.Errorf("%q: %v", target, err)
		}
	}
}

// No redirect is followed, a dead target is an attempt with a sentence, and the
// filter chooses.
func TestForwardRun(t *testing.T) {
	in := openInbox(t)
	r := start(t, receiver.Options{Inbox: in})
	var got []string
	redirected := false
	mux := http.NewServeMux()
	mux.HandleFunc("/hooks", func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		got = append(got, string(b))
		http.Redirect(w, req, "/elsewhere", http.StatusTemporaryRedirect)
	})
	mux.HandleFunc("/elsewhere", func(http.ResponseWriter, *http.Request) { redirected = true })
	target := httptest.NewServer(mux)
	f := forwarder(t, in, target.URL+"/hooks", nil)
	for i := range 3 {
		deliver(t, r, receivertest.Body(i, "op"), 200)
	}
	if _, err := r.Send(context.Background(), []byte("junk")); err != nil {
		t.Fatal(err)
	}
	deliver(t, r, receivertest.Body(3, "op"), 200)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	n := 0
	err := f.Run(ctx, receiver.Follow(in, 0, time.Millisecond, nil),
		receiver.Filter{Statuses: []receiver.Status{receiver.Verified}}.Match, func(_ receiver.Stored, a receiver.Attempt) {
			if a.Status != 307 || a.OK() || a.Error != "" {
				t.Errorf("%+v", a)
			}
			if n++; n == 4 {
				stop()
			}
		})
	if err != nil || len(got) != 4 || redirected || got[3] != string(receivertest.Body(3, "op")) {
		t.Error(err, got, redirected)
	}
	target.Close()
	a, err := f.Replay(context.Background(), receivertest.ID(1))
	if err != nil || a.Status != 0 || !strings.HasPrefix(a.Error, "the target could not be reached") {
		t.Errorf("%+v %v", a, err)
	}
	if _, err := url.Parse(a.Target); err != nil {
		t.Error(err)
	}
}

// A channel that no one reads holds up no one; a follower sees all rows.
func TestNotify(t *testing.T) {
	in := openInbox(t)
	r := start(t, receiver.Options{Inbox: in})
	unread, stored := make(chan struct{}, 1), make(chan struct{}, 1)
	stop := r.Notify(unread)
	defer r.Notify(stored)()
	follow := receiver.Follow(in, 0, time.Hour, stored)
	for i := range 5 {
		deliver(t, r, receivertest.Body(i, "op"), 200)
	}
	ctx := context.Background()
	for seen := 0; seen < 5; {
		rows, err := follow.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		seen += len(rows)
	}
	deliver(t, r, receivertest.Body(9, "op"), 200) // wakes the follower, which would else wait an hour
	if rows, err := follow.Next(ctx); err != nil || len(rows) != 1 {
		t.Error(rows, err)
	}
	<-unread
	stop()
	stop()
	select {
	case <-unread: // a note that was sent meanwhile
	default:
	}
	deliver(t, r, receivertest.Body(10, "op"), 200)
	if rows, err := follow.Next(ctx); err != nil || len(rows) != 1 || len(unread) != 0 {
		t.Error(rows, err, len(unread))
	}
	done, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := follow.Next(done); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// The whole way from two deliveries and two reads to the meaning of a code.
func TestLearn(t *testing.T) {
	ctx := context.Background()
	in := openInbox(t)
	r := start(t, receiver.Options{Inbox: in})
	deliver(t, r, receivertest.Body(1, "op"), 200)
	if _, err := r.Send(ctx, []byte(strings.Replace(string(receivertest.Body(2, "op")), `"status":1`, `"status":9`,
		1))); err != nil {
		t.Fatal(err)
	}
	read := api.Operation{OPID: "op", Status: "PENDING", Type: "WITHDRAW", UpdatedAt: api.At(time.Unix(1_700_000_001, 0))}
	for range 2 {
		if n, err := receiver.Learn(ctx, in, in, read, clock); err != nil || n != 2 {
			t.Fatal(n, err)
		}
	}
	read.UpdatedAt = api.At(time.Unix(1_700_000_002, 0)) // the moment of the one by hand
	if n, err := receiver.Learn(ctx, in, in, read, clock); err != nil || n != 0 {
		t.Error("learnt from an unverified event:", n, err)
	}
	l, err := hook.LoadMeanings(ctx, in)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Lookup(hook.FieldStatus, 1).String() + ", " + l.Lookup(hook.FieldType, 3).String() + ", " +
		l.Lookup(hook.FieldStatus, 9).String(); got != "1 PENDING (seen once), 3 WITHDRAW (seen once), 9, meaning not learned" {
		t.Error(got)
	}
	read.OPID = "unheard of"
	if n, err := receiver.Learn(ctx, in, in, read, clock); err != nil || n != 0 {
		t.Error(n, err)
	}
}

// W04, W05 through the receiver: an unbound delivery is stored as a hint, the
// old secret is taken and counted.
func TestVerdictIsKept(t *testing.T) {
	in := openInbox(t)
	v, err := hook.NewVerifier(hook.VerifyJWT, "", hook.ParseSecrets("another-Secret_9f8e7d6c5b4a3210ZYXW\n"+testSecret))
	if err != nil {
		t.Fatal(err)
	}
	r := start(t, receiver.Options{Inbox: in, Verifier: v, Proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	deliver(t, r, receivertest.Body(1, "op"), 200)
	hint := request(t, receivertest.Body(2, "op"))
	hint.Header.Set("Authorization", signed(t, map[string]any{"iat": clock.Unix()}))
	if w := serve(r, hint); w.Code != 200 {
		t.Fatal(w.Code)
	}
	rows := stored(t, in)
	if len(rows) != 2 || !rows[0].Verdict.Bound || rows[1].Verdict.Bound || rows[1].Status != receiver.Verified ||
		r.Counters().OldSecret != 2 {
		t.Errorf("%+v %+v", rows, r.Counters())
	}
}
