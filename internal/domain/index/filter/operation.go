package filter

import (
	"slices"
	"time"

	"opdeck/api"
	"opdeck/api/redact"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
)

// OperationExpr is a filter over operations.
type OperationExpr = Expr[api.Operation]

// Parse reads a filter over operations; see Table.Parse.
func Parse(input string) (OperationExpr, error) { return Operations().Parse(input) }

var operations = NewTable(operationFields()...).Shown()

// Operations is the language of the operations list. The caller must not change it.
func Operations() *Table[api.Operation] { return operations }

// OfIDs matches operations by their exact ids; there may be any number.
func OfIDs(ids []string) OperationExpr { return operations.of(oneOf("id", slices.Clone(ids))) }

// Names of fields that exist only in filters.
const (
	FieldPhase      = "phase"
	FieldToCurrency = "tocurrency"
	FieldParty      = "party"
	FieldDoc        = "doc"
	FieldHas        = "has"
	FieldNote       = "note"
)

// The values of FieldHas that records beside the operations decide; see Expr.Beside.
const (
	Doubt   = "doubt"
	Waiting = "waiting"
)

// operationFields returns the catalogue's fields that a filter may name, and those that exist only in filters.
func operationFields() []Field[api.Operation] {
	type op = api.Operation
	return append(operationsCatalogued(),
		Field[op]{Name: FieldPhase, Kind: Flag, Help: "what the status word means to the console", Example: "phase:open",
			Values: []string{"open", "completed", "failed", "canceled", "unknown"},
			Flag:   func(o op, v string) bool { return o.Phase().Word() == v }},
		Field[op]{Name: FieldToCurrency, Kind: Code, Help: "the currency that is received", Example: "tocurrency:USD",
			Strings: func(o op) []string { return present(string(o.DestinationAmount.Sum.CurrencyCode)) },
			Needs:   needsAll(FieldToCurrency),
			Lacks:   func(o op, _ string) bool { return o.DestinationAmount.Sum.CurrencyCode == "" }},
		Field[op]{Name: FieldParty, Kind: Text, Help: "either side", Example: `party:"oak & iron"`,
			Strings: func(o op) []string { return append(PartyTexts(o.Source), PartyTexts(o.Destination)...) },
			Masked:  func(o op) []string { return append(MaskedPartyTexts(o.Source), MaskedPartyTexts(o.Destination)...) },
			IDs:     func(o op) []string { return append(PartyIDs(o.Source), PartyIDs(o.Destination)...) },
			Needs:   needsAll(field.OpSource, field.OpDestination), Lacks: lacks},
		Field[op]{Name: FieldDoc, Aliases: []string{"document"}, Kind: Text,
			Help: "a document's file name, type, description or identifier", Example: "doc:invoice",
			Strings: func(o op) []string { return DocTexts(o.Documents) },
			Masked:  func(o op) []string { return open(DocTexts(o.Documents)...) },
			Needs:   needsAll(field.OpDocuments), Lacks: lacks},
		Field[op]{Name: FieldHas, Aliases: []string{"is"}, Kind: Flag, Help: "a yes/no property",
			Example: "has:locked", Values: Flags, Flag: HasFlag,
			Needs: func(flag string) []string { return present(flagNeeds[flag]) }, Lacks: lacks},
		Field[op]{Name: FieldNote, Kind: Text, Help: "a colleague's note on the operation or its customer",
			Example: `note:"call back"`, Strings: func(op) []string { return nil }},
		Field[op]{Kind: Free, Help: "contained in any text, or equal to any identifier; without quotes also an amount, a " +
			"day, a status, " +
			"a type, a currency, the beginning of the id", Example: `1,682.00 eur "free text"`,
			Strings: freeTexts, Masked: freeMasked,
			IDs:   func(o op) []string { return append(present(string(o.Customer.CUID)), freeIDs(o)...) },
			Needs: needsAll(field.OpCustomer, field.OpSource, field.OpDestination), Lacks: unnamed})
}

// needsAll is a Needs that is the same for each value.
func needsAll(names ...string) func(string) []string { return func(string) []string { return names } }

func operationsCatalogued() []Field[api.Operation] {
	out := Catalogued(field.Operations)
	for i := range out {
		f := &out[i]
		switch { // the service gives each operation one; another text that an operation lacks is empty
		case f.Kind == Code, f.Name == field.OpCustomer, f.Name == field.OpSource, f.Name == field.OpDestination:
			f.Needs, f.Lacks = needsAll(f.Name), lacks
		}
		if f.Name == field.OpCustomer { // a name, partly masked, or the exact identifier
			f.Aliases = append([]string{"cuid"}, f.Aliases...)
			f.Masked = func(o api.Operation) []string { return present(redact.Text(string(o.Customer.Name))) }
			f.IDs = func(o api.Operation) []string { return present(string(o.Customer.CUID)) }
		}
	}
	return out
}

// Catalogued returns the fields of a catalogue that a filter may name.
func Catalogued[T any](c *field.Catalogue[T]) []Field[T] {
	var out []Field[T]
	for _, f := range c.All() {
		if f.Example != "" {
			out = append(out, catalogued(f))
		}
	}
	return out
}

func catalogued[T any](f field.Field[T]) Field[T] {
	out := Field[T]{Name: f.Name, Aliases: f.Aliases, Help: f.About, Example: f.Example}
	one := func(r T) []string { return present(string(f.Text(r))) }
	switch f.Kind {
	case field.Code:
		out.Kind, out.Strings = Code, one
	case field.ID:
		out.Kind, out.Strings = Ident, one
	case field.Text:
		out.Kind, out.Strings = Text, one
		out.Masked = func(r T) []string { return open(string(f.Text(r))) }
	case field.Money:
		out.Kind, out.Key = Money, func(r T) string { return MoneyKey(f.Money(r)) }
	case field.Time:
		out.Kind, out.Age, out.Time = Time, f.Column.Age, func(r T) time.Time { return f.Time(r).Time }
	case field.Count:
		out.Kind, out.Count = Count, func(r T) int64 {
			if f.Reported != nil && !f.Reported(r) {
				return NotReported
			}
			return int64(f.Count(r))
		}
	case field.Lock:
		known := func(r T) bool { return f.Lock(r) != api.LockUnknown }
		out.Kind, out.Values, out.Strings = Code, []string{"yes", "no"}, func(r T) []string {
			if !known(r) {
				return nil
			}
			return []string{f.LockWord(r)}
		}
		out.Needs, out.Lacks = needsAll(f.Name), func(r T, _ string) bool { return !known(r) }
	case field.Party:
		out.Kind, out.Strings = Text, func(r T) []string { return PartyTexts(f.Party(r)) }
		out.Masked = func(r T) []string { return MaskedPartyTexts(f.Party(r)) }
		out.IDs = func(r T) []string { return PartyIDs(f.Party(r)) }
	}
	return out
}

// Flags are the values of the field has.
var Flags = []string{"locked", "doc", "comment", "reference", "visible", "hidden", "parent", "badamount",
	Doubt, Waiting}

// HasFlag reports whether one of Flags holds for the operation.
func HasFlag(o api.Operation, flag string) bool {
	switch flag {
	case "locked":
		return field.LocksOf(o).Locked > 0
	case "doc":
		return len(o.Documents) > 0
	case "comment":
		return o.Comment != ""
	case "reference":
		return o.Reference != ""
	case "visible":
		return o.IsVisible
	case "hidden":
		return !o.IsVisible && field.Operations.Get(field.OpVisible).IsReported(o)
	case "parent":
		return o.IsParent
	case "badamount":
		return MoneyKey(o.SourceAmount.Sum) == KeyBad
	}
	return false
}

// FieldLock names in Needs what an answer must tell of the documents so that has:locked can be judged.
const FieldLock = "lock"

// flagNeeds are the fields that an answer must have so that a value of has can be judged.
var flagNeeds = map[string]string{"doc": field.OpDocuments, "locked": FieldLock, "visible": field.OpVisible,
	"hidden": field.OpVisible, "parent": field.OpParent}

// LacksLock reports whether the answer does not tell whether one of the documents is locked.
func LacksLock(o api.Operation) bool {
	n := field.LocksOf(o)
	return !o.DocumentsReported() || n.Locked == 0 && n.Unknown > 0
}

// lacks reports whether the answer had no value for a field of the catalogue, or for FieldLock.
func lacks(o api.Operation, name string) bool {
	if name == FieldLock {
		return LacksLock(o)
	}
	f := field.Operations.Get(name)
	return !f.IsReported(o) || f.Text != nil && f.Text(o) == ""
}

// unnamed reports whether the operation has an identifier in that field whose name nobody has told. Words without a
// field search what a row has: only then it may have more.
func unnamed(o api.Operation, name string) bool {
	switch name {
	case field.OpCustomer:
		return o.Customer.Name == "" && o.Customer.CUID != ""
	case field.OpSource:
		return o.Source.Name() == "" && len(PartyIDs(o.Source)) > 0
	case field.OpDestination:
		return o.Destination.Name() == "" && len(PartyIDs(o.Destination)) > 0
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

// PartyTexts returns the searchable texts of one side: names, number, bank.
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

// MaskedPartyTexts is PartyTexts after masking.
func MaskedPartyTexts(p api.Party) []string { return PartyTexts(mask.Value(p)) }

// MaskedText is a set of texts of an operation in which masking hides something. Masked leaves do not search them.
type MaskedText int64

// The texts, as bits.
const (
	MaskedReference MaskedText = 1 << iota
	MaskedComment
	MaskedDocs
)

// MaskedIn returns the operation's set.
func MaskedIn(o api.Operation) MaskedText {
	var h MaskedText
	if redact.Changes(string(o.Reference)) {
		h |= MaskedReference
	}
	if redact.Changes(string(o.Comment)) {
		h |= MaskedComment
	}
	if slices.ContainsFunc(DocTexts(o.Documents), redact.Changes) {
		h |= MaskedDocs
	}
	return h
}

// open returns the non-empty texts if masking hides nothing in any of them.
func open(texts ...string) []string {
	if slices.ContainsFunc(texts, redact.Changes) {
		return nil
	}
	return present(texts...)
}

// PartyIDs returns the identifiers of one side.
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

// DocTexts returns the searchable texts of documents.
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
	t = append(append(t, open(DocTexts(o.Documents)...)...), present(redact.Text(string(o.Customer.Name)))...)
	return append(append(t, MaskedPartyTexts(o.Source)...), MaskedPartyTexts(o.Destination)...)
}

func freeIDs(o api.Operation) []string {
	return append(append(present(string(o.OPID)), PartyIDs(o.Source)...), PartyIDs(o.Destination)...)
}
