// Package field is the catalogue of fields: everything that the program shows,
// filters, sorts, exports or compares of an operation, a document or a customer
// is declared here once. Columns, labels, filter, orders, cards, CSV and the
// words of a difference read it.
package field

import (
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// Kind says what a field holds, and with it which getter is set.
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
	Party             // one side of an operation: Party, and Text for its name
)

// Ordered reports whether values have a size: people want the largest or newest first.
func (k Kind) Ordered() bool { return k == Money || k == Time || k == Count }

// Field is one field of a record T.
type Field[T any] struct {
	Name    string   // the one name: column, label, filter, order, CSV header
	Aliases []string // other names that are understood when somebody writes them
	JSON    string   // where the service's record has it: "sourceAmount.sum"
	Kind    Kind
	About   string // one line for people
	Example string // a filter with this field; empty: filters do not name it

	Sensitive bool   // holds account numbers: masked for roles that may not reveal them
	Sortable  bool   // the index keeps an order of it
	Status    bool   // of a Code: a status word, which has a sign
	Bytes     bool   // of a Count: a number of bytes, -1 for one that is not known
	Column    Column // in a list; Min 0: lists do not offer it

	Text  func(T) untrusted.Text
	Money func(T) api.Money
	Time  func(T) api.Time
	Count func(T) int
	Flag  func(T) bool
	Party func(T) api.Party

	// Locked is how many of what it counts are locked; of a Code or Flag, a positive number says
	// that the record is. nil: nothing of it can be locked.
	Locked func(T) int

	// Reported reports whether the answer told a Count or Flag, which have no value that says
	// so; nil: it is always told.
	Reported func(T) bool
}

// IsReported reports whether the record tells the field: what it does not tell is not none
// and not no.
func (f Field[T]) IsReported(r T) bool { return f.Reported == nil || f.Reported(r) }

// YesNo is a Flag as a word; "–" when the answer did not tell it.
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

// Column is how a field is shown in a list. Widths are cells. Amounts stand with
// their decimal points in one line; everything else is on the left.
type Column struct {
	Title        string // its heading, where that is not the field's name
	Min, Max     int    // never narrower, never wider (0: any width)
	Flex         int    // share of the room that is left; 0: stays at Min
	HidePriority int    // narrow windows hide the column with the highest first; 0: never
	Least        int    // how narrow a person may make it
	CutMiddle    bool   // cut in the middle, both ends kept
	Dim          bool   // secondary; a Count, Flag or ID always is
	Age          bool   // of a Time: how long ago it was
	NoZero       bool   // of a Count: 0 is left empty
}

// Catalogue is the fields of one kind of record.
type Catalogue[T any] struct {
	fields []Field[T]
	byName map[string]int // names and aliases
}

// New makes a catalogue. It panics when two fields have one name: catalogues are written in Go.
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

// All lists the fields. The list is shared and not to be changed.
func (c *Catalogue[T]) All() []Field[T] { return c.fields }

// Find finds a field by its name or an alias.
func (c *Catalogue[T]) Find(name string) (Field[T], bool) {
	i, ok := c.byName[name]
	if !ok {
		return Field[T]{}, false
	}
	return c.fields[i], true
}

// Get is Find for a name that is known to exist.
func (c *Catalogue[T]) Get(name string) Field[T] {
	f, ok := c.Find(name)
	if !ok {
		panic("field: there is no field " + name)
	}
	return f
}

// Sortable lists the names that an order may have, those with a size first.
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

// Label words a path of the record ("sourceAmount.sum", "source.account.number")
// with the field's name ("amount", "source.account.number"). A path that belongs
// to no field stays as it is.
func (c *Catalogue[T]) Label(path string) string {
	f, rest, ok := c.at(path)
	if !ok {
		return path
	}
	return f.Name + rest
}

// at finds the field with the longest JSON path that path begins with, and what
// follows it.
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

// named picks fields by name, in that order.
func (c *Catalogue[T]) named(names ...string) []Field[T] {
	var out []Field[T]
	for _, n := range names {
		out = append(out, c.Get(n))
	}
	return out
}

// Columns are the fields that a list can show: those named, then all others that
// have a column.
func (c *Catalogue[T]) Columns(first ...string) []Field[T] {
	out := c.named(first...)
	for _, f := range c.fields {
		if f.Column.Min > 0 && !slices.Contains(first, f.Name) {
			out = append(out, f)
		}
	}
	return out
}
