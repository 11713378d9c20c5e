package app

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/reach"
	"opdeck/api/session"
	"opdeck/internal/app/config"
	"opdeck/internal/store"
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
	err := s.m.Do(bound, route, func(_ context.Context, a session.Access) (int, http.Header, error) {
		return send(ctx, a.Token) // the sent request has its own deadline
	})
	return SessionError(err)
}

// SessionError converts the session's errors to the client's: the kind sets the exit code, the hint says what to do.
func SessionError(err error) error {
	var e *session.Error
	if !errors.As(err, &e) {
		return err
	}
	out := &api.Error{Kind: api.AuthFailed, Public: sentence(e.Public), RetryAfter: e.RetryAfter, Err: err,
		Remedy: api.Remedy{Kind: api.SessionStatus}}
	switch e.Kind {
	case session.CredentialsRefused:
		if e.Class == reach.None { // else the password is not the reason
			out.Remedy.Kind = api.FixCredentials
		}
	case session.TwoFactorDemanded:
		out.Remedy.Kind = api.NoSecondFactor
	case session.LoginUnreadable:
		out.Remedy = api.Remedy{Kind: api.FixSettings, ID: "[service]",
			Names: []string{"access_token_field, refresh_token_field, access_ttl_field"}}
	case session.NoPassword:
		out.Kind, out.Remedy = api.BadConfig, api.Remedy{Kind: api.FixSettings, ID: "the context",
			Names: []string{"password_env, password_file and password_command"}}
		if e.Err != nil { // the config's own sentence, without the password
			out.Public = sentence("the password is not available: " + e.Err.Error())
		}
	case session.StoreUnavailable:
		storeTrouble(out, e.Err)
	case session.ServiceUnavailable:
		out.Kind, out.Remedy = api.Unavailable, api.Remedy{Kind: api.Doctor, Wait: e.RetryAfter}
	case session.TimedOut:
		out.Kind = api.Unavailable
		if trouble := (*store.Error)(nil); errors.As(e.Err, &trouble) {
			storeTrouble(out, trouble)
		}
		if errors.Is(err, context.Canceled) {
			out.Kind = api.Interrupted
		}
	case session.Closed:
		out.Kind = api.Interrupted
	}
	return out
}

// storeTrouble fills in the sentence and the hint for a store error.
func storeTrouble(out *api.Error, err error) {
	out.Kind, out.Remedy = api.Unavailable, api.Remedy{Kind: api.Doctor}
	var known *store.Error
	if !errors.As(err, &known) {
		return
	}
	e := known.Public()
	out.Kind, out.Public, out.Remedy = e.Kind, e.Public, api.Remedy{Kind: api.NeedStore}
	if known.Kind == store.Lost {
		out.Remedy = e.Remedy
	}
}

// sentence gives a text a capital letter and a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	s = strings.ToUpper(s[:1]) + s[1:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
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
