package hook

import (
	"opdeck/api"
	"opdeck/api/untrusted"
)

// Operation is the webhook representation of an operation. Its codes are
// numbers without a published meaning.
type Operation struct {
	CUID                 untrusted.Text
	OPID                 untrusted.Text
	Type                 Code
	Status               Code
	PaymentType          Code
	IsVisible            Flag
	CreatedAt            Stamp
	UpdatedAt            Stamp
	Source               Side
	Destination          Side
	SourceAmount         api.Amount
	DestinationAmount    api.Amount
	CommissionAmount     api.Amount
	CurrentBalanceAmount api.Amount
}

// Side is one end of an operation. The spec shows an account as source and a
// beneficiary as destination; either end may hold either.
type Side struct {
	Account    untrusted.Text
	Beneficiar untrusted.Text // as the service spells it
}

// Client is a customer in a webhook.
type Client struct {
	CUID         untrusted.Text
	Status       Code
	CreateAt     Stamp
	UpdateAt     Stamp
	OnboardingAt Stamp
	Name         untrusted.Text
	Lastname     untrusted.Text
}

// Account is a deposit account in a webhook of type 2 or 5.
type Account struct {
	CUID        untrusted.Text // owner
	SUID        untrusted.Text
	Name        untrusted.Text
	CurrencyISO untrusted.Text
	IsDefault   Flag
	Number      untrusted.Text
	Status      Code
	Balance     api.Amount // Sum in the account's currency, Default in US dollars
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
	Order          Code // a position, not a code of anything
}

// Counterparty is a beneficiary in a webhook; a status stands on each of its
// accounts, none on itself.
type Counterparty struct {
	SUID        untrusted.Text
	CUID        untrusted.Text
	Description untrusted.Text
	Accounts    []CounterpartyAccount
}

// CounterpartyAccount is an account of a counterparty.
type CounterpartyAccount struct {
	SUID        untrusted.Text
	CurrencyISO untrusted.Text
	Status      Code
}

func readOperation(r *reader) *Operation {
	return &Operation{
		OPID: r.id("opid", true), CUID: r.id("cuid", false),
		Type: r.code("type"), Status: r.code("status"), PaymentType: r.code("payment_type"),
		IsVisible: r.flag("is_visible"), CreatedAt: r.stamp("created_at"), UpdatedAt: r.stamp("updated_at"),
		Source: r.side("source"), Destination: r.side("destination"),
		SourceAmount: r.amount("source_amount", "sum"), DestinationAmount: r.amount("destination_amount", "sum"),
		CommissionAmount: r.amount("commission_amount", "sum"), CurrentBalanceAmount: r.amount("current_balance_amount", "sum"),
	}
}

func readClient(r *reader) *Client {
	return &Client{
		CUID: r.id("cuid", true), Status: r.code("status"),
		CreateAt: r.stamp("create_at"), UpdateAt: r.stamp("update_at"), OnboardingAt: r.stamp("onboarding_at"),
		Name: r.text("name"), Lastname: r.text("lastname"),
	}
}

func readAccount(r *reader) *Account {
	a := &Account{
		SUID: r.id("suid", true), CUID: r.id("cuid", false), Name: r.text("name"), CurrencyISO: r.text("currency_iso"),
		IsDefault: r.flag("is_default"), Number: r.text("number"), Status: r.code("status"),
		Balance: r.amount("balance", "money"), Hold: r.amount("hold", "money"),
	}
	for _, g := range r.list("requisites") {
		q := Requisite{Title: g.text("title")}
		for _, it := range g.list("items") {
			q.Items = append(q.Items, RequisiteItem{ID: it.text("id"), Key: it.text("key"), Value: it.text("value"), Order: it.position("order")})
		}
		a.Requisites = append(a.Requisites, q)
	}
	return a
}

func readCounterparty(r *reader) *Counterparty {
	c := &Counterparty{SUID: r.id("suid", true), CUID: r.id("cuid", false), Description: r.text("description")}
	for _, a := range r.list("accounts") {
		c.Accounts = append(c.Accounts, CounterpartyAccount{SUID: a.id("suid", false), CurrencyISO: a.text("currency_iso"), Status: a.code("status")})
		r.bad = first(r.bad, a.bad)
	}
	return c
}
