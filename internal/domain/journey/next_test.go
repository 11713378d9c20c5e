package journey

import (
	"strings"
	"testing"
	"time"

	"opdeck/api"
)

// TestNextSaysWhoActs goes through the places where a verification can stand.
func TestNextSaysWhoActs(t *testing.T) {
	now := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	open, lapsed := now.Add(10*time.Minute), now.Add(-time.Minute)
	made := now.Add(-5 * time.Minute)
	draft := api.Application{Individual: []byte("{}"), Status: "DRAFT"}
	for name, tc := range map[string]struct {
		status api.Customer
		app    api.Application
		rec    Record
		next   string
		share  State
	}{
		"new":                {api.Customer{Status: "NEW"}, api.Application{}, Record{}, "Present a share token (S).", Todo},
		"rejected token":     {api.Customer{Status: "NEW"}, draft, Record{Rejected: "used before"}, "Present a share token (S).", Todo},
		"accepted":           {api.Customer{Status: "ACCEPT"}, draft, Record{}, "Nothing: the customer is accepted. To verify them anew, present a share token (S).", Optional},
		"ACCEPTED":           {api.Customer{Status: "accepted"}, api.Application{}, Record{}, "Nothing: the customer is accepted. To verify", Optional},
		"banned":             {api.Customer{Status: "BANNED"}, api.Application{}, Record{}, "Nothing: the customer is banned.", Optional},
		"begun anew":         {api.Customer{Status: "ACCEPT"}, draft, Record{Applied: true, Outstanding: []string{}}, "Finalize the application (f).", Done},
		"outstanding":        {api.Customer{Status: "VERIFY"}, draft, Record{Applied: true, Outstanding: []string{"Photo"}}, "Make a link (l) for the outstanding document sets.", Done},
		"link is out":        {api.Customer{Status: "VERIFY"}, draft, Record{Applied: true, Outstanding: []string{"Photo"}, LinkAt: made, LinkUntil: open}, "Wait for the customer: they open the link", Done},
		"link without share": {api.Customer{Status: "NEW"}, api.Application{}, Record{LinkAt: made, LinkUntil: open}, "Wait for the customer: they open the link", Todo},
		"link is over":       {api.Customer{Status: "VERIFY"}, draft, Record{Applied: true, Outstanding: []string{}, LinkAt: made, LinkUntil: lapsed}, "The link has lapsed. Is the customer through with it? Then finalize (f), else make another (l).", Done},
		"BaaS":               {api.Customer{Status: "NEW"}, api.Application{}, Record{BaaS: true}, "Make a link (l)", Blocked},
		"answer lost":        {api.Customer{Status: "NEW"}, draft, Record{Unclear: true}, "Present a new token (S)", Unclear},
		"answer not seen":    {api.Customer{Status: "VERIFY"}, draft, Record{Applied: true}, "Make a link (l): what is outstanding is not known", Done},
		"finalize lost":      {api.Customer{Status: "VERIFY"}, draft, Record{Applied: true, Outstanding: []string{}, FinalizeUnclear: true}, "Wait, or reload", Done},
		"BaaS once":          {api.Customer{Status: "VERIFY"}, draft, Record{Applied: true, Outstanding: []string{}, BaaS: true}, "Make a link (l)", Done},
		"submitted":          {api.Customer{Status: "MODERATION"}, draft, Record{Applied: true, Outstanding: []string{}, FinalizedAt: made}, "Wait for the review's result.", Done},
		"through":            {api.Customer{Status: "ACCEPT"}, draft, Record{Applied: true, Outstanding: []string{}, FinalizedAt: made}, "Nothing: the customer is accepted.", Done},
	} {
		steps, next := Steps(tc.status, tc.app, tc.rec, now)
		if !strings.HasPrefix(next, tc.next) || name == "banned" && next != tc.next {
			t.Errorf("%s: %q instead of %q", name, next, tc.next)
		}
		if nothing := strings.HasPrefix(next, "Nothing"); nothing && steps[4].State == Todo {
			t.Errorf("%s: nothing is to be done, and finalize is", name)
		}
		if steps[0].State != tc.share {
			t.Errorf("%s: share is %q", name, steps[0].State)
		}
	}
}
