package endpoint

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"

	"opdeck/api"
	"opdeck/api/evidence"
	"opdeck/api/jsontree"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// plan is a write before the gate.
type plan struct {
	Object  string // "operation", "customer", "hooks"
	ID      string
	Item    string
	Name    string // safe to draw
	Summary string // safe to draw
	Subject api.Subject
	Lifted  []api.Rule   // guards that would refuse it without --force
	Seen    string       // digest of what is there now
	Secret  string       // digest of what Shows does not hold
	Shows   any          // the body with dots for secrets; nil: none
	Body    []byte       // as it is sent; nil: Shows as JSON, or none
	Content string       // type of Body
	Token   secret.Value // the one in Body: hidden where the answer echoes it
	Guard   func() error
	Probe   api.Probe
}

// writing says how to build a write from its argument and how to decode its proven answer.
type writing[In, Out any] struct {
	ids    func(in In) []string // for the path's parameters
	plan   func(ctx context.Context, w *Wire, in In) (plan, error)
	result func(ctx context.Context, w *Wire, in In, r api.Request, a api.Answer) (Out, error)
	// failed replaces an error or turns it into a result; nil: neither.
	failed func(a api.Answer, err error) (Out, error)

	lend   func(ids []string, body Content) (In, error) // the argument of a script's request
	answer func(out Out) (json.RawMessage, error)       // what the service would have answered
	most   int64                                        // of the body in bytes; 0: MaxJSON
}

// write declares a call that changes something at the service.
func write[In, Out any](r Route, what Write, how writing[In, Out]) Endpoint[In, Out] {
	route := &r
	what.Kind, what.Need = r.Kind, r.Need
	route.Write = &what
	e := Endpoint[In, Out]{route, func(ctx context.Context, w *Wire, in In) (Out,
		error) {
		return how.send(ctx, w, route, in)
	}}
	if how.lend != nil && how.answer != nil { // a test finds the write that lacks one of them
		route.Lent.MaxBody = how.most
		if route.Lent.MaxBody == 0 {
			route.Lent.MaxBody = MaxJSON
		}
		route.Lent.Write = func(ctx context.Context, c Caller, ids []string, body Content) (json.RawMessage, error) {
			in, err := how.lend(ids, body)
			if err != nil {
				return nil, err
			}
			out, err := Do(ctx, c, e, in)
			if err != nil {
				return nil, err
			}
			return how.answer(out)
		}
	}
	return e
}

func (how writing[In, Out]) send(ctx context.Context, w *Wire, route *Route, in In) (Out, error) {
	var none Out
	req, err := route.request(how.ids(in)...)
	if err != nil {
		return none, err
	}
	p, err := how.plan(ctx, w, in)
	if err != nil {
		return none, err
	}
	if err := w.addCustomer(ctx, &p); err != nil {
		return none, err
	}
	a, err := w.client.Write(ctx, p.write(w, route, req, api.ConsentOf(ctx).Reason))
	switch {
	case err == nil:
		return how.result(ctx, w, in, req, a)
	case how.failed != nil:
		return how.failed(a, err)
	}
	return none, err
}

// addCustomer reads the customer of an act (one customer call), where a second person judges it and the plan did not.
func (w *Wire) addCustomer(ctx context.Context, p *plan) error {
	if p.Object != "customer" || !w.client.NeedsApproval() || api.IsDryRun(ctx) {
		return nil
	}
	c, err := Do(ctx, w, GetCustomer, p.ID)
	if err != nil {
		return err
	}
	p.Subject.Customer, p.Subject.Status = c.DisplayName().Line(200), c.Status.Line(40)
	return nil
}

// write is the plan as the gate and the wire take it.
func (p plan) write(w *Wire, route *Route, req api.Request, reason string) api.Write {
	act := api.Act{Kind: route.Kind, Method: route.Method, Path: req.Path, Object: p.Object, ID: p.ID, Item: p.Item,
		Name:    p.Name,
		Summary: p.Summary, Reason: reason, Subject: p.Subject, Lifted: p.Lifted, Seen: p.Seen, SecretDigest: p.Secret}
	req.Second = p.Token
	if p.Shows != nil {
		act.Body = jsonBody(p.Shows)
	}
	if req.Body, req.Content = p.Body, p.Content; req.Body == nil && p.Shows != nil {
		req.Body = act.Body
	}
	if req.Body != nil && req.Content == "" {
		req.Content = "application/json"
	}
	out := api.Write{Act: act, Request: req, Rule: route.Write.WriteRule, Guard: p.guard(req), Probe: p.Probe}
	out.Probe.Kind = route.Kind
	if route.Write.readable(out.Probe) {
		out.Look = func(ctx context.Context, p api.Probe) (api.Observation, error) { return route.Write.Look(ctx, w, p) }
	}
	return out
}

// guard is the plan's own, after the rule for every body: what was read masked is not sent back as if it were the
// value.
func (p plan) guard(r api.Request) func() error {
	return func() error {
		if r.Content == "application/json" && holdsDots(api.ParseJSON(r.Body)) {
			return &api.Error{Op: r.Op, Kind: api.Usage, Unsent: true,
				Public: "The body contains masked values (" + secret.Dots + ").",
				Remedy: api.Remedy{Kind: api.ReadWhole}}
		}
		if p.Guard != nil {
			return p.Guard()
		}
		return nil
	}
}

// holdsDots reports whether a text in v has the dots of a masked value.
func holdsDots(v jsontree.Value) bool {
	if strings.Contains(v.Text(), secret.Dots) {
		return true
	}
	for _, inner := range v.Members() {
		if holdsDots(inner) {
			return true
		}
	}
	return false
}

func jsonBody(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("endpoint: body: %v", err)) // bodies are plain maps and structs
	}
	return b
}

func unmarshal(raw json.RawMessage, v any) error { return json.Unmarshal(raw, v) }

// result decodes the {"success", "message"} of a write that is proven done.
func result[In any](_ context.Context, _ *Wire, _ In, _ api.Request, a api.Answer) (api.Result, error) {
	switch {
	case a.Settled:
		return api.Result{Success: true, Message: "Confirmed by reading the object."}, nil
	case a.Accepted:
		return api.Result{Success: true, Message: untrusted.Text(fmt.Sprintf("The service accepted it (%d). It does not "+
			"show whether it was done.", a.Status)), Raw: a.Body}, nil
	}
	return api.Result{Success: true, Message: api.Quote(api.ObjectOf(a.Body).Find("message"), maxMessage), Raw: a.Body},
		nil
}

// maxMessage bounds the message of an answer to a write, in characters.
const maxMessage = 1000

// saysSo is the evidence of an answer with "success".
const saysSo = "says that it was done"

// saysDone accepts only the write's own answer with "success" as proof.
func saysDone(_ api.Probe, body api.Object, answer bool) bool {
	return answer && body.Says("success", true)
}

// lookAt is the look of a write whose object a GET of another call reads. read and shows tell people what was read
// and what it shows after the write. silent reports whether a body cannot show the state at all; nil: it always can.
func lookAt(route *Route, op, read, shows string, shown api.Shown, silent func(api.Object) bool,
	ids func(api.Probe) []string) func(context.Context, *Wire, api.Probe) (api.Observation, error) {
	return func(ctx context.Context, w *Wire, p api.Probe) (s api.Observation, err error) {
		at := ids(p)
		req, err := route.request(at...)
		if err != nil {
			return s, err
		}
		req.Op, req.Method = op, http.MethodGet
		if s.Answer, err = w.client.Read(ctx, req, nil); err != nil {
			return s, err
		}
		body := api.ObjectOf(s.Answer.Body)
		s.Evidence = s.Answer.Evidence(req, strings.Join(at, "/"))
		s.Shown = body.Exists() && !p.Was && shown(p, body, false)
		s.Silent = p.Was || silent != nil && body.Exists() && silent(body)
		s.Evidence.Read, s.Evidence.Shows = read, showing(s.Shown, shows)
		return s, nil
	}
}

// showing words the evidence: the wanted state in the words of its write, or its absence.
func showing(shown bool, words string) string {
	if shown {
		return words
	}
	return "does not show it"
}

// Look reads the object of a write once (one call, two if the first fails in transit; for an upload one a page of the
// customer's files). An observation that is not Shown proves nothing: a delayed write may still be done later. The
// error is UnknownOutcome if no read can show the outcome of this kind of write.
var Look = composed(Route{Kind: "look", Op: "look"}, func(ctx context.Context, w *Wire, p api.Probe) (api.Observation,
	error) {
	if !Readable(p) {
		return api.Observation{}, &api.Error{Op: "look", Kind: api.UnknownOutcome,
			Public: "No read can show the outcome."}
	}
	return Of(p.Kind).Write.Look(ctx, w, p)
})

// Readable reports whether a read can prove the write of p.
func Readable(p api.Probe) bool {
	r := Of(p.Kind)
	return r != nil && r.Write != nil && r.Write.readable(p)
}

// SeenIn returns what a read of an operation proves about the write of p, whoever made the read: the evidence, read
// at at, and the id of the created object.
func SeenIn(p api.Probe, op api.Operation, at evidence.Moment) (e evidence.Evidence, made string, shown bool) {
	body := api.ObjectOf(op.Raw)
	rule := Rule(p.Kind)
	if p.OPID == "" || p.Was || !rule.Proves(p, body, false) {
		return e, "", false
	}
	if rule.Found != nil {
		made = rule.Found(p, body, false)
	}
	return evidence.Evidence{Read: operationRead, Route: http.MethodGet + " " + GetOperation.Template(), Object: p.OPID,
		Seen: at, Covers: evidence.Whole, Shows: rule.Shows}, made, true
}

// Wire makes calls to the service and returns unmasked results. It is safe for concurrent use.
type Wire struct {
	client         *api.Client
	customerByPost atomic.Bool // this service returns one customer by POST
}

// New returns a Wire with a client of its own.
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
		if err != nil {
			return none, w.nameFirstPage(req, err)
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

// nameFirstPage adds the setting to the error of a service that refused page 0.
func (w *Wire) nameFirstPage(r api.Request, err error) error {
	p := w.client.Service().Paging
	e := api.AsError(err)
	if p.CountsPages() && p.First == 0 && r.Query.Has(p.Names()[0]) && p.PageOf(r.Query) == 0 && e.Rule == "" &&
		(e.Status == http.StatusBadRequest || e.Status == http.StatusUnprocessableEntity) {
		e.Remedy = api.Remedy{Kind: api.FixSettings, ID: "[service]", Names: []string{"first_page"}}
	}
	return err
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
		w.client.Service().Paging.Ask(req.Query, next)
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
	return api.PageIn[T](w.client.Service(), r, a, t)
}
