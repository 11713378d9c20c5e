// Package evidence says what conclusions rest on. Whoever concludes something (done, not done,
// complete, accepted, dead, another client, gone) makes a Conclusion of what was read, and asks
// Flaw whether it holds. There is no second way.
package evidence

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Clock is whose time a moment is.
type Clock string

// The clocks.
const (
	Here    Clock = ""        // this process's; its moments compare although the host's clock is set
	Store   Clock = "store"   // of the store, the same for all processes
	Service Clock = "service" // the Date of an answer, in whole seconds
)

// Moment is a time by one clock. Moments of two clocks do not compare.
type Moment struct {
	At time.Time `json:"at"`
	By Clock     `json:"by,omitempty"`
}

// Cover is how much of its subject a reading covered.
type Cover int

// The covers; each proves what those before it prove.
const (
	Part  Cover = iota // more may be there than was read
	Whole              // all of it: one record, or every page up to an end that the service showed
	Twice              // two equal readings of all of it: nothing moved between its pages
)

// Evidence is one reading: of which route, when, and what it showed.
type Evidence struct {
	Read    string    `json:"read"`             // for people: "the operation read", "the service's answer"
	Route   string    `json:"route"`            // method and template: "GET /v2/billing/operation/{}"
	Object  string    `json:"object,omitempty"` // id of what was read; "": of no single object
	Seen    Moment    `json:"seen"`             // when it was asked for: it was true then or later
	Date    time.Time `json:"date,omitzero"`    // what the service said the time was; zero: nothing
	Covers  Cover     `json:"covers"`
	Shows   string    `json:"shows"`                // for people: "no longer lists it"
	Request string    `json:"request_id,omitempty"` // of the call
}

// Line says it to people: "the operation read at 11:02:14 no longer lists it". Times are in zone.
func (e Evidence) Line(zone *time.Location) string {
	said := []string{e.Read}
	if !e.Seen.At.IsZero() {
		said = append(said, "at "+e.Seen.At.In(zone).Format(time.TimeOnly))
	}
	if e.Seen.By != Here {
		said = append(said, "("+string(e.Seen.By)+"'s clock)")
	}
	return strings.Join(append(said, e.Shows), " ")
}

// Need is what evidence must meet. The zero value is met by any.
type Need struct {
	Routes []string // that can tell; none: any can
	Object string   // that the conclusion is about; "": any
	After  []Moment // when acts of ours on that object ended, by any clock
	Steps  []Moment // when clocks were set: what was seen before by that clock has no age
	Covers Cover    // at least
}

// Flaw is why evidence does not carry a conclusion; "" when it does.
type Flaw string

// The flaws.
const (
	Sound        Flaw = ""
	OtherRoute   Flaw = "another route answered"
	OtherObject  Flaw = "the answer is about another object"
	BeforeAct    Flaw = "it was read before our own act ended"
	BeforeStep   Flaw = "it was read before the clock was set"
	NoClock      Flaw = "it is not known whether it was read after our own act"
	CoversLess   Flaw = "not all of it was read"
	NothingShown Flaw = "nothing was read"
)

// Flaw says why e does not meet n, Sound when it does. It decides for all conclusions.
func (e Evidence) Flaw(n Need) Flaw {
	switch {
	case e.Read == "":
		return NothingShown
	case len(n.Routes) > 0 && !slices.Contains(n.Routes, e.Route):
		return OtherRoute
	case n.Object != "" && !strings.EqualFold(n.Object, e.Object):
		return OtherObject
	case e.Covers < n.Covers:
		return CoversLess
	}
	for _, step := range n.Steps {
		if at, ok := e.by(step.By); ok && at.Before(step.At) {
			return BeforeStep
		}
	}
	for _, act := range n.After {
		switch at, ok := e.by(act.By); {
		case !ok:
			return NoClock
		case !at.After(act.At):
			return BeforeAct
		}
	}
	return Sound
}

// by is when e was seen by a clock; false when it was not seen by that one.
func (e Evidence) by(c Clock) (time.Time, bool) {
	if e.Seen.By == c {
		return e.Seen.At, !e.Seen.At.IsZero()
	}
	return e.Date, c == Service && !e.Date.IsZero()
}

// Conclusion is what is said of an object, with what it rests on.
type Conclusion struct {
	Says   string     `json:"says"`             // for people: "removed", "complete"
	Object string     `json:"object,omitempty"` // id; "": of none
	Rests  []Evidence `json:"rests"`            // none: nothing that was read carries it
	Open   string     `json:"open,omitempty"`   // what is missing, for people; "": nothing
}

// Line says it to people: "removed: the operation read at 11:02:14 no longer lists it".
func (c Conclusion) Line(zone *time.Location) string {
	said := make([]string, 0, len(c.Rests)+1)
	for _, e := range c.Rests {
		said = append(said, e.Line(zone))
	}
	if c.Open != "" || len(said) == 0 {
		said = append(said, cmp.Or(c.Open, string(NothingShown)))
	}
	return c.Says + ": " + strings.Join(said, "; ")
}

// Flaw is the first reason why the conclusion does not hold: all that it rests on must meet n.
func (c Conclusion) Flaw(n Need) Flaw {
	if len(c.Rests) == 0 {
		return NothingShown
	}
	for _, e := range c.Rests {
		if f := e.Flaw(n); f != Sound {
			return f
		}
	}
	return Sound
}
