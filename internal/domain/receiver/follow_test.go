package receiver_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"testing"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/domain/receiver/receivertest"
)

// A stored body is read again as it is and makes no new row.
func TestReplay(t *testing.T) {
	ctx := context.Background()
	in := openInbox(t)
	r := start(t, receiver.Options{Inbox: in})
	deliver(t, r, append([]byte(" \r\n"), receivertest.Body(1, "op")...), 200)
	notified := make(chan struct{}, 1)
	defer r.Notify(notified)()
	if s, err := r.Replay(ctx, receivertest.ID(1)); err != nil || s.Seq != 1 {
		t.Error(s, err)
	}
	<-notified
	junk, _ := receivertest.Deliver(t, in, []byte(`{"hook_id": 1}`))
	if junk.Status != receiver.Quarantined {
		t.Fatalf("%+v", junk)
	}
	var bad *hook.Malformed
	if _, err := r.Replay(ctx, junk.Key); !errors.As(err, &bad) {
		t.Error(err)
	}
	if _, err := r.Replay(ctx, "none"); !errors.Is(err, receiver.ErrNotFound) {
		t.Error(err)
	}
	if n := len(stored(t, in)); n != 2 {
		t.Error(n, "rows")
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

// W04, W05 through the receiver: an unbound delivery is stored as a hint, the
// old secret is taken and logged.
func TestVerdictIsKept(t *testing.T) {
	in := openInbox(t)
	v, err := hook.NewVerifier(hook.VerifyJWT, "", hook.ParseSecrets("another-Secret_9f8e7d6c5b4a3210ZYXW\n"+testSecret))
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	r := start(t, receiver.Options{Inbox: in, Verifier: v, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Proxies: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
	deliver(t, r, receivertest.Body(1, "op"), 200)
	hint := request(t, receivertest.Body(2, "op"))
	hint.Header.Set("Authorization", signed(t, map[string]any{"iat": clock.Unix()}))
	if w := serve(r, hint); w.Code != 200 {
		t.Fatal(w.Code)
	}
	rows := stored(t, in)
	if len(rows) != 2 || !rows[0].Verdict.Bound || rows[1].Verdict.Bound || rows[1].Status != receiver.Verified ||
		!strings.Contains(log.String(), "webhook authenticated with the old secret") {
		t.Errorf("%+v %s", rows, &log)
	}
}
