// Package present is how each record is presented: its facts in sections, its columns, what differs between two
// states, and its timeline. Values are words with a meaning; a screen draws them, plain mode says them, and commands
// print them as cards, tables and CSV. Records come masked; Options.Masked hides what a person has not asked to see.
package present

import (
	"time"

	"opdeck/internal/format"
)

// Tone is the meaning of a piece of text.
type Tone uint8

// The tones.
const (
	Plain  Tone = iota
	Dim         // secondary
	Accent      // where the eye should go: titles, focus, keys
	Good        // done, allowed
	Warn        // soon, careful, pending
	Bad         // refused, failed, production
	Info        // running, neutral news
	Strong      // more important than its neighbours
)

// Sign is the meaning of a sign that is beside a word.
type Sign uint8

// The signs.
const (
	NoSign Sign = iota
	SignGood
	SignBad
	SignWait
	SignWarn
	SignUnknown
	SignOff
	SignInfo
	SignLocked
	SignNext // what to do now
)

// Options is for whom a record is presented.
type Options struct {
	Now    time.Time
	Zone   *time.Location    // nil: moments are shown as the service sent them
	Masked bool              // account numbers and what leads to a person are hidden
	Sign   func(Sign) string // the characters of a sign; nil: there are none
}

// sign is a sign as text with what is between it and the word behind it.
func (o Options) sign(s Sign) string {
	if o.Sign == nil || s == NoSign {
		return ""
	}
	return o.Sign(s) + " "
}

// moment is an instant with how long ago that was.
func (o Options) moment(t time.Time) string { return format.TimeAgo(t, o.Now, o.Zone) }

// Section is a part of a record under its heading.
type Section struct {
	Title   string
	Aligned bool // amounts in it are drawn with their decimal points below each other
	Facts   []Fact
}

// Fact is a value of a record under its label. All texts but Copy are safe to draw.
type Fact struct {
	Name   string // tells it from the other facts of the record; empty: Label
	Label  string
	Value  string
	Tone   Tone
	Long   bool // the value may take several lines
	Amount bool // the value is an amount of money
	Note   bool // it says something about the fact above it, and is nothing to copy

	Copy  string // the value exactly, for another program
	What  string // names Copy: "the account number"
	Opens Ref    // the record that it leads to; zero: none
	Stop  bool   // it stands for that record: the cursor stops here
}

// Key is the name of the fact, by which a card lists it.
func (f Fact) Key() string {
	if f.Name != "" {
		return f.Name
	}
	return f.Label
}

// Ref names a record.
type Ref struct {
	Kind RefKind
	ID   string
}

// RefKind is a kind of records that facts lead to.
type RefKind uint8

// The kinds of records.
const (
	RefNone RefKind = iota
	RefCustomer
	RefAccount
	RefCounterparty
	RefChildren // those of the operation ID
)
