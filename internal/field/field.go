// Package field is the catalogue of fields: every field of an operation, a document or a customer that the program
// shows, filters, sorts, exports or compares is declared here once. Columns, labels, filters, orders, cards, CSV and
// differences use it.
package field

import (
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
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
	Column    Column // in a list; Min 0: not available

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

	// Reported reports whether the record has a value for a Count or Flag, whose zero value does not show it; nil: it
	// always has.
	Reported func(T) bool
}

// IsReported reports whether the record has the field; a missing value is neither zero nor no.
func (f Field[T]) IsReported(r T) bool { return f.Reported == nil || f.Reported(r) }

// YesNo is a Flag as a word; "–" if not reported.
func (f Field[T]) YesNo(r T) string {
	switch {
	case !f.IsReported(r):
		return "–"
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

// Column is a field's column in a list. Widths are cells. Amounts are aligned by the decimal point; everything else
// is on the left.
type Column struct {
	Title        string // heading, if not the field's name
	Min, Max     int    // limits of the width (Max 0: none)
	Flex         int    // share of the spare width; 0: stays at Min
	HidePriority int    // narrow windows hide the highest first; 0: never hidden
	Least        int    // the least width that a person may set
	CutMiddle    bool   // cut in the middle, both ends kept
	ID           bool   // an identifier: whole or in its short form; the field of Kind ID always is
	Whole        bool   // never cut where a command prints it: a time
	Signed       bool   // a sign begins each cell; the field of a status always is
	Dim          bool   // secondary; a Count, Flag or ID always is
	Age          bool   // for a Time: as an age
	Shows        string // what its cells show, if the field's About says what a filter takes
	NoZero       bool   // for a Count: 0 is shown empty
	Decimal      bool   // for a Text: a number, aligned by its decimal point
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
