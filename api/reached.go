package api

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"opdeck/api/jsontree"
	"opdeck/api/reach"
	"opdeck/api/secret"
	"opdeck/api/session"
)

// Reached reports whether an ended call shows anything about the service: a useful answer, or what came instead.
func (c Call) Reached() bool { return c.Useful || c.Fault.Class != reach.None }

// use judges a call: whether its answer was of use, or what came instead of a useful one. e is the error of the call,
// that of reading its answer included. Neither means that the call says nothing about the service: it was refused for
// a reason of its own, in the words of the service's documents, or for its session.
func (c *Client) use(r Request, a Answer, e error) (useful bool, f reach.Fault) {
	f = c.reached(r, a)
	err := AsError(e)
	good := a.Status >= 200 && a.Status < 300
	switch {
	case f.Class != reach.None, a.err != nil, a.Status == 0, forSession(r, a) == http.StatusUnauthorized:
		return false, f
	case r.write:
		return good && r.take(a) == nil, f
	case good && r.Raw:
		if like := jsonLike(a.Header); !like || !empty(a.Body) {
			return like || !isPage(a), f
		}
	case good && err == nil && !empty(a.Body):
		return true, f
	case good && (err == nil || err.Kind == NotFound || err.Status == 0): // there is none; or the error is ours
		return false, f
	case strings.Contains(r.Route, "{") && knownMessage(Said(a.Body)):
		return false, f
	}
	return false, reach.Fault{Class: reach.Useless, Status: a.Status, Shape: shapeOf(a), Said: Said(a.Body)}
}

// empty reports whether an answer holds nothing: no object or array, or an object without members.
func empty(body []byte) bool {
	v := ParseJSON(bytes.TrimSpace(body))
	return v.Kind() != jsontree.Array && (v.Kind() != jsontree.Object || v.Len() == 0)
}

func isPage(a Answer) bool {
	return bytes.HasPrefix(bytes.TrimSpace(a.Body), []byte("<")) ||
		strings.HasPrefix(a.Header.Get("Content-Type"), "text/html")
}

// maxShape bounds an answer that is named literally, in bytes.
const maxShape = 8

// shapeOf names an answer of no use: "404 Not Found", "200 with {}".
func shapeOf(a Answer) string {
	body := bytes.TrimSpace(a.Body)
	if a.Status < 200 || a.Status >= 300 {
		name := strings.TrimSpace(fmt.Sprintf("%d %s", a.Status, http.StatusText(a.Status)))
		if isPage(a) {
			name += ", a web page"
		}
		return name
	}
	switch {
	case len(body) == 0:
		return fmt.Sprintf("%d without content", a.Status)
	case len(body) <= maxShape && empty(body):
		return fmt.Sprintf("%d with %s", a.Status, safeLine(string(body), maxShape))
	}
	return fmt.Sprintf("%d with other JSON", a.Status)
}

// objectOf is a short digest of the ids in the path of a call; "" without any.
func objectOf(r Request) string {
	if !strings.Contains(r.Route, "{") {
		return ""
	}
	sum := sha256.Sum256([]byte(r.Path))
	return hex.EncodeToString(sum[:4])
}

// reached is what kept a call from any answer of the service, by the network, its status or its form.
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
	case isPage(a):
		f.Class = reach.Page
	case !strings.ContainsRune("{[\"tfn-0123456789", rune(body[0])):
		f.Class = reach.Garbage
	}
	if f.Class == reach.None {
		return reach.Fault{}
	}
	return f
}
