package app

import (
	"context"
	"net/http"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/api/untrusted"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/lending"
)

// sessionWait is the least wait of a person's call for a session (session protocol, caller deadline): longer than the
// lease takeover after a crash.
const sessionWait = 60 * time.Second

// sessionAdapter connects the session to the client and converts its errors.
type sessionAdapter struct {
	m interface {
		Do(ctx context.Context, route session.Route, send session.Send) error
	}
	wait    time.Duration // of a person's call for pair and slot; background work waits without limit
	awaited time.Duration // of a background call that a person waits for
	host    string
	explain func(context.Context, error) error // converts the session's errors; nil: SessionError
}

// waitFor is a wait that includes all of [limits] max_wait.
func waitFor(maxWait time.Duration) time.Duration { return max(sessionWait, maxWait+sessionWait/2) }

func (s sessionAdapter) Do(ctx context.Context, route session.Route, send api.Send) error {
	bound := ctx
	if limit.IsAwaited(ctx) {
		wait := s.wait
		if limit.IsBackground(ctx) {
			wait = s.awaited
		}
		var stop context.CancelFunc
		bound, stop = context.WithTimeout(ctx, wait)
		defer stop()
	}
	err := s.m.Do(limit.By(bound, callerOf(ctx, s.host)), route, func(_ context.Context, a session.Access) (int,
		http.Header, error) {
		return send(ctx, a.Token) // the sent request has its own deadline
	})
	if s.explain == nil {
		return SessionError(err)
	}
	return s.explain(ctx, err)
}

// maxCaller bounds the name of a caller, in characters.
const maxCaller = 80

// callerOf names who makes a call, for the budgets: "borrower nightly on alpha".
func callerOf(ctx context.Context, host string) string {
	who := api.ActorOf(ctx)
	if who.Name == "" {
		return ""
	}
	name := untrusted.Text(who.Name).Line(maxCaller)
	if who.Via == lending.Via {
		name = "borrower " + name
	}
	return name + " on " + untrusted.Text(host).Line(maxCaller)
}

// sentence gives a text a capital letter and a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return fullStop(strings.ToUpper(s[:1]) + s[1:])
}

// fullStop gives a text a full stop unless it has one, or asks.
func fullStop(s string) string {
	if strings.HasSuffix(s, ".") || strings.HasSuffix(s, "?") {
		return s
	}
	return s + "."
}

func namesOf(c config.Service) session.Names {
	return session.Names{Access: c.AccessToken, Refresh: c.RefreshToken, AccessTTL: c.AccessTTL, RefreshTTL: c.RefreshTTL}
}

func serviceOf(c config.Service) api.Service {
	words := map[string]api.Phase{"open": api.PhaseOpen, "completed": api.PhaseCompleted, "failed": api.PhaseFailed,
		"canceled": api.PhaseCanceled}
	out := api.Service{ShareTokenField: c.ShareTokenField, ListField: c.ListField, UploadIDField: c.UploadIDField,
		PageSize: c.ListPageSize,
		Paging: api.Paging{Way: api.PagingWay(c.Paging), PageName: c.PageName, SizeName: c.PageSizeName,
			First: c.FirstPage, CursorName: c.CursorName, CursorField: c.CursorField},
		Phases: map[string]api.Phase{}}
	if c.Paging == "auto" {
		out.Paging.Way = ""
	}
	for word, phase := range c.StatusWords {
		out.Phases[word] = words[phase]
	}
	return out
}
