package sandbox

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"
)

// call is one request on its way through the service.
type call struct {
	ctx     context.Context // does not end with the caller: what was taken in is processed
	r       *http.Request
	params  []string // values of the path's "*" segments
	st      settings
	at      time.Time // of the service's clock; what is stored and compared
	now     time.Time // the same as told to clients: skewed when asked for
	faults  []fault   // those that fire for this call
	lag     time.Duration
	order   string          // of lists of operations
	varied  map[string]bool // variants that are on
	before  []byte          // the call's operation before it was processed, when a reply wants it
	present []byte          // the same as it is now
	warned  string          // text of the rate warning
	token   string          // fingerprint of the access token
}

// answer is a finished answer; it is sent only after the faults had their say.
type answer struct {
	status  int
	header  http.Header
	body    []byte
	refused bool // by the service itself, in its own words
}

// refusal is an answer that ends a handler early.
type refusal struct {
	status int
	body   any
	header http.Header
}

func (r *refusal) Error() string { return http.StatusText(r.status) }

// refuse gives the usual error body.
func refuse(status int, message string) *refusal {
	return &refusal{status: status, body: map[string]string{"error": message}}
}

// refuseAction gives the error body of actions.
func refuseAction(status int, message string) *refusal {
	return &refusal{status: status, body: actionJSON{Message: message}}
}

type actionJSON struct {
	Success bool   `json:"success"`
	Message string `json:"message"`
}

type itemJSON struct {
	Item any `json:"item"`
}

func ok(body any) (answer, error) { return jsonAnswer(http.StatusOK, body), nil }

func jsonAnswer(status int, body any) answer {
	return answer{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: encode(body)}
}

func failure(err error) answer {
	var r *refusal
	if !errors.As(err, &r) {
		return jsonAnswer(http.StatusInternalServerError, map[string]string{"error": "internal error: " + err.Error()})
	}
	a := jsonAnswer(r.status, r.body)
	a.refused = r.status >= 400 && r.status < 500
	for k, v := range r.header {
		a.header[k] = v
	}
	return a
}

// serve takes a request through gate, faults, authorization and handler.
func (s *Service) serve(w http.ResponseWriter, r *http.Request) {
	rt, params, known := s.find(r)
	c := &call{ctx: context.WithoutCancel(r.Context()), r: r, params: params, at: s.now()}
	c.now = c.at
	if rt.class == classAdmin {
		s.send(w, c, s.admin(c, rt, known))
		return
	}
	a, err := s.gate(c, rt)
	if err == nil && a != nil { // above the hard limits
		s.send(w, c, *a)
		return
	}
	if err == nil {
		a, err = s.before(c, rt)
	}
	var out answer
	switch {
	case err != nil:
		out = failure(err)
		out.refused = false
	case a != nil:
		out = *a
	default:
		out = s.process(c, rt, known)
	}
	if s.after(w, c, &out) {
		s.send(w, c, out)
	}
}

// process runs the request and counts a write that was done.
func (s *Service) process(c *call, rt route, known bool) answer {
	a := s.run(c, rt, known)
	if c.r.Method != http.MethodGet && a.status < 300 {
		if err := s.write(c.ctx, func(tx *sql.Tx) error { return bump(c.ctx, tx, "done."+rt.name) }); err != nil {
			return failure(err)
		}
	}
	return a
}

func (s *Service) run(c *call, rt route, known bool) answer {
	if rt.handle == nil {
		if known {
			return failure(refuse(http.StatusMethodNotAllowed, "Method not allowed"))
		}
		return failure(refuse(http.StatusNotFound, "Not found"))
	}
	if rt.variant != "" && !c.varied[rt.variant] || rt.name == "customer-get" && rt.variant == "" && c.varied[variantPost] {
		return failure(refuse(http.StatusMethodNotAllowed, "Method not allowed"))
	}
	if !rt.open {
		if err := s.authorize(c); err != nil {
			return failure(err)
		}
	}
	a, err := rt.handle(c)
	if err != nil {
		return failure(err)
	}
	return a
}

// send writes a to the wire.
func (s *Service) send(w http.ResponseWriter, c *call, a answer) {
	if c.warned != "" {
		w.Header().Set("X-RateLimit-Warning", c.warned)
	}
	s.head(w, c, a)
	w.Write(a.body) // the reader may be gone; nobody is left to tell
}

func setHeader(h, from http.Header) {
	for k, v := range from {
		h[k] = v
	}
}

const maxJSONBody = 1 << 20

// bind reads the JSON body of the request into v. Unknown fields are allowed.
func (c *call) bind(v any) error {
	if kind, _, err := mime.ParseMediaType(c.r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return refuse(http.StatusUnsupportedMediaType, "Content-Type must be application/json")
	}
	body, err := io.ReadAll(io.LimitReader(c.r.Body, maxJSONBody+1))
	if err != nil {
		return refuse(http.StatusBadRequest, "The body could not be read")
	}
	if len(body) > maxJSONBody {
		return refuse(http.StatusRequestEntityTooLarge, "The body is too large")
	}
	if err := json.Unmarshal(body, v); err != nil {
		return refuse(http.StatusBadRequest, "The body is not valid JSON of the expected shape")
	}
	return nil
}
