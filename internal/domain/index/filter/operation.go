package filter

import (
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"opdeck/api"
	"opdeck/api/redact"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
)

// OperationExpr is a filter over operations.
type OperationExpr = Expr[api.Operation]

// Parse reads a filter over operations; see Table.Parse.
func Parse(input string) (OperationExpr, error) { return Operations().Parse(input) }

var operations = NewTable(operationFields()...)

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
		switch { // the service gives each operation one
		case f.Kind == Code, f.Name == field.OpCustomer, f.Name == field.OpSource, f.Name == field.OpDestination:
			f.Needs, f.Lacks = needsAll(f.Name), lacks
		case f.Name == field.OpReference, f.Name == field.OpComment: // an empty one was told, an absent one was not
			f.Needs, f.Lacks = needsAll(f.Name), untold
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
			if !f.IsReported(r) {
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
	"hidden": field.OpVisible, "parent": field.OpParent, "comment": field.OpComment, "reference": field.OpReference}

// LacksLock reports whether the answer does not tell whether one of the documents is locked.
func LacksLock(o api.Operation) bool {
	n := field.LocksOf(o)
	return !o.DocumentsReported() || n.Locked == 0 && n.Unknown > 0
}

// untold reports whether the answer did not have a field of the catalogue.
func untold(o api.Operation, name string) bool { return !field.Operations.Get(name).IsReported(o) }

// lacks reports whether the answer had no value for a field of the catalogue, or for FieldLock.
func lacks(o api.Operation, name string) bool {
	if name == FieldLock {
		return LacksLock(o)
	}
	return untold(o, name)
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

// Kind determines how a field's values are written and compared.
type Kind int

// The kinds of field.
const (
	Code  Kind = iota // a word; equal, ignoring case
	Text              // any text; ":" contains, "=" equals, ignoring case
	Ident             // an identifier; has the prefix, ignoring case
	Money             // an exact decimal; ordered
	Time              // a time, a date or an age; ordered
	Count             // a whole number; ordered
	Flag              // one of a fixed set of words
	Free              // words without a field; contained in any text
)

func (k Kind) ordered() bool { return k == Money || k == Time || k == Count }

// word is the kind's name in the table of fields.
func (k Kind) word() string {
	return [...]string{"word", "text", "identifier", "amount", "time", "number", "one of", "text"}[k]
}

// Field is one field of the language.
type Field[T any] struct {
	Name    string
	Aliases []string
	Kind    Kind
	Help    string   // one line for people
	Example string   // a term that uses it
	Values  []string // Flag: all values; Code: values known without data
	Exact   bool     // Code: case-sensitive
	Age     bool     // Time: lists show how long ago it was

	// Strings returns the record's values of a Code, Text, Ident or Free field.
	Strings func(T) []string
	// Masked is Strings after masking, for masked leaves; nil means Strings.
	Masked func(T) []string
	// IDs returns identifiers that a Text field's value may equal.
	IDs func(T) []string
	// Key returns a Money field's sort key (MoneyKey); "" without an amount.
	Key func(T) string
	// Time returns a Time field's time; the zero time is none.
	Time func(T) time.Time
	// Count returns a Count field's number.
	Count func(T) int64
	// Flag reports whether a Flag field's value holds.
	Flag func(T, string) bool
	// Needs returns the fields that a record must have so that a value of a Code, Text, Free or Flag is surely not in it.
	// Nil: none for any. An ordered field needs itself.
	Needs func(value string) (fields []string)
	// Lacks reports whether the record has no value for a field that Needs returned.
	Lacks func(r T, field string) bool
}

// Table is the language of one kind of record: a set of fields. The field of kind Free without a name is for words
// without a field.
type Table[T any] struct {
	fields []Field[T]
	byName map[string]int
	free   int
}

// NewTable returns a table. It panics if two fields share a name or none is Free.
func NewTable[T any](fields ...Field[T]) *Table[T] {
	t := &Table[T]{fields: fields, byName: map[string]int{}, free: -1}
	for i, f := range fields {
		if f.Kind == Free {
			t.free = i
			continue
		}
		for _, n := range append([]string{f.Name}, f.Aliases...) {
			if _, twice := t.byName[n]; twice || n != strings.ToLower(n) || n == "" {
				panic("filter: field name " + n)
			}
			t.byName[n] = i
		}
	}
	if t.free < 0 {
		panic("filter: a table needs a field of kind Free")
	}
	return t
}

// Fields lists the named fields in the table's order.
func (t *Table[T]) Fields() []Field[T] {
	return slices.DeleteFunc(slices.Clone(t.fields), func(f Field[T]) bool { return f.Kind == Free })
}

// Names lists the fields' main names.
func (t *Table[T]) Names() []string {
	var n []string
	for _, f := range t.Fields() {
		n = append(n, f.Name)
	}
	return n
}

// Match reports whether the filter is true for the record; now is the reference for ages.
func (e Expr[T]) Match(record T, now time.Time) bool {
	return e.exact == nil || e.match(e.exact, record, now)
}

func (e Expr[T]) match(n Node, r T, now time.Time) bool {
	switch n := n.(type) {
	case And:
		return !slices.ContainsFunc(n, func(p Node) bool { return !e.match(p, r, now) })
	case Or:
		return slices.ContainsFunc(n, func(p Node) bool { return e.match(p, r, now) })
	case Not:
		return !e.match(n.X, r, now)
	case *Leaf:
		f := &e.table.fields[n.index]
		return slices.ContainsFunc(n.Values, func(v Value) bool { return f.match(n, v, r, now) })
	}
	return true
}

func (f *Field[T]) match(l *Leaf, v Value, r T, now time.Time) bool {
	switch f.Kind {
	case Money:
		return l.moneyBounds(v).holds(f.Key(r))
	case Count:
		return l.countBounds(v).holds(f.Count(r))
	case Time:
		return l.TimeBounds(v, now).holds(f.Time(r).UnixMicro())
	}
	switch {
	case v.Missing:
		return f.Lacks(r, v.Text)
	case f.Kind == Flag:
		return f.Flag(r, v.Text)
	}
	if f.Kind == Ident {
		return slices.ContainsFunc(f.Strings(r), func(id string) bool { return v.identifies(FoldID(id)) })
	}
	want, texts := Fold(v.Text), f.Strings
	if l.Masked && f.Masked != nil {
		texts = f.Masked
	}
	if f.IDs != nil && !l.Masks(v) && slices.ContainsFunc(f.IDs(r), func(id string) bool { return Fold(id) == want }) {
		return true
	}
	return slices.ContainsFunc(texts(r), func(s string) bool {
		if f.Exact {
			return s == v.Text
		}
		switch s = Fold(s); {
		case l.Op == begins:
			return strings.HasPrefix(s, want) || strings.Contains(s, " "+want)
		case l.Op == isWord:
			return slices.Contains(strings.Fields(s), want)
		case f.Kind == Code || l.Op == Eq:
			return s == want
		}
		return strings.Contains(s, want)
	})
}

// identifies reports whether a folded identifier has the ends of v.
func (v Value) identifies(id string) bool {
	if v.whole {
		return id == FoldID(v.Text)
	}
	return strings.HasPrefix(id, FoldID(v.Text)) && strings.HasSuffix(id, FoldID(v.tail))
}

// Masks reports whether no identifier may match v: the leaf is masked, and v would be masked too.
func (l *Leaf) Masks(v Value) bool { return l.Masked && redact.Changes(Fold(v.Text)) }

// Named are operations, by their ids or the ids of their customers.
type Named struct{ OPIDs, CUIDs []string }

// shortestNote is the number of characters of a word without a field from which it is searched in notes.
const shortestNote = 2

// AskBeside is e with the operations that records beside them name: those of has:doubt, has:waiting and note:text, and
// those whose notes contain a word without a field. Until then the first three match nothing. It prints like e. holds
// names the operations for which a value of FieldHas holds, Doubt or Waiting, noted those with a note with that text.
func AskBeside(e OperationExpr, holds, noted func(string) (Named, error)) (OperationExpr, error) {
	var failed error
	exact := rebuild(e.exact, func(l *Leaf) Node {
		n, err := besideOf(l, holds, noted)
		if err != nil {
			failed = err
		}
		return n
	})
	return OperationExpr{root: e.root, exact: exact, table: e.table}, failed
}

// NotedTexts lists the texts that AskBeside searches in notes.
func NotedTexts(e OperationExpr) (out []string) {
	rebuild(e.exact, func(l *Leaf) Node {
		out = append(out, notedTexts(l)...)
		return l
	})
	return out
}

func notedTexts(l *Leaf) (out []string) {
	for _, v := range l.Values {
		if l.Field == FieldNote || l.Kind == Free && !v.Missing && utf8.RuneCountInString(v.Text) >= shortestNote {
			out = append(out, v.Text)
		}
	}
	return out
}

func besideOf(l *Leaf, holds, noted func(string) (Named, error)) (Node, error) {
	var all Named
	add := func(n Named, err error) error {
		all.OPIDs, all.CUIDs = append(all.OPIDs, n.OPIDs...), append(all.CUIDs, n.CUIDs...)
		return err
	}
	for _, text := range notedTexts(l) {
		if err := add(noted(text)); err != nil {
			return l, err
		}
	}
	for _, v := range l.Values {
		if l.Field == FieldHas && (v.Text == Doubt || v.Text == Waiting) {
			if err := add(holds(v.Text)); err != nil {
				return l, err
			}
		}
	}
	out := Or{l}
	if len(all.OPIDs) > 0 {
		out = append(out, oneOf("id", all.OPIDs))
	}
	if len(all.CUIDs) > 0 {
		out = append(out, oneOf("cuid", all.CUIDs))
	}
	if len(out) == 1 {
		return l, nil
	}
	return out, nil
}

// oneOf matches the operations with one of the values in a field.
func oneOf(name string, values []string) *Leaf {
	at := operations.byName[name]
	f := operations.fields[at]
	l := &Leaf{Field: f.Name, Kind: f.Kind, Op: Has, index: at, settled: true}
	slices.Sort(values)
	for _, id := range slices.Compact(values) {
		l.Values = append(l.Values, Value{Text: id, whole: f.Kind == Ident})
	}
	return l
}
