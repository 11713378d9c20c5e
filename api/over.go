package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/google/uuid"

	"opdeck/api/secret"
	"opdeck/api/session"
)

// forSession is the status that the session gets for an answer to r: 401 if the service says in other words that the
// token has expired.
func forSession(r Request, a Answer) int {
	if a.err != nil || r.Raw && a.Status < 300 || !session.Dead(a.Status, a.Body, r.OwnToken) {
		return a.Status
	}
	return http.StatusUnauthorized
}

// SessionRoute is r as the session knows it.
func (r Request) SessionRoute() session.Route {
	return session.Route{Class: r.Class, Name: r.Method + " " + r.Route, Open: r.Open}
}

// Probe sends r once with token, outside the session and its budgets, only to learn whether the service accepts the
// token.
func (c *Client) Probe(ctx context.Context, r Request, token secret.Value) (status int, header http.Header, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.opt.Timeout)
	defer cancel()
	call := c.call(r, uuid.NewString(), c.opt.Now())
	call.Background, call.Ran = true, call.At
	c.notify(call, CallRuns)
	m := &moving{c: c, call: call}
	a := c.attempt(ctx, r, token, m)
	m.stop()
	c.report(call, a, c.fault(ctx, r, a, nil))
	return forSession(r, a), a.Header, a.err
}

// knowsMore reports whether the session's error gives a better reason than that the service refused the token.
func knowsMore(err error) bool {
	var e *session.Error
	return errors.As(err, &e) && e.Kind != session.Unauthorized
}

// refusedHere reports whether the session's error says that only this route refuses the session.
func refusedHere(err error) bool {
	var e *session.Error
	return errors.As(err, &e) && e.Kind == session.NotAuthorised
}
