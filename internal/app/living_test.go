package app

import (
	"path/filepath"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/sandbox/faulty"
)

// TestLivingService: what changes at the living built-in service arrives in the
// inbox of this process, verified, and no port is opened for it.
func TestLivingService(t *testing.T) {
	t.Parallel()
	a, err := Open(t.Context(), Options{StateFlag: filepath.Join(t.TempDir(), "state"), Living: true, Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	ctx := api.WithTrail(t.Context(), a.Audit)
	addr, stop, err := a.Hooks().Start(ctx, func(string) string { return "" })
	if err != nil || addr != "" {
		t.Fatalf("%q %v", addr, err)
	}
	defer stop()
	if err := faulty.Of(a.Sandbox).Step(ctx); err != nil {
		t.Fatal(err)
	}
	events, err := receiver.Follow(a.Hooks().Inbox(), 0, 10*time.Millisecond, nil).Next(ctx)
	if err != nil || len(events) == 0 {
		t.Fatal(events, err)
	}
	if e := events[0]; e.Status != receiver.Verified || !e.Verdict.Authenticated || !e.Verdict.Bound {
		t.Errorf("%+v", e)
	}
}

// TestStillService: without Living nothing is received and nothing happens.
func TestStillService(t *testing.T) {
	t.Parallel()
	a, err := Open(t.Context(), Options{StateFlag: filepath.Join(t.TempDir(), "state"), Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	if at := a.Hooks().At(); at != "" {
		t.Errorf("webhooks are received at %q", at)
	}
	if err := faulty.Of(a.Sandbox).Step(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out, err := faulty.Of(a.Sandbox).Outbox(t.Context()); err != nil || len(out) != 0 {
		t.Errorf("%d events, %v", len(out), err)
	}
}
