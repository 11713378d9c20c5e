package api

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strings"

	"opdeck/api/reach"
	"opdeck/api/secret"
	"opdeck/api/session"
)

// Reached reports whether an ended call shows anything about the service: it was sent, or no connection was made.
func (c Call) Reached() bool { return c.Status != 0 || c.Fault.Class != reach.None }

// reached is what came instead of a useful answer. A refusal of the one call is a useful answer: the service is there.
func (c *Client) reached(r Request, a Answer) reach.Fault {
	if a.err != nil {
		if knowsMore(a.err) || errTooLarge == a.err || errors.Is(a.err, context.Canceled) { // we left: it says nothing
			return reach.Fault{}
		}
		return reach.OfError(a.err, a.sent, c.opt.Now())
	}
	f := reach.Fault{Class: reach.OfStatus(a.Status), Status: a.Status}
	switch body := bytes.TrimSpace(a.Body); {
	case f.Class != reach.None:
		f.Said, f.After = Said(a.Body), session.RetryAfter(a.Header)
		if f.Class == reach.Moved {
			f.Target = session.Elsewhere(a.Header, secret.Value{})
		}
	case a.Status == http.StatusTooManyRequests:
		f.Class, f.After = reach.Throttled, session.RetryAfter(a.Header)
	case r.Raw || a.Status/100 != 2 || len(body) == 0:
		return reach.Fault{}
	case body[0] == '<' || strings.HasPrefix(a.Header.Get("Content-Type"), "text/html"):
		f.Class = reach.Page
	case !strings.ContainsRune("{[\"tfn-0123456789", rune(body[0])):
		f.Class = reach.Garbage
	}
	if f.Class == reach.None {
		return reach.Fault{}
	}
	return f
}
