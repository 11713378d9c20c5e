package filter

import (
	"slices"
	"strings"
	"time"
)

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
	words  bool // words without a field mean what lists show: see Word
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

// Shown is t, in which words without a field mean what lists show, not only texts.
func (t *Table[T]) Shown() *Table[T] {
	t.words = true
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
