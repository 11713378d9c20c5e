// Package evidence records what conclusions about objects are based on. Code that concludes something (done, not done,
// complete, accepted, gone) makes a Conclusion of its reads and asks Flaw whether it holds. There is no other way.
package evidence

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

// Clock says whose time a moment is.
type Clock string

// The clocks.
const (
	Here    Clock = ""        // this process's; its times stay comparable when the host's clock is set
	Store   Clock = "store"   // the store's, the same for all processes
	Service Clock = "service" // the Date header of an answer, in whole seconds
)

// Moment is a time by one clock. Times of different clocks are not comparable.
type Moment struct {
	At time.Time `json:"at"`
	By Clock     `json:"by,omitempty"`
}

// Cover is how much of the object a read covered.
type Cover int

// The covers; each implies those before it.
const (
	Part  Cover = iota // there may be more than was read
	Whole              // all of it: one record, or every page up to a proven end
	Twice              // all of it in two equal reads, so that nothing moved between pages
)

// Evidence is one read: its route, its time, and what it showed.
type Evidence struct {
	Read    string    `json:"read"`             // for people: "the operation read", "the service's answer"
	Route   string    `json:"route"`            // method and template: "GET /v2/billing/operation/{}"
	Object  string    `json:"object,omitempty"` // id of the object; "": not a single object
	Seen    Moment    `json:"seen"`             // when the request was sent: the answer is at least as new
	Date    time.Time `json:"date,omitzero"`    // the service's Date header; zero: none
	Covers  Cover     `json:"covers"`
	Shows   string    `json:"shows"`                // for people: "no longer lists it"
	Request string    `json:"request_id,omitempty"` // id of the request
}

// Line is the evidence for people: "the operation read at 11:02:14 no longer lists it". Times are in zone.
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

// Need is what evidence must fulfil. Any evidence fulfils the zero value.
type Need struct {
	Routes []string // routes that can show it; empty: any
	Object string   // the object of the conclusion; "": any
	After  []Moment // when our writes on that object ended, by any clock
	Steps  []Moment // when clocks were set: an earlier time by that clock has no known age
	Now    Moment   // the present: a later time by that clock was read before the clock was set back
	Covers Cover    // the least cover
}

// Flaw is why evidence does not support a conclusion.
type Flaw string

// The flaws.
const (
	Sound        Flaw = ""
	OtherRoute   Flaw = "another route answered"
	OtherObject  Flaw = "the answer is about another object"
	BeforeAct    Flaw = "it was read before our own write ended"
	BeforeStep   Flaw = "it was read before the clock was set"
	NoClock      Flaw = "it is not known whether it was read after our own write"
	CoversLess   Flaw = "not all of it was read"
	NothingShown Flaw = "nothing was read"
)

// Flaw returns why e does not fulfil n, or Sound. All conclusions use it.
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
	if at, ok := e.by(n.Now.By); ok && !n.Now.At.IsZero() && at.After(n.Now.At) {
		return BeforeStep
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

// by returns the time of e by a clock; false if e has another clock.
func (e Evidence) by(c Clock) (time.Time, bool) {
	if e.Seen.By == c {
		return e.Seen.At, !e.Seen.At.IsZero()
	}
	return e.Date, c == Service && !e.Date.IsZero()
}

// Kind is what a conclusion decides.
type Kind string

// The kinds.
const (
	Act      Kind = "act"      // what became of a write: done, not done, not known
	Accepted Kind = "accepted" // the result of a customer's verification
	Complete Kind = "complete" // whether all operations are known
	Gone     Kind = "gone"     // the service no longer has the operation
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Act, Accepted, Complete, Gone} }

// Conclusion is a statement about an object, with its evidence.
type Conclusion struct {
	Kind   Kind       `json:"kind"`
	Says   string     `json:"says"`             // for people: "removed", "complete"
	Object string     `json:"object,omitempty"` // id; "": no single object, but the list or the session
	Item   string     `json:"-"`                // of an act: id of the object's document or file; "": none
	Rests  []Evidence `json:"rests"`            // empty: no read supports it
	Open   string     `json:"open,omitempty"`   // what is missing, for people; "": nothing
	Read   bool       `json:"-"`                // of an act of this process: a read shows the wanted state, no answer did
}

// Line is the conclusion for people: "removed: the operation read at 11:02:14 no longer lists it".
func (c Conclusion) Line(zone *time.Location) string { return c.Says + ": " + c.Grounds(zone) }

// Grounds is Line without what is concluded: "the operation read at 11:02:14 no longer lists it".
func (c Conclusion) Grounds(zone *time.Location) string {
	said := make([]string, 0, len(c.Rests)+1)
	for _, e := range c.Rests {
		said = append(said, e.Line(zone))
	}
	if c.Open != "" || len(said) == 0 {
		said = append(said, cmp.Or(c.Open, string(NothingShown)))
	}
	return strings.Join(said, "; ")
}

// Missing is what is open as a sentence, "" for nothing.
func (c Conclusion) Missing() string {
	if c.Open == "" {
		return ""
	}
	return strings.ToUpper(c.Open[:1]) + c.Open[1:] + "."
}

// Flaw is the first reason why the conclusion does not hold: all its evidence must fulfil n.
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

// Held is c if it holds against n and nothing is open; else it says otherwise, and its flaw is what is open.
func (c Conclusion) Held(n Need, otherwise string) (Conclusion, bool) {
	f := c.Flaw(n)
	if f == Sound && c.Open == "" {
		return c, true
	}
	c.Says, c.Open = otherwise, cmp.Or(c.Open, string(f))
	return c, false
}

// kept bounds the conclusions in a Book.
const kept = 500

// Book keeps the newest conclusions of a process for people to read. It is safe for concurrent use; a nil Book keeps
// nothing.
type Book struct {
	mu  sync.Mutex
	all []Conclusion // guarded by mu, oldest first
}

// Add adds a conclusion. It replaces one of the same kind about the same object and item.
func (b *Book) Add(c Conclusion) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = slices.DeleteFunc(b.all, func(was Conclusion) bool {
		return strings.EqualFold(was.Object, c.Object) && strings.EqualFold(was.Item, c.Item) && was.Kind == c.Kind &&
			(!c.many() || was.Says == c.Says)
	})
	if b.all = append(b.all, c); len(b.all) > kept {
		b.all = slices.Delete(b.all, 0, len(b.all)-kept)
	}
}

// many reports that several conclusions of the kind can hold about one object, with different words.
func (c Conclusion) many() bool { return c.Kind == Act }

// About lists the conclusions about an object, newest first, then those about the list and the session; "": all.
func (b *Book) About(object string) (out []Conclusion) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []Conclusion
	for _, c := range slices.Backward(b.all) {
		switch {
		case object == "" || strings.EqualFold(c.Object, object):
			out = append(out, c)
		case c.Object == "":
			all = append(all, c)
		}
	}
	return append(out, all...)
}

// ByRead returns the conclusion about the newest write on an object's item ("": on any) if only a read shows the wanted
// state; what is Open in it says that the request may still arrive.
func (b *Book) ByRead(object, item string) (Conclusion, bool) {
	for _, c := range b.About(object) {
		if c.Kind == Act && strings.EqualFold(c.Object, object) && (item == "" || strings.EqualFold(c.Item, item)) {
			if c.Read {
				return c, true
			}
			break
		}
	}
	return Conclusion{}, false
}

type bookKey struct{}

// In makes Note with the returned context add conclusions to b.
func In(ctx context.Context, b *Book) context.Context { return context.WithValue(ctx, bookKey{}, b) }

// Of returns the Book of ctx, nil for none.
func Of(ctx context.Context) *Book {
	b, _ := ctx.Value(bookKey{}).(*Book)
	return b
}

// Note adds a conclusion to the Book of ctx, if it has one.
func Note(ctx context.Context, c Conclusion) { Of(ctx).Add(c) }
