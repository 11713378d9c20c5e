package compliance

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/journey"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

const (
	cuid  = "DqCsgSE-4e95-ViYbNI"
	token = "sbxshare_SECRETsecretSECRET"
)

// fake is one customer's service and store; a call without a function panics.
type fake struct {
	customer api.Customer
	app      api.Application
	rec      journey.Record
	noApp    error // of reading the application
	noRecord error // and the customer
	err      error // of both
	calls    int
	shares   []string
	share    func() (api.ShareResult, error)
	link     func() (api.Link, error)
	finalize func() (api.Result, error)
	page     api.Page[api.Customer]
	open     []journey.Record
	asked    []api.CustomerQuery
	now      func() time.Time
}

func (f *fake) read(context.Context, string) (api.Customer, error) {
	f.calls++
	return f.customer, cmp.Or(f.err, f.noRecord)
}

func (f *fake) application(context.Context, string) (api.Application, error) {
	f.calls++
	return f.app, cmp.Or(f.err, f.noApp)
}

// Journey, SaveJourney and UnfinishedJourneys implement journey.Store.
func (f *fake) Journey(context.Context, string) (journey.Record, error) { return f.rec, nil }
func (f *fake) SaveJourney(_ context.Context, r journey.Record) error   { f.rec = r; return nil }
func (f *fake) UnfinishedJourneys(context.Context) ([]journey.Record, error) {
	f.calls++
	return f.open, nil
}

func (f *fake) journeys() *journey.Service {
	return &journey.Service{Store: f, Client: f.caller(), Now: func() time.Time { return f.now() }}
}

func (f *fake) present(_ context.Context, t endpoint.ShareToken) (api.ShareResult, error) {
	f.calls++
	f.shares = append(f.shares, t.Token.Reveal())
	return f.share()
}
func (f *fake) list(_ context.Context, q api.CustomerQuery) (api.Page[api.Customer], error) {
	f.calls++
	f.asked = append(f.asked, q)
	return f.page, f.err
}
func (f *fake) caller() endpoint.Caller {
	var c endpointtest.Fake
	endpointtest.On(&c, endpoint.ListCustomers, f.list)
	endpointtest.On(&c, endpoint.GetCustomer, f.read)
	endpointtest.On(&c, endpoint.GetApplication, f.application)
	endpointtest.On(&c, endpoint.Share, f.present)
	endpointtest.On(&c, endpoint.MakeLink, func(context.Context, string) (api.Link, error) { f.calls++; return f.link() })
	endpointtest.On(&c, endpoint.Finalize, func(context.Context, string) (api.Result, error) { f.calls++; return f.finalize() })
	return &c
}

func (f *fake) screen(env *ui.Env, cuid string) *Screen {
	return New(env, Parts{Journeys: f.journeys()}, cuid)
}

// unread is the service's own answer to a read that fails.
func unread(said string) error {
	return &api.Error{Kind: api.Unavailable, Status: 500, Public: said}
}

func customer(id, name, kind, status string) api.Customer {
	return api.Customer{CUID: untrusted.Text(id), Name: untrusted.Text(name), Type: untrusted.Text(kind), Status: untrusted.Text(status),
		Raw: json.RawMessage(`{"cuid":"` + id + `"}`)}
}

func individual() *fake {
	return &fake{customer: customer(cuid, "Ana Kovačević", api.Individual, "NEW"),
		app: api.Application{Status: "DRAFT", Individual: json.RawMessage(`{"application":{"firstName":"Ana","middleName":"","beneficiaries":[{"share":60}]}}`),
			Raw: json.RawMessage(`{"individual":{}}`)}}
}

func hostile() *fake {
	f := individual()
	f.customer.Name += apitest.Hostile
	f.customer.Status += apitest.Hostile
	f.customer.Type += apitest.Hostile
	f.app.Status += apitest.Hostile
	f.customer.Comment += apitest.Hostile
	f.customer.Raw = []byte(`{"cuid":"c","extra":"x"}`)
	b, _ := json.Marshal(map[string]any{"a" + apitest.Hostile: "b" + apitest.Hostile})
	f.app.Individual = b
	f.rec.Rejected = untrusted.Text("no" + apitest.Hostile).Line(100)
	return f
}

func open(t *testing.T, f *fake, opts ...shelltest.Option) (*uitest.Run, *uitest.Clock) {
	t.Helper()
	clock := uitest.NewClock()
	f.now = clock.Now
	return shelltest.Open(t, clock, factory(f), ui.Place{Kind: ui.KindCompliance, ID: cuid}, opts...), clock
}

func factory(f *fake) ui.Factory {
	return func(env *ui.Env, p ui.Place) ui.Screen {
		switch {
		case p.Kind != ui.KindCompliance:
			return nil
		case p.ID == "":
			return NewCustomers(env, f.caller(), f.UnfinishedJourneys, p.Arg)
		}
		return f.screen(env, p.ID)
	}
}

// has looks for words; a box may wrap them.

// handOver types the token and says yes.
func handOver(t *testing.T, r *uitest.Run, clock *uitest.Clock) {
	t.Helper()
	r.Send(uitest.Key("S"))
	for _, c := range token {
		r.Send(uitest.Key(string(c)))
		if strings.Contains(r.View(), token[:4]) {
			t.Fatal("the token shows while it is typed")
		}
	}
	r.Send(uitest.Key("enter"))
	r.Says("Apply this share token to Ana Kovačević?", cuid, "Each customer can use only one share token")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"))
	if strings.Contains(r.View(), token) {
		t.Error("the token shows")
	}
}
