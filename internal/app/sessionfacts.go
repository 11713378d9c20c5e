package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"opdeck/api/reach"
	"opdeck/api/session"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store"
)

func sessionFact(st session.Status) verdict.Session {
	out := verdict.Session{State: st.State, Refused: st.Refused}
	if !st.Access.Dead {
		out.AccessUntil = st.Access.ExpiresAt
	}
	out.RefreshUntil = st.Refresh.ExpiresAt
	if ttl := st.Access.TTL; ttl > 0 && ttl < shortestLife {
		out.ShortLife = ttl
	}
	if h := st.Holder; h != nil && st.Phase.Sent() && st.HeldFor >= rotationTime() {
		out.Holder, out.HolderSince = fmt.Sprintf("%s, process %d", h.Host, h.PID), st.AsOf.Add(-st.HeldFor)
		out.Holding = "refresh"
		if st.Phase == session.SentLogin {
			out.Holding = "login"
		}
	}
	out.EndsAfter = st.EndsAfter
	recent := st.AsOf.Add(-10 * time.Minute)
	for _, e := range st.History {
		switch {
		case e.Kind != session.EventPremature || e.At.Before(recent):
		case !e.Known && e.By != "":
			out.Unaccepted++
		default:
			out.Foreign, out.ForeignAt = out.Foreign+1, e.At
		}
	}
	switch st.Verdict.Cause {
	case session.ForeignClient, session.ShorterLife:
	default:
		out.Foreign = 0
	}
	return out
}

// rotationTime is from when on a login or refresh has lasted longer than its process waits for an answer.
func rotationTime() time.Duration { return session.Defaults().AuthDeadline + time.Second }

// shortestLife is the lifetime of access tokens below which refreshes and logins cannot keep a session without waits.
const shortestLife = 20 * time.Second

// blocked is the attempt that a block keeps, for when the history has lost it.
func blocked(st session.Status) []verdict.Fact[verdict.Attempt] {
	if st.State != "blocked" || len(st.Blocks) == 0 {
		return nil
	}
	b := st.Blocks[len(st.Blocks)-1]
	a := verdict.Attempt{Kind: "login", At: st.AsOf.Add(-b.Ago), Fault: reach.Fault{Class: b.Class, Said: b.Said}}
	switch b.Reason {
	case session.BlockTwoFactor:
		a.Fault.Class = reach.TwoFactor
	case session.BlockUnreadable:
		a.Fault = reach.Fault{Class: reach.Unreadable, Said: b.Said, Status: b.Status, Key: b.Key}
		a.Next = a.At.Add(session.RereadAfter)
	}
	if a.Fault.Class == reach.None {
		a.Fault.Class = reach.Refused
	}
	return []verdict.Fact[verdict.Attempt]{verdict.Known(a, "the block of this login", a.At, blockHolds)}
}

// attempts are the logins and refreshes since the last one that succeeded, and that one.
func attempts(st session.Status) []verdict.Fact[verdict.Attempt] {
	var out []verdict.Fact[verdict.Attempt]
	for _, e := range slices.Backward(st.History) {
		if e.Kind == session.EventReset {
			break
		}
		if e.Kind != session.EventLogin && e.Kind != session.EventRefresh || e.Outcome == session.Aborted ||
			e.Outcome == session.Fenced {
			continue
		}
		a := verdict.Attempt{Kind: string(e.Kind), At: e.At, OK: e.Outcome == session.OK, Fault: e.Fault,
			Waits: e.Outcome == session.NoSlot, By: e.Owner.Host}
		if !a.OK && !a.Waits && a.Fault.Class == reach.None {
			a.Fault.Class = reach.NotAnswered
		}
		if e.Outcome == session.Unreadable {
			a.Next = e.At.Add(session.RereadAfter)
		}
		holds := attemptHolds
		if a.OK {
			holds = loginHolds
		}
		if e.Outcome == session.Refused || e.Outcome == session.TwoFactor || e.Outcome == session.Unreadable {
			holds = blockHolds
		}
		out = append(out, verdict.Known(a, fmt.Sprintf("%s, process %d", e.Owner.Host, e.Owner.PID), e.At, holds))
		if a.OK {
			break
		}
	}
	if !slices.ContainsFunc(out, func(f verdict.Fact[verdict.Attempt]) bool { return f.Holds == blockHolds }) {
		out = append(out, blocked(st)...)
	}
	return out
}

// clockFact compares the store's clock with the Date of the newest login or refresh, and this host's with the store's.
func (a factReader) clockFact(st session.Status) (none verdict.Fact[verdict.Clock]) {
	if a.ownClock {
		return none
	}
	for _, e := range slices.Backward(st.History) {
		if e.Served.IsZero() {
			continue
		}
		c := verdict.Clock{Host: a.Session.Owner().Host, Ahead: e.At.Sub(e.Served) - st.Ahead}
		if a.Store.Core.Engine() == store.Postgres {
			c.Database = e.At.Sub(e.Served)
		}
		return verdict.Known(c, "the Date of a "+string(e.Kind), e.At, callHolds)
	}
	return none
}

// passwordFact tries the password where a login would need it now. A command is not run: what a login of any process
// has seen of it counts.
func (a factReader) passwordFact(ctx context.Context, f *verdict.Facts, st session.Status) error {
	p := verdict.Password{Source: passwordSetting(a.Context)}
	for _, one := range f.Attempts { // newest first
		if at := one.Value; at.Fault.Class == reach.NoPassword {
			p.Fault = at.Fault.Said
			f.Password = verdict.Known(p, one.From, one.At, one.Holds)
			break
		} else if !at.Waits {
			break // a newer login had one
		}
	}
	if a.Sandbox != nil || a.Context.PasswordCommand != "" || st.State == string(session.Live) || st.Renewable() {
		return nil
	}
	p.Fault = ""
	if _, err := a.Context.Password(ctx, a.getenv); err != nil {
		p.Fault = err.Error()
	}
	f.Password = verdict.Known(p, "this process", f.Now, readHolds)
	return nil
}

// passwordSetting names the setting that has the password.
func passwordSetting(c config.Context) string {
	switch {
	case c.PasswordEnv != "":
		return "password_env"
	case c.PasswordFile != "":
		return "password_file"
	}
	return "password_command"
}
