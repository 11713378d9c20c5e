package sandbox

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// reply is an answer that a fault sends instead of the service's own, written
// STATUS[/BODY] or BODY alone (200).
type reply struct {
	status int    // 0: the status that the answer has
	body   string // of bodies or errorTexts; "=TEXT"; "own": the body that the answer has; "": the status in words
	hang   bool   // later: no answer before the act
	drop   bool   // later: the connection is closed
}

// bodies are the ready bodies of a reply. Those that are made from the call's
// operation are in reply.operation.
var bodies = map[string]answer{
	"html": {header: http.Header{"Content-Type": {"text/html"}},
		body: []byte("<!doctype html><title>Maintenance</title><p>Back soon.")},
	"none":  {},
	"text":  {header: http.Header{"Content-Type": {"text/plain"}}, body: []byte("OK")},
	"empty": jsonAnswer(200, struct{}{}),
	"null":  jsonAnswer(200, nil),
	"list":  jsonAnswer(200, []any{}),
	"item":  jsonAnswer(200, item(struct{}{})),
	"ok":    jsonAnswer(200, action(true, "OK")),
	"false": jsonAnswer(200, action(false, "Not done")),
	"is2fa": jsonAnswer(200, map[string]any{"is2fa": true, "accessToken": "", "refreshToken": ""}),
}

// errorTexts are error sentences by name; ID and DOC are replaced by the call's ids.
var errorTexts = map[string]string{
	"no-operation": "Operation not found: ID", "no-document": "Document not found: DOC",
	"unattached": "Document DOC is not attached to operation ID",
	"ended":      textEnded, "locked": textLocked,
	"no-customer": "Customer not found: ID", "unconfigured": textUnconfigured, "submitted": textSubmitted,
	"shared": "A share token was already applied to customer ID", "baas": textBaaS,
	"expired": textBadAccess, "revoked": textRevoked, "unauthorized": "Unauthorized",
	"password": textBadLogin, "code": textCodeNeeded, "totp": "TOTP code required", "bad-code": "Invalid code",
	"error": "Something went wrong", "no-route": "no such route", "busy": "Too many requests",
}

// operationBodies are made from the operation that the call is about.
var operationBodies = []string{"stale", "now", "no-documents", "other"}

func parseReply(text string) (r reply, err error) {
	switch text {
	case "hang":
		return reply{hang: true}, nil
	case "drop":
		return reply{drop: true}, nil
	}
	status, body, slash := strings.Cut(text, "/")
	if r.status, err = strconv.Atoi(status); err != nil && status != "-" {
		if slash {
			return r, fmt.Errorf("%q is not a status", status)
		}
		r.status, body = http.StatusOK, text
	} else if status != "-" && (r.status < 200 || r.status > 599) {
		return r, fmt.Errorf("%d is not a status", r.status)
	}
	r.body = body
	if said, own := strings.CutPrefix(body, "="); own {
		said, err = url.PathUnescape(said)
		r.body = "=" + said
		return r, err
	}
	words := append([]string{"own"}, operationBodies...)
	words = slices.AppendSeq(slices.AppendSeq(words, maps.Keys(bodies)), maps.Keys(errorTexts))
	slices.Sort(words)
	if body != "" {
		_, err = oneOf(body, words)
	}
	return r, err
}

// instead returns the reply that replaces a.
func (r reply) instead(c *call, a answer) answer {
	status := r.status
	if status == 0 {
		status = a.status
	}
	said, free := strings.CutPrefix(r.body, "=")
	ready, known := bodies[r.body]
	switch saying := errorTexts[r.body]; {
	case r.body == "own":
		a.status = status
		return withoutBody(a)
	case slices.Contains(operationBodies, r.body):
		return withoutBody(answer{status: status, header: http.Header{"Content-Type": {"application/json"}},
			body: r.operation(c)})
	case known:
		return withoutBody(answer{status: status, header: ready.header.Clone(), body: ready.body})
	case r.body == "":
		said = http.StatusText(status)
	case !free:
		said = strings.NewReplacer("ID", c.param(0), "DOC", c.param(1)).Replace(saying)
	}
	return withoutBody(errorAnswer(status, said))
}

// withoutBody removes the body of answers that must not have one.
func withoutBody(a answer) answer {
	if a.status == http.StatusNoContent || a.status == http.StatusNotModified {
		a.body = nil
		a.header = a.header.Clone()
		delete(a.header, "Content-Type")
	}
	return a
}

func (c *call) param(i int) string {
	if i < len(c.params) {
		return c.params[i]
	}
	return "0"
}

// operation is the call's operation as it was before ("stale") or is now, or is
// now without its documents, or another one; {} when the call is about none.
func (r reply) operation(c *call) json.RawMessage {
	raw := c.present
	switch r.body {
	case "stale":
		raw = c.before
	case "other":
		raw = mergePatch(raw, encode(patch{"item": patch{"opid": opidOf(c.st.Seed, 1<<38).String()}}))
	case "no-documents":
		var v map[string]map[string]any
		if decode(raw, &v) == nil {
			delete(v["item"], "documents")
			raw = encode(v)
		}
	}
	if raw == nil {
		return encode(struct{}{})
	}
	return raw
}
