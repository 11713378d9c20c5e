package app

import (
	"context"
	"errors"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/domain/lend"
	"opdeck/internal/store/journal"
)

// SessionStatus reads the shared session; it costs no call.
func (a *App) SessionStatus(ctx context.Context) (session.Status, error) {
	st, err := a.Session.Status(ctx)
	if err != nil {
		return st, SessionError(err)
	}
	st.Context = a.Context.Name
	if st.Borrowers, err = a.Borrowers(ctx); err != nil {
		return st, SessionError(err)
	}
	return st, nil
}

// Borrowers are the scripts that used the session within a day; it costs no call.
func (a *App) Borrowers(ctx context.Context) ([]session.Borrower, error) {
	posts, err := journal.NewBorrowers(a.Store.Core).Posts(ctx, a.Scope())
	return lend.Together(posts), err
}

// Usage reads the budgets; it costs no call.
func (a *App) Usage(ctx context.Context) ([]limit.Usage, error) { return a.Limits.Usage(ctx) }

// RefreshSession replaces the pair by a refresh; everybody's token changes.
func (a *App) RefreshSession(ctx context.Context) error {
	return a.sessionAct(ctx, api.ActSessionRefresh, a.Session.Refresh)
}

// LoginSession logs in again, which ends whatever session there was.
func (a *App) LoginSession(ctx context.Context) error {
	return a.sessionAct(ctx, api.ActSessionLogin, a.Session.Login)
}

// ResetSession forgets the pair and what blocks logins; the next call logs in.
func (a *App) ResetSession(ctx context.Context) error {
	return a.sessionAct(ctx, api.ActSessionReset, a.Session.Reset)
}

// sessionAct passes the gate like every other write.
func (a *App) sessionAct(ctx context.Context, kind api.ActKind, do func(context.Context) error) error {
	r := endpoint.Of(kind)
	act := api.Act{Kind: kind, Method: r.Method, Path: r.Path, Object: "session", ID: a.Session.Key().Account,
		Summary: string(kind) + " by hand"}
	permit, err := a.Gate.Begin(ctx, r.Write.Rule, act, nil)
	if err != nil {
		return err
	}
	err = SessionError(do(ctx))
	out := api.Outcome{Verdict: api.Done}
	if err != nil {
		out = api.Outcome{Verdict: api.Failed, Detail: api.AsError(err).Public}
	}
	return errors.Join(err, a.Gate.End(ctx, permit, out))
}
