package journey

import (
	"context"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
)

// nothing is a store that holds nothing.
type nothing struct{}

func (nothing) Journey(_ context.Context, cuid string) (Record, error) {
	return Record{CUID: cuid}, nil
}
func (nothing) SaveJourney(context.Context, Record) error            { return nil }
func (nothing) UnfinishedJourneys(context.Context) ([]Record, error) { return nil, nil }

// TestReadWithoutRecords: customer and application are each optional; only a
// customer that the service denies, or calls that cannot be made, end the read.
func TestReadWithoutRecords(t *testing.T) {
	gone := &api.Error{Kind: api.NotFound, Status: 404, Public: "The service did not find it."}
	method := &api.Error{Kind: api.Refused, Status: 405, Public: "The service refused this (405)."}
	failed := &api.Error{Kind: api.Unavailable, Status: 500, Public: "The service failed (500)."}
	denied := &api.Error{Kind: api.NotFound, Rule: api.RuleCustomerUnknown, Public: "The service has no such customer."}
	silent := &api.Error{Kind: api.Unavailable, Public: "The service did not answer."}
	auth := &api.Error{Kind: api.AuthFailed, Public: "No session."}
	draft := api.Application{Status: "DRAFT", Corporate: []byte("{}")}
	for name, c := range map[string]struct {
		customer, application error
		fails                 bool
		said                  []string // problems
		kind                  string
		state                 State // of the application
		finalize              State
	}{
		"both":                          {kind: api.Individual, state: Done, finalize: Todo},
		"no record":                     {customer: gone, said: []string{"customer record could not be read: The service did not find it."}, kind: api.Corporate, state: Done, finalize: Todo},
		"record by another method":      {customer: method, application: gone, said: []string{"405"}, state: Todo, finalize: NotYet},
		"no application":                {application: gone, kind: api.Individual, state: Todo, finalize: NotYet},
		"application fails":             {application: failed, said: []string{"application could not be read: The service failed (500)."}, kind: api.Individual, state: Unclear, finalize: Todo},
		"both fail":                     {customer: failed, application: failed, said: []string{"customer record", "application"}, state: Unclear, finalize: Todo},
		"denied, application there":     {customer: denied, said: []string{"no such customer"}, kind: api.Corporate, state: Done, finalize: Todo},
		"denied, no application":        {customer: denied, application: gone, fails: true},
		"nobody answers":                {customer: silent, application: silent, fails: true},
		"no session":                    {customer: auth, application: auth, fails: true},
		"one is silent, one there":      {customer: silent, said: []string{"did not answer"}, kind: api.Corporate, state: Done, finalize: Todo},
		"session lost between the two":  {customer: failed, application: auth, fails: true},
		"record there, session is lost": {application: auth, said: []string{"No session"}, kind: api.Individual, state: Unclear, finalize: Todo},
	} {
		r := new(endpointtest.Fake)
		endpointtest.On(r, endpoint.GetCustomer, func(context.Context, string) (api.Customer, error) {
			if c.customer != nil {
				return api.Customer{}, c.customer
			}
			return api.Customer{CUID: "c", Name: "Ana", Type: api.Individual, Status: "NEW"}, nil
		})
		endpointtest.On(r, endpoint.GetApplication, func(context.Context, string) (api.Application, error) {
			if c.application != nil {
				return api.Application{}, c.application
			}
			return draft, nil
		})
		j := &Service{Store: nothing{}, Client: r, Now: time.Now}
		got, err := j.Read(t.Context(), "c")
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil {
			continue
		}
		said := got.NoRecord + " " + got.Problem
		for _, w := range c.said {
			if !strings.Contains(said, w) {
				t.Errorf("%s: %q does not say %q", name, said, w)
			}
		}
		if len(c.said) == 0 && strings.TrimSpace(said) != "" {
			t.Errorf("%s: says %q", name, said)
		}
		if got.Customer.CUID != "c" || string(got.Customer.Type) != c.kind || got.Steps[3].State != c.state || got.Steps[4].State != c.finalize {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
