package console

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/internal/app"
)

// A console that rests looks at the store when somebody else wrote to it, and not
// because of its own sign of life.
func TestFeedDoesNotHearItself(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"HOME": dir, "OPDECK_STATE": dir}
	open := func() *app.App {
		a, err := app.Open(t.Context(), app.Options{Getenv: func(k string) string { return env[k] }})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = a.Close() })
		return a
	}
	first, a, other := open(), open(), open()
	if _, err := first.SharedSession().Status(t.Context()); err != nil { // the first of all makes the session's row
		t.Fatal(err)
	}
	who := api.Actor{Name: "ana", Role: api.Operator, Via: "console"}
	f := newFeed(api.WithActor(t.Context(), who), a, newPeople(a, who))
	t.Cleanup(f.close)

	looks := func() bool {
		f.readAt = f.readAt.Add(-time.Millisecond) // so that a read is detected
		before := f.readAt
		f.poll()
		return !f.readAt.Equal(before)
	}
	before, versioned := a.Store.Version(t.Context())
	if !versioned {
		t.Fatal("the store has no stamp")
	}
	if f.poll(); f.readAt.IsZero() {
		t.Fatal("it does not look at first")
	}
	if after, _ := a.Store.Version(t.Context()); after == before {
		t.Fatal("the first look gives no sign of life")
	}
	if looks() {
		t.Error("it looks because of its own sign of life")
	}
	if _, err := other.SharedSession().Status(t.Context()); err != nil { // the other's sign of life
		t.Fatal(err)
	}
	if !looks() {
		t.Error("it does not look when another process came")
	}
	if looks() {
		t.Error("it looks when nobody wrote")
	}
}

// Who waits as long as the feed rests wakes with its look, not with one that is
// much too early; other waits are exact, and all end with ctx.
func TestWaitingWithTheFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{app: &app.App{Now: time.Now}, reads: make(chan struct{}, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		go func() {
			for range 3 {
				time.Sleep(25 * time.Second)
				f.reads <- struct{}{}
			}
		}()
		if !f.wait(ctx, readEvery) || time.Since(began) != 50*time.Second {
			t.Errorf("woken after %v, want the look after 50 s", time.Since(began))
		}
		began = time.Now()
		if !f.wait(ctx, recheckStalled) || time.Since(began) != recheckStalled {
			t.Errorf("woken after %v, want %v", time.Since(began), recheckStalled)
		}
		time.AfterFunc(time.Hour, cancel)
		if f.wait(ctx, readEvery) { // the third look is much too early
			t.Error("it waits on when it is over")
		}
	})
}
