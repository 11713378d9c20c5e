package filter

import (
	"slices"
	"strings"
	"time"
)

// Kind says how a field's values are written and compared.
type Kind int

// The kinds of field.
const (
	Code  Kind = iota // a word; equal, letters' case ignored
	Text              // any text; ":" is contained in, "=" is equal to, case ignored
	Ident             // an identifier; begins with, case ignored
	Money             // an exact decimal; ordered
	Time              // a moment, a date or an age; ordered
	Count             // a whole number; ordered
	Flag              // one of a fixed set of words
	Free              // words without a field; contained in any text
)

func (k Kind) ordered() bool { return k == Money || k == Time || k == Count }

// word names the kind in the table of fields.
func (k Kind) word() string {
	return [...]string{"word", "text", "identifier", "amount", "time", "number", "one of", "text"}[k]
}

// Field is one field that a filter may name.
type Field[T any] struct {
	Name    string
	Aliases []string
	Kind    Kind
	Help    string   // one line for people
	Example string   // a term that uses it
	Values  []string // Flag: all values; Code: values that are known without data
	Exact   bool     // Code: letters' case counts

	// Strings gives the record's values of a Code, Text, Ident or Free field.
	Strings func(T) []string
	// Masked is Strings as the mask leaves them, for masked leaves; nil is Strings.
	Masked func(T) []string
	// IDs gives identifiers that a Text field's value may equal as a whole.
	IDs func(T) []string
	// Key gives a Money field's sortable key (MoneyKey); "" for no amount.
	Key func(T) string
	// Time gives a Time field's moment; the zero time never matches.
	Time func(T) time.Time
	// Count gives a Count field's number.
	Count func(T) int64
	// Flag reports whether a Flag field's value holds.
	Flag func(T, string) bool
}

// Table is a set of fields: the language for one kind of record. The field
// with kind Free and no name stands for words without a field.
type Table[T any] struct {
	fields []Field[T]
	byName map[string]int
	free   int
}

// NewTable makes a table. It panics when two fields share a name or none is
// Free: tables are written in Go, not read from outside.
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

// joint parts texts that share a column; no folded text holds it.
const joint = "\x1f"

// Fold is the form in which texts are compared: small letters, no NUL, valid
// UTF-8. The store keeps folded copies of what is searched.
func Fold(s string) string {
	if plain(s) {
		return strings.ToLower(s)
	}
	return strings.ReplaceAll(strings.ToLower(Clean(s)), joint, " ")
}

// JoinTexts packs texts, folded, into one column: a folded text is contained in
// the column when it is in one of them, and Joined(text) is when it equals one.
// No texts give "".
func JoinTexts(texts []string) string {
	if len(texts) == 0 {
		return ""
	}
	var b strings.Builder
	for _, t := range texts {
		b.WriteString(joint + Fold(t))
	}
	b.WriteString(joint)
	return b.String()
}

// Joined is what a column made by JoinTexts contains when one of its texts is s.
func Joined(s string) string { return joint + Fold(s) + joint }

// Clean replaces what databases do not take in a text (NUL, broken UTF-8) by U+FFFD.
func Clean(s string) string {
	if plain(s) {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// plain reports whether all of s is printable ASCII, as most texts are.
func plain(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
