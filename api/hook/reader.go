package hook

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"opdeck/api"
	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

const maxIssues = 50 // per delivery, so that a hostile one cannot grow the list

// decisive are the members without which an event says nothing, and what they are if they can be read. Anything else
// that cannot be read is an Issue.
var decisive = map[string]string{"opid": "an identifier", "cuid": "an identifier", "suid": "an identifier",
	"type": "a whole number", "status": "a whole number", "payment_type": "a whole number"}

// fill reads an object into a struct, as the records of the service are read.
func (e *Envelope) fill(v jsontree.Value, into any) *Malformed {
	for _, f := range api.ReadMembers(v, into) {
		path := string(e.Object) + "." + f.Path
		if is, decides := decisive[path[strings.LastIndexByte(path, '.')+1:]]; decides {
			return &Malformed{Reason: ReasonShape, Detail: path + " is not " + is + ": " + show(api.ParseJSON(f.Value))}
		}
		if len(e.Issues) < maxIssues {
			e.Issues = append(e.Issues, Issue{Path: path, Why: "is not of the documented form"})
		}
	}
	return nil
}

// ID is an identifier (api.CheckID).
type ID untrusted.Text

// Read implements api.Form.
func (i *ID) Read(v jsontree.Value) bool {
	if v.Kind() != jsontree.String || api.CheckID("id", v.Text()) != nil {
		return false
	}
	*i = ID(v.Text())
	return true
}

// Read implements api.Form: a whole number.
func (c *Code) Read(v jsontree.Value) bool {
	n, whole := integer(string(v.Raw()))
	if whole {
		*c = Code{Value: n, Given: true}
	}
	return whole
}

// Read implements api.Form: true or false.
func (f *Flag) Read(v jsontree.Value) bool {
	is, told := v.Flag()
	if *f = NotGiven; told {
		*f = No
	}
	if is {
		*f = Yes
	}
	return told
}

// Read implements api.Form: {seconds, nanos}; either may be omitted when zero. Seconds may be a text with a number, as
// in amounts. A time outside the years that our formats have is kept, and not of the form.
func (s *Stamp) Read(v jsontree.Value) bool {
	sec, ok1 := optional(v, "seconds")
	nanos, ok2 := optional(v, "nanos")
	if v.Kind() != jsontree.Object || !ok1 || !ok2 || nanos < 0 || nanos > 999_999_999 {
		return false
	}
	*s = Stamp{Seconds: sec, Nanos: int32(nanos), Given: true}
	_, ok := s.Time()
	return ok
}

func optional(v jsontree.Value, key string) (int64, bool) {
	n, ok := v.Get(key)
	if !ok {
		return 0, true
	}
	if n.Kind() == jsontree.String {
		return integer(n.Text())
	}
	return integer(string(n.Raw()))
}

// Sum is the amount {sum, default} of an operation, and Balance {money, default} of an account. One that is not told
// keeps what came.
type (
	Sum     api.Amount
	Balance api.Amount
)

// Read implements api.Form.
func (a *Sum) Read(v jsontree.Value) bool { return readAmount((*api.Amount)(a), v, "sum") }

// Read implements api.Form.
func (a *Balance) Read(v jsontree.Value) bool { return readAmount((*api.Amount)(a), v, "money") }

func readAmount(a *api.Amount, v jsontree.Value, name string) (ok bool) {
	if v.Kind() != jsontree.Object || !api.WrapsAmount(v, name) {
		a.Sum = api.UnclearMoney(v, "")
		return false
	}
	a.Sum, ok = readMoney(v, name)
	if _, given := v.Get("default"); given {
		d, _ := readMoney(v, "default")
		a.Default = &d
	}
	return ok
}

// readMoney reads an amount whose omitted parts are 0; a missing one is empty.
func readMoney(v jsontree.Value, name string) (m api.Money, ok bool) {
	in, _ := v.Get(name)
	if m = api.ReadMoney(in, true); m.Empty() {
		return m, true
	}
	if _, err := m.Decimal(); err != nil {
		return m, false
	}
	if !isCurrency(string(m.CurrencyCode)) {
		return api.UnclearMoney(in, ""), false
	}
	return m, true
}

// isCurrency accepts ISO 4217 codes and the longer ones of digital currencies.
func isCurrency(s string) bool {
	for i := 0; i < len(s); i++ {
		if (s[i] < 'A' || s[i] > 'Z') && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return len(s) >= 3 && len(s) <= 10
}

// Operation is an operation as events have it. Event has what all objects have.
type Operation struct {
	OPID        ID    `json:"opid"`
	CUID        ID    `json:"cuid"`
	Type        Code  `json:"type"`
	Status      Code  `json:"status"`
	PaymentType Code  `json:"payment_type"`
	IsVisible   Flag  `json:"is_visible"`
	CreatedAt   Stamp `json:"created_at"`
	UpdatedAt   Stamp `json:"updated_at"`
	Source      Side  `json:"source"`
	Destination Side  `json:"destination"`

	SourceAmount         Sum `json:"source_amount"`
	DestinationAmount    Sum `json:"destination_amount"`
	CommissionAmount     Sum `json:"commission_amount"`
	CurrentBalanceAmount Sum `json:"current_balance_amount"`
}

// Side is one end of an operation. The spec shows an account as source and a beneficiary as destination; either end
// may have either.
type Side struct {
	Account    untrusted.Text `json:"account"`
	Beneficiar untrusted.Text `json:"beneficiar"` // the service's spelling
}

// Client is a customer as events have it.
type Client struct {
	CUID         ID             `json:"cuid"`
	Status       Code           `json:"status"`
	CreatedAt    Stamp          `json:"create_at"`
	UpdatedAt    Stamp          `json:"update_at"`
	OnboardingAt Stamp          `json:"onboarding_at"`
	Name         untrusted.Text `json:"name"`
	Lastname     untrusted.Text `json:"lastname"`
}

// Account is a deposit account as events of type 2 and 5 have it.
type Account struct {
	SUID        ID             `json:"suid"`
	CUID        ID             `json:"cuid"`
	Status      Code           `json:"status"`
	Name        untrusted.Text `json:"name"`
	CurrencyISO untrusted.Text `json:"currency_iso"`
	IsDefault   Flag           `json:"is_default"`
	Number      untrusted.Text `json:"number"`
	Balance     Balance        `json:"balance"`
	Hold        Balance        `json:"hold"` // held by operations in progress
	Requisites  []Requisite    `json:"requisites"`
}

// Requisite is a titled group of an account's details.
type Requisite struct {
	Title untrusted.Text  `json:"title"`
	Items []RequisiteItem `json:"items"`
}

// RequisiteItem is one detail, "IBAN" or "Bank name".
type RequisiteItem struct {
	ID    untrusted.Text `json:"id"`
	Key   untrusted.Text `json:"key"`
	Value untrusted.Text `json:"value"`
	Order Code           `json:"order"` // a position, not an enumeration
}

// Counterparty is a beneficiary as events have it; the event's status is that of one of its accounts.
type Counterparty struct {
	SUID        ID                    `json:"suid"`
	CUID        ID                    `json:"cuid"`
	Description untrusted.Text        `json:"description"`
	Accounts    []CounterpartyAccount `json:"accounts"`
}

// CounterpartyAccount is an account of a counterparty.
type CounterpartyAccount struct {
	SUID        ID             `json:"suid"`
	CurrencyISO untrusted.Text `json:"currency_iso"`
	Status      Code           `json:"status"`
}

// object reads the object of a delivery.
func (e *Envelope) object(v jsontree.Value) (bad *Malformed) {
	var ident, cuid ID
	switch e.Object {
	case ObjectOperation:
		o := &Operation{}
		bad, e.Operation, ident, cuid = e.fill(v, o), o, o.OPID, o.CUID
		e.OperationType, e.Status, e.PaymentType, e.IsVisible = o.Type, o.Status, o.PaymentType, o.IsVisible
		e.CreatedAt, e.UpdatedAt = o.CreatedAt, o.UpdatedAt
		e.SourceAmount, e.DestinationAmount = api.Amount(o.SourceAmount), api.Amount(o.DestinationAmount)
		e.CommissionAmount = api.Amount(o.CommissionAmount)
		e.CurrentBalanceAmount = api.Amount(o.CurrentBalanceAmount)
	case ObjectClient:
		c := &Client{}
		bad, e.Client, ident, cuid = e.fill(v, c), c, c.CUID, c.CUID
		e.Status, e.CreatedAt, e.UpdatedAt = c.Status, c.CreatedAt, c.UpdatedAt
	case ObjectAccount:
		a := &Account{}
		bad, e.Account, ident, cuid = e.fill(v, a), a, a.SUID, a.CUID
		e.Status, e.CurrentBalanceAmount = a.Status, api.Amount(a.Balance)
	case ObjectCounterparty:
		c := &Counterparty{}
		bad, e.Counterparty, ident, cuid = e.fill(v, c), c, c.SUID, c.CUID
	}
	e.ObjectID, e.CUID = untrusted.Text(ident), untrusted.Text(cuid)
	if bad == nil && ident == "" {
		bad = &Malformed{Reason: ReasonShape, Detail: string(e.Object) + " has no identifier"}
	}
	return bad
}

// parse parses one JSON text and refuses what JSON parsers read differently: see jsontree.Doubt.
func parse(b []byte) (jsontree.Value, *Malformed) {
	v, doubt, err := jsontree.ParseStrict(b)
	if err != nil {
		return v, invalid(err)
	}
	if doubt.Kind == jsontree.NoDoubt {
		return v, nil
	}
	bad := doubts[doubt.Kind]
	bad.Detail += " (byte " + strconv.Itoa(doubt.At) + ")"
	return v, &bad
}

var doubts = map[jsontree.DoubtKind]Malformed{
	jsontree.TooDeep:   {Reason: ReasonDepth, Detail: tooDeep},
	jsontree.Duplicate: {Reason: ReasonDuplicate, Detail: "a name occurs twice in one object"},
	jsontree.NotUTF8:   {Reason: ReasonEncoding, Detail: "a byte is not UTF-8"},
	jsontree.Halved:    {Reason: ReasonEncoding, Detail: "half a surrogate pair"},
}

var tooDeep = "nested deeper than " + strconv.Itoa(jsontree.MaxDepth) + " levels"

// invalid is the error of a text that is not JSON, with the position.
func invalid(err error) *Malformed {
	var at *json.SyntaxError
	if !errors.As(err, &at) {
		return &Malformed{Reason: ReasonJSON, Detail: "not JSON"}
	}
	place := " (byte " + strconv.FormatInt(at.Offset, 10) + ")"
	if strings.Contains(at.Error(), "max depth") {
		return &Malformed{Reason: ReasonDepth, Detail: tooDeep + place}
	}
	return &Malformed{Reason: ReasonJSON, Detail: "not one JSON value" + place}
}
