// Package followup follows writes without an answer of their own. Any process with the store reads their objects
// again, at growing intervals and whenever an object is read anyway, until the wanted state shows or late_after is
// over. A state proves nothing about a request: anyone may have made it. So the request stays in doubt until
// late_after, and one last read then says what the state is. Each outcome goes to the audit trail, the approval, the
// journal of replacements, the record of a verification and open screens. See docs/outcomes.md.
package followup

import (
	"context"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
)

// State is the state of a write.
type State string

// The states. A settled write has no row.
const (
	Sending State = "sending"  // no outcome recorded by its process yet
	Unknown State = "unknown"  // sent, with an unproven outcome
	Seen    State = "seen"     // a read showed the wanted state; the request may still arrive
	NotSeen State = "not_seen" // it did not show within late_after
)

// Write is the stored part of a write.
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
	// When it was sent, by the service's clock and by the sending host's; zero: not known. They corroborate the
	// store's clock.
	Date time.Time `json:"date,omitzero"`
	Host time.Time `json:"host,omitzero"`
	// Restored is when the backup was taken from which this write comes; zero: none. It may have been settled since.
	Restored time.Time `json:"restored,omitzero"`
}

// Row is a write with its times, by the store's clock.
type Row struct {
	Ref   string // UID of the intent in the audit trail
	State State
	Write
	Claim  string // what no other write may do meanwhile, see api.WriteRule; "": nothing
	Sent   time.Time
	Until  time.Time // the request may arrive until then; the end of the lookups
	Looked time.Time // zero: never
	// Next is the next look; for NotSeen the time when the row is dropped; for Sending how long to wait for its
	// process if it is not known whether that runs.
	Next  time.Time
	Reads int
	// Unsure: it is Sending, and it is not known whether its process still runs.
	Unsure bool
}

// Store keeps the rows of one account for all processes.
type Store interface {
	// Now is the store's time, by which intervals are measured on all hosts.
	Now(ctx context.Context) (time.Time, error)
	// Add stores a row, unless it exists; it is durable when Add returns nil. If another row has its claim and free
	// says that this one is not over, Add returns that row instead and stores nothing: all in one transaction.
	Add(ctx context.Context, r Row, free func(Row) bool) (holder *Row, err error)
	// Move replaces was by r; false if another process has changed it. A NotSeen row has no claim.
	Move(ctx context.Context, was, r Row) (bool, error)
	Forget(ctx context.Context, ref string) error
	// Rows returns all rows, oldest first.
	Rows(ctx context.Context) ([]Row, error)
}

// Settled is a write whose outcome was found after it had been reported as unknown.
type Settled struct {
	Row     Row
	Outcome api.Outcome
}

// Sentence words it for people.
func (s Settled) Sentence() string {
	what := s.Row.What()
	switch s.Outcome.Verdict {
	case api.Seen:
		return what + ": " + s.Outcome.Detail + "."
	case api.NotSeen:
		return what + ": unknown outcome, " + s.Outcome.Detail + "."
	}
	return what + ": " + string(s.Outcome.Verdict) + "."
}

// Advice is what to do about a write that was not seen in time.
func (s Settled) Advice() api.Remedy {
	if s.Outcome.Verdict != api.NotSeen {
		return api.Remedy{}
	}
	s.Row.State = NotSeen
	return s.Row.Advice()
}

// What names the write: "Removing invoice.pdf, operation 62387cd9".
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

// FromBackup says from which backup the write comes, "" for none.
func (r Row) FromBackup() string {
	if r.Restored.IsZero() {
		return ""
	}
	return "it comes from the backup of " + r.Restored.UTC().Format("2006-01-02 15:04:05 UTC")
}

// Why is the conclusion about the write with its evidence.
func (r Row) Why() evidence.Conclusion {
	at := func(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }
	c := evidence.Conclusion{Kind: evidence.Act, Says: r.What() + ": unknown outcome", Object: r.ID,
		Open: "sent at " + at(r.Sent) + ", and no read since then shows whether it was done"}
	switch {
	case !r.Restored.IsZero():
		c.Open = r.FromBackup() + ": what happened after that is not known here"
	case r.State == NotSeen:
		c.Open = "sent at " + at(r.Sent) + ", and it did not show until " + at(r.Until)
	case r.State == Seen:
		c.Says, c.Open = r.What()+": the state is there", api.MayArrive(r.Until)
	case r.Unsure:
		c.Open = "its process stored it at " + at(r.Sent) +
			" right before sending, and nothing shows whether that process is still running"
	}
	if !r.Looked.IsZero() {
		c.Rests = []evidence.Evidence{{Read: "the last check", Object: r.ID,
			Seen: evidence.Moment{At: r.Looked, By: evidence.Store}, Shows: "does not show it"}}
		if r.State == Seen {
			c.Rests[0].Shows = "shows it"
		}
	}
	return c
}

// Advice is what to do about a write with an unknown outcome.
func (r Row) Advice() api.Remedy {
	if r.State == NotSeen && r.Kind != api.ActShare && r.Kind != api.ActLink {
		return api.Remedy{Kind: api.LookFirst}
	}
	return endpoint.Rule(r.Kind).Remedy()
}

// pauses are the intervals between background looks; the last one repeats.
var pauses = []time.Duration{15 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, longest}

// claimed is how long a looking process reserves a row.
const claimed = time.Minute

// remembered is how long a write that was not seen is kept, so that a later read of the wanted state still proves it.
const remembered = 24 * time.Hour

// longest is the longest interval between looks.
const longest = 4 * time.Minute

// nextLook is when a row is due for its next look.
func (t *Tracker) nextLook(r Row, now time.Time) time.Time {
	late := r.Until
	if !endpoint.Readable(r.Probe) || r.State == Seen && now.Before(late) {
		return late
	}
	next := now.Add(pauses[min(max(r.Reads, 0), len(pauses)-1)])
	if next.After(late) && now.Before(late) {
		return late
	}
	return next
}
