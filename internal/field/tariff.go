package field

import (
	"github.com/cockroachdb/apd/v3"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Tariffs are the fields of a limit of payments or a commission.
var Tariffs = New(
	Field[api.Tariff]{Name: "from", JSON: "currencyIsoFrom", Kind: Code, Sortable: true,
		About: "the currency paid from, by its code", Example: "from:EUR",
		Column: Column{Min: 4}, Text: func(t api.Tariff) untrusted.Text { return t.From }},
	Field[api.Tariff]{Name: "to", JSON: "currencyIsoTo", Kind: Code, Sortable: true,
		About: "the currency paid in, by its code", Example: "to:USD",
		Column: Column{Min: 3, Max: 5, Flex: 1}, Text: func(t api.Tariff) untrusted.Text { return t.To }},
	Field[api.Tariff]{Name: "type", JSON: "operationType", Kind: Code, Sortable: true,
		About: "the operations that it applies to", Example: "type:WITHDRAW",
		Column: Column{Min: 10, HidePriority: 3}, Text: func(t api.Tariff) untrusted.Text { return t.OperationType }},
	Field[api.Tariff]{Name: "payment", JSON: "paymentType", Kind: Code, Sortable: true,
		About: "the payment type; EMPTY, shown as any, means every payment type of the currency", Example: "payment:SWIFT",
		Column: Column{Min: 7, Max: 10, Flex: 1}, Text: func(t api.Tariff) untrusted.Text { return t.PaymentType },
		Says: paymentTypeOf},
	Field[api.Tariff]{Name: "percent", JSON: "percent", Kind: Text, About: "the share of the amount that is charged",
		Column: Column{Min: 7, Max: 12, Decimal: true},
		Text:   func(t api.Tariff) untrusted.Text { return untrusted.Text(t.Percent) }, Says: percentOf},
	Field[api.Tariff]{Name: "fixed", JSON: "fixed", Kind: Text, About: "what is charged in addition",
		Column: Column{Min: 5, Max: 12, Decimal: true},
		Text:   func(t api.Tariff) untrusted.Text { return untrusted.Text(t.Fixed) }},
	Field[api.Tariff]{Name: "cuid", JSON: "customerId", Kind: ID, Sortable: true,
		About: "the customer that it applies to, or the identifier's beginning", Example: "cuid:DqCsgSE",
		Column: Column{Min: 13, Max: 26, Flex: 1, HidePriority: 2, CutMiddle: true},
		Text:   func(t api.Tariff) untrusted.Text { return t.CUID }},
	Field[api.Tariff]{Name: "id", JSON: "id", Kind: ID, About: "the rule's identifier, or its beginning", Example: "id:12",
		Column: Column{Min: 6, Max: 26, HidePriority: 4, CutMiddle: true},
		Text:   func(t api.Tariff) untrusted.Text { return t.ID }},
	Field[api.Tariff]{Name: "others", JSON: "others", Kind: Text, About: "other fields that the service sent",
		Example: "others:max",
		Column:  Column{Min: 20, Flex: 3}, Text: api.Tariff.Others},
)

// paymentTypeOf is the payment type in words: the service's EMPTY stands for any.
func paymentTypeOf(t api.Tariff) untrusted.Text {
	if t.PaymentType == "EMPTY" {
		return "any"
	}
	return t.PaymentType
}

// percentOf is the share with its sign; what is not a number stays as it came.
func percentOf(t api.Tariff) untrusted.Text {
	if _, _, err := apd.NewFromString(string(t.Percent)); err != nil {
		return untrusted.Text(t.Percent)
	}
	return untrusted.Text(t.Percent + " %")
}
