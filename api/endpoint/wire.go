package endpoint

import (
	"context"
	"net/http"
	"sync/atomic"

	"opdeck/api"
)

// Wire makes calls to the service and returns unmasked results. It is safe for concurrent use.
type Wire struct {
	client    *api.Client
	customers formOf // how this service returns one customer
	first     atomic.Int32
}

func New(opt api.Options) (*Wire, error) {
	c, err := api.New(opt)
	if err != nil {
		return nil, err
	}
	return &Wire{client: c}, nil
}

// Call implements Caller.
func (w *Wire) Call(ctx context.Context, r Request) (any, error) { return r.run(ctx, w) }

// Phase classifies an operation's status; it knows the config's words too.
func (w *Wire) Phase(o api.Operation) api.Phase { return w.client.Phase(o) }

// ReadOnly reports whether the gate refuses all writes.
func (w *Wire) ReadOnly() bool { return w.client.ReadOnly() }

// reading says how to send a read and how to decode its answer.
type reading[In, Out any] struct {
	check func(in In) error                      // rejects an invalid argument; nil: none
	ids   func(in In) []string                   // for the path's parameters; nil: none
	query func(s api.Service, in In) queryValues // nil: none
	next  func(in In) string                     // api.After.Next of the previous page; nil: page by number
	read  func(ctx context.Context, w *Wire, r api.Request, a api.Answer, in In) (Out, error)
}

// read declares a call without effects.
func read[In, Out any](r Route, how reading[In, Out]) Endpoint[In, Out] {
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	route := &r
	return Endpoint[In, Out]{route, func(ctx context.Context, w *Wire, in In) (Out, error) {
		var none Out
		out, req, err := how.once(ctx, w, route, in)
		if w.countsFromOne(req, err) {
			if again, _, e := how.once(ctx, w, route, in); e == nil {
				return again, nil
			}
			w.first.Store(0)
		}
		if err != nil {
			return none, err
		}
		return out, nil
	}}
}

// once makes the call.
func (how reading[In, Out]) once(ctx context.Context, w *Wire, route *Route, in In) (out Out, req api.Request,
	err error) {
	if req, err = how.request(w, route, in); err != nil {
		return out, req, err
	}
	_, err = w.client.Read(ctx, req, func(a api.Answer) (err error) {
		out, err = how.read(ctx, w, req, a, in)
		return err
	})
	return out, req, err
}

// paging is the configured paging, with the detected number of the first page.
func (w *Wire) paging() api.Paging {
	p := w.client.Service().Paging
	if w.first.Load() == fromOne {
		p.First = 1
	}
	return p
}

// service is the configured service, with the detected number of the first page.
func (w *Wire) service() api.Service {
	s := w.client.Service()
	s.Paging = w.paging()
	return s
}

// The detected number of the first page.
const (
	fromZero = iota + 1
	fromOne
)

// countsFromOne records what the answer for page 0 shows, and reports whether to request page 1 instead: the service
// refused page 0 or returned nothing on it.
func (w *Wire) countsFromOne(r api.Request, err error) bool {
	p := w.client.Service().Paging
	if !p.CountsPages() || p.First != 0 || !r.Query.Has(p.Names()[0]) || p.PageOf(r.Query) != 0 {
		return false
	}
	e := api.AsError(err)
	switch {
	case err == nil:
		w.first.CompareAndSwap(0, fromZero)
		return false
	case e.Status == http.StatusBadRequest, e.Status == http.StatusUnprocessableEntity, e.Remedy.Kind == api.NameListField:
		return w.first.CompareAndSwap(0, fromOne)
	}
	return false
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
		next := ""
		if how.next != nil {
			next = how.next(in)
		}
		req.Follows = next != ""
		w.paging().Ask(req.Query, next)
	}
	return req, err
}

// composed declares an endpoint that makes other calls.
func composed[In, Out any](r Route, do func(ctx context.Context, w *Wire, in In) (Out, error)) Endpoint[In, Out] {
	return Endpoint[In, Out]{&r, do}
}

// one is the path's only id.
func one(id string) []string { return []string{id} }

// record decodes the record in an answer.
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

// list decodes a page of records from an answer.
func list[In any, T api.Record](t api.RecordType) func(context.Context, *Wire, api.Request, api.Answer,
	In) (api.Page[T], error) {
	return func(_ context.Context, w *Wire, r api.Request, a api.Answer, _ In) (api.Page[T], error) {
		return pageOf[T](w, r, a, t)
	}
}

func pageOf[T api.Record](w *Wire, r api.Request, a api.Answer, t api.RecordType) (api.Page[T], error) {
	return api.PageIn[T](w.service(), r, a, t)
}
