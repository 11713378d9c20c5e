package app

import (
	"context"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/session"
	"opdeck/internal/domain/lending"
	"opdeck/internal/store/journal"
)

// SharedSession is the session of all processes, with the acts on it.
type SharedSession struct{ app *App }

func (a *App) SharedSession() SharedSession { return SharedSession{a} }

// Status reads the shared session, without a call.
func (s SharedSession) Status(ctx context.Context) (session.Status, error) {
	st, err := s.app.Session.Status(ctx)
	if err != nil {
		return st, SessionError(err)
	}
	st.Context = s.app.Context.Name
	if st.Borrowers, err = s.Borrowers(ctx); err != nil {
		return st, SessionError(err)
	}
	return st, nil
}

// Borrowers are the scripts that used the session within a day; it makes no call.
func (s SharedSession) Borrowers(ctx context.Context) ([]session.Borrower, error) {
	posts, err := journal.NewBorrowers(s.app.Store.Core).Posts(ctx, s.app.Scope())
	return lending.Together(posts), err
}

// Refresh replaces the pair with a refresh, for all processes.
func (s SharedSession) Refresh(ctx context.Context) error {
	return s.act(ctx, api.ActSessionRefresh, s.app.Session.Refresh)
}

// Login logs in again, which ends the current session.
func (s SharedSession) Login(ctx context.Context) error {
	return s.act(ctx, api.ActSessionLogin, s.app.Session.Login)
}

// Reset clears the pair and the login blocks; the next call logs in.
func (s SharedSession) Reset(ctx context.Context) error {
	return s.act(ctx, api.ActSessionReset, s.app.Session.Reset)
}

// act passes the gate like every write.
func (s SharedSession) act(ctx context.Context, kind api.ActKind, do func(context.Context) error) error {
	r := endpoint.Of(kind)
	act := api.Act{Kind: kind, Method: r.Method, Path: r.Path, Object: "session", ID: s.app.Session.Key().Account,
		Summary: string(kind) + " manually"}
	return s.app.Gate.Own(ctx, r.Write.Rule.Need, act, func(string) error {
		return factReader{s.app}.explained(ctx, do(ctx))
	})
}
