package endpoint

import (
	"context"
	"net/http"

	"opdeck/api"
)

// Wire makes calls at the service: what it returns is not masked. It is safe for
// concurrent use.
type Wire struct {
	client    *api.Client
	customers formOf // how this service reads one customer
}

// New makes a Wire.
func New(opt api.Options) (*Wire, error) {
	c, err := api.New(opt)
	if err != nil {
		return nil, err
	}
	return &Wire{client: c}, nil
}

// Call implements Caller.
func (w *Wire) Call(ctx context.Context, r Request) (any, error) { return r.run(ctx, w) }

// Phase classifies an operation's status, words of the config included.
func (w *Wire) Phase(o api.Operation) api.Phase { return w.client.Phase(o) }

// ReadOnly reports whether the gate refuses all writes.
func (w *Wire) ReadOnly() bool { return w.client.ReadOnly() }

// reading says how a read is asked for and how its answer is read.
type reading[In, Out any] struct {
	check func(in In) error                      // of what is no id; nil: nothing
	ids   func(in In) []string                   // of the path's parameters; nil: it has none
	query func(s api.Service, in In) queryValues // nil: none
	read  func(ctx context.Context, w *Wire, r api.Request, a api.Answer, in In) (Out, error)
}

// read declares a call that changes nothing.
func read[In, Out any](r Route, how reading[In, Out]) Endpoint[In, Out] {
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	route := &r
	return Endpoint[In, Out]{route, func(ctx context.Context, w *Wire, in In) (Out, error) {
		var none Out
		req, err := how.request(w, route, in)
		if err != nil {
			return none, err
		}
		a, err := w.client.Read(ctx, req)
		if err != nil {
			return none, err
		}
		return how.read(ctx, w, req, a, in)
	}}
}

func (how reading[In, Out]) request(w *Wire, route *Route, in In) (api.Request, error) {
	if how.check != nil {
		if err := how.check(in); err != nil {
			return api.Request{}, err
		}
	}
	var ids []string
	if how.ids != nil {
		ids = how.ids(in)
	}
	req, err := route.request(ids...)
	if err == nil && how.query != nil {
		req.Query = route.values(how.query(w.client.Service(), in))
	}
	return req, err
}

// composed declares what makes other calls.
func composed[In, Out any](r Route, do func(ctx context.Context, w *Wire, in In) (Out, error)) Endpoint[In, Out] {
	return Endpoint[In, Out]{&r, do}
}

// one is the id of a path with one parameter.
func one(id string) []string { return []string{id} }

// record reads the record that an answer holds.
func record[In any, T api.Record](t api.RecordType) func(context.Context, *Wire, api.Request, api.Answer, In) (T,
	error) {
	return func(_ context.Context, _ *Wire, r api.Request, a api.Answer, _ In) (T, error) {
		return recordOf[T](r, a, t)
	}
}

func recordOf[T api.Record](r api.Request, a api.Answer, t api.RecordType) (T, error) {
	var out, none T
	raw, err := api.RecordIn(r, a, t)
	if err != nil {
		return none, err
	}
	if err := unmarshal(raw, &out); err != nil {
		return none, api.NotUnderstood(r, a, err)
	}
	return out, nil
}

// list reads a page of records from an answer.
func list[In any, T api.Record](t api.RecordType) func(context.Context, *Wire, api.Request, api.Answer,
	In) (api.Page[T], error) {
	return func(_ context.Context, w *Wire, r api.Request, a api.Answer, _ In) (api.Page[T], error) {
		return pageOf[T](w, r, a, t)
	}
}

func pageOf[T api.Record](w *Wire, r api.Request, a api.Answer, t api.RecordType) (api.Page[T], error) {
	return api.PageIn[T](w.client.Service().ListField, r, a, t, pageIn(r.Query))
}
