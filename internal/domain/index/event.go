package index

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"opdeck/api"
	"opdeck/api/jsontree"
	"opdeck/api/untrusted"
)

// errEvent: an event names no operation.
var errEvent = errors.New("index: the event names no operation")

// entry merges the event into the known state. same: the event has nothing new for a time whose state the service
// itself reported.
func (e Event) entry(known Record, has bool) (out Entry, same bool, err error) {
	if e.OPID == "" {
		return out, false, errEvent
	}
	raw := map[string]json.RawMessage{}
	if has && len(known.Op.Raw) > 0 {
		if err := json.Unmarshal(known.Op.Raw, &raw); err != nil {
			return out, false, fmt.Errorf("index: the stored operation cannot be read: %w", err)
		}
	}
	if has && e.Updated.Equal(known.Op.UpdatedAt.Time) && known.Origin != Hook && e.agrees(known.Op) {
		return out, true, nil
	}
	before := maps.Clone(raw)
	for name, v := range e.fields(known.Op, has) {
		b, err := json.Marshal(v)
		if err != nil {
			return out, false, fmt.Errorf("index: %w", err)
		}
		raw[name] = b
	}
	body, err := json.Marshal(raw)
	if err != nil {
		return out, false, fmt.Errorf("index: %w", err)
	}
	out = Entry{Origin: Hook, Seen: e.Seen, Owed: !has || !e.words() || known.Owed}
	if err := json.Unmarshal(body, &out.Op); err != nil {
		return out, false, fmt.Errorf("index: the event cannot be kept: %w", err)
	}
	return out, has && maps.EqualFunc(before, raw, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) }), nil
}

// words reports whether the meanings of all codes are known.
func (e Event) words() bool { return e.Status != "" && e.Type != "" && e.PaymentType != "" }

// agrees reports whether the operation already has the event's values.
func (e Event) agrees(o api.Operation) bool {
	word := func(w string, have untrusted.Text) bool { return w == "" || w == string(have) }
	sum := func(m *api.Money, have api.Amount) bool { return m == nil || sameMoney(*m, have.Sum) }
	return word(e.Status, o.Status) && word(e.Type, o.Type) && word(e.PaymentType, o.PaymentType) &&
		(e.Visible == nil || *e.Visible == o.IsVisible) && sum(e.Source, o.SourceAmount) &&
		sum(e.Destination, o.DestinationAmount) &&
		sum(e.Commission, o.CommissionAmount)
}

func sameMoney(a, b api.Money) bool {
	x, err1 := a.Decimal()
	y, err2 := b.Decimal()
	if err1 != nil || err2 != nil {
		return a == b
	}
	return a.CurrencyCode == b.CurrencyCode && x.Cmp(y) == 0
}

// fields returns the record's fields that the event reports, by their REST names.
func (e Event) fields(known api.Operation, has bool) map[string]any {
	f := map[string]any{"opid": e.OPID}
	put := func(on bool, name string, v any) {
		if on {
			f[name] = v
		}
	}
	put(e.Status != "", "status", e.Status)
	put(e.Type != "", "type", e.Type)
	put(e.PaymentType != "", "paymentType", e.PaymentType)
	put(!e.Updated.IsZero() && !e.Updated.Equal(known.UpdatedAt.Time), "updatedAt",
		e.Updated.UTC().Format(time.RFC3339Nano))
	put(!e.Created.IsZero() && !has, "createdAt", e.Created.UTC().Format(time.RFC3339Nano))
	put(e.Visible != nil, "isVisible", e.Visible)
	put(!has && e.CUID != "", "customer", customerID(untrusted.Text(e.CUID)))
	put(!has && e.From != api.Party{}, "source", sideIDs(e.From))
	put(!has && e.To != api.Party{}, "destination", sideIDs(e.To))
	amount := func(name string, m *api.Money, have api.Amount) {
		if m == nil {
			return
		}
		if _, err := m.Decimal(); !has || err == nil && !sameMoney(*m, have.Sum) { // what a read told stays
			f[name] = map[string]any{"sum": *m}
		}
	}
	amount("sourceAmount", e.Source, known.SourceAmount)
	amount("destinationAmount", e.Destination, known.DestinationAmount)
	amount("commissionAmount", e.Commission, known.CommissionAmount)
	amount("currentBalanceAmount", e.Balance, known.CurrentBalanceAmount)
	return f
}

// ids are the identifiers of a customer or a side, as in a record that only webhooks told.
type ids map[string]map[string]untrusted.Text

func customerID(cuid untrusted.Text) map[string]untrusted.Text {
	return map[string]untrusted.Text{"cuid": cuid}
}

func sideIDs(p api.Party) ids {
	out := ids{}
	if p.Account != nil {
		out["account"] = map[string]untrusted.Text{"id": p.Account.ID}
	}
	if p.CounterpartyAccount != nil {
		out["counterpartyAccount"] = map[string]untrusted.Text{"id": p.CounterpartyAccount.ID}
	}
	return out
}

// named returns o with the names that are known of its identifiers in its record, if a webhook told that.
func named(o api.Operation) api.Operation {
	raw := map[string]json.RawMessage{}
	if json.Unmarshal(o.Raw, &raw) != nil {
		return o
	}
	for _, m := range []struct {
		member   string
		name     untrusted.Text
		ids, all any
	}{{"customer", o.Customer.Name, customerID(o.Customer.CUID), o.Customer},
		{"source", o.Source.Name(), sideIDs(o.Source), o.Source},
		{"destination", o.Destination.Name(), sideIDs(o.Destination), o.Destination}} {
		ids, err := json.Marshal(m.ids)
		if err != nil || m.name == "" || !bytes.Equal(raw[m.member], ids) {
			continue
		}
		if all, err := json.Marshal(m.all); err == nil {
			raw[m.member] = all
		}
	}
	if body, err := json.Marshal(raw); err == nil {
		o.Raw = body
	}
	return o
}

// Change is one field that differs between two states.
type Change struct {
	Path          string // "status", "sourceAmount.sum", "documents[GUID]"
	Before, After untrusted.Text
	Money         bool // Before and After are "EUR 12.5", exact
}

// Diff lists the differences between two states in path order. Money is compared as numbers: 5 equals 5.00. Documents
// are matched by guid, other lists by position. A missing field is "".
func Diff(a, b api.Operation) []Change {
	x, y := leavesOf(a), leavesOf(b)
	var out []Change
	for path, was := range x {
		if is := y[path]; is.text != was.text {
			out = append(out, Change{path, untrusted.Text(was.text), untrusted.Text(is.text), was.money || is.money})
		}
	}
	for path, is := range y {
		if _, both := x[path]; !both && is.text != "" {
			out = append(out, Change{path, "", untrusted.Text(is.text), is.money})
		}
	}
	slices.SortFunc(out, func(a, b Change) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

type leaf struct {
	text  string
	money bool
}

// leavesOf returns the values of an operation by path; none for one that cannot be encoded.
func leavesOf(o api.Operation) map[string]leaf {
	out := map[string]leaf{}
	b, err := json.Marshal(o)
	if err != nil {
		return out
	}
	if v, err := jsontree.Parse(b); err == nil {
		flatten("", v, out)
	}
	return out
}

func flatten(path string, v jsontree.Value, out map[string]leaf) {
	switch v.Kind() {
	case jsontree.Object:
		if m, ok := asMoney(v); ok {
			out[path] = leaf{m, true}
			return
		}
		for name, m := range v.Members() {
			flatten(join(path, name), m, out)
		}
	case jsontree.Array:
		i := 0
		for _, it := range v.Members() {
			guid, _ := it.Get("guid")
			flatten(path+"["+cmp.Or(guid.Text(), strconv.Itoa(i))+"]", it, out)
			i++
		}
	case jsontree.String:
		out[path] = leaf{text: v.Text()}
	default:
		if !v.Null() {
			out[path] = leaf{text: string(v.Raw())}
		}
	}
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// asMoney reads an object that has units or nanos as an exact amount.
func asMoney(v jsontree.Value) (string, bool) {
	is := false
	for name := range v.Members() {
		is = is || name == "units" || name == "nanos"
	}
	var m api.Money
	if !is || json.Unmarshal(v.Raw(), &m) != nil {
		return "", false
	}
	d, err := m.Decimal()
	if err != nil {
		return m.Raw(), true
	}
	return string(m.CurrencyCode) + " " + d.Text('f'), true
}
