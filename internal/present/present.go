// Package present defines the one presentation of each record: its facts in sections, its columns, the differences
// between two states, and its timeline. Values are texts with a meaning; a screen draws them, plain mode says them,
// and commands print them as cards, tables and CSV. Records are already masked for the role; Options.Masked hides
// what the person has not revealed.
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
	Accent      // draws the eye: titles, focus, keys
	Good        // done, allowed
	Warn        // soon, careful, pending
	Bad         // refused, failed, production
	Info        // running, neutral news
	Strong      // more important than the text around it
)

// Sign is the meaning of a sign beside a word.
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
	SignNext // the next thing to do
)

// Options say for whom a record is presented.
type Options struct {
	Now    time.Time
	Zone   *time.Location    // nil: times are shown as received
	Masked bool              // hide account numbers and personal data
	Sign   func(Sign) string // the characters of a sign; nil: no signs
	// Press returns how a key of the console is pressed, by its name; "" for the place that is open. Next steps name
	// keys; nil: commands.
	Press func(key string) string
}

// sign is a sign as text, with the separator before the word.
func (o Options) sign(s Sign) string {
	if o.Sign == nil || s == NoSign {
		return ""
	}
	return o.Sign(s) + " "
}

// moment is a time with its age.
func (o Options) moment(t time.Time) string { return format.TimeAgo(t, o.Now, o.Zone) }

// minute is an instant in a list: to the minute on screens, to the second where commands print it.
func (o Options) minute(t time.Time) string {
	if o.Zone == nil {
		return format.Second(t, nil)
	}
	return format.Minute(t, o.Zone)
}

// Section is a part of a record with a heading.
type Section struct {
	Title   string
	Aligned bool // amounts are aligned by the decimal point
	Side    bool // about the source or the destination of an operation
	Facts   []Fact
}

// Fact is a labelled value of a record. All texts but Copy are safe to draw.
type Fact struct {
	Name   string // unique in the record; empty: Label
	Label  string
	Value  string
	Tone   Tone
	Long   bool // the value may take several lines
	Amount bool // the value is an amount of money
	Note   bool // a remark on the fact above; not copied

	Copy  string // the exact value, for another program
	What  string // names Copy: "the account number"
	Opens Ref    // the record that it opens; zero: none
	Stop  bool   // it represents that record: the cursor stops here
}

// Key is the name of the fact in a card.
func (f Fact) Key() string {
	if f.Name != "" {
		return f.Name
	}
	return f.Label
}

// Ref identifies a record.
type Ref struct {
	Kind RefKind
	ID   string
}

// RefKind is a kind of record that facts open.
type RefKind uint8

// The kinds of records.
const (
	RefNone RefKind = iota
	RefCustomer
	RefAccount
	RefCounterparty
	RefChildren // those of the operation ID
)
