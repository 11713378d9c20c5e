package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"time"
)

// call is one request in progress.
type call struct {
	*store
	ctx     context.Context // does not end with the caller: a received request is processed
	r       *http.Request
	params  []string // values of the pattern's wildcards
	st      settings
	at      time.Time // by the service's clock; for storage and comparison
	now     time.Time // the same as clients see it; see Variants
	warning string    // about the rate
	token   string    // fingerprint of the access token
}

// answer is a complete answer.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// refusal is an error that ends a handler.
type refusal struct {
	status  int
	message string
	action  bool // in the error body of acts
	header  http.Header
}

func (r *refusal) Error() string { return http.StatusText(r.status) }

func refuse(status int, message string) *refusal { return &refusal{status: status, message: message} }

func notFound(what, id string) error { return refuse(http.StatusNotFound, what+" not found: "+id) }

// asAction gives refusals of handle the error body of acts.
func asAction(handle handler) handler {
	return func(c *call) (any, error) {
		body, err := handle(c)
		var r *refusal
		if errors.As(err, &r) {
			r.action = true
		}
		return body, err
	}
}

// with decodes the request body into a T for handle.
func with[T any](handle func(*call, T) (any, error)) handler {
	return func(c *call) (any, error) {
		var in T
		if err := c.bind(&in); err != nil {
			return nil, err
		}
		return handle(c, in)
	}
}

func jsonAnswer(status int, body any) answer {
	return answer{status: status, header: http.Header{"Content-Type": {"application/json"}}, body: encode(body)}
}

func errorAnswer(status int, message string) answer {
	return jsonAnswer(status, map[string]string{"error": message})
}

func failure(err error) answer {
	var r *refusal
	if !errors.As(err, &r) {
		return errorAnswer(http.StatusInternalServerError, "internal error: "+err.Error())
	}
	a := errorAnswer(r.status, r.message)
	if r.action {
		a = jsonAnswer(r.status, action(false, r.message))
	}
	maps.Copy(a.header, r.header)
	return a
}

// serve handles a request: rate, authorization, handler.
func (s *Service) serve(w http.ResponseWriter, r *http.Request, rt route) {
	c := &call{store: s.store, ctx: context.WithoutCancel(r.Context()), r: r, params: rt.params(r), at: s.clock()}
	c.now = c.at.Add(s.variants.Load().Skew)
	blocked, err := accept(c, rt)
	switch {
	case err != nil:
		send(w, c, failure(err))
	case blocked != nil: // above the hard limits
		send(w, c, *blocked)
	default:
		send(w, c, run(c, rt))
	}
}

func run(c *call, rt route) answer {
	switch {
	case rt.known:
		return failure(refuse(http.StatusMethodNotAllowed, "Method not allowed"))
	case rt.handle == nil:
		return failure(refuse(http.StatusNotFound, "Not found"))
	}
	if !rt.open() {
		if err := authorize(c); err != nil {
			return failure(err)
		}
	}
	body, err := rt.handle(c)
	if err != nil {
		return failure(err)
	}
	if a, whole := body.(answer); whole {
		return a
	}
	return jsonAnswer(http.StatusOK, body)
}

// send writes a to the wire.
func send(w http.ResponseWriter, c *call, a answer) {
	if c.warning != "" {
		w.Header().Set("X-RateLimit-Warning", c.warning)
	}
	maps.Copy(w.Header(), a.header)
	w.Header().Set("Date", c.now.UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	w.Write(a.body) // fails if the client has left
}

const maxJSONBody = 1 << 20

// bind decodes the JSON body of the request into v. Unknown fields are allowed.
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
