package present

import (
	"slices"
	"strings"

	"opdeck/api"
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
		facts := Text(f.Name, value, "–")
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
