package journey

import (
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
)

// TestNextSaysWhoActs covers the states of a verification.
func TestNextSaysWhoActs(t *testing.T) {
	now := time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC)
	open, lapsed := now.Add(10*time.Minute), now.Add(-time.Minute)
	made := now.Add(-5 * time.Minute)
	since := Seen{First: "MODERATION", Now: "ACCEPT"}
	draft := api.Application{Individual: []byte("{}"), Status: "DRAFT"}
	for name, tc := range map[string]struct {
		status api.Customer
		app    api.Application
		rec    Record
		next   string
		act    api.ActKind
		share  State
	}{
		"new":                  {api.Customer{Status: "NEW"}, api.Application{}, Record{}, "Share a token.", api.ActShare, Todo},
		"rejected token":       {api.Customer{Status: "NEW"}, draft, Record{Rejected: "used before"}, "Share a token.", api.ActShare, Todo},
		"accepted":             {api.Customer{Status: "ACCEPT"}, draft, Record{}, "Nothing to do: the customer is accepted. A share token starts a new verification.", "", Optional},
		"ACCEPTED":             {api.Customer{Status: "accepted"}, api.Application{}, Record{}, "Nothing to do: the customer is accepted. A share token", "", Optional},
		"banned":               {api.Customer{Status: "BANNED"}, api.Application{}, Record{}, "Nothing to do: the customer is banned.", "", Optional},
		"begun anew":           {api.Customer{Status: "ACCEPT"}, draft, Record{Applied: true, Outstanding: []string{}}, "Finalize the application.", api.ActFinalize, Done},
		"outstanding":          {api.Customer{Status: "VERIFY"}, draft, Record{Applied: true, Outstanding: []string{"Photo"}}, "Create a link for the outstanding document sets.", api.ActLink, Done},
		"link open":            {api.Customer{Status: "VERIFY"}, draft, Record{Applied: true, Outstanding: []string{"Photo"}, LinkAt: made, LinkUntil: open}, "Wait for the customer, who opens the link", "", Done},
		"link without share":   {api.Customer{Status: "NEW"}, api.Application{}, Record{LinkAt: made, LinkUntil: open}, "Wait for the customer, who opens the link", "", Todo},
		"link is over":         {api.Customer{Status: "VERIFY"}, draft, Record{Applied: true, Outstanding: []string{}, LinkAt: made, LinkUntil: lapsed}, "The link has expired. If the customer has uploaded everything, finalize; else create another link.", api.ActFinalize, Done},
		"BaaS":                 {api.Customer{Status: "NEW"}, api.Application{}, Record{BaaS: true}, "Create a link", api.ActLink, Blocked},
		"answer lost":          {api.Customer{Status: "NEW"}, draft, Record{Unclear: true}, "Share a new token", api.ActShare, Unclear},
		"answer not seen":      {api.Customer{Status: "VERIFY"}, draft, Record{Applied: true}, "Create a link: opdeck does not know what is outstanding", api.ActLink, Done},
		"finalize lost":        {api.Customer{Status: "VERIFY"}, draft, Record{Applied: true, Outstanding: []string{}, FinalizeUnclear: true}, "Wait, or reload", "", Done},
		"BaaS once":            {api.Customer{Status: "VERIFY"}, draft, Record{Applied: true, Outstanding: []string{}, BaaS: true}, "Create a link", api.ActLink, Done},
		"submitted":            {api.Customer{Status: "MODERATION"}, draft, Record{Applied: true, Outstanding: []string{}, FinalizedAt: made}, "Wait for the review's result.", "", Done},
		"submitted, sets open": {api.Customer{Status: "MODERATION"}, draft, Record{Applied: true, Outstanding: []string{"Photo"}, FinalizedAt: made}, "Create a link: the application is submitted, but document sets are outstanding.", api.ActLink, Done},
		"submitted, link made": {api.Customer{Status: "MODERATION"}, draft, Record{Applied: true, Outstanding: []string{"Photo"}, LinkAt: made, LinkUntil: open, FinalizedAt: made}, "Wait for the review's result.", "", Done},
		"sets were asked":      {api.Customer{Status: "ACCEPT"}, draft, Record{Applied: true, Outstanding: []string{"Photo"}, FinalizedAt: made, Status: since}, "Nothing to do: the customer is accepted.", "", Done},
		"through":              {api.Customer{Status: "ACCEPT"}, draft, Record{Applied: true, Outstanding: []string{}, FinalizedAt: made, Status: since}, "Nothing to do: the customer is accepted.", "", Done},
	} {
		steps, next := Steps(tc.status, tc.app, tc.rec, now)
		if !strings.HasPrefix(next.Text, tc.next) || name == "banned" && next.Text != tc.next || next.Act != tc.act {
			t.Errorf("%s: %q (%s) instead of %q (%s)", name, next.Text, next.Act, tc.next, tc.act)
		}
		said := next.Sentence(func(act api.ActKind) string { return "<" + string(act) + ">" })
		if tc.act != "" && !strings.Contains(said, "<"+string(tc.act)+">") || strings.Contains(said, "%") || strings.Contains(next.Text, "<") {
			t.Errorf("%s: a surface says %q", name, said)
		}
		if nothing := strings.HasPrefix(next.Text, "Nothing"); nothing && slices.ContainsFunc(steps, func(s Step) bool { return s.State == Todo }) {
			t.Errorf("%s: nothing is to be done, and a step is: %+v", name, steps)
		}
		if steps[0].State != tc.share {
			t.Errorf("%s: share is %q", name, steps[0].State)
		}
	}
}
