// Package field is the catalogue of fields: every field of an operation, a document or a customer that the program
// shows, filters, sorts, exports or compares is declared here once. Columns, labels, filters, orders, cards, CSV and
// differences use it.
package field

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/format/csvcell"
)

// Kind is the kind of a field's value; it determines which getter is set.
type Kind int

// The kinds.
const (
	Code  Kind = iota // a word of the service: Text
	Text              // any text: Text
	ID                // an identifier: Text
	Money             // an exact amount: Money
	Time              // a moment: Time
	Count             // a whole number: Count
	Flag              // yes or no: Flag
	Lock              // locked, not locked, or not known: Lock
	Party             // one side of an operation: Party, and Text for its name
)

// Ordered reports whether people want the largest or newest values first.
func (k Kind) Ordered() bool { return k == Money || k == Time || k == Count }

// Field is one field of a record T.
type Field[T any] struct {
	Name    string   // its only name: column, label, filter, order, CSV header
	Aliases []string // other accepted names
	JSON    string   // path in the service's record: "sourceAmount.sum"
	Kind    Kind
	About   string // one line for people
	Example string // a filter on this field; empty: it cannot be filtered

	Sensitive bool   // holds account numbers: masked for roles that may not reveal them
	Sortable  bool   // the index can sort by it
	Status    bool   // for a Code: a status word, which has a sign
	Bytes     bool   // for a Count: a number of bytes, -1 if not known
	Column    Layout // in a list; Min 0: not available

	Nothing untrusted.Text // the service's word for a value that there is none of; people read "–"

	Text  func(T) untrusted.Text
	Says  func(T) untrusted.Text // Text as people read it; nil: as it is
	Money func(T) api.Money
	Time  func(T) api.Time
	Count func(T) int
	Flag  func(T) bool
	Party func(T) api.Party

	Lock func(T) api.Lock

	// Locks are the locks of the counted things; nil: they cannot be locked.
	Locks func(T) Locks

	// Reported reports whether the record has a value for a Count, Flag or Text, whose zero value does not show it;
	// nil: it always has, but for an empty Code, ID or Party, a Time that was not told or not understood, and Bytes of -1.
	Reported func(T) bool
}

// IsReported reports whether the record has the field; a missing value is neither zero nor no nor empty.
func (f Field[T]) IsReported(r T) bool {
	switch {
	case f.Reported != nil:
		return f.Reported(r)
	case f.Kind == Code, f.Kind == ID, f.Kind == Party:
		return f.Text(r) != ""
	case f.Kind == Time:
		return !f.Time(r).IsZero()
	case f.Bytes:
		return f.Count(r) >= 0
	}
	return true
}

// YesNo is a Flag as a word; "?" if not reported.
func (f Field[T]) YesNo(r T) string {
	switch {
	case !f.IsReported(r):
		return "?"
	case f.Flag(r):
		return "yes"
	default:
		return "no"
	}
}

// LockWord is a Lock as a word; "?" if it is not known.
func (f Field[T]) LockWord(r T) string {
	switch l := f.Lock(r); {
	case l.Is():
		return "yes"
	case l == api.Unlocked:
		return "no"
	}
	return "?"
}

// Locks counts locked things, and those of which it is not known.
type Locks struct{ Locked, Unknown int }

// LocksOf returns the locks of an operation's documents.
func LocksOf(o api.Operation) Locks {
	n := Locks{Unknown: o.UnreadDocuments}
	for _, d := range o.Documents {
		if d.Lock.Is() {
			n.Locked++
		} else if d.Lock == api.LockUnknown {
			n.Unknown++
		}
	}
	return n
}

// Align is where the cells of a column are in it.
type Align uint8

// The alignments.
const (
	Left    Align = iota
	Right         // whole numbers
	Decimal       // decimal points in one line
)

// Layout is how a column is laid out, on screen and at a terminal. Widths are cells.
type Layout struct {
	Title        string // heading; of a field: if not its name
	Min, Max     int    // limits of the width (Max 0: none)
	Flex         int    // share of the spare width; 0: stays at Min
	HidePriority int    // narrow windows hide the highest first; 0: never hidden
	Least        int    // the least width that a person may set
	Align        Align
	CutMiddle    bool // cut in the middle, both ends kept
	Shorten      bool // amounts with many decimals are shortened, with a sign
	ID           bool // an identifier: whole or in its short form; it gets what the other columns leave
	Whole        bool // never cut where a command prints it: a time
	Signed       bool // a sign begins each cell; a narrow window shows only that
	Time         bool // its cells are moments in the zone of the person, which they do not name
	Dim          bool // secondary; a Count, Flag or ID always is
	Age          bool // for a Time: as an age
	NoZero       bool // for a Count: 0 is shown empty

	MaxNumberWidth int    // a wider number is cut, with a sign; 0: the usual
	Shows          string // what its cells show, if the field's About says what a filter takes
}

// Catalogue lists the fields of one kind of record.
type Catalogue[T any] struct {
	fields []Field[T]
	byName map[string]int // names and aliases
}

// New returns a catalogue. It panics if two fields have one name.
func New[T any](fields ...Field[T]) *Catalogue[T] {
	c := &Catalogue[T]{fields: fields, byName: map[string]int{}}
	for i, f := range fields {
		for _, name := range append([]string{f.Name}, f.Aliases...) {
			if _, twice := c.byName[name]; twice {
				panic("field: two fields are called " + name)
			}
			c.byName[name] = i
		}
	}
	return c
}

// All lists the fields. The caller must not change the list.
func (c *Catalogue[T]) All() []Field[T] { return c.fields }

// Find returns the field with a name or alias.
func (c *Catalogue[T]) Find(name string) (Field[T], bool) {
	i, ok := c.byName[name]
	if !ok {
		return Field[T]{}, false
	}
	return c.fields[i], true
}

// Get is Find for a name that exists.
func (c *Catalogue[T]) Get(name string) Field[T] {
	f, ok := c.Find(name)
	if !ok {
		panic("field: there is no field " + name)
	}
	return f
}

// Sortable lists the names that can be sorted by, Ordered ones first.
func (c *Catalogue[T]) Sortable() []string {
	var sized, others []string
	for _, f := range c.fields {
		switch {
		case !f.Sortable:
		case f.Kind.Ordered():
			sized = append(sized, f.Name)
		default:
			others = append(others, f.Name)
		}
	}
	return append(sized, others...)
}

// Label is the field's name for a path of the record: "amount" for "sourceAmount.sum". A path without a field is
// returned unchanged.
func (c *Catalogue[T]) Label(path string) string {
	f, rest, ok := c.at(path)
	if !ok {
		return path
	}
	return f.Name + rest
}

// at finds the field with the longest JSON path that is a prefix of path, and the rest of path.
func (c *Catalogue[T]) at(path string) (found Field[T], rest string, ok bool) {
	for _, f := range c.fields {
		after, has := strings.CutPrefix(path, f.JSON)
		if !has || after != "" && !strings.ContainsAny(after[:1], ".[") {
			continue
		}
		if !ok || len(f.JSON) > len(found.JSON) {
			found, rest, ok = f, after, true
		}
	}
	return found, rest, ok
}

// named returns fields by name, in that order.
func (c *Catalogue[T]) named(names ...string) []Field[T] {
	var out []Field[T]
	for _, n := range names {
		out = append(out, c.Get(n))
	}
	return out
}

// Columns returns the fields with a column: first the named ones, then all others.
func (c *Catalogue[T]) Columns(first ...string) []Field[T] {
	out := c.named(first...)
	for _, f := range c.fields {
		if f.Column.Min > 0 && !slices.Contains(first, f.Name) {
			out = append(out, f)
		}
	}
	return out
}

// Choice is one chosen column of the list of operations, as stored in the config and the state folder:
//
//	created          of any width
//	amount:24        24 cells wide
//	documents!       kept: other columns are hidden first in a narrow window
type Choice struct {
	Name  string // of ColumnNames
	Width int    // in cells; 0: any
	Kept  bool   // in narrow windows others are hidden first
}

// MaxWidth is the largest width that a person may set, in cells.
const MaxWidth = 200

// ColumnNames lists all columns of operations, the usual ones first.
func ColumnNames() []string {
	var out []string
	for _, f := range Operations.Columns(usual...) {
		out = append(out, f.Name)
	}
	return out
}

// UsualColumns are the columns without a choice.
func UsualColumns() []Choice {
	out := make([]Choice, len(usual))
	for i, name := range usual {
		out[i].Name = name
	}
	return out
}

// Wanted reports whether the person asked for the column, so that others are hidden first: it is kept, has a width,
// or is not a usual one.
func (c Choice) Wanted() bool { return c.Kept || c.Width > 0 || !slices.Contains(usual, c.Name) }

// String formats the choice for ParseColumns: NAME, NAME:WIDTH or NAME!.
func (c Choice) String() string {
	out := c.Name
	if c.Width > 0 {
		out += ":" + strconv.Itoa(c.Width)
	}
	if c.Kept && !(Choice{Name: c.Name, Width: c.Width}).Wanted() {
		out += "!"
	}
	return out
}

// ColumnStrings formats a choice for ParseColumns.
func ColumnStrings(list []Choice) []string {
	out := make([]string, len(list))
	for i, c := range list {
		out[i] = c.String()
	}
	return out
}

// ParseColumns parses a choice; aliases are allowed. Each column may occur once; a width is from Column.Least to
// MaxWidth. An empty list is nil. The error is a sentence for people.
func ParseColumns(list []string) ([]Choice, error) {
	var out []Choice
	for _, e := range list {
		c, err := parseColumn(e)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(o Choice) bool { return o.Name == c.Name }) {
			return nil, fmt.Errorf("the column %s is listed twice", c.Name)
		}
		out = append(out, c)
	}
	return out, nil
}

func parseColumn(e string) (Choice, error) {
	name, kept := strings.CutSuffix(e, "!")
	name, width, sized := strings.Cut(name, ":")
	f, ok := Operations.Find(name)
	if !ok || f.Column.Min == 0 {
		return Choice{}, fmt.Errorf("there is no column %q; use one of %s", name, strings.Join(ColumnNames(), ", "))
	}
	c := Choice{Name: f.Name, Kept: kept}
	if sized {
		n, err := strconv.Atoi(width)
		if err != nil || n < f.Column.Least || n > MaxWidth {
			return Choice{}, fmt.Errorf("the width of %s must be from %d to %d", f.Name, f.Column.Least, MaxWidth)
		}
		c.Width = n
	}
	return c, nil
}

// cutItem splits "documents[g-1].isLock" after the bracket.
func cutItem(path string) (item, rest string, ok bool) {
	item, rest, ok = strings.Cut(path, "].")
	return item + "]", rest, ok && strings.HasPrefix(path, "documents[")
}

// SheetColumn is one column of a CSV file.
type SheetColumn[T any] struct {
	Head string
	Cell func(T) csvcell.Cell
}

// Sheet returns the columns of all fields, in the catalogue's order. An amount has two columns, currency and number,
// unless the currency is a field of its own; a party has its name and account number; a field of lockable items has a
// count of the locked ones, "?" if it is not known.
func (c *Catalogue[T]) Sheet() []SheetColumn[T] {
	var out []SheetColumn[T]
	for _, f := range c.fields {
		if f.Kind == Money && !c.declares(f.currency()) {
			out = append(out, f.currencySheet())
		}
		out = append(out, f.Sheet()...)
	}
	return out
}

// SheetOf returns the columns of a field. The currency of an amount is the column after it.
func (c *Catalogue[T]) SheetOf(f Field[T]) []SheetColumn[T] {
	out := f.Sheet()
	if f.Kind != Money {
		return out
	}
	if own, _, ok := c.at(f.currency()); ok && own.JSON == f.currency() {
		return append(out, own.Sheet()...)
	}
	return append(out, f.currencySheet())
}

// currency is the path of an amount's currency.
func (f Field[T]) currency() string { return f.JSON + ".currencyCode" }

func (f Field[T]) currencySheet() SheetColumn[T] {
	return SheetColumn[T]{f.Name + "_currency", func(r T) csvcell.Cell {
		return csvcell.Text(string(f.Money(r).CurrencyCode))
	}}
}

// Sheet returns the columns of a field without the currency of an amount.
func (f Field[T]) Sheet() []SheetColumn[T] {
	head := f.Name
	if f.Kind == Time {
		head = csvcell.Zoned(head)
	}
	out := []SheetColumn[T]{{head, f.csv}}
	switch {
	case f.Kind == Party:
		out = append(out, SheetColumn[T]{f.Name + "_number", func(r T) csvcell.Cell {
			return csvcell.Text(accountNumber(f.Party(r)))
		}})
	case f.Locks != nil:
		out = append(out, SheetColumn[T]{"locked_" + f.Name, func(r T) csvcell.Cell {
			n := f.Locks(r)
			if !f.IsReported(r) || n.Unknown > 0 {
				return csvcell.Text("?")
			}
			return csvcell.Number(strconv.Itoa(n.Locked))
		}})
	}
	return out
}

// csv is the field in a CSV file; "?" if the record does not have it.
func (f Field[T]) csv(r T) csvcell.Cell {
	switch {
	case !f.IsReported(r):
		return csvcell.Text("?")
	case f.Kind == Money:
		return AmountCell(f.Money(r))
	case f.Kind == Time:
		return csvcell.Time(f.Time(r).Time)
	case f.Kind == Count:
		return csvcell.Number(strconv.Itoa(f.Count(r)))
	case f.Kind == Lock:
		return csvcell.Text(f.LockWord(r))
	case f.Kind == Flag:
		return csvcell.Text(strconv.FormatBool(f.Flag(r)))
	case f.Column.Align == Decimal:
		return csvcell.Number(string(f.Text(r)))
	}
	return csvcell.Text(string(f.Text(r)))
}

// declares reports whether a field has this path in the service's record.
func (c *Catalogue[T]) declares(path string) bool {
	f, rest, ok := c.at(path)
	return ok && rest == "" && f.JSON == path
}

// AmountCell is an amount without its currency, "?" if it is not known.
func AmountCell(m api.Money) csvcell.Cell {
	if m.Empty() {
		return csvcell.Cell{}
	}
	d, err := m.Decimal()
	if err != nil {
		return csvcell.Text("?")
	}
	return csvcell.Amount(d, string(m.CurrencyCode))
}

func accountNumber(p api.Party) string {
	switch {
	case p.CounterpartyAccount != nil:
		return string(p.CounterpartyAccount.Number)
	case p.Account != nil:
		return string(p.Account.Number)
	}
	return ""
}

// PartyAccounts are the fields of a customer's account that is a side of an operation.
var PartyAccounts = New(
	Field[api.PartyAccount]{Name: "account", JSON: "name", Kind: Text, About: "the account's name",
		Text: func(a api.PartyAccount) untrusted.Text { return a.Name }},
	Field[api.PartyAccount]{Name: "number", JSON: "number", Kind: Text, Sensitive: true, About: "the account number",
		Text: func(a api.PartyAccount) untrusted.Text { return a.Number }},
	Field[api.PartyAccount]{Name: "account id", JSON: "id", Kind: ID, About: "the account's identifier",
		Text: func(a api.PartyAccount) untrusted.Text { return a.ID }},
	Field[api.PartyAccount]{Name: "customer", JSON: "customer.name", Kind: Text, About: "its customer's name",
		Text: func(a api.PartyAccount) untrusted.Text { return a.Customer.Name }},
	Field[api.PartyAccount]{Name: "cuid", JSON: "customer.cuid", Kind: ID, About: "its customer's identifier",
		Text: func(a api.PartyAccount) untrusted.Text { return a.Customer.CUID }},
)

// CounterpartyAccounts are the fields of a counterparty's account that is a side of an
// operation.
var CounterpartyAccounts = New(
	Field[api.CounterpartyAccount]{Name: "account", JSON: "name", Kind: Text, About: "the account's name",
		Text: func(a api.CounterpartyAccount) untrusted.Text { return a.Name }},
	Field[api.CounterpartyAccount]{Name: "number", JSON: "number", Kind: Text, Sensitive: true,
		About: "the account number",
		Text:  func(a api.CounterpartyAccount) untrusted.Text { return a.Number }},
	Field[api.CounterpartyAccount]{Name: "account id", JSON: "id", Kind: ID, About: "the account's identifier",
		Text: func(a api.CounterpartyAccount) untrusted.Text { return a.ID }},
	Field[api.CounterpartyAccount]{Name: "counterparty", JSON: "counterparty.name", Kind: Text,
		About: "the counterparty's name",
		Text:  func(a api.CounterpartyAccount) untrusted.Text { return a.Counterparty.Name }},
	Field[api.CounterpartyAccount]{Name: "bank", JSON: "counterparty.bankName", Kind: Text,
		About: "the counterparty's bank",
		Text:  func(a api.CounterpartyAccount) untrusted.Text { return a.Counterparty.BankName }},
	Field[api.CounterpartyAccount]{Name: "counterparty id", Aliases: []string{"suid"}, JSON: "counterparty.suid", Kind: ID,
		About: "the counterparty's identifier",
		Text:  func(a api.CounterpartyAccount) untrusted.Text { return a.Counterparty.SUID }},
)
