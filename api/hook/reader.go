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

// reader decodes an object. An unreadable identity or code makes the delivery malformed; anything else is an Issue.
type reader struct {
	v    jsontree.Value
	path [4]string // names of the enclosing parts, outermost first; "" after them
	root *Envelope
	bad  *Malformed
}

const maxIssues = 50 // per delivery, so that a hostile one cannot grow the list

// at is the path of a part for people: "Operation.source_amount.sum".
func (r *reader) at(key string) string {
	name := ""
	for _, p := range r.path {
		if p != "" {
			name += p + "."
		}
	}
	return name + key
}

// below returns a reader of a part.
func (r *reader) below(key string, v jsontree.Value) reader {
	part := reader{v: v, path: r.path, root: r.root}
	for i := range part.path {
		if part.path[i] == "" {
			part.path[i] = key
			break
		}
	}
	return part
}

func (r *reader) issue(key, why string) {
	if len(r.root.Issues) < maxIssues {
		r.root.Issues = append(r.root.Issues, Issue{Path: r.at(key), Why: why})
	}
}

func (r *reader) fail(key, why string) {
	r.bad = first(r.bad, &Malformed{Reason: ReasonShape, Detail: r.at(key) + " " + why})
}

func first(a, b *Malformed) *Malformed {
	if a != nil {
		return a
	}
	return b
}

// id reads an identifier (api.CheckID).
func (r *reader) id(key string, required bool) untrusted.Text {
	v, ok := r.v.Get(key)
	switch {
	case !ok && !required:
		return ""
	case !ok:
		r.fail(key, "is missing")
		return ""
	case v.Kind() != jsontree.String || api.CheckID("id", v.Text()) != nil:
		r.fail(key, "is not an identifier: "+show(v))
		return ""
	}
	return untrusted.Text(v.Text())
}

// text reads any text; another value is kept as its JSON.
func (r *reader) text(key string) untrusted.Text {
	v, ok := r.v.Get(key)
	switch {
	case !ok:
		return ""
	case v.Kind() != jsontree.String:
		r.issue(key, "is not text")
		return untrusted.Text(v.Raw())
	}
	return untrusted.Text(v.Text())
}

// code reads a whole number; a missing one is not zero.
func (r *reader) code(key string) Code {
	v, ok := r.v.Get(key)
	if !ok {
		return Code{}
	}
	n, whole := integer(string(v.Raw()))
	if !whole {
		r.fail(key, "is not a whole number: "+show(v))
		return Code{}
	}
	return Code{Value: n, Given: true}
}

// position is code for a number that nothing depends on.
func (r *reader) position(key string) Code {
	v, ok := r.v.Get(key)
	if !ok {
		return Code{}
	}
	n, whole := integer(string(v.Raw()))
	if !whole {
		r.issue(key, "is not a whole number")
	}
	return Code{Value: n, Given: whole}
}

func (r *reader) flag(key string) Flag {
	v, ok := r.v.Get(key)
	switch {
	case !ok:
		return NotGiven
	case v.Kind() == jsontree.Word && string(v.Raw()) == "true":
		return Yes
	case v.Kind() == jsontree.Word:
		return No
	}
	r.issue(key, "is neither true nor false")
	return NotGiven
}

// stamp reads {seconds, nanos}; either may be omitted when zero, but not both. Seconds may be a text with a number,
// as in amounts.
func (r *reader) stamp(key string) Stamp {
	v, ok := r.v.Get(key)
	if !ok {
		return Stamp{}
	}
	if v.Kind() != jsontree.Object {
		r.issue(key, "is not a timestamp")
		return Stamp{}
	}
	sec, ok1 := optional(v, "seconds")
	nanos, ok2 := optional(v, "nanos")
	if !ok1 || !ok2 || nanos < 0 || nanos > 999_999_999 {
		r.issue(key, "has seconds or nanoseconds out of range")
		return Stamp{}
	}
	s := Stamp{Seconds: sec, Nanos: int32(nanos), Given: true}
	if _, ok := s.Time(); !ok {
		r.issue(key, "is outside the years 1 to 9999")
	}
	return s
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

func (r *reader) side(key string) Side {
	o := r.object(key)
	return Side{Account: o.text("account"), Beneficiar: o.text("beneficiar")}
}

// amount reads {sum, default} or, of accounts, {money, default}.
func (r *reader) amount(key, sum string) api.Amount {
	v, given := r.v.Get(key)
	o := r.object(key)
	a := api.Amount{Sum: o.money(sum)}
	if _, ok := o.v.Get("default"); ok {
		d := o.money("default")
		a.Default = &d
	}
	if given && (v.Kind() != jsontree.Object || !api.WrapsAmount(v, sum)) {
		a.Sum = r.unclear(key, v, api.ErrUnclear.Error())
	}
	return a
}

// money keeps the parts unchanged and records why they are not an amount.
func (r *reader) money(key string) api.Money {
	v, _ := r.v.Get(key)
	m := api.ReadMoney(v, true)
	if m.Empty() {
		return m
	}
	if _, err := m.Decimal(); err != nil {
		r.issue(key, err.Error())
	} else if !isCurrency(string(m.CurrencyCode)) {
		return r.unclear(key, v, "the currency is not a code of three to ten capitals and digits")
	}
	return m
}

func (r *reader) unclear(key string, v jsontree.Value, why string) api.Money {
	r.issue(key, why)
	return api.UnclearMoney(v, "")
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

// object returns a reader of a part; a missing part or one of another type is empty.
func (r *reader) object(key string) reader {
	v, ok := r.v.Get(key)
	if ok && v.Kind() != jsontree.Object {
		r.issue(key, "is not an object")
		v = jsontree.Value{}
	}
	return r.below(key, v)
}

// list returns a reader for each object of a list.
func (r *reader) list(key string) []*reader {
	v, ok := r.v.Get(key)
	if !ok {
		return nil
	}
	if v.Kind() != jsontree.Array {
		r.issue(key, "is not a list")
		return nil
	}
	var out []*reader
	i := 0
	for _, it := range v.Members() {
		name := key + "[" + strconv.Itoa(i) + "]"
		if i++; it.Kind() != jsontree.Object {
			r.issue(name, "is not an object")
			continue
		}
		part := r.below(name, it)
		out = append(out, &part)
	}
	return out
}

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
