// Package followup follows writes without an answer of their own. Any process with the store reads their objects
// again, at growing intervals and whenever an object is read anyway, until the wanted state shows or late_after is
// over. A state proves nothing about a request: anyone may have made it. So the request stays in doubt until
// late_after, and one last read then says what the state is. Each outcome goes to the audit trail, the approval, the
// journal of replacements, the record of a verification and open screens. See docs/outcomes.md.
package followup

import (
	"context"
	"slices"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/api/limit"
	"opdeck/internal/domain/audit"
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
	c := evidence.Conclusion{Kind: evidence.Act, Says: r.What() + ": unknown outcome", Object: r.ID, Item: r.Item,
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

// Run looks in the background, with spare budget, until ctx ends. Any number of processes may run it: one of them
// looks at a row.
func (t *Tracker) Run(ctx context.Context) {
	ctx = limit.Background(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.wake:
		case <-timer.C:
		}
		if t.opt.Trail.Unrecorded() != nil { // processes that can record look
			timer.Reset(t.notice(ctx))
			continue
		}
		if err := t.Look(ctx, false); err != nil && ctx.Err() == nil {
			t.opt.Log.Warn("writes with an unknown outcome could not be checked", "err", err)
		}
		timer.Reset(t.notice(ctx))
	}
}

// notice reports what other processes settled since the last call, and how long nothing is due.
func (t *Tracker) notice(ctx context.Context) time.Duration {
	rows, now, err := t.rows(ctx)
	if err != nil {
		return idle
	}
	wait, is := idle, map[string]Row{}
	for _, r := range rows {
		if is[r.Ref] = r; r.State == NotSeen {
			continue
		}
		wait = min(wait, tense, max(r.Next.Sub(now), time.Second))
	}
	t.mu.Lock()
	was := t.known
	t.known = map[string]Row{}
	for ref, r := range is {
		if r.State == Unknown || r.State == Seen {
			t.known[ref] = r
		}
	}
	t.mu.Unlock()
	for ref, r := range was {
		if there, ok := is[ref]; !ok || there.State != r.State {
			t.reportFound(ctx, r)
		}
	}
	return wait
}

// verdicts maps the trail's results to outcomes.
var verdicts = map[audit.Result]api.Verdict{audit.ResultOK: api.Done, audit.ResultDenied: api.Denied,
	audit.ResultFailed: api.Failed, audit.ResultSeen: api.Seen, audit.ResultNotSeen: api.NotSeen}

// Verdict is the outcome of a write by the trail, "" if not known.
func (t *Tracker) Verdict(ctx context.Context, ref string) api.Verdict {
	v, _ := t.verdict(ctx, ref)
	return v
}

func (t *Tracker) verdict(ctx context.Context, ref string) (api.Verdict, audit.Entry) {
	e, err := t.opt.Trail.Entry(ctx, ref)
	if err != nil {
		return "", e
	}
	last, some, err := t.opt.Trail.LastOutcome(ctx, e)
	if err != nil || !some {
		return "", last
	}
	return verdicts[last.Outcome], last
}

// reportFound reports what another process found.
func (t *Tracker) reportFound(ctx context.Context, r Row) {
	if v, last := t.verdict(ctx, r.Ref); v != "" {
		t.say(Settled{Row: r, Outcome: api.Outcome{Verdict: v, Detail: audit.Unquote(last.Error).Line(300)}})
	}
}

// Saw takes operations that were read for any reason, one by one; ago is the time since the request. It records at
// once what they show. A read that was requested before a write was sent shows nothing about it.
func (t *Tracker) Saw(ctx context.Context, ops []api.Operation, ago time.Duration) {
	t.shown(ctx, ago, func(r Row, at evidence.Moment) (s api.Observation) {
		for _, op := range ops {
			if e, made, shown := endpoint.SeenIn(r.Probe, op, at); shown {
				return api.Observation{Shown: true, File: made, Evidence: e}
			}
		}
		return s
	})
}

// Listed takes operations of a page. A list proves no outcome; if it shows the wanted state of a write, the write is
// looked at now.
func (t *Tracker) Listed(ctx context.Context, ops []api.Operation) {
	rows, _, _ := t.rows(ctx)
	for _, r := range rows {
		if slices.ContainsFunc(ops, func(op api.Operation) bool {
			_, _, shown := endpoint.SeenIn(r.Probe, op, evidence.Moment{})
			return shown
		}) {
			t.ObjectChanged(ctx, r.ID)
		}
	}
}

// Shown takes a read by another part of the program that showed the state wanted by a write.
func (t *Tracker) Shown(ctx context.Context, p api.Probe, s api.Observation) {
	t.shown(ctx, 0, func(r Row, at evidence.Moment) api.Observation {
		if p.Ref != r.Ref {
			return api.Observation{}
		}
		s.Evidence.Seen = at
		return s
	})
}

// shown records the wanted state of the rows for which is returns Shown. at is when the data that is judges was
// requested, by the store's clock.
func (t *Tracker) shown(ctx context.Context, ago time.Duration, is func(r Row, at evidence.Moment) api.Observation) {
	rows, now, err := t.rows(ctx)
	if err != nil {
		return // callers that need the store report the error
	}
	for _, r := range rows {
		s := is(r, evidence.Moment{At: now.Add(-ago), By: evidence.Store})
		if !s.Shown || r.State == Seen || s.Evidence.Flaw(r.need(now)) != evidence.Sound ||
			r.State == Sending && !t.dead(ctx, r.Ref) || !t.hold(r.Ref) {
			continue
		}
		r.Looked = now
		if err := t.settle(ctx, r, r.seen(s, r.State == NotSeen)); err != nil {
			t.opt.Log.Error("what a read shows of a write could not be recorded", "ref", r.Ref, "err", err)
		}
		t.release(r.Ref)
	}
}

// need is what evidence must fulfil to prove the write; now is the store's time.
func (r Row) need(now time.Time) evidence.Need {
	return evidence.Need{After: []evidence.Moment{{At: r.Sent, By: evidence.Store}},
		Now: evidence.Moment{At: now, By: evidence.Store}}
}

// seen is the outcome of a write whose wanted state an observation shows. over: the request is not expected to arrive
// any more.
func (r Row) seen(s api.Observation, over bool) api.Outcome {
	out := api.Outcome{Verdict: api.Seen, Found: s.File, Why: evidence.Conclusion{Kind: evidence.Act,
		Says: endpoint.Rule(r.Kind).Past, Object: r.ID, Item: r.Item, Rests: []evidence.Evidence{s.Evidence}}}
	if over {
		out.Detail = "no answer says whether the request was done, and it is no longer expected; a " +
			"read shows the wanted state"
		return out
	}
	out.Why.Open = api.MayArrive(r.Until)
	out.Detail = "a later read shows the wanted state; " + out.Why.Open
	return out
}

// dead reports whether the process of a write has ended without an outcome.
func (t *Tracker) dead(ctx context.Context, ref string) bool {
	gone, underWay, err := t.opt.Trail.OpenIntents(ctx)
	return err == nil && underWay[ref] == 0 && slices.ContainsFunc(gone, func(e audit.Entry) bool { return e.UID == ref })
}

// ObjectChanged makes the writes on an object due now, in any process.
func (t *Tracker) ObjectChanged(ctx context.Context, id string) {
	rows, err := t.opt.Store.Rows(ctx)
	if err != nil || len(rows) == 0 {
		return
	}
	now, err := t.opt.Store.Now(ctx)
	for _, r := range rows {
		if err != nil || r.ID != id || r.State != Unknown || !endpoint.Readable(r.Probe) {
			continue
		}
		next := r
		next.Next = now
		_, _ = t.opt.Store.Move(ctx, r, next) // else another process handles it
		t.notify()
	}
}
