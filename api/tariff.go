package api

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"opdeck/api/untrusted"
)

// Tariff is a rule for payments from one currency into another: a limit, or a
// commission. The service's pages show what it is asked by and set with, and no
// answer in full: Others are the members that came beside the named ones.
type Tariff struct {
	ID            untrusted.Text `json:"id"`
	CUID          untrusted.Text `json:"customerId" also:"customerCuid cuid"` // "": of the system, or not given
	From          untrusted.Text `json:"currencyIsoFrom"`
	To            untrusted.Text `json:"currencyIsoTo"`
	OperationType untrusted.Text `json:"operationType"`
	PaymentType   untrusted.Text `json:"paymentType"` // EMPTY: every payment network of the currency
	Percent       Number         `json:"percent"`     // of commissions: both this and Fixed are charged
	Fixed         Number         `json:"fixed"`

	Raw json.RawMessage `json:"-"`
}

// UnmarshalJSON keeps the record as it came beside the named fields.
func (t *Tariff) UnmarshalJSON(b []byte) error {
	return keepRecord(b, t, &t.Raw)
}

// MarshalJSON writes the record as it came.
func (t Tariff) MarshalJSON() ([]byte, error) { return t.Raw.MarshalJSON() }

// Unknown lists the fields of the record that this program has no name for.
func (t Tariff) Unknown() []Field { return Unknown(t.Raw, t) }

// Members are the names of all members without a name here, as they were sent; the last
// ones, so many as moments, hold a moment in each record.
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

// Member is what the record holds under one of Members.
func (t Tariff) Member(label string) Detail {
	for _, d := range Details(t.Unknown()) {
		if d.Label == label {
			d.At = timeOf(Number(d.Value))
			return d
		}
	}
	return Detail{Label: label}
}

// Others are the members without a name here, as "name value", parted by commas.
func (t Tariff) Others() untrusted.Text {
	var out []string
	for _, d := range Details(t.Unknown()) {
		out = append(out, d.Label+" "+d.Value.Line(200))
	}
	return untrusted.Text(strings.Join(out, ", "))
}

// Key tells rules apart: the id, else a digest of the record.
func (t Tariff) Key() string { return cmp.Or(string(t.ID), HashHex(t.Raw)[:12]) }

func (t Tariff) key() string { return t.Key() }

// TariffQuery are the service's own filters of limits and commissions; an empty one
// lists everything.
type TariffQuery struct {
	From, To string // currency codes
	CUID     string // the customer that they hold for
	Page     int    // from 0
	Size     int    // 0: the configured page size
}
