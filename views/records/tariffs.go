package records

import (
	"context"
	"encoding/json"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/present"
	"opdeck/ui"
)

// The kinds of these places.
const (
	KindLimits      = "paymentlimits"
	KindCommissions = "commissions"
)

// tariffTerms is the filter language over both.
var tariffTerms = filter.NewTable(append(filter.Catalogued(field.Tariffs),
	filter.Field[api.Tariff]{Kind: filter.Free, Help: "contained in any of these fields", Example: "SWIFT",
		Strings: func(t api.Tariff) []string {
			return []string{string(t.From), string(t.To), string(t.OperationType), string(t.PaymentType), string(t.CUID),
				string(t.Others())}
		}})...)

// NewLimits lists the limits of payments; start is a filter to begin with.
func NewLimits(env *ui.Env, caller endpoint.Caller, start string) ui.Screen {
	return newTariffs(env, Spec[api.Tariff]{Kind: KindLimits, Title: "Payment limits",
		Facts: present.PaymentLimit, One: "payment limit",
		Many:    "payment limits",
		Columns: []string{"from", "to", "payment", "cuid", "id"}, Read: reading(caller, endpoint.ListPaymentLimits)}, start)
}

// NewCommissions lists the commissions; start is a filter to begin with.
func NewCommissions(env *ui.Env, caller endpoint.Caller, start string) ui.Screen {
	return newTariffs(env, Spec[api.Tariff]{Kind: KindCommissions, Title: "Commissions",
		Facts: present.Commission, One: "commission",
		Many:    "commissions",
		Columns: []string{"from", "to", "type", "payment", "percent", "fixed", "cuid"}, Read: reading(caller,
			endpoint.ListCommissions)}, start)
}

// reading reads a page of either.
func reading(caller endpoint.Caller, what endpoint.Endpoint[api.TariffQuery,
	api.Page[api.Tariff]]) func(context.Context, api.PageAt, string) (api.Page[api.Tariff], error) {
	return func(ctx context.Context, at api.PageAt, _ string) (api.Page[api.Tariff], error) {
		return endpoint.Do(ctx, caller, what, api.TariffQuery{Page: at.Page, Next: at.Next})
	}
}

func newTariffs(env *ui.Env, spec Spec[api.Tariff], start string) ui.Screen {
	spec.Class, spec.Catalogue, spec.Language = "billing", field.Tariffs, tariffTerms
	spec.Example = "from:USD payment:SWIFT"
	spec.ID, spec.CUID = api.Tariff.Key, func(t api.Tariff) string { return string(t.CUID) }
	spec.Raw = func(t api.Tariff) json.RawMessage { return t.Raw }
	spec.Added = func(all []api.Tariff) []Column[api.Tariff] {
		out := members(env, all)
		if len(out) > maxMembers { // the column of the catalogue has them all
			out = append(out[:maxMembers], ColumnOf(field.Tariffs, "others"))
		}
		return out
	}
	return newList(env, spec, start)
}

const maxMembers = 12 // columns of members without a name here

// members are columns of what the service sent beside the named members; moments are last.
func members(env *ui.Env, all []api.Tariff) []Column[api.Tariff] {
	var out []Column[api.Tariff]
	for _, m := range present.Members(env.Present(), all) {
		c := Column[api.Tariff]{Column: m.Column, Before: "cuid"}
		if m.Moment {
			c.Before = ""
		}
		out = append(out, c)
	}
	return out
}
