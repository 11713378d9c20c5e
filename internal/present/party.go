package present

import (
	"cmp"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// maxMore bounds the listed members without a Go field.
const maxMore = 200

// The fields of accounts, counterparties and rules by section; a field in none of them follows the first section.
var (
	accountOwn      = []string{"status", "name", "number", "id", "currency", "default", "associate", "created", "updated"}
	accountMoney    = []string{"balance", "hold"}
	accountWho      = []string{"customer", "cuid"}
	counterpartyOwn = []string{"name", "description", "id", "created", "updated"}
	counterpartyOf  = []string{"status", "accounts", "customer", "cuid"} // in sections of their own
	tariffOwn       = []string{"from", "to", "type", "payment", "percent", "fixed", "cuid", "id"}
	tariffOthers    = []string{"others"} // one by one, below
)

// held are the fields that the record has: empty texts are omitted.
func held[T any](o Options, c *field.Catalogue[T], r T, names ...string) []Fact {
	return Fields(o, c, r, slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		f := c.Get(name)
		return f.Text != nil && !f.Status && f.Text(r) == ""
	})...)
}

// under prefixes the names of facts, to distinguish them within the record: "customer name".
func under(of string, facts []Fact) []Fact {
	for i := range facts {
		facts[i].Name = of + " " + facts[i].Label
	}
	return facts
}

// others is the section of members without a Go field; no section if there are none.
func others[T any](o Options, c *field.Catalogue[T], record []Section, unknown []api.Field) []Section {
	facts, left := o.More(unreadValues(o, c, record, unknown), maxMore)
	if left > 0 {
		facts = append(facts, Fact{Label: "…", Value: format.Count(left) + " more, in the record as JSON", Tone: Warn,
			Long: true, Note: true})
	}
	if len(facts) == 0 {
		return nil
	}
	return []Section{{Title: "Other fields from the service", Facts: facts}}
}

// unreadValues puts each value that its field could not read beside that field, and returns the other unknown members.
func unreadValues[T any](o Options, c *field.Catalogue[T], record []Section, unknown []api.Field) []api.Field {
	return slices.DeleteFunc(slices.Clone(unknown), func(u api.Field) bool {
		at := slices.IndexFunc(c.All(), func(f field.Field[T]) bool { return f.JSON == u.Path })
		for i := range record {
			if u.Odd && at >= 0 && record[i].unread(o, c.All()[at].Name, u) {
				return true
			}
		}
		return false
	})
}

// unread replaces the fact of a name and the note below it by the value that could not be read; false if it has none.
func (s *Section) unread(o Options, name string, u api.Field) bool {
	at := slices.IndexFunc(s.Facts, func(f Fact) bool { return f.Key() == name })
	if at < 0 {
		return false
	}
	value, end := mask.Detail(api.Details([]api.Field{u})[0], o.Masked), at+1
	if end < len(s.Facts) && s.Facts[end].Note {
		end++
	}
	s.Facts = slices.Replace(s.Facts, at, end, Fact{Name: name, Label: s.Facts[at].Label, Tone: Warn, Long: true,
		Value: "? (cannot be read: " + value.Line(300) + ")", Copy: string(value)})
	return true
}

// Account is a whole account: its own facts, its money, its requisites, and its customer.
func Account(o Options, a api.Account) []Section {
	own := held(o, field.Accounts, a, slices.Concat(accountOwn, rest(field.Accounts, accountOwn, accountMoney,
		accountWho))...)
	out := []Section{{Title: "Account", Facts: own}, {Title: "Money", Facts: Fields(o, field.Accounts, a,
		accountMoney...)}}
	for _, usd := range []struct {
		label string
		of    *api.Money
	}{{"balance in USD", a.Balance.Default}, {"hold in USD", a.Hold.Default}} {
		if usd.of != nil {
			out[1].Facts = append(out[1].Facts, o.Money(usd.label, *usd.of)...)
		}
	}
	for _, set := range a.Requisites {
		s := Section{Title: "Requisites: " + set.Title.Line(60)}
		for _, it := range set.Items {
			s.Facts = append(s.Facts, Fact{Label: cmp.Or(it.Key, "value").Line(40), Value: it.Number.Line(500), Long: true,
				Copy: string(it.Number)})
		}
		s.Facts = under(strings.TrimSpace("requisites "+set.Title.Line(40)), s.Facts)
		out = append(out, s)
	}
	who := append([]Fact{o.Status("status", a.Customer.Status)}, Texts("name", string(a.Customer.Name), "cuid",
		string(a.Customer.ID))...)
	who = under("customer", append(who, o.Details(a.Customer.Details())...))
	out = append(out, Section{Title: "Customer", Facts: who})
	return append(out, others(o, field.Accounts, out, a.Unknown())...)
}

// Counterparty is a whole counterparty: its accounts, its own facts, and the customer who pays it.
func Counterparty(o Options, p api.Counterparty) []Section {
	var out []Section
	for _, a := range p.Accounts {
		facts := append([]Fact{o.Status("status", a.Status)}, Texts("name", string(a.Name), "number", string(a.Number),
			"currency", string(a.CurrencyCode), "type", string(a.Type), "bank", string(a.Bank.Name),
			"bank number", string(a.Bank.Number), "routing number", string(a.Bank.RoutingNumber))...)
		if a.UpdatedAt.Raw != "" {
			facts = append(facts, o.Moment("updated", a.UpdatedAt))
		}
		out = append(out, Section{Title: "Account " + a.ID.Line(40), Facts: under("account "+a.ID.Line(40), facts)})
	}
	own := held(o, field.Counterparties, p, slices.Concat(counterpartyOwn, rest(field.Counterparties, counterpartyOwn,
		counterpartyOf))...)
	if p.Accounts == nil {
		own = append(own, Fields(o, field.Counterparties, p, "accounts")...)
	}
	own = append(own, o.Details(p.Profile.Details())...)
	who := under("customer", Texts("name", string(p.Customer.Name), "cuid", string(p.Customer.CUID)))
	out = append(out, Section{Title: "Counterparty", Facts: own}, Section{Title: "Customer", Facts: who})
	return append(out, others(o, field.Counterparties, out, p.Unknown())...)
}

// PaymentLimit is a whole payment limit.
func PaymentLimit(o Options, t api.Tariff) []Section { return tariff(o, "Payment limit", t) }

// Commission is a whole commission.
func Commission(o Options, t api.Tariff) []Section { return tariff(o, "Commission", t) }

func tariff(o Options, title string, t api.Tariff) []Section {
	own := held(o, field.Tariffs, t, slices.Concat(tariffOwn, rest(field.Tariffs, tariffOwn, tariffOthers))...)
	out := []Section{{Title: title, Facts: own}}
	return append(out, others(o, field.Tariffs, out, t.Unknown())...)
}

// Customer is a whole customer record.
func Customer(o Options, c api.Customer) []Section {
	facts := append([]Fact{{Label: "name", Value: c.DisplayName().Line(200), Long: true, Copy: string(c.DisplayName())}},
		PersonOf(c)...)
	facts = append(facts, Fact{Label: "type", Value: c.Type.Line(40), Copy: string(c.Type)}, o.Status("status", c.Status))
	return []Section{{Facts: append(facts, o.Details(c.Details())...)}}
}

// PersonOf returns the name in the record if DisplayName is the company's and the two differ; else nothing.
func PersonOf(c api.Customer) []Fact {
	if c.Person() == c.DisplayName() {
		return nil
	}
	return Text("name in record", c.Person(), "")
}

// File lists the facts of a customer's file; its id is first.
func File(o Options, cuid string, f api.CustomerFile) []Fact {
	out := []Fact{{Label: "file id", Value: f.ID.Line(64), Copy: string(f.ID)},
		{Label: "file", Value: cmp.Or(f.Title().Line(200), f.ID.Line(36)), Long: true, Copy: string(f.Title())}}
	out = append(out, Texts("type", string(f.Type), "media type", string(f.MIME))...)
	out = append(out, Fact{Label: "size", Value: format.Size(f.Size)}, Fact{Label: "created",
		Value: format.Time(f.Made().Time, o.Zone)}, lockFact(f.Lock(), "it cannot be deleted"))
	return append(append(out, Texts("state", string(f.Status), "description", string(f.Info))...),
		Fact{Label: "customer id", Value: safe(cuid, 64), Copy: cuid})
}
