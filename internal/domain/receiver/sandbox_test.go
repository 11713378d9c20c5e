package receiver_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/sandbox"
	"opdeck/internal/sandbox/faulty"
)

// What the built-in service sends is taken, proves its body, and reads without
// an issue.
func TestBuiltInService(t *testing.T) {
	ctx := context.Background()
	in := openInbox(t)
	r := start(t, receiver.Options{Inbox: in, Now: time.Now})
	target := httptest.NewServer(r)
	defer target.Close()
	s, err := sandbox.Open(ctx, sandbox.Options{Operations: 60, HookURL: target.URL + "/hooks"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	settings := fmt.Appendf(nil, `{"hook":{"jwtSecret":%q},"hook_backoff":"10ms"}`, testSecret)
	if err := faulty.Of(s).Configure(ctx, settings); err != nil {
		t.Fatal(err)
	}
	stored := make(chan struct{}, 1)
	defer r.Notify(stored)()
	follow := receiver.Follow(in, 0, 20*time.Millisecond, stored)
	for range 5 {
		if err := faulty.Of(s).Step(ctx); err != nil {
			t.Fatal(err)
		}
	}
	wait, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for seen := 0; seen < 5; {
		rows, err := follow.Next(wait)
		if err != nil {
			t.Fatalf("%d of 5 events: %v, %+v", seen, err, r.Counters())
		}
		for _, row := range rows {
			seen++
			e, err := row.Event()
			if err != nil || row.Status != receiver.Verified || !row.Verdict.Bound || e.Object != hook.ObjectOperation ||
				!e.UpdatedAt.Given || len(e.Issues) > 0 {
				t.Errorf("%v %+v %+v", err, row, e.Issues)
			}
		}
	}
}
