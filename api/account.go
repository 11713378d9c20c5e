package api

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"opdeck/api/untrusted"
)

// Account is a customer's account as a record of its own. The service's page shows
// id, customer, isDefault and name; the other members are those of its webhooks and
// of its filters, as far as they came. All is kept in Raw.
type Account struct {
	ID            untrusted.Text `json:"id"`
	Name          untrusted.Text `json:"name"`
	Number        untrusted.Text `json:"number"`
	Status        untrusted.Text `json:"status"`
	CurrencyCode  untrusted.Text `json:"currencyCode"`
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
	ID     untrusted.Text `json:"id"`
	Name   untrusted.Text `json:"name"`
	Email  untrusted.Text `json:"email"`
	Phone  untrusted.Text `json:"phone"`
	Status untrusted.Text `json:"status"`
}

// Details are what is told of the owner beside name, id and status.
func (o AccountOwner) Details() []Detail {
	return told(Detail{Label: "email", Value: o.Email}, Detail{Label: "phone", Value: o.Phone})
}

// Balance is an amount of an account in whichever of three shapes it came: as
// operations have amounts, as the webhook of an account has them, or by itself.
type Balance struct {
	PlainAmount        // by itself
	Sum         Money  `json:"sum"`     // as in operations
	Own         Money  `json:"money"`   // the webhook's: in the account's currency
	Default     *Money `json:"default"` // the webhook's: the same in US dollars; nil: not told
}

// PlainAmount is a Money that stands among the members of another object.
type PlainAmount Money

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
	m := object(b)
	a.ID = cmp.Or(a.ID, untrusted.Text(m.text(accountThing.ids...)))
	a.CurrencyCode = cmp.Or(a.CurrencyCode, untrusted.Text(m.text("currencyIso", "currency_iso")), a.Balance.Value().CurrencyCode)
	a.Customer.ID = cmp.Or(a.Customer.ID, untrusted.Text(cmp.Or(object(m.get("customer")).text("cuid"), m.text("cuid"))))
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
	sets, ok := array(b)
	if !ok {
		sets = []json.RawMessage{b}
	}
	*r = nil
	for _, raw := range sets {
		if one := requisite(raw); one.Title != "" || len(one.Items) > 0 {
			*r = append(*r, one)
		}
	}
	return nil
}

func requisite(raw json.RawMessage) Requisite {
	m := object(raw)
	if m == nil {
		if s, ok := textual(raw); ok && s != "" {
			return Requisite{Items: []RequisiteItem{{Number: untrusted.Text(s)}}}
		}
		return Requisite{}
	}
	out := Requisite{Title: untrusted.Text(m.text("title", "type", "name"))}
	items, _ := array(m.get("items"))
	slices.SortStableFunc(items, func(a, b json.RawMessage) int { return cmp.Compare(orderOfItem(a), orderOfItem(b)) })
	for _, raw := range items {
		if it := object(raw); it.text("key") != "" || it.text("value") != "" {
			out.Items = append(out.Items, RequisiteItem{untrusted.Text(it.text("key")), untrusted.Text(it.text("value"))})
		}
	}
	var other []RequisiteItem
	for name, v := range m {
		value, ok := textual(v)
		if !ok && !null(v) && name != "items" {
			value = string(v)
		}
		if value != "" && untrusted.Text(value) != out.Title {
			other = append(other, RequisiteItem{untrusted.Text(name), untrusted.Text(value)})
		}
	}
	slices.SortFunc(other, func(a, b RequisiteItem) int { return strings.Compare(string(a.Key), string(b.Key)) })
	out.Items = append(out.Items, other...)
	return out
}

func orderOfItem(raw json.RawMessage) int64 {
	n, _ := wholeWord(object(raw).text("order"))
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

// Accounts reads one page of accounts (GET /v2/account; one account call).
func (c *Client) Accounts(ctx context.Context, q AccountQuery) (Page[Account], error) {
	v := c.paging(q.Page, q.Size, "currencyIso", q.Currency, "balance", q.Balance, "associateType", q.Associate)
	return list[Account](ctx, c, accountThing, []string{"/v2/account"}, v)
}

// Account reads one account (GET /v2/account/{id}; one account call).
func (c *Client) Account(ctx context.Context, id string) (Account, error) {
	return readOne[Account](ctx, c, accountThing, "account id", id, "/v2/account")
}

// readOne reads a record by its id, below base.
func readOne[T record](ctx context.Context, c *Client, t thing, what, id, base string) (T, error) {
	var none T
	if err := CheckID(what, id); err != nil {
		return none, err
	}
	r := request{op: "read " + t.one, parts: []string{base, ":" + id}}
	a, err := c.get(ctx, r)
	if err != nil {
		return none, err
	}
	return recordOf[T](c, r, a, t)
}

// recordOf reads the record that an answer holds.
func recordOf[T record](c *Client, r request, a answer, t thing) (T, error) {
	var out, none T
	raw, err := c.one(r, a, t)
	if err != nil {
		return none, err
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return none, notUnderstood(r, a, err)
	}
	return out, nil
}
