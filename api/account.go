package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// Account is a customer's account. The service documents id, customer, isDefault and name; the other members are
// known from its webhooks and filters and may be missing. Raw keeps the whole record.
type Account struct {
	ID            untrusted.Text `json:"id" also:"suid accountId"`
	Name          untrusted.Text `json:"name"`
	Number        untrusted.Text `json:"number"`
	Status        untrusted.Text `json:"status"`
	CurrencyCode  untrusted.Text `json:"currencyCode" also:"currencyIso currency_iso"`
	AssociateType untrusted.Text `json:"associateType"` // NOT_ASSOCIATE, POOL or COMMISSION
	IsDefault     bool           `json:"isDefault"`
	Customer      AccountOwner   `json:"customer"`
	Balance       Balance        `json:"balance"`
	Hold          Balance        `json:"hold"` // held by operations under way
	Requisites    Requisites     `json:"requisites"`
	CreatedAt     Time           `json:"createdAt"`
	UpdatedAt     Time           `json:"updatedAt"`

	Raw json.RawMessage `json:"-"`
}

// AccountOwner is the customer that an account belongs to.
type AccountOwner struct {
	ID     untrusted.Text `json:"id" also:"cuid"`
	Name   untrusted.Text `json:"name"`
	Email  untrusted.Text `json:"email"`
	Phone  untrusted.Text `json:"phone"`
	Status untrusted.Text `json:"status"`
}

// Details returns the owner's non-empty fields except name, id and status.
func (o AccountOwner) Details() []Detail {
	return nonEmpty(Detail{Label: "email", Value: o.Email}, Detail{Label: "phone", Value: o.Phone})
}

// Balance is an amount of an account in any of three shapes: the one of operations, the one of the account webhook,
// or a bare Money.
type Balance struct {
	PlainAmount        // bare
	Sum         Money  `json:"sum"`     // as in operations
	Own         Money  `json:"money"`   // the webhook's: in the account's currency
	Default     *Money `json:"default"` // the webhook's: the same in US dollars; nil: not reported
}

// PlainAmount is a Money whose members are among those of another object.
type PlainAmount Money

func (b *Balance) check(v jsontree.Value) {
	m := ObjectIn(v)
	switch {
	case !m.Has("sum") && !m.Has("money") && !m.Has("default"):
		b.PlainAmount = PlainAmount(ReadMoney(v, false))
	case m.Has("sum") && m.Has("money"), !WrapsAmount(v, "sum", "money"):
		b.twice(v)
	}
}

// twice implements single.
func (b *Balance) twice(v jsontree.Value) {
	*b = Balance{PlainAmount: PlainAmount(UnclearMoney(v, ""))}
}

// Value is the amount in the account's currency; it is Empty when the answer has none.
func (b Balance) Value() Money {
	for _, m := range []Money{b.Sum, b.Own, Money(b.PlainAmount)} {
		if !m.Empty() {
			return m
		}
	}
	return Money{}
}

// UnmarshalJSON reads the named fields and keeps the whole record in Raw.
func (a *Account) UnmarshalJSON(b []byte) error {
	if err := keepRecord(b, a, &a.Raw); err != nil {
		return err
	}
	a.CurrencyCode = cmp.Or(a.CurrencyCode, a.Balance.Value().CurrencyCode)
	if a.Customer.ID == "" {
		a.Customer.ID = untrusted.Text(ObjectOf(b).First("cuid"))
	}
	return nil
}

// MarshalJSON writes the record exactly as it was received.
func (a Account) MarshalJSON() ([]byte, error) { return a.Raw.MarshalJSON() }

// Unknown lists the fields of the record without a Go field.
func (a Account) Unknown() []Field { return Unknown(a.Raw, a) }

// Requisites are the details that a payer needs to pay into an account.
type Requisites []Requisite

// Requisite is one set of them, usually for one payment network.
type Requisite struct {
	Title untrusted.Text
	Items []RequisiteItem
}

// RequisiteItem is one line of a set. The service does not say which items hold account numbers, so every Number is
// masked as one.
type RequisiteItem struct{ Key, Number untrusted.Text }

// UnmarshalJSON reads the webhook's shape, [{title, items: [{key, value, order}]}]; in any other shape it reads the
// members by name. It never fails.
func (r *Requisites) UnmarshalJSON(b []byte) error {
	v := ParseJSON(b)
	sets := []jsontree.Value{v}
	if v.Kind() == jsontree.Array {
		sets = elementsOf(v)
	}
	*r = nil
	for _, set := range sets {
		if one := requisite(set); one.Title != "" || len(one.Items) > 0 {
			*r = append(*r, one)
		}
	}
	return nil
}

func requisite(v jsontree.Value) Requisite {
	m := ObjectIn(v)
	if !m.Exists() {
		if s, ok := v.Scalar(); ok && s != "" {
			return Requisite{Items: []RequisiteItem{{Number: untrusted.Text(s)}}}
		}
		return Requisite{}
	}
	out := Requisite{Title: untrusted.Text(m.First("title", "type", "name"))}
	var items []jsontree.Value
	if list := m.Member("items"); list.Kind() == jsontree.Array {
		items = elementsOf(list)
	}
	slices.SortStableFunc(items, func(a, b jsontree.Value) int { return cmp.Compare(orderOfItem(a), orderOfItem(b)) })
	for _, v := range items {
		it := ObjectIn(v)
		if key, value := it.First("key"), it.First("value"); key != "" || value != "" {
			out.Items = append(out.Items, RequisiteItem{untrusted.Text(key), untrusted.Text(value)})
		}
	}
	for _, other := range m.Sorted() {
		value, ok := other.Scalar()
		if !ok && !other.Null() && other.Name != "items" {
			value = string(other.Raw())
		}
		if value != "" && untrusted.Text(value) != out.Title {
			out.Items = append(out.Items, RequisiteItem{untrusted.Text(other.Name), untrusted.Text(value)})
		}
	}
	return out
}

func orderOfItem(v jsontree.Value) int { return intOf(ObjectIn(v).First("order")) }

// AccountQuery holds the service's own filters of the list of accounts; the zero value lists all.
type AccountQuery struct {
	Currency  string // currency code
	Balance   string // one of BalanceFilters
	Associate string // one of AssociateTypes
	Page      int    // from 0
	Size      int    // 0: the configured page size
	Next      string // After.Next of the previous page; "": page by number
}

// The values that the service accepts for its filters (its page lists them all).
var (
	BalanceFilters = []string{"POSITIVE", "NEGATIVE", "ZERO"}
	AssociateTypes = []string{"NOT_ASSOCIATE", "POOL", "COMMISSION"}
)

// Counterparty is a person or company that a customer pays. It has no status of its own: each of its accounts has one.
type Counterparty struct {
	ID          untrusted.Text       `json:"counterpartyId" also:"suid id"`
	Description untrusted.Text       `json:"description"`
	CreatedAt   Time                 `json:"createdAt"`
	UpdatedAt   Time                 `json:"updatedAt"`
	Profile     CounterpartyProfile  `json:"profile"`
	Customer    CustomerRef          `json:"customer"` // the customer that it belongs to
	Accounts    []BeneficiaryAccount `json:"accounts"` // nil: not in the answer

	Raw json.RawMessage `json:"-"`
}

// CounterpartyProfile is who a counterparty is.
type CounterpartyProfile struct {
	Name        untrusted.Text `json:"name"`
	Lastname    untrusted.Text `json:"lastname"`
	Email       untrusted.Text `json:"email"`
	PhoneNumber untrusted.Text `json:"phoneNumber"`
	TaxNumber   untrusted.Text `json:"taxNumber"`
	Website     untrusted.Text `json:"website"`
	Address     PostalAddress  `json:"address"`
}

// Details returns the non-empty fields of the profile except the name.
func (p CounterpartyProfile) Details() []Detail {
	return nonEmpty(Detail{Label: "email", Value: p.Email}, Detail{Label: "phone", Value: p.PhoneNumber},
		Detail{Label: "tax number", Value: p.TaxNumber}, Detail{Label: "website", Value: p.Website},
		Detail{Label: "address", Value: p.Address.Line()})
}

// PostalAddress is an address in the service's fields.
type PostalAddress struct {
	Line1      untrusted.Text `json:"addressLine1"`
	Line2      untrusted.Text `json:"addressLine2"`
	Line3      untrusted.Text `json:"addressLine3"`
	UnitNumber untrusted.Text `json:"unitNumber"`
	PostalCode untrusted.Text `json:"postalCode"`
	City       untrusted.Text `json:"city"`
	StateISO   untrusted.Text `json:"stateIso"`
	CountryISO untrusted.Text `json:"countryIso"`
}

// Line returns the address on one line.
func (a PostalAddress) Line() untrusted.Text {
	var out []string
	for _, part := range []untrusted.Text{a.Line1, a.Line2, a.Line3, a.UnitNumber, a.PostalCode, a.City, a.StateISO,
		a.CountryISO} {
		if part != "" {
			out = append(out, string(part))
		}
	}
	return untrusted.Text(strings.Join(out, ", "))
}

// BeneficiaryAccount is an account of a counterparty: one payment network, with a status that says whether it may be
// paid.
type BeneficiaryAccount struct {
	ID           untrusted.Text  `json:"accountId" also:"suid id"`
	CurrencyCode untrusted.Text  `json:"currencyCode" also:"currencyIso currency_iso"`
	Status       untrusted.Text  `json:"status"`
	Name         untrusted.Text  `json:"name"`
	Number       untrusted.Text  `json:"number"`
	Type         untrusted.Text  `json:"type"`
	Bank         BeneficiaryBank `json:"bank"`
	CreatedAt    Time            `json:"createdAt"`
	UpdatedAt    Time            `json:"updatedAt"`
}

// BeneficiaryBank is the bank of an account.
type BeneficiaryBank struct {
	Name          untrusted.Text `json:"name"`
	Number        untrusted.Text `json:"number"`
	RoutingNumber untrusted.Text `json:"routingNumber"`
}

// UnmarshalJSON reads the named fields and keeps the whole record in Raw.
func (p *Counterparty) UnmarshalJSON(b []byte) error {
	if err := keepRecord(b, p, &p.Raw); err != nil {
		return err
	}
	if p.Customer.CUID == "" {
		m := ObjectOf(b)
		owner := cmp.Or(ObjectIn(m.Member("customer")).First("id", "customerId"), m.First("customerId", "cuid"))
		p.Customer.CUID = untrusted.Text(owner)
	}
	return nil
}

// MarshalJSON writes the record exactly as it was received.
func (p Counterparty) MarshalJSON() ([]byte, error) { return p.Raw.MarshalJSON() }

// Unknown lists the fields of the record without a Go field, except those of an account that repeat its owner.
func (p Counterparty) Unknown() []Field {
	return slices.DeleteFunc(Unknown(p.Raw, p), func(f Field) bool {
		_, member, _ := strings.Cut(f.Path, "].")
		return (member == "counterparty" || member == "customer") && p.says(ObjectOf(f.Value))
	})
}

// says reports whether the object has texts and all of them are in the record.
func (p Counterparty) says(members Object) bool {
	known := []untrusted.Text{p.ID, p.Name(), p.Customer.CUID, p.Customer.Name}
	for _, v := range members.Members() {
		if v.Kind() != jsontree.String || !slices.Contains(known, untrusted.Text(v.Text())) {
			return false
		}
	}
	return members.Len() > 0
}

// Name is the counterparty's display name.
func (p Counterparty) Name() untrusted.Text {
	if p.Profile.Lastname == "" {
		return p.Profile.Name
	}
	return p.Profile.Name + " " + p.Profile.Lastname
}

// Statuses returns the distinct status words of its accounts, accepted ones last.
func (p Counterparty) Statuses() []untrusted.Text {
	var out []untrusted.Text
	for _, a := range p.Accounts {
		if a.Status != "" && !slices.Contains(out, a.Status) {
			out = append(out, a.Status)
		}
	}
	accepted := func(s untrusted.Text) int {
		if StandingOf(s) == StandingAccepted {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b untrusted.Text) int { return cmp.Compare(accepted(a), accepted(b)) })
	return out
}

// CounterpartyQuery holds the service's own filters of the list of counterparties; the zero value lists all.
type CounterpartyQuery struct {
	Name         string // part of the name
	CUID         string // the customer whose counterparties are listed
	CustomerName string
	Page         int    // from 0
	Size         int    // 0: the configured page size
	Next         string // After.Next of the previous page; "": page by number
}

// Tariff is a rule for payments from one currency to another: a limit or a commission. The service's pages document
// its query and its setting, but no full answer: Others lists the members without a Go field.
type Tariff struct {
	ID            Number         `json:"id"`
	CUID          untrusted.Text `json:"customerId" also:"customerCuid cuid"` // "": of the system, or not reported
	From          untrusted.Text `json:"currencyIsoFrom"`
	To            untrusted.Text `json:"currencyIsoTo"`
	OperationType untrusted.Text `json:"operationType"`
	PaymentType   untrusted.Text `json:"paymentType"` // EMPTY: every payment network of the currency
	Percent       Number         `json:"percent"`     // of commissions: charged in addition to Fixed
	Fixed         Number         `json:"fixed"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON reads the named fields and keeps the whole record in Raw.
func (t *Tariff) UnmarshalJSON(b []byte) error {
	return keepRecord(b, t, &t.Raw)
}

// MarshalJSON writes the record exactly as it was received.
func (t Tariff) MarshalJSON() ([]byte, error) { return t.Raw.MarshalJSON() }

// Unknown lists the fields of the record without a Go field.
func (t Tariff) Unknown() []Field { return Unknown(t.Raw, t) }

// Members returns the names, unchanged, of all members without a Go field; the last moments of them hold a time in
// each record.
func Members(all []Tariff) (labels []string, moments int) {
	moment := map[string]bool{} // by label
	for _, t := range all {
		for _, d := range Details(t.Unknown()) {
			if was, seen := moment[d.Label]; !seen || was {
				moment[d.Label] = strings.Contains(string(d.Value), "-") && !timeOf(string(d.Value)).IsZero()
			}
		}
	}
	var last []string
	for _, label := range slices.Sorted(maps.Keys(moment)) {
		if moment[label] {
			last = append(last, label)
		} else {
			labels = append(labels, label)
		}
	}
	return append(labels, last...), len(last)
}

// Member returns the value of one of Members.
func (t Tariff) Member(label string) Detail {
	for _, d := range Details(t.Unknown()) {
		if d.Label == label {
			d.At = timeOf(string(d.Value))
			return d
		}
	}
	return Detail{Label: label}
}

// Others lists the members without a Go field, as "name value", separated by commas.
func (t Tariff) Others() untrusted.Text {
	var out []string
	for _, d := range Details(t.Unknown()) {
		out = append(out, d.Label+" "+d.Value.Line(200))
	}
	return untrusted.Text(strings.Join(out, ", "))
}

// Key identifies the rule: its id, else a digest of the record.
func (t Tariff) Key() string { return cmp.Or(string(t.ID), HashHex(t.Raw)[:12]) }

func (t Tariff) key() string { return t.Key() }

// TariffQuery holds the service's own filters of limits and commissions; the zero value lists all.
type TariffQuery struct {
	From, To string // currency codes
	CUID     string // the customer that they apply to
	Page     int    // from 0
	Size     int    // 0: the configured page size
	Next     string // After.Next of the previous page; "": page by number
}
