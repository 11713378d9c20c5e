package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"opdeck/api/untrusted"
)

// Tariff is a rule for payments from one currency to another: a limit or a commission. The service's pages document
// its query and its setting, but no full answer: Others lists the members without a Go field.
type Tariff struct {
	ID            untrusted.Text `json:"id"`
	CUID          untrusted.Text `json:"customerId" also:"customerCuid cuid"` // "": of the system, or not reported
	From          untrusted.Text `json:"currencyIsoFrom"`
	To            untrusted.Text `json:"currencyIsoTo"`
	OperationType untrusted.Text `json:"operationType"`
	PaymentType   untrusted.Text `json:"paymentType"` // EMPTY: every payment network of the currency
	Percent       Number         `json:"percent"`     // of commissions: charged in addition to Fixed
	Fixed         Number         `json:"fixed"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON reads the named fields and keeps the whole record in Raw.
func (t *Tariff) UnmarshalJSON(b []byte) error {
	return keepRecord(b, t, &t.Raw)
}

// MarshalJSON writes the record exactly as it was received.
func (t Tariff) MarshalJSON() ([]byte, error) { return t.Raw.MarshalJSON() }

// Unknown lists the fields of the record without a Go field.
func (t Tariff) Unknown() []Field { return Unknown(t.Raw, t) }

// Members returns the names, unchanged, of all members without a Go field; the last moments of them hold a time in
// each record.
func Members(all []Tariff) (labels []string, moments int) {
	moment := map[string]bool{} // by label
	for _, t := range all {
		for _, d := range Details(t.Unknown()) {
			if was, seen := moment[d.Label]; !seen || was {
				moment[d.Label] = strings.Contains(string(d.Value), "-") && !timeOf(Number(d.Value)).IsZero()
			}
		}
	}
	var last []string
	for _, label := range slices.Sorted(maps.Keys(moment)) {
		if moment[label] {
			last = append(last, label)
		} else {
			labels = append(labels, label)
		}
	}
	return append(labels, last...), len(last)
}

// Member returns the value of one of Members.
func (t Tariff) Member(label string) Detail {
	for _, d := range Details(t.Unknown()) {
		if d.Label == label {
			d.At = timeOf(Number(d.Value))
			return d
		}
	}
	return Detail{Label: label}
}

// Others lists the members without a Go field, as "name value", separated by commas.
func (t Tariff) Others() untrusted.Text {
	var out []string
	for _, d := range Details(t.Unknown()) {
		out = append(out, d.Label+" "+d.Value.Line(200))
	}
	return untrusted.Text(strings.Join(out, ", "))
}

// Key identifies the rule: its id, else a digest of the record.
func (t Tariff) Key() string { return cmp.Or(string(t.ID), HashHex(t.Raw)[:12]) }

func (t Tariff) key() string { return t.Key() }

// TariffQuery holds the service's own filters of limits and commissions; the zero value lists all.
type TariffQuery struct {
	From, To string // currency codes
	CUID     string // the customer that they apply to
	Page     int    // from 0
	Size     int    // 0: the configured page size
	Next     string // After.Next of the previous page; "": page by number
}
