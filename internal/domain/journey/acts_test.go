package journey_test

import (
	"context"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/api/secret"
	"opdeck/internal/domain/journey"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
)

// service answers the acts as a test says.
type service struct {
	share    func() (api.ShareResult, error)
	finalize func() (api.Result, error)
}

func (s *service) caller() endpoint.Caller {
	f := new(endpointtest.Fake)
	endpointtest.On(f, endpoint.Share, func(context.Context, endpoint.ShareToken) (api.ShareResult, error) { return s.share() })
	endpointtest.On(f, endpoint.Finalize, func(context.Context, string) (api.Result, error) { return s.finalize() })
	return f
}

func begin(t *testing.T) (*journey.Service, *service, func() journey.Record) {
	t.Helper()
	st, err := store.Open(t.Context(), store.Options{URL: "memory"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	s := &service{}
	j := &journey.Service{Store: journal.NewJourneys(st.Core, "ctx"), Client: s.caller(), Now: time.Now}
	return j, s, func() journey.Record {
		r, err := j.Store.Journey(t.Context(), "c1")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
}

// TestOutstandingHasThreeValues: none, these, and not known.
func TestOutstandingHasThreeValues(t *testing.T) {
	for name, c := range map[string]struct {
		res  api.ShareResult
		err  error
		want []string
	}{
		"none":      {api.ShareResult{Applied: true, Outstanding: []api.OutstandingSet{}}, nil, []string{}},
		"these":     {api.ShareResult{Applied: true, Outstanding: []api.OutstandingSet{{Name: "X"}}}, nil, []string{"X"}},
		"not known": {api.ShareResult{Applied: true}, nil, nil},
		"409":       {api.ShareResult{}, &api.Error{Kind: api.Refused, Rule: api.RuleShared, Public: "shared"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			j, s, rec := begin(t)
			s.share = func() (api.ShareResult, error) { return c.res, c.err }
			if _, err := j.Share(t.Context(), "c1", secret.New("t")); api.KindOf(err) != api.KindOf(c.err) {
				t.Fatal(err)
			}
			r := rec()
			if !r.Applied || (r.Outstanding == nil) != (c.want == nil) || len(r.Outstanding) != len(c.want) {
				t.Errorf("%+v", r)
			}
		})
	}
}

// TestShareIsNeverClosedForEver: a 403 marks the record, and the next other answer clears it; an unknown outcome
// stays until the service reports it.
func TestShareIsNeverClosedForEver(t *testing.T) {
	j, s, rec := begin(t)
	share := func(res api.ShareResult, err error) journey.Record {
		s.share = func() (api.ShareResult, error) { return res, err }
		_, _ = j.Share(t.Context(), "c1", secret.New("t"))
		return rec()
	}
	if r := share(api.ShareResult{}, &api.Error{Kind: api.Refused, Rule: api.RuleBaaS, Public: "Forbidden, it says: no"}); !r.BaaS || r.BaaSSaid == "" {
		t.Errorf("%+v", r)
	}
	if r := share(api.ShareResult{Message: "used"}, nil); r.BaaS || r.Rejected != "used" {
		t.Errorf("%+v", r)
	}
	if r := share(api.ShareResult{}, &api.Error{Kind: api.UnknownOutcome, Public: "?"}); !r.Unclear || r.Applied || !r.Unfinished() {
		t.Errorf("%+v", r)
	}
	if r := share(api.ShareResult{Message: "used"}, nil); !r.Unclear {
		t.Errorf("a rejected token says nothing about the one before: %+v", r)
	}
	if r := share(api.ShareResult{}, &api.Error{Kind: api.Refused, Rule: api.RuleShared, Public: "shared"}); r.Unclear || !r.Applied {
		t.Errorf("%+v", r)
	}
}

// TestFinalizeFollows what was found later.
func TestFinalizeFollows(t *testing.T) {
	j, s, rec := begin(t)
	s.finalize = func() (api.Result, error) { return api.Result{}, &api.Error{Kind: api.UnknownOutcome, Public: "?"} }
	_, _ = j.Finalize(t.Context(), "c1")
	if r := rec(); !r.FinalizeUnclear || !r.FinalizedAt.IsZero() {
		t.Errorf("%+v", r)
	}
	settled := func(v api.Verdict) journey.Record {
		if err := j.Settled(t.Context(), api.ActFinalize, "c1", "ana", api.Outcome{Verdict: v}); err != nil {
			t.Fatal(err)
		}
		return rec()
	}
	if r := settled(api.NotSeen); r.FinalizeUnclear || !r.FinalizeLate || !r.FinalizedAt.IsZero() {
		t.Errorf("%+v", r)
	}
	if r := settled(api.Seen); r.FinalizeLate || r.FinalizedAt.IsZero() || r.By != "ana" {
		t.Errorf("%+v", r)
	}
}
