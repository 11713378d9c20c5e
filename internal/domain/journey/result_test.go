package journey_test

import (
	"context"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/endpoint/endpointtest"
	"opdeck/api/evidence"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/journey"
)

// TestResultComesAfterTheAct: all statuses, before and after share, link and finalize. A result counts
// only when reads have shown that it came after the last act of ours.
func TestResultComesAfterTheAct(t *testing.T) {
	words := map[string]string{"NEW": "", "VERIFY": "", "ACCEPT": "accepted", "REJECT": "rejected", "BANNED": "banned"}
	for before, was := range words {
		for act, wants := range map[string]string{"": "Share", "share": "Finalize", "link": "Wait for the customer",
			"forbidden": "Create a link", "finalize": "Wait for the review's result."} {
			for after, is := range words {
				t.Run(strings.Join([]string{before, act, after}, " "), func(t *testing.T) {
					status := before
					j, s, rec := begin(t)
					f := s.caller().(*endpointtest.Fake)
					j.Client = f
					endpointtest.On(f, endpoint.GetCustomer, func(context.Context, string) (api.Customer, error) {
						return api.Customer{CUID: "c1", Type: api.Individual, Status: untrusted.Text(status)}, nil
					})
					endpointtest.On(f, endpoint.GetApplication, func(context.Context, string) (api.Application, error) {
						return api.Application{Individual: []byte("{}"), Status: "DRAFT"}, nil
					})
					endpointtest.On(f, endpoint.MakeLink, func(context.Context, string) (api.Link, error) {
						return api.Link{TTL: 900}, nil
					})
					s.finalize = func() (api.Result, error) { return api.Result{}, nil }
					s.share = func() (api.ShareResult, error) {
						return api.ShareResult{Applied: true, Outstanding: []api.OutstandingSet{}}, nil
					}
					if act == "forbidden" {
						s.share = func() (api.ShareResult, error) {
							return api.ShareResult{}, &api.Error{Kind: api.Refused, Rule: api.RuleBaaS, Public: "no"}
						}
					}
					book := new(evidence.Book)
					read := func() journey.Journey {
						t.Helper()
						got, err := j.Read(evidence.In(t.Context(), book), "c1")
						if err != nil {
							t.Fatal(err)
						}
						return got
					}
					says := func(got journey.Journey, word string, counts bool) {
						t.Helper()
						if said := strings.HasPrefix(got.Text, "Nothing to do: the customer is "+word); said != counts {
							t.Errorf("%q, of a result that counts: %v", got.Text, counts)
						}
						if why := book.About("c1")[0]; (why.Says == word && word != "") != counts || len(why.Rests) != 1 {
							t.Errorf("%q rests on %+v", got.Text, why)
						}
						if !counts && !rec().Updated.IsZero() && !strings.HasPrefix(got.Text, wants) {
							t.Errorf("%q instead of %q", got.Text, wants)
						}
					}
					says(read(), was, was != "")
					switch act {
					case "share", "forbidden":
						_, _ = j.Share(t.Context(), "c1", secret.New("t"))
					case "link":
						_, _ = j.Link(t.Context(), "c1")
					case "finalize":
						_, _ = j.Share(t.Context(), "c1", secret.New("t"))
						_, _ = j.Finalize(t.Context(), "c1")
					}
					for range 2 { // nothing has changed since
						says(read(), was, was != "" && act == "")
					}
					status = after
					says(read(), is, is != "" && (act == "" || after != before))
					if act != "" && act != "finalize" && rec().Unfinished() != (is == "" || after == before) {
						t.Errorf("unfinished: %v", rec().Unfinished())
					}
				})
			}
		}
	}
}
