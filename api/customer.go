package api

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"opdeck/api/jsontree"
	"opdeck/api/secret"
	"opdeck/api/untrusted"
)

// The kinds of customer (the service's add-customer page lists them all).
const (
	Individual = "INDIVIDUAL"
	Corporate  = "CORPORATE"
)

// Customer is a customer's record. The service does not publish all its fields; Raw keeps the whole record.
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

// UnmarshalJSON reads the named fields and keeps the whole record in Raw.
func (c *Customer) UnmarshalJSON(b []byte) error {
	return keepRecord(b, c, &c.Raw)
}

// MarshalJSON writes the record exactly as it was received.
func (c Customer) MarshalJSON() ([]byte, error) {
	if len(c.Raw) > 0 {
		return c.Raw, nil
	}
	type plain Customer
	return json.Marshal(plain(c))
}

// Unknown lists the fields of the record without a Go field.
func (c Customer) Unknown() []Field { return Unknown(c.Raw, c) }

// Detail is one field of a record for display.
type Detail struct {
	Path  string // of a member without a Go field, unabridged: Label may be cut
	Label string // safe to draw
	Value untrusted.Text
	At    Time  // for a moment; Value holds its text
	Money Money // for an amount; Value holds its text
	Odd   bool  // the value has an unexpected type
}

// Details returns all non-empty fields except name, kind and status: those with a Go field first, then the others by
// path.
func (c Customer) Details() []Detail {
	out := nonEmpty(Detail{Label: "cuid", Value: c.CUID}, Detail{Label: "company", Value: c.Company},
		Detail{Label: "email", Value: c.Email}, Detail{Label: "phone", Value: c.Phone},
		Detail{Label: "comment", Value: c.Comment}, Detail{Label: "puid", Value: c.PUID},
		Detail{Label: "created", Value: c.CreatedAt.text(), At: c.CreatedAt},
		Detail{Label: "updated", Value: c.UpdatedAt.text(), At: c.UpdatedAt})
	return append(out, Details(c.Unknown())...)
}

// maxDetail bounds the value of a Detail, in bytes.
const maxDetail = 16 << 10

// Details returns fields without a Go field, by path.
func Details(unknown []Field) []Detail {
	var out []Detail
	for _, f := range unknown {
		value, ok := ParseJSON(f.Value).Scalar()
		amount, is := amountIn(f.Value)
		if is && !amount.Unclear {
			value = amount.String()
		} else if !ok {
			value = string(f.Value)
		}
		var at Time
		if strings.Contains(value, "T") && strings.Contains(value, "-") {
			at = timeOf(value)
		}
		if string(f.Value) == "null" { // JSON null, not the text "null"
			value = "–"
		}
		if len(value) > maxDetail {
			value = strings.ToValidUTF8(value[:maxDetail], "") + "…"
		}
		label := safeLine(f.Path, 60)
		if f.Earlier {
			label += ", sent earlier"
		}
		out = append(out, Detail{Path: f.Path, Label: label, Value: untrusted.Text(value), At: at,
			Money: amount, Odd: f.Odd})
	}
	return out
}

// amountIn reads an object that is only an amount, perhaps one that is not known; false for anything else.
func amountIn(raw json.RawMessage) (Money, bool) {
	var b Balance
	if !ObjectOf(raw).Exists() || ReadRecord(raw, &b) != nil {
		return Money{}, false
	}
	if m := b.Value(); m.Unclear && m.CurrencyCode != "" && ParseJSON([]byte(m.came)).Member("units").Kind() != 0 {
		return m, true
	}
	if b.Default != nil || len(Unknown(raw, b)) > 0 {
		return Money{}, false
	}
	if _, err := b.Value().Decimal(); err != nil || b.Value().String() == "" {
		return Money{}, false
	}
	return b.Value(), true
}

// nonEmpty returns the details that have a value.
func nonEmpty(list ...Detail) []Detail {
	return slices.DeleteFunc(list, func(d Detail) bool { return d.Value == "" })
}

// Person is the record's name and last name, as far as it has them: a person, or a short form of the company's name.
func (c Customer) Person() untrusted.Text {
	if c.Name == "" || c.Lastname == "" {
		return c.Name + c.Lastname
	}
	return c.Name + " " + c.Lastname
}

// DisplayName is what the customer is called everywhere: the company, else the person; "" if the record names neither.
// The names in operations, accounts and counterparties are the service's own. Where one differs, this is the name, and
// the customer's page lists the others.
func (c Customer) DisplayName() untrusted.Text { return cmp.Or(c.Company, c.Person()) }

// Application is a customer's application, either an individual's or a corporate one. Its fields are only partly
// published; all are kept.
type Application struct {
	Status     untrusted.Text  `json:"status"`
	Individual json.RawMessage `json:"individual,omitempty"`
	Corporate  json.RawMessage `json:"corporate,omitempty"`
	Raw        json.RawMessage `json:"-"`
	Unread     bool            `json:"-"` // it could not be read, so nothing is known of it
}

// Kind returns which of the two an application is, "" for neither.
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
	Outstanding []OutstandingSet `json:"outstanding" null:"unreported"` // still to be provided; nil: not known
	Raw         json.RawMessage  `json:"-"`
}

// OutstandingSet is one document set that is still missing. The element type is not published: a text and an object
// are both read.
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

// MarshalJSON writes the set exactly as it was received.
func (o OutstandingSet) MarshalJSON() ([]byte, error) {
	if len(o.Raw) > 0 {
		return o.Raw, nil
	}
	return json.Marshal(string(o.Name))
}

// Link is a short-lived, single-use address for the customer's browser.
type Link struct {
	URL untrusted.Text
	TTL int64 // seconds; 0 when the answer did not say
	Raw json.RawMessage
}

// Until is when a link made at made ends; zero when the answer did not say.
func (l Link) Until(made time.Time) time.Time {
	if l.TTL <= 0 {
		return time.Time{}
	}
	return made.Add(time.Duration(l.TTL) * time.Second)
}

// Result is the service's answer to an act that returns no object.
type Result struct {
	Success bool            `json:"success"`
	Message untrusted.Text  `json:"message"`
	Raw     json.RawMessage `json:"-"`
}

// HookMembers lists the members of the webhook settings as the service names them.
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

	// Unreported lists the members that no answer had, by JSON name, each followed by a comma. Their values here mean
	// nothing, and SetHooks does not write them.
	Unreported string `json:"-"`

	// Was holds the settings as they were read, so that the guard of SetHooks checks changes only; nil: it checks
	// all.
	Was *HookSettings `json:"-"`
}

// Knows reports whether a member was read, or set since then (Set).
func (h HookSettings) Knows(member string) bool {
	return !strings.Contains(","+h.Unreported, ","+member+",")
}

// Set marks a member as given by the person.
func (h *HookSettings) Set(member string) {
	h.Unreported = strings.TrimPrefix(strings.Replace(","+h.Unreported, ","+member+",", ",", 1), ",")
}

// CustomerFile is a file in the customer's store; attaching links it to an operation.
type CustomerFile struct {
	ID         untrusted.Text `json:"id" also:"guid documentId fileId uuid"`
	CustomerID untrusted.Text `json:"customerId"`
	Name       untrusted.Text `json:"name"`
	FileName   untrusted.Text `json:"fileName"`
	MIME       untrusted.Text `json:"mime"`
	Type       untrusted.Text `json:"type"`
	Info       untrusted.Text `json:"info"`
	Status     untrusted.Text `json:"status"`
	Size       int64          `json:"size"` // bytes; -1: not known

	Raw json.RawMessage `json:"-"`
}

func (f *CustomerFile) check(v jsontree.Value) { sizeTold(v, &f.Size) }

// CustomerQuery holds the service's own filters of the customer list.
type CustomerQuery struct {
	CUID string
	Name string // part of the name
	Page int    // from 0
	Size int    // 0: the configured page size
	Next string // After.Next of the previous page; "": page by number
}

// ShareTokenLife is how long a share token lives (spec, Limits rule 4).
const ShareTokenLife = 20 * time.Minute

// CheckShareToken validates the form of a pasted token before anything is sent. It trims white space; any other odd
// character is an error that does not show the token. It does not know whether the service will accept the token.
func CheckShareToken(s string) (secret.Value, error) {
	const op = "share"
	s = strings.TrimSpace(s)
	bad := func(why string) (secret.Value, error) {
		return secret.Value{}, &Error{Op: op, Kind: Usage, Public: "This does not look like a share token: " + why + ".",
			Field: FieldToken, Unsent: true, Remedy: Remedy{Kind: CopyToken}}
	}
	switch {
	case s == "":
		return bad("it is empty")
	case len(s) > 4096:
		return bad("it is longer than 4,096 characters")
	case len(s) < 8:
		return bad("it is shorter than 8 characters")
	}
	for _, r := range s {
		if unicode.IsSpace(r) {
			return bad("it contains whitespace")
		}
		if r < 0x21 || r > 0x7e {
			return bad("it contains a character that tokens never have")
		}
	}
	return secret.New(s), nil
}

// Is reports whether the file has that name and size.
func (f CustomerFile) Is(name string, size int64) bool {
	r := ObjectOf(f.Raw)
	return r.First("size") == strconv.FormatInt(size, 10) &&
		slices.ContainsFunc([]string{"fileName", "name", "originalName"}, func(k string) bool { return r.First(k) == name })
}

// Made is when the file was created; zero: not reported, or Unread.
func (f CustomerFile) Made() Time {
	r := ObjectOf(f.Raw)
	for _, k := range []string{"createdAt", "createAt", "uploadedAt"} {
		if r.Has(k) {
			return timeIn(r.Member(k))
		}
	}
	return Time{}
}

// Lock says whether the file is locked.
func (f CustomerFile) Lock() Lock { return LockIn(ParseJSON(f.Raw)) }

// Title is the file's name, whichever member holds it.
func (f CustomerFile) Title() untrusted.Text { return cmp.Or(f.FileName, f.Name) }

// UnmarshalJSON reads the named fields and keeps the whole record in Raw. The id may have any of the names that an
// upload's may have.
func (f *CustomerFile) UnmarshalJSON(b []byte) error {
	return keepRecord(b, f, &f.Raw)
}
