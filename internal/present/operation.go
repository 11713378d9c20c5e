package present

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// The sections of an operation with their fields. A field in none of them is a fact of the operation itself.
var (
	operationState   = []string{"status", "type", "payment", "currency", "documents"} // in the header of the screen
	operationOwn     = []string{"id", "reference", "comment", "created", "updated", "parent", "visible"}
	operationWho     = []string{"customer", "cuid"}
	operationSides   = []string{"source", "destination"}
	operationAmounts = []string{"amount", "received", "commission", "balance"}
)

// Operation is a whole operation: its facts, its state, its documents, and the members without a Go field. phase is
// the meaning of its status.
func Operation(o Options, op api.Operation, phase api.Phase) []Section {
	state := Section{Title: "Status", Facts: Fields(o, field.Operations, op, operationState[1:]...)}
	look := StatusOf(op.Status)
	state.Facts = append([]Fact{{Label: "status", Value: o.sign(look.Sign) + op.Status.Line(40) + " (" +
		phase.Word() + ")", Tone: look.Tone}}, state.Facts...)
	out := slices.Insert(OperationFacts(o, op), 1, state)
	documents := Section{Title: "Documents"}
	for _, d := range op.Documents {
		documents.Facts = append(documents.Facts, Fact{Label: "document", Copy: string(d.GUID),
			Value: strings.TrimSpace(d.GUID.Line(64) + " " + d.FileName.Line(80) + " " + LockWord(d.Lock))})
	}
	unknown := unreadValues(o, field.Operations, out, op.Unknown())
	more, _ := o.More(unknown, len(unknown))
	return append(out, documents, Section{Title: "Other fields", Facts: more})
}

// OperationFacts lists the facts of an operation: its own, its amounts, its customer, and its two sides.
func OperationFacts(o Options, op api.Operation) []Section {
	own := Section{Title: "Operation"}
	more := rest(field.Operations, operationState, operationOwn, operationWho, operationSides, operationAmounts)
	for _, name := range slices.Concat(operationOwn, more) {
		own.Facts = append(own.Facts, ownFacts(o, op, field.Operations.Get(name))...)
	}
	who := Section{Title: "Customer"}
	for _, name := range operationWho {
		f := field.Operations.Get(name)
		facts := FactsOf(o, f, op)
		facts[0].Opens, facts[0].Stop = Ref{RefCustomer, string(op.Customer.CUID)}, f.Kind == field.ID
		who.Facts = append(who.Facts, facts...)
	}
	amounts := Section{Title: "Amounts", Aligned: true}
	for _, name := range operationAmounts {
		amounts.Facts = append(amounts.Facts, FactsOf(o, field.Operations.Get(name), op)...)
	}
	amounts.Facts = append(amounts.Facts, rate(op)...)
	return []Section{own, amounts, who, side(o, "source", op.Source, op.Customer),
		side(o, "destination", op.Destination, op.Customer)}
}

// ownFacts are the facts of a field of the operation itself. Two flags are explained, and left out where they say what
// is usual: no children, and visible to the customer.
func ownFacts(o Options, op api.Operation, f field.Field[api.Operation]) []Fact {
	out := FactsOf(o, f, op)
	switch {
	case f.Name == "parent" && op.IsParent:
		out[0].Value, out[0].Opens = "yes, it has child operations", Ref{RefChildren, string(op.OPID)}
	case f.Name == "visible" && f.IsReported(op) && !op.IsVisible:
		out[0].Value = "no, hidden from the customer"
	case (f.Name == "parent" || f.Name == "visible") && f.IsReported(op):
		return nil
	}
	return out
}

// side is one side of the operation: its account, and the owner unless that is the operation's customer of.
func side(o Options, name string, p api.Party, of api.CustomerRef) Section {
	out := Section{Title: strings.ToUpper(name[:1]) + name[1:], Side: true}
	if a := p.Account; a != nil {
		account, customer := Ref{RefAccount, string(a.ID)}, Ref{RefCustomer, string(a.Customer.CUID)}
		opens := map[string]Ref{"": account, "customer": customer}
		if a.Customer.CUID == of.CUID && a.Customer.Name == of.Name {
			opens["customer"] = Ref{}
		}
		out.Facts = append(out.Facts, sideFacts(o, field.PartyAccounts, *a, name, opens)...)
	}
	if a := p.CounterpartyAccount; a != nil {
		counterparty := Ref{RefCounterparty, string(a.Counterparty.SUID)}
		out.Facts = append(out.Facts, sideFacts(o, field.CounterpartyAccounts, *a, name, map[string]Ref{"": counterparty})...)
	}
	if len(out.Facts) == 0 {
		out.Facts = []Fact{{Name: name, Label: "–", Value: "not reported by the service", Tone: Dim, Note: true}}
	}
	return out
}

// sideFacts are the fields of an account that is a side of the operation. opens maps the name of an object within the
// account, in the service's record, to the record that its fields open, or to none if they are not facts; "" is for all
// others.
func sideFacts[T any](o Options, c *field.Catalogue[T], account T, side string, opens map[string]Ref) []Fact {
	var out []Fact
	for _, f := range c.All() {
		object, _, _ := strings.Cut(f.JSON, ".")
		to, ok := opens[object]
		switch {
		case !ok:
			to = opens[""]
		case to == Ref{}:
			continue
		}
		value := shown(o, f, account)
		facts := Text(f.Name, value, "?")
		facts[0].Name, facts[0].Opens = side+" "+f.Name, to
		facts[0].Stop = f.Kind == field.ID && string(value) == to.ID
		out = append(out, facts...)
	}
	return out
}

// rate is the exchange rate from the source currency; none if both are the same.
func rate(op api.Operation) []Fact {
	src, dst := op.SourceAmount.Sum, op.DestinationAmount.Sum
	r, exact, ok := api.Rate(src, dst)
	if !ok || src.CurrencyCode == dst.CurrencyCode {
		return nil
	}
	is := " ≈ "
	if exact {
		is = " = "
	}
	value := "1 " + src.CurrencyCode.Line(12) + is + r.Text('f') + " " + dst.CurrencyCode.Line(12)
	return []Fact{{Label: "rate", Value: value, Copy: value}}
}

// Attached summarises an operation's documents in a line.
func Attached(op api.Operation) string {
	n, locks := len(op.Documents), field.LocksOf(op)
	out := "no document"
	switch {
	case !op.DocumentsReported():
		out = "documents not reported"
	case n > 0:
		out = format.Plural(n, "document", "documents")
	}
	if locks.Locked > 0 {
		out += ", " + format.Count(locks.Locked) + " locked"
	}
	if locks.Unknown > 0 {
		out += ", lock of " + format.Count(locks.Unknown) + " not known"
	}
	return out
}

// Span is a part of a line.
type Span struct {
	Text string
	Tone Tone
}

// Payee returns the name of the counterparty that is paid, with its masked or whole account number; "" if the
// destination is not a counterparty's account.
func Payee(o Options, op api.Operation) string {
	a := op.Destination.CounterpartyAccount
	if a == nil {
		return ""
	}
	return strings.TrimSpace(op.Destination.Name().Line(60) + " " + mask.NumberIf(a.Number, o.Masked).Line(40))
}

// Headline summarises an operation: its state, and what it pays. phase is the meaning of its status.
func Headline(o Options, op api.Operation, phase api.Phase) (state, pays []Span) {
	look, payment := StatusOf(op.Status), ""
	if op.PaymentType != "" && op.PaymentType != api.NoPaymentType {
		payment = " " + op.PaymentType.Line(30)
	}
	state = []Span{{o.sign(look.Sign) + op.Status.Line(30), look.Tone}, {" (" + phase.Word() + ")", Dim}}
	pays = []Span{{op.Type.Line(30), Strong}, {payment + "  ", Plain}, {format.Money(op.SourceAmount.Sum), Strong}}
	if op.SourceAmount.Sum.CurrencyCode != op.DestinationAmount.Sum.CurrencyCode {
		pays = append(pays, Span{" → ", Dim}, Span{format.Money(op.DestinationAmount.Sum), Strong})
	}
	return state, pays
}

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

// created is when a file was made; shown is that time, if it is known.
func (o Options) created(t api.Time, shown string) Fact {
	if t.IsZero() {
		return o.Moment("created", t)
	}
	return Fact{Label: "created", Value: shown}
}

// File lists the facts of a customer's file; its id is first.
func File(o Options, cuid string, f api.CustomerFile) []Fact {
	out := append(held(o, field.Files, f, "id", "name", "type", "media", "size", "created"),
		lockFact(f.Lock(), "it cannot be deleted"))
	return append(append(out, held(o, field.Files, f, "state", "description")...),
		Fact{Label: "customer id", Value: safe(cuid, 64), Copy: cuid})
}

// Document lists all facts of an operation's document.
func Document(o Options, d api.Document) []Fact {
	return held(o, field.Documents, d, "name", "id", "type", "media", "size", "created", "locked", "description")
}

// LockWord is the word for a document's lock in a line, "" if it is not locked.
func LockWord(l api.Lock) string {
	switch {
	case l.Is():
		return "locked"
	case l == api.LockUnknown:
		return "lock not known"
	}
	return ""
}

// Differences lists the differences between two states of an operation, the most important first.
func Differences(a, b api.Operation) []index.Change { return Important(index.Diff(a, b)) }

// entry reports whether a change is part of a list entry that was added, removed or changed in several fields, and
// describes it once: "documents[g-1]", "removed".
func entry(all []index.Change, c index.Change) (item, word string) {
	i := strings.IndexByte(c.Path, ']')
	if i < 0 {
		return "", ""
	}
	item = c.Path[:i+1]
	n, came, went := 0, true, true
	for _, o := range all {
		if strings.HasPrefix(o.Path, item) {
			n++
			came, went = came && o.Before == "", went && o.After == ""
		}
	}
	switch {
	case came:
		return item, "added"
	case went:
		return item, "removed"
	case n > 1:
		return item, "changed"
	}
	return "", ""
}

// timeOfChange is the path of the time of the last change.
const timeOfChange = "updatedAt"

// Important sorts changes by importance: status, money, the rest, and last the time of the change.
func Important(list []index.Change) []index.Change {
	var first, money, rest, last []index.Change
	for _, c := range list {
		switch {
		case c.Path == "status":
			first = append(first, c)
		case c.Money:
			money = append(money, c)
		case c.Path == timeOfChange:
			last = append(last, c)
		default:
			rest = append(rest, c)
		}
	}
	return append(append(append(first, money...), rest...), last...)
}

// FieldName is the catalogue's name of a change's field; other names come from outside.
func FieldName(c index.Change) string { return untrusted.Text(field.PathLabel(c.Path)).Line(120) }

// Value is a value of a change in at most max runes, exact for money; account numbers are masked if masking is on. A
// missing one is a dash.
func Value(o Options, c index.Change, v untrusted.Text, max int) string {
	switch {
	case v == "":
		return "–"
	case c.Money:
		return amount(string(v))
	case o.Zone != nil && field.IsTime(c.Path):
		if at, err := time.Parse(time.RFC3339Nano, string(v)); err == nil {
			return format.Time(at, o.Zone)
		}
	}
	return Held(o, c, v).Line(max)
}

// Held is the value of a field, masked if masking is on.
func Held(o Options, c index.Change, v untrusted.Text) untrusted.Text {
	return mask.Detail(api.Detail{Path: c.Path, Value: v}, o.Masked)
}

// amount reformats "EUR 12.5" as the console shows money; anything else is unchanged.
func amount(s string) string {
	code, number, ok := strings.Cut(s, " ")
	if !ok || number == "" || strings.Trim(number, "-.0123456789") != "" {
		return untrusted.Text(s).Line(200)
	}
	d, _, err := apd.NewFromString(number)
	if err != nil {
		return untrusted.Text(s).Line(200)
	}
	digits, _ := format.Digits(code)
	return format.Number(d, digits) + " " + untrusted.Text(code).Line(12)
}
