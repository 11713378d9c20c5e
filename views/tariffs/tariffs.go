// Package tariffs has the lists of the service's limits of payments and of its
// commissions.
package tariffs

import (
	"context"
	"encoding/json"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/widget"
	"opdeck/views/directory"
)

// The kinds of these places.
const (
	KindLimits      = "paymentlimits"
	KindCommissions = "commissions"
)

// Client reads both.
type Client interface {
	PaymentLimits(ctx context.Context, q api.TariffQuery) (api.Page[api.Tariff], error)
	Commissions(ctx context.Context, q api.TariffQuery) (api.Page[api.Tariff], error)
}

// language is the filter language over both.
var language = filter.NewTable(append(filter.Catalogued(field.Tariffs),
	filter.Field[api.Tariff]{Kind: filter.Free, Help: "contained in any of it", Example: "SWIFT",
		Strings: func(t api.Tariff) []string {
			return []string{string(t.From), string(t.To), string(t.OperationType), string(t.PaymentType), string(t.CUID), string(t.Others())}
		}})...)

// NewLimits lists the limits of payments; start is a filter to begin with.
func NewLimits(env *ui.Env, client Client, start string) ui.Screen {
	return newList(env, directory.ListSpec[api.Tariff]{Kind: KindLimits, Title: "Payment limits", One: "payment limit", Many: "payment limits",
		Columns: []string{"from", "to", "payment", "others", "cuid", "id"}, Read: reading(client.PaymentLimits)}, start)
}

// NewCommissions lists the commissions; start is a filter to begin with.
func NewCommissions(env *ui.Env, client Client, start string) ui.Screen {
	return newList(env, directory.ListSpec[api.Tariff]{Kind: KindCommissions, Title: "Commissions", One: "commission", Many: "commissions",
		Columns: []string{"from", "to", "type", "payment", "percent", "fixed", "others", "cuid"}, Read: reading(client.Commissions)}, start)
}

func reading(read func(context.Context, api.TariffQuery) (api.Page[api.Tariff], error)) func(context.Context, int) (api.Page[api.Tariff], error) {
	return func(ctx context.Context, page int) (api.Page[api.Tariff], error) {
		return read(ctx, api.TariffQuery{Page: page})
	}
}

func newList(env *ui.Env, spec directory.ListSpec[api.Tariff], start string) ui.Screen {
	spec.Class, spec.Catalogue, spec.Language, spec.Example = "billing", field.Tariffs, language, "from:USD payment:SWIFT"
	spec.ID, spec.CUID = api.Tariff.Key, func(t api.Tariff) string { return string(t.CUID) }
	spec.Raw = func(t api.Tariff) json.RawMessage { return t.Raw }
	spec.Facts = func(t api.Tariff) []widget.Pair { return facts(env, t) }
	return directory.NewList(env, spec, start)
}

// facts are all of a rule.
func facts(env *ui.Env, t api.Tariff) []widget.Pair {
	out := []widget.Pair{{Value: "Rule"}}
	out = append(out, widget.SaidAll("from", string(t.From), "to", string(t.To), "type", string(t.OperationType), "payment", string(t.PaymentType),
		"percent", string(t.Percent), "fixed", string(t.Fixed), "cuid", string(t.CUID), "id", string(t.ID))...)
	return append(out, directory.More(env, t.Unknown())...)
}
