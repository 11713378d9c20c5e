package console

import (
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/app"
)

// A console that rests looks at the store when someone else wrote to it, and not
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
	f := newFeed(api.WithActor(t.Context(), who), a, newPeople(a, who), nil)
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
