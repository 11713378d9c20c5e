package filter

import (
	"slices"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/mask"
)

// OperationExpr is a filter over operations.
type OperationExpr = Expr[api.Operation]

// Parse reads a filter over operations; see Table.Parse.
func Parse(input string) (OperationExpr, error) { return Operations().Parse(input) }

var operations = NewTable(operationFields()...)

// Operations is the language of the operations list. The table is shared and
// not to be changed.
func Operations() *Table[api.Operation] { return operations }

func operationFields() []Field[api.Operation] {
	type op = api.Operation
	code := func(f func(op) string) func(op) []string { return func(o op) []string { return present(f(o)) } }
	return []Field[op]{
		{Name: "id", Aliases: []string{"opid"}, Kind: Ident, Help: "the operation's identifier, or its beginning", Example: "id:5b55db86",
			Strings: code(func(o op) string { return string(o.OPID) })},
		{Name: "status", Kind: Code, Help: "the service's status word", Example: "status:PENDING", Strings: code(func(o op) string { return string(o.Status) })},
		{Name: "phase", Kind: Flag, Help: "what the status word means to the console", Example: "phase:open",
			Values: []string{"open", "completed", "failed", "canceled", "unknown"}, Flag: func(o op, v string) bool { return o.Phase().Word() == v }},
		{Name: "type", Kind: Code, Help: "the kind of operation", Example: "type:WITHDRAW", Strings: code(func(o op) string { return string(o.Type) })},
		{Name: "payment", Aliases: []string{"paymenttype", "rail"}, Kind: Code, Help: "the payment type", Example: "payment:SWIFT",
			Strings: code(func(o op) string { return string(o.PaymentType) })},
		{Name: "currency", Kind: Code, Help: "the currency that is paid", Example: "currency:EUR",
			Strings: code(func(o op) string { return string(o.SourceAmount.Sum.CurrencyCode) })},
		{Name: "tocurrency", Kind: Code, Help: "the currency that is received", Example: "tocurrency:USD",
			Strings: code(func(o op) string { return string(o.DestinationAmount.Sum.CurrencyCode) })},
		{Name: "amount", Kind: Money, Help: "the amount that is paid, exact", Example: "amount>=1000.50", Key: func(o op) string { return MoneyKey(o.SourceAmount.Sum) }},
		{Name: "received", Kind: Money, Help: "the amount that is received, exact", Example: "received:100..500", Key: func(o op) string { return MoneyKey(o.DestinationAmount.Sum) }},
		{Name: "fee", Aliases: []string{"commission"}, Kind: Money, Help: "the commission, exact", Example: "fee>0", Key: func(o op) string { return MoneyKey(o.CommissionAmount.Sum) }},
		{Name: "created", Kind: Time, Help: "when it was created", Example: "created>2026-01-01", Time: func(o op) time.Time { return o.CreatedAt.Time }},
		{Name: "updated", Kind: Time, Help: "when it last changed", Example: "updated<2h", Time: func(o op) time.Time { return o.UpdatedAt.Time }},
		{Name: "customer", Aliases: []string{"cuid"}, Kind: Text, Help: "the customer's name, or the whole identifier", Example: "customer:acme",
			Strings: func(o op) []string { return present(string(o.Customer.Name)) }, Masked: func(o op) []string { return present(mask.Text(string(o.Customer.Name))) }, IDs: func(o op) []string { return present(string(o.Customer.CUID)) }},
		{Name: "source", Aliases: []string{"from"}, Kind: Text, Help: "a name, number or bank of the side that pays", Example: "source:treasury",
			Strings: func(o op) []string { return PartyTexts(o.Source) }, Masked: func(o op) []string { return ShownTexts(o.Source) }, IDs: func(o op) []string { return PartyIDs(o.Source) }},
		{Name: "destination", Aliases: []string{"to"}, Kind: Text, Help: "a name, number or bank of the side that receives", Example: "to:meridian",
			Strings: func(o op) []string { return PartyTexts(o.Destination) }, Masked: func(o op) []string { return ShownTexts(o.Destination) }, IDs: func(o op) []string { return PartyIDs(o.Destination) }},
		{Name: "party", Kind: Text, Help: "either side", Example: `party:"oak & iron"`,
			Strings: func(o op) []string { return append(PartyTexts(o.Source), PartyTexts(o.Destination)...) },
			Masked:  func(o op) []string { return append(ShownTexts(o.Source), ShownTexts(o.Destination)...) },
			IDs:     func(o op) []string { return append(PartyIDs(o.Source), PartyIDs(o.Destination)...) }},
		{Name: "reference", Aliases: []string{"ref"}, Kind: Text, Help: "the reference", Example: "ref:INV-2026", Strings: code(func(o op) string { return string(o.Reference) }),
			Masked: func(o op) []string { return open(string(o.Reference)) }},
		{Name: "comment", Kind: Text, Help: "the comment", Example: "-comment:test", Strings: code(func(o op) string { return string(o.Comment) }),
			Masked: func(o op) []string { return open(string(o.Comment)) }},
		{Name: "doc", Aliases: []string{"document"}, Kind: Text, Help: "a document's file name, type, description or identifier", Example: "doc:invoice",
			Strings: func(o op) []string { return DocTexts(o.Documents) }, Masked: func(o op) []string { return open(DocTexts(o.Documents)...) }},
		{Name: "docs", Kind: Count, Help: "how many documents are attached", Example: "docs>=2", Count: func(o op) int64 { return int64(len(o.Documents)) }},
		{Name: "has", Aliases: []string{"is"}, Kind: Flag, Help: "a property that holds or not", Example: "has:locked",
			Values: Flags, Flag: HasFlag},
		{Kind: Free, Help: "contained in any text, or equal to any identifier", Example: `"free text"`, Strings: freeTexts, Masked: freeMasked,
			IDs: func(o op) []string { return append(present(string(o.Customer.CUID)), freeIDs(o)...) }},
	}
}

// Flags are the values of has.
var Flags = []string{"locked", "doc", "comment", "reference", "visible", "hidden", "parent", "badamount"}

// HasFlag tells whether one of Flags holds for the operation.
func HasFlag(o api.Operation, flag string) bool {
	switch flag {
	case "locked":
		for _, d := range o.Documents {
			if d.IsLock {
				return true
			}
		}
	case "doc":
		return len(o.Documents) > 0
	case "comment":
		return o.Comment != ""
	case "reference":
		return o.Reference != ""
	case "visible":
		return o.IsVisible
	case "hidden":
		return !o.IsVisible
	case "parent":
		return o.IsParent
	case "badamount":
		return MoneyKey(o.SourceAmount.Sum) == KeyBad
	}
	return false
}

func present(all ...string) []string {
	out := all[:0]
	for _, s := range all {
		if s != "" {
			out = append(out, s)
		}
	}
	return out
}

// PartyTexts are the searchable texts of one side: names, number, bank.
func PartyTexts(p api.Party) []string {
	var t []string
	if a := p.Account; a != nil {
		t = append(t, string(a.Name), string(a.Number), string(a.Customer.Name))
	}
	if a := p.CounterpartyAccount; a != nil {
		t = append(t, string(a.Name), string(a.Number), string(a.Counterparty.Name), string(a.Counterparty.BankName))
	}
	return present(t...)
}

// ShownTexts are PartyTexts as the mask leaves them.
func ShownTexts(p api.Party) []string { return PartyTexts(mask.Value(p)) }

// Hidden tells in which texts of an operation the mask hides something: none of
// them is searched for covered leaves.
type Hidden int64

// The texts, as bits.
const (
	HiddenReference Hidden = 1 << iota
	HiddenComment
	HiddenDocs
)

// HiddenIn finds them.
func HiddenIn(o api.Operation) Hidden {
	return HiddenTexts(string(o.Reference), string(o.Comment), DocTexts(o.Documents)...)
}

// HiddenTexts finds them in the texts, as they came or folded and joined.
func HiddenTexts(reference, comment string, docs ...string) Hidden {
	var h Hidden
	if mask.Hides(reference) {
		h |= HiddenReference
	}
	if mask.Hides(comment) {
		h |= HiddenComment
	}
	if slices.ContainsFunc(docs, mask.Hides) {
		h |= HiddenDocs
	}
	return h
}

// open is the texts that are there, when the mask hides nothing in any of them.
func open(texts ...string) []string {
	if slices.ContainsFunc(texts, mask.Hides) {
		return nil
	}
	return present(texts...)
}

// PartyIDs are the identifiers of one side.
func PartyIDs(p api.Party) []string {
	var t []string
	if a := p.Account; a != nil {
		t = append(t, string(a.ID), string(a.Customer.CUID))
	}
	if a := p.CounterpartyAccount; a != nil {
		t = append(t, string(a.ID), string(a.Counterparty.SUID))
	}
	return present(t...)
}

// DocTexts are the searchable texts of documents.
func DocTexts(docs []api.Document) []string {
	var t []string
	for _, d := range docs {
		t = append(t, string(d.FileName), string(d.DocType), string(d.Info), string(d.GUID))
	}
	return present(t...)
}

func freeTexts(o api.Operation) []string {
	t := append(present(string(o.Reference), string(o.Comment), string(o.Customer.Name)), DocTexts(o.Documents)...)
	return append(append(t, PartyTexts(o.Source)...), PartyTexts(o.Destination)...)
}

func freeMasked(o api.Operation) []string {
	t := append(open(string(o.Reference)), open(string(o.Comment))...)
	t = append(append(t, open(DocTexts(o.Documents)...)...), present(mask.Text(string(o.Customer.Name)))...)
	return append(append(t, ShownTexts(o.Source)...), ShownTexts(o.Destination)...)
}

func freeIDs(o api.Operation) []string {
	return append(append(present(string(o.OPID)), PartyIDs(o.Source)...), PartyIDs(o.Destination)...)
}
