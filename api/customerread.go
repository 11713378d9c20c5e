package api

import (
	"context"
	"net/http"
	"regexp"
	"sync/atomic"
)

// customerForm is the form of the call that reads one customer. The service's
// page prints POST beside a name that reads like GET, and the specification has
// neither, so what this service takes is found out and remembered.
type customerForm int32

const (
	customerByGet  customerForm = iota // GET /v2/customer/{id}; also: not known yet
	customerByPost                     // POST /v2/customer/{id}
	customerByList                     // the list, narrowed to the customer
)

// formOf remembers the form that works.
type formOf struct{ v atomic.Int32 }

func (f *formOf) get() customerForm     { return customerForm(f.v.Load()) }
func (f *formOf) keep(was customerForm) { f.v.Store(int32(was)) }

// Customer reads one customer: GET /v2/customer/{customerId}, POST where the
// service does not take GET, else the list narrowed to the customer. One customer
// call once it is known which form the service takes, up to three before. The
// record may stand by itself or in an object of its own.
func (c *Client) Customer(ctx context.Context, cuid string) (Customer, error) {
	if err := CheckID("customer id", cuid); err != nil {
		return Customer{}, err
	}
	form := c.customers.get()
	if form == customerByList {
		return c.customerFromList(ctx, cuid)
	}
	got, err := c.customerBy(ctx, form, cuid)
	if form == customerByGet && notTaken(err) {
		if got, err = c.customerBy(ctx, customerByPost, cuid); err == nil {
			c.customers.keep(customerByPost)
			return got, nil
		}
	}
	if err == nil || !noSuchCall(err) {
		return got, err
	}
	listed, listErr := c.customerFromList(ctx, cuid)
	switch {
	case listErr == nil:
		c.customers.keep(customerByList)
		return listed, nil
	case KindOf(listErr) == NotFound:
		return Customer{}, listErr
	}
	return Customer{}, err
}

func (c *Client) customerBy(ctx context.Context, form customerForm, cuid string) (Customer, error) {
	r := request{op: "read customer", parts: []string{"/v2/customer", ":" + cuid}, method: http.MethodGet}
	if form == customerByPost {
		r.method = http.MethodPost
	}
	a, err := c.read(ctx, r)
	if err != nil {
		return Customer{}, err
	}
	return recordOf[Customer](c, r, a, customerThing)
}

// customerFromList finds a customer in the list narrowed to it. The list may
// ignore that and answer with everybody: one page is looked through.
func (c *Client) customerFromList(ctx context.Context, cuid string) (Customer, error) {
	page, err := c.Customers(ctx, CustomerQuery{CUID: cuid})
	if err != nil {
		return Customer{}, err
	}
	for _, it := range page.Items {
		if string(it.CUID) == cuid {
			return it, nil
		}
	}
	return Customer{}, &Error{Op: "read customer", Kind: NotFound, Public: "The service's list of customers does not show this one.",
		Remedy: Remedy{Kind: RecheckID}}
}

// notTaken reports that the service does not take this method here.
func notTaken(err error) bool {
	e := AsError(err)
	return e != nil && (e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented)
}

// noSuchCall reports that the service may not have the call at all: it does not
// take the method, knows no such path, or its answer is not a customer. That it knows
// no such customer, in its own words, is an answer.
func noSuchCall(err error) bool {
	e := AsError(err)
	return notTaken(err) || e != nil && e.Rule == "" && (e.Status == http.StatusNotFound || e.Status == http.StatusGone || e.Kind == Internal && e.Status != 0)
}

// noApplication are words for an application that is not there yet.
var noApplication = regexp.MustCompile(`(?i)\b(application|customer)\b.*\b(not (yet )?(configured|found|exist|created|set|submitted)|does not exist|missing|absent)|\bno application\b`)

// applicationOf reads an application from an answer: by itself, under item or in
// another object. One without an individual or corporate part is kept as it came;
// that there is none yet is NotFound, whatever the status.
func applicationOf(r request, a answer) (Application, error) {
	body, err := a.json(r)
	if err != nil {
		return Application{}, err
	}
	v, _, ok := applyThing.find(body)
	if !ok {
		if err := saidNo(r, a, body, applyThing.one); err != nil {
			if e := AsError(err); noApplication.MatchString(Said(a.body)) {
				e.Kind = NotFound
			}
			return Application{}, err
		}
		if v = body; v.Member("item").Kind() != 0 {
			v = v.Member("item")
		}
	}
	var app Application
	if err := readRecord(v.Raw(), &app); err != nil {
		return Application{}, notUnderstood(r, a, err)
	}
	app.Raw = v.Raw()
	return app, nil
}
