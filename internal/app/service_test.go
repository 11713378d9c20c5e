package app

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/session"
)

// waiting is a session that is not available for a while, as Manager.Do does it.
type waiting struct{ d time.Duration }

func (w waiting) Do(ctx context.Context, _ session.Route, send session.Send) error {
	select {
	case <-time.After(w.d):
		_, _, err := send(ctx, session.Access{})
		return err
	case <-ctx.Done():
		return &session.Error{Kind: session.TimedOut, Public: "no session in time", Err: ctx.Err()}
	}
}

// TestNobodyWaitsForEver: a person's call fails in the end without a session (unavailable, exit 1); background work
// keeps waiting, and the earlier wait does not shorten a request that is being sent.
func TestNobodyWaitsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		send := func(ctx context.Context, _ secret.Value) (int, http.Header, error) {
			select {
			case <-time.After(10 * time.Second):
				return 200, nil, nil
			case <-ctx.Done():
				return 0, nil, ctx.Err()
			}
		}
		for name, c := range map[string]struct {
			ctx   context.Context
			after time.Duration // until there is a session
			took  time.Duration
			kind  api.Kind
		}{
			"at once":    {context.Background(), 0, 10 * time.Second, ""},
			"late":       {context.Background(), 59 * time.Second, 69 * time.Second, ""},
			"never":      {context.Background(), 24 * time.Hour, time.Minute, api.Unavailable},
			"background": {limit.Background(context.Background()), time.Hour, time.Hour + 10*time.Second, ""},
			"awaited":    {limit.Awaited(context.Background()), time.Hour, 30 * time.Second, api.Unavailable},
		} {
			began := time.Now()
			err := sessionAdapter{m: waiting{c.after}, wait: waitFor(30 * time.Second), awaited: 30 * time.Second}.Do(c.ctx, session.Route{Class: limit.Billing}, send)
			if took := time.Since(began); took != c.took || api.KindOf(err) != c.kind {
				t.Errorf("%s: %v after %s, want %s after %s", name, err, took, c.kind, c.took)
			}
		}
	})
	if w := waitFor(5 * time.Minute); w <= 5*time.Minute {
		t.Errorf("max_wait of five minutes is cut to %s", w)
	}
}
