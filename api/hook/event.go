// Package hook verifies and decodes the service's webhooks (spec, Events).
//
// A Verifier checks the raw bytes before anything decodes them. Decode turns the bytes of a delivery into an Envelope
// or a typed error; it never guesses, and the caller keeps the bytes in either case. An Event is the part that an index
// of operations can use. Meanings are the words of numeric codes, from reads of the same operations.
//
// The spec does not define signing, retries and order. So every event says how it was authenticated and whether the
// authentication covers its body (bound); an unbound event is a hint to read the object again, not a fact.
package hook

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"opdeck/api"
	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// Code is a numeric code; Given is false if the delivery omits it, which is not the same as zero.
type Code struct {
	Value int64
	Given bool
}

// Flag is a boolean that may be omitted.
type Flag int8

// The flags.
const (
	NotGiven Flag = iota
	No
	Yes
)

// Stamp is a time in the webhooks' form: seconds since 1970, which may be negative or absurd, and 0 to 999,999,999
// nanoseconds. Given is false if there is no readable one.
type Stamp struct {
	Seconds int64
	Nanos   int32
	Given   bool
}

const (
	firstSecond = -62135596800 // year 1
	lastSecond  = 253402300799 // year 9999
)

// Time returns the time in UTC; ok is false without one, or outside the years 1 to 9999, which our formats cannot
// represent.
func (s Stamp) Time() (t time.Time, ok bool) {
	if !s.Given || s.Seconds < firstSecond || s.Seconds > lastSecond {
		return time.Time{}, false
	}
	return time.Unix(s.Seconds, int64(s.Nanos)).UTC(), true
}

// Compare orders times; one that is not given comes first.
func (s Stamp) Compare(o Stamp) int {
	if s.Given != o.Given {
		if o.Given {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(s.Seconds, o.Seconds), cmp.Compare(s.Nanos, o.Nanos))
}

// String is RFC 3339, or the seconds and nanoseconds of a time out of range.
func (s Stamp) String() string {
	if t, ok := s.Time(); ok {
		return t.Format(time.RFC3339Nano)
	}
	if !s.Given {
		return ""
	}
	return strconv.FormatInt(s.Seconds, 10) + " s " + strconv.FormatInt(int64(s.Nanos), 10) + " ns"
}

// StampOf converts t to a Stamp.
func StampOf(t time.Time) Stamp {
	return Stamp{Seconds: t.Unix(), Nanos: int32(t.Nanosecond()), Given: true}
}

// Event is a change of one object, in one form for all types. An index applies it by UpdatedAt, never backwards; for
// equal times, or without UpdatedAt (accounts and counterparties have none), only a read of the object shows the
// newest state.
type Event struct {
	Object   Object
	ObjectID untrusted.Text // opid, cuid of a client, suid of an account or counterparty
	CUID     untrusted.Text // the customer it belongs to; may be empty

	CreatedAt Stamp
	UpdatedAt Stamp

	Status        Code // of operation, client or account
	OperationType Code
	PaymentType   Code
	IsVisible     Flag

	SourceAmount         api.Amount
	DestinationAmount    api.Amount
	CommissionAmount     api.Amount
	CurrentBalanceAmount api.Amount // of an operation's source account, or an account's balance

	Issues []Issue // parts that must not be shown as numbers or times
}

// Type is a hook_type (spec, Events, Types).
type Type int64

// The types.
const (
	TypeOperation               Type = 1
	TypeDepositAccount          Type = 2
	TypeClient                  Type = 3
	TypeCounterparty            Type = 4
	TypeDepositAccountRequisite Type = 5
)

// types are the spec's, from number 1 on: its name, our word in lists and filters, and the object that each is about.
var types = []struct {
	name, word string
	obj        Object
}{
	{"OPERATION", "operation", ObjectOperation},
	{"DEPOSIT_ACCOUNT", "account", ObjectAccount},
	{"CLIENT", "client", ObjectClient},
	{"COUNTERPARTY", "counterparty", ObjectCounterparty},
	{"DEPOSIT_ACCOUNT_REQUISITE", "requisite", ObjectAccount},
}

// Types lists the types of the spec.
func Types() []Type {
	out := make([]Type, len(types))
	for i := range types {
		out[i] = Type(i + 1)
	}
	return out
}

// Known reports whether the spec lists the type.
func (t Type) Known() bool { return t >= 1 && int(t) <= len(types) }

// Word is the type as lists and filters have it; "" for one that the spec does not list.
func (t Type) Word() string {
	if !t.Known() {
		return ""
	}
	return types[t-1].word
}

// String returns the spec's name, or the number marked as unlisted.
func (t Type) String() string {
	if !t.Known() {
		return strconv.FormatInt(int64(t), 10) + " (unlisted)"
	}
	return types[t-1].name
}

// Object is the name under which Data holds its one object.
type Object string

// The objects.
const (
	ObjectOperation    Object = "Operation"
	ObjectClient       Object = "Client"
	ObjectAccount      Object = "Account"
	ObjectCounterparty Object = "Counterparty"
)

var objects = []string{string(ObjectOperation), string(ObjectClient), string(ObjectAccount), string(ObjectCounterparty)}

// Envelope is a well-formed delivery of a known type. Exactly one of the four objects is set: the one that Object
// names.
type Envelope struct {
	ID   string // UUID version 4, lower case
	Type Type
	Event

	Operation    *Operation
	Client       *Client
	Account      *Account
	Counterparty *Counterparty

	Raw json.RawMessage // the whole delivery, unchanged
}

// Issue is a part of an object that has an unusable value.
type Issue struct {
	Path string // "source_amount.sum"
	Why  string // a few words for people, without text of the delivery
}

// Reason is why a delivery is not an Envelope.
type Reason string

// The reasons.
const (
	ReasonEmpty     Reason = "empty"         // no bytes
	ReasonJSON      Reason = "json"          // not one JSON value
	ReasonEncoding  Reason = "encoding"      // not UTF-8, or half a surrogate pair
	ReasonDepth     Reason = "depth"         // nested too deep
	ReasonDuplicate Reason = "duplicate_key" // a name twice in one object, ignoring case
	ReasonCase      Reason = "case_variant"  // a name of the envelope in another case
	ReasonEnvelope  Reason = "envelope"      // not an object, or a name is missing
	ReasonID        Reason = "hook_id"       // not a lower-case UUID version 4
	ReasonType      Reason = "unknown_type"  // a hook_type that the spec does not list
	ReasonData      Reason = "data"          // not exactly one object, or one of another type
	ReasonShape     Reason = "shape"         // the object's identity or codes cannot be read
)

// Malformed is the error of an unusable delivery. Such a delivery is kept unchanged, under ID if that is unambiguous.
type Malformed struct {
	Reason Reason
	Detail string // safe to print: text from outside is quoted
	ID     string // hook_id; "" if ambiguous
	Type   Type   // 0 if not a whole number
	Object Object // "" when unknown
}

// Error is a sentence for people.
func (m *Malformed) Error() string {
	return "webhook quarantined (" + string(m.Reason) + "): " + m.Detail
}

// Decode decodes one delivery. The error is always a *Malformed. Decode keeps raw without copying it, so the caller
// must not change it.
func Decode(raw []byte) (Envelope, error) {
	e, bad := decode(raw)
	if bad != nil {
		bad.ID, bad.Type, bad.Object = e.ID, e.Type, e.Object
		return Envelope{}, bad
	}
	return e, nil
}

func decode(raw []byte) (e Envelope, bad *Malformed) {
	if len(raw) == 0 {
		return e, &Malformed{Reason: ReasonEmpty, Detail: "the body is empty"}
	}
	v, bad := parse(raw)
	if bad != nil {
		return e, bad
	}
	e.Raw = raw
	bad = e.read(v)
	return e, bad
}

func (e *Envelope) read(v jsontree.Value) (bad *Malformed) {
	if v.Kind() != jsontree.Object {
		return &Malformed{Reason: ReasonEnvelope, Detail: "the body is not an object"}
	}
	if bad := exactNames(v, "hook_id", "hook_type", "Data"); bad != nil {
		return bad
	}
	id, _ := v.Get("hook_id")
	if id.Kind() != jsontree.String || !isUUID4(id.Text()) {
		return &Malformed{Reason: ReasonID, Detail: "hook_id is not a lower-case UUID version 4: " + show(id)}
	}
	e.ID = id.Text()
	data, ok := v.Get("Data")
	if ok && data.Kind() == jsontree.Object {
		if bad := exactNames(data, objects...); bad != nil {
			return bad
		}
		e.Object = onlyObject(data)
	}
	if e.Type, bad = hookType(v); bad != nil {
		return bad
	}
	return e.data(data)
}

func (e *Envelope) data(data jsontree.Value) *Malformed {
	name, thing := last(data)
	switch {
	case data.Kind() != jsontree.Object:
		return &Malformed{Reason: ReasonData, Detail: "Data is not an object: " + show(data)}
	case data.Len() != 1:
		return &Malformed{Reason: ReasonData, Detail: "Data contains " + strconv.Itoa(data.Len()) + " objects instead of one"}
	case e.Object == "":
		return &Malformed{Reason: ReasonData, Detail: "Data contains an unknown object: " + quote(name)}
	}
	if types[e.Type-1].obj != e.Object {
		return &Malformed{Reason: ReasonData, Detail: "hook_type " + e.Type.String() + " contains " + string(e.Object)}
	}
	if thing.Kind() != jsontree.Object {
		return &Malformed{Reason: ReasonShape, Detail: string(e.Object) + " is not an object: " + show(thing)}
	}
	return e.object(thing)
}

// onlyObject returns the name of the one known object in data, "" if there is none or more than one.
func onlyObject(data jsontree.Value) Object {
	if name, _ := last(data); data.Len() == 1 && slices.Contains(objects, name) {
		return Object(name)
	}
	return ""
}

// last is the last member of v.
func last(v jsontree.Value) (name string, m jsontree.Value) {
	for name, m = range v.Members() {
	}
	return name, m
}

// exactNames returns an error if a name differs from a known one only in case.
func exactNames(v jsontree.Value, known ...string) *Malformed {
	for name := range v.Members() {
		for _, k := range known {
			if name != k && strings.EqualFold(name, k) {
				return &Malformed{Reason: ReasonCase, Detail: quote(name) + " is " + k + " in another case"}
			}
		}
	}
	return nil
}

// hookType reads a number, or a text with one (the spec says string and shows integers).
func hookType(v jsontree.Value) (Type, *Malformed) {
	t, ok := v.Get("hook_type")
	literal := string(t.Raw())
	if t.Kind() == jsontree.String {
		literal = t.Text()
	}
	n, whole := integer(literal)
	switch {
	case !ok || t.Kind() != jsontree.String && t.Kind() != jsontree.Number:
		return 0, &Malformed{Reason: ReasonEnvelope, Detail: "hook_type is missing, or neither a number nor text"}
	case !whole || !Type(n).Known():
		return Type(n), &Malformed{Reason: ReasonType, Detail: "hook_type is not listed: " + quote(literal)}
	}
	return Type(n), nil
}

// integer parses a whole number in canonical form: no plus, leading zero, exponent or fraction.
func integer(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != s {
		return 0, false
	}
	return n, true
}

// isUUID4 reports whether s is a UUID version 4 in lower case.
func isUUID4(s string) bool {
	id, err := uuid.Parse(s)
	return err == nil && id.Version() == 4 && id.Variant() == uuid.RFC4122 && id.String() == s
}

const maxShown = 60 // bytes of a delivery in a Detail

func quote(s string) string {
	if len(s) > maxShown {
		return untrusted.Text(s[:maxShown]).Quoted() + "…"
	}
	return untrusted.Text(s).Quoted()
}

func show(v jsontree.Value) string {
	switch v.Kind() {
	case 0:
		return "missing"
	case jsontree.Object:
		return "an object"
	case jsontree.Array:
		return "a list"
	}
	return quote(string(v.Raw()))
}

// The published status codes of customers, accounts and counterparties' accounts, by number. The service does not
// publish those of operations.
var statusNames = map[Object][7]string{
	ObjectClient:       {"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECT", "BANNED", "VERIFY"},
	ObjectAccount:      {"NEW", "MODERATION", "MODERATED", "ACCEPTED", "REJECTED", "BANNED", "PROCESSING"},
	ObjectCounterparty: {"NEW", "MODERATION", "MODERATED", "ACCEPT", "REJECT", "BANNED", "PROGRESS"},
}

// StatusName returns the published name of an object's status code. Operations have none.
func StatusName(o Object, c Code) (name string, ok bool) {
	names, known := statusNames[o]
	if !known || !c.Given || c.Value < 0 || c.Value >= int64(len(names)) {
		return "", false
	}
	return names[c.Value], true
}

// StatusText shows a status: "3 ACCEPT", "1 (unlisted)", or "not given". Learnt codes of operations are in a Meaning,
// with evidence, and never here.
func StatusText(o Object, c Code) string {
	if name, ok := StatusName(o, c); ok {
		return strconv.FormatInt(c.Value, 10) + " " + name
	}
	return c.String()
}

// String shows a code that has no published name.
func (c Code) String() string {
	if !c.Given {
		return "not given"
	}
	return strconv.FormatInt(c.Value, 10) + " (unlisted)"
}
