package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// call is one request on its way through the service.
type call struct {
	ctx    context.Context // does not end with the caller: what was taken in is processed
	r      *http.Request
	params []string // values of the path's "*" segments
	st     settings
	at     time.Time // of the service's clock; what is stored and compared
	now    time.Time // the same as told to clients: skewed when asked for
	faults []fault   // those that fire for this call
	lag    time.Duration
	warned string // text of the rate warning
	token  string // fingerprint of the access token
}

// answer is a finished answer; it is sent only after the faults had their say.
type answer struct {
	status int
	header http.Header
	body   []byte
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
	if err == nil && a == nil {
		a, err = s.before(c)
	}
	if err != nil {
		s.send(w, c, failure(err))
		return
	}
	if a != nil {
		s.send(w, c, *a)
		return
	}
	done := s.run(c, rt, known)
	if s.after(w, c, &done) {
		s.send(w, c, done)
	}
}

func (s *Service) run(c *call, rt route, known bool) answer {
	if rt.handle == nil {
		if known {
			return failure(refuse(http.StatusMethodNotAllowed, "Method not allowed"))
		}
		return failure(refuse(http.StatusNotFound, "Not found"))
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
	h := w.Header()
	for k, v := range a.header {
		h[k] = v
	}
	h.Set("Date", c.now.UTC().Format(http.TimeFormat))
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	if c.warned != "" {
		h.Set("X-RateLimit-Warning", c.warned)
	}
	w.WriteHeader(a.status)
	w.Write(a.body) // the reader may be gone; nobody is left to tell
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
