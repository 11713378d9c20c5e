package hook

import (
	"opdeck/api"
	"opdeck/api/untrusted"
)

// Operation is the part of an operation's event that Event does not hold.
type Operation struct{ Source, Destination Side }

// Side is one end of an operation. The spec shows an account as source and a beneficiary as destination; either end
// may have either.
type Side struct {
	Account    untrusted.Text
	Beneficiar untrusted.Text // the service's spelling
}

// Client is the part of a customer's event that Event does not hold.
type Client struct {
	OnboardingAt Stamp
	Name         untrusted.Text
	Lastname     untrusted.Text
}

// Account is the part of a deposit account's event (type 2 or 5) that Event does not hold.
type Account struct {
	Name        untrusted.Text
	CurrencyISO untrusted.Text
	IsDefault   Flag
	Number      untrusted.Text
	Hold        api.Amount // held by operations in progress
	Requisites  []Requisite
}

// Requisite is a titled group of an account's details.
type Requisite struct {
	Title untrusted.Text
	Items []RequisiteItem
}

// RequisiteItem is one detail, "IBAN" or "Bank name".
type RequisiteItem struct {
	ID, Key, Value untrusted.Text
	Order          Code // a position, not an enumeration
}

// Counterparty is the part of a beneficiary's event that Event does not hold; the event's status is that of one of
// its accounts.
type Counterparty struct {
	Description untrusted.Text
	Accounts    []CounterpartyAccount
}

// CounterpartyAccount is an account of a counterparty.
type CounterpartyAccount struct {
	SUID        untrusted.Text
	CurrencyISO untrusted.Text
	Status      Code
}

func (r *reader) operation(e *Event) *Operation {
	e.ObjectID, e.CUID = r.id("opid", true), r.id("cuid", false)
	e.OperationType, e.Status, e.PaymentType = r.code("type"), r.code("status"), r.code("payment_type")
	e.IsVisible, e.CreatedAt, e.UpdatedAt = r.flag("is_visible"), r.stamp("created_at"), r.stamp("updated_at")
	o := &Operation{Source: r.side("source"), Destination: r.side("destination")}
	e.SourceAmount, e.DestinationAmount = r.amount("source_amount", "sum"), r.amount("destination_amount", "sum")
	e.CommissionAmount = r.amount("commission_amount", "sum")
	e.CurrentBalanceAmount = r.amount("current_balance_amount", "sum")
	return o
}

func (r *reader) client(e *Event) *Client {
	e.ObjectID, e.Status = r.id("cuid", true), r.code("status")
	e.CUID = e.ObjectID
	e.CreatedAt, e.UpdatedAt = r.stamp("create_at"), r.stamp("update_at")
	return &Client{OnboardingAt: r.stamp("onboarding_at"), Name: r.text("name"), Lastname: r.text("lastname")}
}

func (r *reader) account(e *Event) *Account {
	e.ObjectID, e.CUID = r.id("suid", true), r.id("cuid", false)
	a := &Account{Name: r.text("name"), CurrencyISO: r.text("currency_iso"), IsDefault: r.flag("is_default"),
		Number: r.text("number")}
	e.Status, e.CurrentBalanceAmount = r.code("status"), r.amount("balance", "money")
	a.Hold = r.amount("hold", "money")
	for _, g := range r.list("requisites") {
		q := Requisite{Title: g.text("title")}
		for _, it := range g.list("items") {
			q.Items = append(q.Items, RequisiteItem{ID: it.text("id"), Key: it.text("key"), Value: it.text("value"),
				Order: it.position("order")})
		}
		a.Requisites = append(a.Requisites, q)
	}
	return a
}

func (r *reader) counterparty(e *Event) *Counterparty {
	e.ObjectID, e.CUID = r.id("suid", true), r.id("cuid", false)
	c := &Counterparty{Description: r.text("description")}
	for _, a := range r.list("accounts") {
		c.Accounts = append(c.Accounts, CounterpartyAccount{SUID: a.id("suid", false),
			CurrencyISO: a.text("currency_iso"), Status: a.code("status")})
		r.bad = first(r.bad, a.bad)
	}
	return c
}
