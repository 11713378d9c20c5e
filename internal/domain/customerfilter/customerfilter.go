// Package customerfilter is the filter language for customers: the grammar of the operations list with the catalogue
// of a customer's fields and opdeck's records of their verification, for the list of customers and opdeck customer
// list.
package customerfilter

import (
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/journey"
	"opdeck/internal/field"
)

// Begun holds the unfinished verifications by customer id.
type Begun map[string]journey.Record

// BegunOf maps unfinished records by customer.
func BegunOf(list []journey.Record) Begun {
	out := Begun{}
	for _, r := range list {
		if r.Unfinished() {
			out[r.CUID] = r
		}
	}
	return out
}

// Waits reports whether the service has no result for a customer yet.
func Waits(c api.Customer) bool {
	standing := api.StandingOf(c.Status)
	return standing == api.StandingNew || standing == api.StandingUnderWay
}

// Table is the language; it calls begun for each match.
func Table(begun func() Begun) *filter.Table[api.Customer] {
	yesNo := []string{"yes", "no"}
	record := func(c api.Customer) (journey.Record, bool) {
		r, ok := begun()[string(c.CUID)]
		return r, ok
	}
	return filter.NewTable(append(filter.Catalogued(field.Customers),
		filter.Field[api.Customer]{Name: "begun", Kind: filter.Flag, Values: yesNo,
			Help: "its verification was started here and not finalized", Example: "begun:yes",
			Flag: func(c api.Customer, v string) bool { _, ok := record(c); return ok == (v == "yes") }},
		filter.Field[api.Customer]{Name: "since", Kind: filter.Time, Help: "when that verification was started",
			Example: "since>2d",
			Time:    func(c api.Customer) time.Time { r, _ := record(c); return r.Begun() }},
		filter.Field[api.Customer]{Name: "waits", Kind: filter.Flag, Values: yesNo, Help: "its status is not a result yet",
			Example: "waits:yes",
			Flag:    func(c api.Customer, v string) bool { return Waits(c) == (v == "yes") }},
		filter.Field[api.Customer]{Kind: filter.Free, Help: "contained in the name, or the identifier",
			Example: `"oak & iron"`,
			Strings: func(c api.Customer) []string {
				return []string{string(c.Company), string(c.Person()), string(c.CUID)}
			}})...)
}

// NameIn is the part of a name that the service can search: a word of the filter that every customer must contain; ""
// if there is none.
func NameIn(e filter.Expr[api.Customer]) string {
	for _, part := range e.Parts() {
		switch n := part.(type) {
		case filter.Word:
			if !strings.ContainsAny(n.Text, "0123456789_-") { // not an identifier
				return n.Text
			}
		case *filter.Leaf:
			if n.Op == filter.Has && len(n.Values) == 1 && (n.Field == "name" || n.Field == "") {
				return n.Values[0].Text
			}
		}
	}
	return ""
}
