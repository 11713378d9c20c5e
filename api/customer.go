package api

import (
	"encoding/json"
	"slices"
	"strings"

	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// The kinds of customer (complete on the service's add-customer page).
const (
	Individual = "INDIVIDUAL"
	Corporate  = "CORPORATE"
)

// Customer is the standalone record; its full set of fields is not published,
// so everything is also in Raw.
type Customer struct {
	CUID      untrusted.Text `json:"cuid" also:"customerId id"`
	PUID      untrusted.Text `json:"puid"`
	Name      untrusted.Text `json:"name"`
	Lastname  untrusted.Text `json:"lastname"`
	Company   untrusted.Text `json:"company"`
	Type      untrusted.Text `json:"type"` // INDIVIDUAL or CORPORATE
	Status    untrusted.Text `json:"status"`
	Comment   untrusted.Text `json:"comment"`
	Email     untrusted.Text `json:"email"`
	Phone     untrusted.Text `json:"phone"`
	CreatedAt Time           `json:"createdAt"`
	UpdatedAt Time           `json:"updatedAt"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the record as it came beside the named fields.
func (c *Customer) UnmarshalJSON(b []byte) error {
	return keepRecord(b, c, &c.Raw)
}

// MarshalJSON writes the record as it came.
func (c Customer) MarshalJSON() ([]byte, error) {
	if len(c.Raw) > 0 {
		return c.Raw, nil
	}
	type plain Customer
	return json.Marshal(plain(c))
}

// Unknown lists the fields of the record that this program has no name for.
func (c Customer) Unknown() []Field { return Unknown(c.Raw, c) }

// Detail is one field of a record for people.
type Detail struct {
	Path  string // of a member without a name here, as it came: Label may be cut
	Label string // safe to draw
	Value untrusted.Text
	At    Time // of a moment; Value holds its text
	Odd   bool // it came and cannot be read as what it ought to be
}

// Details are all fields of the record beside name, kind and status that hold
// anything: those with a name here first, then the others by their paths.
func (c Customer) Details() []Detail {
	out := nonEmpty(Detail{Label: "cuid", Value: c.CUID}, Detail{Label: "company", Value: c.Company},
		Detail{Label: "email", Value: c.Email}, Detail{Label: "phone", Value: c.Phone},
		Detail{Label: "comment", Value: c.Comment}, Detail{Label: "puid", Value: c.PUID},
		Detail{Label: "created", Value: c.CreatedAt.text(), At: c.CreatedAt},
		Detail{Label: "updated", Value: c.UpdatedAt.text(), At: c.UpdatedAt})
	return append(out, Details(c.Unknown())...)
}

// maxDetail is how many bytes of a value a Detail holds; it is for people.
const maxDetail = 16 << 10

// Details are fields without a name here, by their paths.
func Details(unknown []Field) []Detail {
	var out []Detail
	for _, f := range unknown {
		value, ok := ParseJSON(f.Value).Scalar()
		if amount := amountIn(f.Value); amount != "" {
			value = amount
		} else if !ok {
			value = string(f.Value)
		}
		if string(f.Value) == "null" { // not the text "null"
			value = "–"
		}
		if len(value) > maxDetail {
			value = strings.ToValidUTF8(value[:maxDetail], "") + "…"
		}
		label := safeLine(f.Path, 60)
		if f.Earlier {
			label += ", sent earlier"
		}
		out = append(out, Detail{Path: f.Path, Label: label, Value: untrusted.Text(value), Odd: f.Odd})
	}
	return out
}

// amountIn is an object that is an amount and nothing else as "EUR 12.5"; "" for
// anything else.
func amountIn(raw json.RawMessage) string {
	var b Balance
	if !ObjectOf(raw).Exists() || ReadRecord(raw, &b) != nil || b.Default != nil || len(Unknown(raw, b)) > 0 {
		return ""
	}
	if _, err := b.Value().Decimal(); err != nil {
		return ""
	}
	return b.Value().String()
}

// told are those details that hold anything.
func nonEmpty(list ...Detail) []Detail {
	return slices.DeleteFunc(list, func(d Detail) bool { return d.Value == "" })
}

// FullName joins name and last name.
func (c Customer) FullName() untrusted.Text {
	if c.Lastname == "" {
		return c.Name
	}
	return c.Name + " " + c.Lastname
}

// Application is a customer's application: either an individual's or a
// corporate one. Its fields are only partly published; all are kept.
type Application struct {
	Status     untrusted.Text  `json:"status"`
	Individual json.RawMessage `json:"individual,omitempty"`
	Corporate  json.RawMessage `json:"corporate,omitempty"`
	Raw        json.RawMessage `json:"-"`
	Unread     bool            `json:"-"` // it could not be read: nothing is known of it
}

// Kind says which of the two an application is, "" when neither is there.
func (a Application) Kind() string {
	switch {
	case len(a.Individual) > 0 && string(a.Individual) != "null":
		return Individual
	case len(a.Corporate) > 0 && string(a.Corporate) != "null":
		return Corporate
	}
	return ""
}

// ShareResult is the answer to a share call (spec, Share verified KYC/KYB data).
type ShareResult struct {
	Applied     bool             `json:"applied"`
	Message     untrusted.Text   `json:"message"`                       // the reason when applied is false
	Outstanding []OutstandingSet `json:"outstanding" null:"unreported"` // still to be given; nil: not known
	Raw         json.RawMessage  `json:"-"`
}

// OutstandingSet is one remaining document set. The element type is not
// published: a text or an object; both are read.
type OutstandingSet struct {
	Name untrusted.Text
	Raw  json.RawMessage
}

// UnmarshalJSON reads a text, or an object with a name, type or docType.
func (o *OutstandingSet) UnmarshalJSON(b []byte) error {
	o.Raw = append(json.RawMessage(nil), b...)
	var s string
	if json.Unmarshal(b, &s) == nil {
		o.Name = untrusted.Text(s)
		return nil
	}
	var f map[string]json.RawMessage
	if json.Unmarshal(b, &f) == nil {
		for _, k := range []string{"name", "type", "docType", "documentSet"} {
			if json.Unmarshal(f[k], &s) == nil && s != "" {
				o.Name = untrusted.Text(s)
				return nil
			}
		}
	}
	o.Name = untrusted.Text(b)
	return nil
}

// MarshalJSON writes the set as it came.
func (o OutstandingSet) MarshalJSON() ([]byte, error) {
	if len(o.Raw) > 0 {
		return o.Raw, nil
	}
	return json.Marshal(string(o.Name))
}

// Link is a short-lived, single-use address for the customer's own browser.
type Link struct {
	URL untrusted.Text
	TTL int64 // seconds; 0 when the answer did not say
	Raw json.RawMessage
}

// Result is the service's answer to an act without an object.
type Result struct {
	Success bool            `json:"success"`
	Message untrusted.Text  `json:"message"`
	Raw     json.RawMessage `json:"-"`
}

// HookMembers are the members of the webhook settings, as the service's page has them.
var HookMembers = []string{"enabled", "hookUrl", "jwtSecret", "hookCustomer", "hookOperation", "hookDepositAccount",
	"hookCounterparty"}

// HookSettings are the service's webhook settings (hook get and set).
type HookSettings struct {
	Enabled            bool           `json:"enabled"`
	HookURL            untrusted.Text `json:"hookUrl"`
	JWTSecret          secret.Value   `json:"-"`
	HookCustomer       bool           `json:"hookCustomer"`
	HookOperation      bool           `json:"hookOperation"`
	HookDepositAccount bool           `json:"hookDepositAccount"`
	HookCounterparty   bool           `json:"hookCounterparty"`

	// Unreported are the members that no answer told, by their JSON names with a comma behind
	// each; their values here mean nothing, and SetHooks does not write them.
	Unreported string `json:"-"`

	// Was is what a read brought, so that the guard of SetHooks judges only what is new; nil: all is new.
	Was *HookSettings `json:"-"`
}

// Knows reports whether a member was told, or set since (Set).
func (h HookSettings) Knows(member string) bool {
	return !strings.Contains(","+h.Unreported, ","+member+",")
}

// Set notes that the person said what a member shall be.
func (h *HookSettings) Set(member string) {
	h.Unreported = strings.TrimPrefix(strings.Replace(","+h.Unreported, ","+member+",", ",", 1), ",")
}

// CustomerFile is an uploaded document in the customer's own store; attaching
// links it to an operation.
type CustomerFile struct {
	ID         untrusted.Text `json:"id" also:"guid documentId fileId uuid"`
	CustomerID untrusted.Text `json:"customerId"`
	Name       untrusted.Text `json:"name"`
	FileName   untrusted.Text `json:"fileName"`
	MIME       untrusted.Text `json:"mime"`
	Type       untrusted.Text `json:"type"`
	Info       untrusted.Text `json:"info"`
	Status     untrusted.Text `json:"status"`
	Size       int64          `json:"size"` // bytes; -1: it came and cannot be read

	Raw json.RawMessage `json:"-"`
}
