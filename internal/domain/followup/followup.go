// Package followup settles writes whose outcome is not known. Any process that has
// the store reads their objects again, at growing intervals and whenever an object is
// read anyway, until the wanted state shows or late_after is over. The outcome then
// goes to the audit trail, the approval, the journal of replacements, the record of a
// verification and open screens. See docs/outcomes.md.
package followup

import (
	"context"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
)

// State is what is known of a write.
type State string

// The states. A write that is settled has no row any more.
const (
	Sending State = "sending"  // its process has not told an outcome (yet)
	Unknown State = "unknown"  // sent, and nothing proves what became of it
	NotSeen State = "not_seen" // it did not show within late_after
)

// Write is what is kept of a write.
type Write struct {
	Kind     api.ActKind `json:"kind"`
	Object   string      `json:"object"`
	ID       string      `json:"id"`
	Item     string      `json:"item,omitempty"`
	Name     string      `json:"name,omitempty"`    // safe to draw
	Summary  string      `json:"summary,omitempty"` // safe to draw
	Who      string      `json:"who"`
	Approval string      `json:"approval,omitempty"`
	Probe    api.Probe   `json:"probe"`
	// When it was sent, by the service's clock and by that of the host that sent it; zero: not
	// known. They are witnesses beside the store's clock.
	Date time.Time `json:"date,omitzero"`
	Host time.Time `json:"host,omitzero"`
}

// Row is a write with its times, which are the store's.
type Row struct {
	Ref   string // uid of the intent in the audit trail
	State State
	Write
	Claim  string // what no other write may do meanwhile, see api.WriteRule; "": nothing
	Sent   time.Time
	Until  time.Time // from when on it is looked for no longer
	Looked time.Time // zero: never
	// Next is the next look; of NotSeen when it is forgotten; of Sending until when its
	// process is waited for where nothing reports whether it runs.
	Next  time.Time
	Reads int
	// Unsure: it is Sending, and nothing reports whether its process still runs.
	Unsure bool
}

// Store keeps the rows of one account for all processes.
type Store interface {
	// Now is the store's time: intervals are measured by it, whatever hosts think.
	Now(ctx context.Context) (time.Time, error)
	// Add keeps a row; one that is there stays as it is. It is durable when Add returns nil.
	// Another one with its claim is returned instead, unless free says that it is over, and
	// nothing is kept: all in one transaction.
	Add(ctx context.Context, r Row, free func(Row) bool) (holder *Row, err error)
	// Move replaces the row that is as was; false: another process was first. A row that is
	// NotSeen has no claim any more.
	Move(ctx context.Context, was, r Row) (bool, error)
	Forget(ctx context.Context, ref string) error
	// Rows lists all, oldest first.
	Rows(ctx context.Context) ([]Row, error)
}

// Settled says that a write got an outcome after it had been reported as unknown.
type Settled struct {
	Row     Row
	Outcome api.Outcome
}

// Sentence says it to people.
func (s Settled) Sentence() string {
	what := s.Row.What()
	switch s.Outcome.Verdict {
	case api.Done:
		return what + ": now proven done."
	case api.NotSeen:
		return what + ": " + s.Outcome.Detail + "."
	}
	return what + ": " + string(s.Outcome.Verdict) + "."
}

// Advice says what to do about a write that was not seen in time.
func (s Settled) Advice() api.Remedy {
	if s.Outcome.Verdict != api.NotSeen {
		return api.Remedy{}
	}
	s.Row.State = NotSeen
	return s.Row.Advice()
}

// What names the write in a few words: "Removing invoice.pdf, operation 62387cd9".
func (r Row) What() string {
	what := endpoint.Doing(r.Kind)
	switch {
	case r.Name != "":
		what += " " + r.Name
	case r.Item != "":
		what += " " + r.Item
	}
	if r.Object == "operation" || r.Object == "customer" {
		what += ", " + r.Object + " " + r.ID[:min(len(r.ID), 8)]
	}
	return what
}

// Why says what is concluded of the write, and what that rests on.
func (r Row) Why() evidence.Conclusion {
	at := func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }
	c := evidence.Conclusion{Says: r.What() + ": not known", Object: r.ID,
		Open: "sent at " + at(r.Sent) + ", and nothing that was read since shows whether it was done"}
	switch {
	case r.State == NotSeen:
		c.Says = r.What() + ": not seen"
		c.Open = "sent at " + at(r.Sent) + ", and it did not show until " + at(r.Until)
	case r.Unsure:
		c.Open = "its process kept it at " + at(r.Sent) + " right before it leaves, and nothing shows whether it still runs"
	}
	if !r.Looked.IsZero() {
		c.Rests = []evidence.Evidence{{Read: "the last look", Object: r.ID,
			Seen: evidence.Moment{At: r.Looked, By: evidence.Store}, Shows: "does not show it"}}
	}
	return c
}

// Advice says what to do about a write whose outcome is not known.
func (r Row) Advice() api.Remedy {
	if r.State == NotSeen && r.Kind != api.ActShare && r.Kind != api.ActLink {
		return api.Remedy{Kind: api.LookFirst}
	}
	return endpoint.Rule(r.Kind).Remedy()
}

// pauses lie between the looks of the background; the last one repeats.
var pauses = []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, longest}

// claimed is how long a process that looks keeps others off a row.
const claimed = time.Minute

// remembered is how long a write that was not seen is kept, so that a later sight
// of the wanted state still proves it.
const remembered = 24 * time.Hour

// longest is the longest time from a look to the next.
const longest = 4 * time.Minute

// nextLook is when a row is looked at next.
func (t *Tracker) nextLook(r Row, now time.Time) time.Time {
	late := r.Until
	if !endpoint.Readable(r.Probe) {
		return late
	}
	next := now.Add(pauses[min(max(r.Reads, 0), len(pauses)-1)])
	if next.After(late) && now.Before(late) {
		return late
	}
	return next
}
