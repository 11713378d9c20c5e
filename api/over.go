package api

import (
	"errors"
	"net/http"
	"sync"
	"time"

	"opdeck/api/session"
)

// wordsIgnored is how long a route's words are not believed after new tokens were
// answered with the same words: there they mean a refusal.
const wordsIgnored = 5 * time.Minute

// maxTries is how often the session sends a call in all.
const maxTries = 3

// refusals remembers the routes whose answers sound like the end of the session and
// are none.
type refusals struct {
	mu     sync.Mutex
	routes map[string]time.Time // guarded by mu: until when
}

// forSession is the status that the session is told of the try-th answer to r: 401
// where the service says in other words that the token is over. A route that goes
// on saying so to new tokens is not believed for a while, or every call of it would
// cost a login.
func (c *Client) forSession(r Request, a Answer, try int) int {
	if a.err != nil || a.Status == http.StatusUnauthorized || r.Raw && a.Status < 300 ||
		!session.Dead(a.Status, a.Body, r.OwnToken) {
		return a.Status
	}
	now := c.opt.Now()
	c.refusals.mu.Lock()
	defer c.refusals.mu.Unlock()
	if now.Before(c.refusals.routes[r.Route]) {
		return a.Status
	}
	if try >= maxTries {
		if c.refusals.routes == nil {
			c.refusals.routes = map[string]time.Time{}
		}
		c.refusals.routes[r.Route] = now.Add(wordsIgnored)
		return a.Status
	}
	return http.StatusUnauthorized
}

// knowsMore reports whether the session's error tells why there is no session,
// beyond that the service refused the token.
func knowsMore(err error) bool {
	var e *session.Error
	return errors.As(err, &e) && e.Kind != session.Unauthorized
}
