package sandbox

import "slices"

// tariff is a limit or a commission of the sample data. The service's pages show no
// answer in full: what is beside the members that it is asked by is made up.
type tariff struct {
	from, to string
	body     object
}

var paymentLimits = []tariff{
	{from: "EUR", to: "EUR", body: object{"id", 1, "currencyIsoFrom", "EUR", "currencyIsoTo", "EUR", "operationLimit",
		money{currency: "EUR", units: "50000"}.rest(),
		"dailyLimit", money{currency: "EUR", units: "250000"}.rest(), "createdAt", stamp(baseTime)}},
	{from: "USD", to: "USD", body: object{"id", 2, "currencyIsoFrom", "USD", "currencyIsoTo", "USD", "operationLimit",
		money{currency: "USD", units: "75000"}.rest(),
		"dailyLimit", money{currency: "USD", units: "300000"}.rest(), "createdAt", stamp(baseTime)}},
	{from: "USD", to: "EUR", body: object{"id", 3, "currencyIsoFrom", "USD", "currencyIsoTo", "EUR", "operationLimit",
		money{currency: "USD", units: "9999", nanos: 990_000_000}.rest(),
		"createdAt", stamp(baseTime)}},
}

var commissions = []tariff{
	{from: "EUR", to: "EUR", body: object{"currencyIsoFrom", "EUR", "currencyIsoTo", "EUR", "operationType", "WITHDRAW",
		"paymentType", "SEPA_CT", "percent", 0.1, "fixed", 0.35}},
	{from: "USD", to: "USD", body: object{"currencyIsoFrom", "USD", "currencyIsoTo", "USD", "operationType", "WITHDRAW",
		"paymentType", "SWIFT", "percent", 0.25, "fixed", 15}},
	{from: "USD", to: "EUR", body: object{"currencyIsoFrom", "USD", "currencyIsoTo", "EUR", "operationType", "EXCHANGE",
		"paymentType", "EMPTY", "percent", 0.5, "fixed", 0}},
}

// listLimits: GET /v2/billing/limits.
func listLimits(c *call) (any, error) { return tariffs(c, paymentLimits, "customerId") }

// listCommissions: GET /v2/billing/commission.
func listCommissions(c *call) (any, error) {
	return tariffs(c, commissions, "customerCuid")
}

// tariffs answers with the page of rules that the call asks for; customer names the
// member that narrows to a customer, of whom none has a rule.
func tariffs(c *call, all []tariff, customer string) (any, error) {
	p, err := c.page()
	if err != nil {
		return nil, err
	}
	q, items := c.r.URL.Query(), []any{}
	for _, t := range all {
		same := func(name, value string) bool { return q.Get(name) == "" || q.Get(name) == value }
		if same("currencyIsoFrom", t.from) && same("currencyIsoTo", t.to) && same(customer, "") {
			items = append(items, t.body)
		}
	}
	from := min(p.offset(), len(items))
	return p.body(int64(len(items)), slices.Clone(items[from:min(from+p.size, len(items))])), nil
}
