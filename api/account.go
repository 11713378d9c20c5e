package api

import (
	"cmp"
	"encoding/json"
	"slices"

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
func (b *Balance) twice(v jsontree.Value) { *b = Balance{PlainAmount: PlainAmount(unclear(v, ""))} }

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

func orderOfItem(v jsontree.Value) int64 {
	n, _ := wholeWord(ObjectIn(v).First("order"))
	return n
}

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
