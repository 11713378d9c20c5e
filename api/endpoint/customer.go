package endpoint

import (
	"context"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"

	"opdeck/api"
	"opdeck/api/limit"
)

var customerCalls = []*Route{ListCustomers.Route, GetCustomer.Route, GetApplication.Route, SetApplication.Route,
	Finalize.Route}

const customerPath = "/v2/customer/{cuid}"

// ListCustomers reads one page of customers (one customer call).
var ListCustomers = read(Route{Kind: "customer.list", Op: "list customers", Path: "/v2/customer", Class: limit.Customer,
	Need:  api.MayRead,
	Query: paged(asked("customerId", "customerName")...), Lent: Lending{Reads: true}},
	reading[api.CustomerQuery, api.Page[api.Customer]]{
		query: func(s api.Service, q api.CustomerQuery) queryValues {
			return page(s, q.Page, q.Size, "customerId", q.CUID, "customerName", q.Name)
		},
		next: func(q api.CustomerQuery) string { return q.Next },
		read: list[api.CustomerQuery, api.Customer](api.CustomerRecord)})

// GetCustomer reads one customer: by GET; by POST if the service does not accept GET; else from the list filtered by
// the customer. It costs one customer call once the working form is known, up to three before. The record may be bare
// or in an object of its own.
var GetCustomer = Endpoint[string, api.Customer]{&Route{Kind: "customer.get", Op: "read customer",
	Method: http.MethodGet, Path: customerPath,
	Class: limit.Customer, Need: api.MayRead, Lent: Lending{Reads: true}}, readCustomer}

// customerForm is the form of the call that reads one customer. The service's page prints POST beside a name that
// reads like GET, and the specification has neither, so the form is detected and remembered.
type customerForm int32

const (
	customerByGet  customerForm = iota // also: not known yet
	customerByPost                     // the same path by POST
	customerByList                     // the list, filtered by the customer
)

// formOf remembers the form that works.
type formOf struct{ v atomic.Int32 }

func (f *formOf) get() customerForm     { return customerForm(f.v.Load()) }
func (f *formOf) keep(was customerForm) { f.v.Store(int32(was)) }

func readCustomer(ctx context.Context, w *Wire, cuid string) (api.Customer, error) {
	if err := api.CheckID(params["cuid"], cuid); err != nil {
		return api.Customer{}, err
	}
	form := w.customers.get()
	if form == customerByList {
		return w.customerFromList(ctx, cuid)
	}
	got, err := w.customerBy(ctx, form, cuid)
	if form == customerByGet && notTaken(err) {
		if got, err = w.customerBy(ctx, customerByPost, cuid); err == nil {
			w.customers.keep(customerByPost)
			return got, nil
		}
	}
	if err == nil || !noSuchCall(err) {
		return got, err
	}
	listed, listErr := w.customerFromList(ctx, cuid)
	switch {
	case listErr == nil:
		w.customers.keep(customerByList)
		return listed, nil
	case api.KindOf(listErr) == api.NotFound:
		return api.Customer{}, listErr
	}
	return api.Customer{}, err
}

func (w *Wire) customerBy(ctx context.Context, form customerForm, cuid string) (api.Customer, error) {
	r, err := (&Route{Op: "read customer", Method: http.MethodGet, Path: customerPath,
		Class: limit.Customer}).request(cuid)
	if err != nil {
		return api.Customer{}, err
	}
	if form == customerByPost {
		r.Method = http.MethodPost
	}
	var out api.Customer
	_, err = w.client.Read(ctx, r, func(a api.Answer) (err error) {
		out, err = recordOf[api.Customer](r, a, api.CustomerRecord)
		return err
	})
	return out, err
}

// customerFromList finds a customer in the list filtered by it. The service may ignore the filter, so one page is
// searched.
func (w *Wire) customerFromList(ctx context.Context, cuid string) (api.Customer, error) {
	page, err := Do(ctx, w, ListCustomers, api.CustomerQuery{CUID: cuid})
	if err != nil {
		return api.Customer{}, err
	}
	for _, it := range page.Items {
		if string(it.CUID) == cuid {
			return it, nil
		}
	}
	return api.Customer{}, &api.Error{Op: "read customer", Kind: api.NotFound,
		Public: "This customer is not in the service's list of customers.",
		Remedy: api.Remedy{Kind: api.RecheckID}}
}

// notTaken reports whether the service does not support this method here.
func notTaken(err error) bool {
	e := api.AsError(err)
	return e != nil && (e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented)
}

// noSuchCall reports whether the service may lack the call altogether: it rejects the method, does not know the path,
// or its answer is not a customer. Its own message that there is no such customer is a valid answer.
func noSuchCall(err error) bool {
	e := api.AsError(err)
	return notTaken(err) || e != nil && e.Rule == "" && (e.Status == http.StatusNotFound || e.Status == http.StatusGone ||
		e.Kind == api.Internal && e.Status != 0)
}

const applicationPath = customerPath + "/application"

// GetApplication reads a customer's application (one customer call). If there is none yet, the error is api.NotFound,
// whatever the status.
var GetApplication = read(Route{Kind: "customer.application", Op: "read application", Path: applicationPath,
	Class: limit.Customer, Need: api.MayRead,
	Lent: Lending{Reads: true}}, reading[string, api.Application]{
	ids: one,
	read: func(_ context.Context, _ *Wire, r api.Request, a api.Answer, _ string) (api.Application, error) {
		return applicationIn(r, a)
	}})

// noApplication matches messages that there is no application yet.
var noApplication = regexp.MustCompile(
	`(?i)\b(application|customer)\b.*\b(not (yet )?(configured|found|exist|created|set|submitted)|` +
		`does not exist|missing|absent)|\bno application\b`)

// applicationIn decodes an application from an answer: bare, under item or in another object. One without an
// individual or corporate part keeps only its JSON.
func applicationIn(r api.Request, a api.Answer) (api.Application, error) {
	body, err := a.JSON(r)
	if err != nil {
		return api.Application{}, err
	}
	v, ok := api.ApplicationRecord.Find(body)
	if !ok {
		if err := api.SaidNo(r, a, body, "application"); err != nil {
			if e := api.AsError(err); noApplication.MatchString(api.Said(a.Body)) {
				e.Kind = api.NotFound
			}
			return api.Application{}, err
		}
		if v = body; v.Member("item").Kind() != 0 {
			v = v.Member("item")
		}
	}
	var app api.Application
	if err := api.ReadRecord(v.Raw(), &app); err != nil {
		return api.Application{}, api.NotUnderstood(r, a, err)
	}
	app.Raw = v.Raw()
	return app, nil
}

// NewApplication replaces a customer's application.
type NewApplication struct {
	CUID string
	Body json.RawMessage // holds either individual or corporate
}

// SetApplication replaces a customer's application (one customer call). The service has announced that it will
// deprecate this call (spec, Versioning rule 3) in favour of the compliance link.
var SetApplication = write(Route{Kind: api.ActSetApplication, Op: "set application", Method: http.MethodPost,
	Path: applicationPath, Class: limit.Customer,
	Need: api.MayCompliance}, Write{Number: "204", Doing: "Setting the application",
	Opposite: api.ActSetApplication},
	Proof{Past: "set", Shows: saysSo, Shown: isSet, Look: lookAtApplication("contains what was sent", isSet),
		Readable: func(p api.Probe) bool { return len(p.Leaves) > 0 }},
	writing[NewApplication, api.Result]{
		ids:    func(in NewApplication) []string { return one(in.CUID) },
		plan:   planApplication,
		result: result[NewApplication],
		lend: func(ids []string, body Content) (NewApplication, error) {
			return NewApplication{ids[0], body.Bytes}, body.json(new(json.RawMessage))
		},
		answer: resultAnswer,
	})

func planApplication(_ context.Context, _ *Wire, in NewApplication) (plan, error) {
	var app api.Application
	if err := json.Unmarshal(in.Body, &app); err != nil || (app.Individual == nil) == (app.Corporate == nil) {
		return plan{}, &api.Error{Op: "set application", Kind: api.Usage, Err: err,
			Public: "The application must be a JSON object with either individual or corporate."}
	}
	salt := uuid.NewString()
	return plan{Object: "customer", ID: in.CUID, Body: in.Body, Shows: in.Body,
		Summary: "Set the application of customer " + in.CUID,
		Probe:   api.Probe{CUID: in.CUID, Salt: salt, Leaves: leavesOf(api.ParseJSON(in.Body), "", salt)}}, nil
}

func isSet(p api.Probe, body api.Object, answer bool) bool {
	return saysDone(p, body, answer) || holds(p, body)
}

func lookAtApplication(shows string, shown api.Shown) func(context.Context, *Wire, api.Probe) (api.Observation,
	error) {
	return lookAt(GetApplication.Route, "check application", "the application read", shows, shown,
		func(p api.Probe) []string { return one(p.CUID) })
}

// Finalize submits the application for review (no body; spec, Share rule 7; one customer call). It reads the
// application first, so that the trail and an approval are bound to its content; it continues if that read fails.
var Finalize = write(Route{Kind: api.ActFinalize, Op: "finalize application", Method: http.MethodPatch,
	Path: applicationPath, Class: limit.Customer,
	Need: api.MayCompliance}, Write{Number: "203", Doing: "Finalizing"},
	Proof{Past: "finalized", Shows: saysSo, Shown: isSubmitted,
		Look: lookAtApplication("says that it was submitted", isSubmitted)}, writing[string, api.Result]{
		ids: one,
		plan: func(ctx context.Context, w *Wire, cuid string) (plan, error) {
			var before api.Application
			if !api.IsDryRun(ctx) {
				before, _ = Do(ctx, w, GetApplication, cuid)
			}
			return plan{Object: "customer", ID: cuid, Seen: api.HashHex(before.Raw),
				Summary: "Finalize the application of customer " + cuid,
				Probe:   api.Probe{CUID: cuid, Was: isSubmitted(api.Probe{}, api.ObjectOf(before.Raw), false)}}, nil
		},
		result: result[string],
		lend:   func(ids []string, body Content) (string, error) { return ids[0], body.nothing() },
		answer: resultAnswer,
	})

// submittedWords are the states of a submitted application.
var submittedWords = []string{"SUBMITTED", "MODERATION", "UNDER_REVIEW"}

func isSubmitted(p api.Probe, body api.Object, answer bool) bool {
	return saysDone(p, body, answer) || slices.ContainsFunc(body.Inside(), func(o api.Object) bool {
		return slices.Contains(submittedWords, strings.ToUpper(o.First("status")))
	})
}
