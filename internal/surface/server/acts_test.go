package server

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/app"
)

// refs is a trail that numbers intents.
type refs struct{ n int }

func (r *refs) Intent(context.Context, api.Actor, api.Act) (string, error) {
	r.n++
	return string(rune('a' + r.n)), nil
}
func (*refs) Outcome(context.Context, string, api.Outcome) error { return nil }
func (*refs) Note(context.Context, api.Actor, api.Event) error   { return nil }

// A session's own writes are awaited, those of others are not; the server waits
// for all, but not for ever.
func TestWritesAreAwaited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trail := &refs{}
		a := &app.App{Gate: &api.Gate{Audit: trail, Now: time.Now}}
		f := watchActs(a)
		ctx := api.WithActor(t.Context(), api.Actor{Name: "ana", Role: api.Operator, Session: "s1"})
		permit, err := a.Gate.Begin(ctx, endpoint.Rule(api.ActRemoveDocument), api.Act{Kind: api.ActRemoveDocument}, nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		f.awaitSession(ctx, "s2")
		if time.Since(began) != 0 {
			t.Error("another session's write was awaited")
		}
		time.AfterFunc(3*time.Second, func() { _ = a.Gate.End(ctx, permit, api.Outcome{Verdict: api.Done}) })
		f.awaitSession(ctx, "s1")
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("the write was awaited for %s", took)
		}
		if _, err := a.Gate.Begin(ctx, endpoint.Rule(api.ActRemoveDocument), api.Act{Kind: api.ActRemoveDocument},
			nil); err != nil {
			t.Fatal(err)
		}
		began = time.Now()
		f.awaitAll(10 * time.Second)
		if took := time.Since(began); took != 10*time.Second {
			t.Errorf("a write without end was awaited for %s", took)
		}
		f.stop()
		if a.Gate.Audit != api.Auditor(trail) {
			t.Error("the trail is not the gate's own again")
		}
	})
}
