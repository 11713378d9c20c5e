package api

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
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
