package api

import (
	"cmp"
	"encoding/json"
	"slices"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// Account is a customer's account as a record of its own. The service's page shows
// id, customer, isDefault and name; the other members are those of its webhooks and
// of its filters, as far as they came. All is kept in Raw.
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

// Details are what is told of the owner beside name, id and status.
func (o AccountOwner) Details() []Detail {
	return nonEmpty(Detail{Label: "email", Value: o.Email}, Detail{Label: "phone", Value: o.Phone})
}

// Balance is an amount of an account in whichever of three shapes it came: as
// operations have amounts, as the webhook of an account has them, or by itself.
type Balance struct {
	PlainAmount        // by itself
	Sum         Money  `json:"sum"`     // as in operations
	Own         Money  `json:"money"`   // the webhook's: in the account's currency
	Default     *Money `json:"default"` // the webhook's: the same in US dollars; nil: not told
}

// PlainAmount is a Money that is among the members of another object.
type PlainAmount Money

// check is called after Balance was read from v.
func (b *Balance) check(v jsontree.Value) {
	if m := ObjectIn(v); !v.Null() && !m.Has("sum") && !m.Has("money") && !m.Has("default") {
		(*Money)(&b.PlainAmount).check(v)
	}
}

// Value is the amount in the account's currency; it is Empty when none was told.
func (b Balance) Value() Money {
	for _, m := range []Money{b.Sum, b.Own, Money(b.PlainAmount)} {
		if !m.Empty() {
			return m
		}
	}
	return Money{}
}

// UnmarshalJSON keeps the record as it came beside the named fields.
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

// MarshalJSON writes the record as it came.
func (a Account) MarshalJSON() ([]byte, error) { return a.Raw.MarshalJSON() }

// Unknown lists the fields of the record that this program has no name for.
func (a Account) Unknown() []Field { return Unknown(a.Raw, a) }

// Requisites are what somebody needs who pays into an account.
type Requisites []Requisite

// Requisite is one set of them, as for one payment network.
type Requisite struct {
	Title untrusted.Text
	Items []RequisiteItem
}

// RequisiteItem is one line of a set. Number is any value: which of them are account
// numbers is not told, so that all are masked as such.
type RequisiteItem struct{ Key, Number untrusted.Text }

// UnmarshalJSON reads the webhook's shape, [{title, items: [{key, value, order}]}],
// and of any other shape the members by their names. It never fails.
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

// AccountQuery are the service's own filters of the list of accounts; an empty one
// lists everything.
type AccountQuery struct {
	Currency  string // its code
	Balance   string // one of BalanceFilters
	Associate string // one of AssociateTypes
	Page      int    // from 0
	Size      int    // 0: the configured page size
}

// The values that the service takes for its filters (complete on its page).
var (
	BalanceFilters = []string{"POSITIVE", "NEGATIVE", "ZERO"}
	AssociateTypes = []string{"NOT_ASSOCIATE", "POOL", "COMMISSION"}
)
