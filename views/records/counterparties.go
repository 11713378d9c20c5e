package records

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
)

// KindCounterparties is the kind of these places; with an ID it is one counterparty.
const KindCounterparties = "counterparties"

// counterpartyTerms is the filter language over counterparties.
var counterpartyTerms = filter.NewTable(append(filter.Catalogued(field.Counterparties),
	filter.Field[api.Counterparty]{Name: "status", Kind: filter.Code, Help: "the status word of one of its accounts",
		Example: "status:MODERATION",
		Strings: func(p api.Counterparty) []string {
			var out []string
			for _, s := range p.Statuses() {
				out = append(out, string(s))
			}
			return out
		}},
	filter.Field[api.Counterparty]{Kind: filter.Free,
		Help: "contained in its name, its customer's name or an id", Example: `"oak & iron"`,
		Strings: func(p api.Counterparty) []string {
			return []string{string(p.Name()), string(p.Customer.Name), string(p.ID), string(p.Customer.CUID)}
		}})...)

// NewCounterparties returns the screen of one counterparty, or the list if id is ""; start is the list's filter.
func NewCounterparties(env *ui.Env, caller endpoint.Caller, id, start string) ui.Screen {
	return newScreen(env, Spec[api.Counterparty]{Kind: KindCounterparties, Title: "Counterparties",
		One: "counterparty", Many: "counterparties", Class: "general",
		Catalogue: field.Counterparties, Columns: []string{"name", "status", "customer", "updated", "id"},
		Language: counterpartyTerms, Example: "status:MODERATION customer:acme",
		ID:   func(p api.Counterparty) string { return string(p.ID) },
		CUID: func(p api.Counterparty) string { return string(p.Customer.CUID) },
		Raw:  func(p api.Counterparty) json.RawMessage { return p.Raw },
		Read: func(ctx context.Context, at api.PageAt, _ string) (api.Page[api.Counterparty], error) {
			return endpoint.Do(ctx, caller, endpoint.ListCounterparties, api.CounterpartyQuery{Page: at.Page, Next: at.Next})
		},
		Get: func(ctx context.Context, id string) (api.Counterparty, error) {
			return endpoint.Do(ctx, caller, endpoint.GetCounterparty, id)
		},
		Head: counterpartyHead, Card: present.Counterparty}, id, start)
}

// counterpartyHead returns whether the counterparty may be paid: the number of its accepted accounts, and
// the status of the first others.
func counterpartyHead(p api.Counterparty) string {
	name, accepted, others := cmp.Or(p.Name(), p.ID).Line(100), 0, ""
	for i, a := range p.Accounts {
		switch {
		case api.StandingOf(a.Status) == api.StandingAccepted:
			accepted++
		case i-accepted < 3:
			others += ", " + strings.TrimSpace(a.CurrencyCode.Line(12)+" "+cmp.Or(a.Status, "status not reported").Line(30))
		}
	}
	switch n := len(p.Accounts); {
	case p.Accounts == nil:
		return name + ": accounts not reported"
	case n == 0:
		return name + ": no account"
	default:
		return name + ": " + format.Count(accepted) + " of " + format.Plural(n, "account", "accounts") + " accepted" + others
	}
}
