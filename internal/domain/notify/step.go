package notify

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
)

// Hysteresis: something that was noticed is over when facts have shown so for Quiet without a break. If it begins
// again within an hour of its end, that time doubles, at most to QuietMost.
const (
	Quiet     = time.Minute
	QuietMost = 32 * time.Minute
	recently  = time.Hour
	kept      = 48 * time.Hour // of what was noticed once about a request
)

// State is what a rule has noticed, for all instances.
type State struct {
	Began    time.Time          `json:"began"` // when the rule was first looked at
	Count    int64              `json:"count"` // episodes so far
	Episodes map[string]Episode `json:"episodes,omitempty"`
	Judged   string             `json:"judged,omitempty"` // the last day that Missing decided about
}

// Episode is something that is so, or was so lately.
type Episode struct {
	N        int64         `json:"n"`
	Since    time.Time     `json:"since"`
	Noticed  time.Time     `json:"noticed,omitzero"` // zero: it has not lasted long enough
	Gone     time.Time     `json:"gone,omitzero"`    // facts have shown since then that it is over
	Absent   time.Time     `json:"absent,omitzero"`  // not found since then, whatever facts show
	Ended    time.Time     `json:"ended,omitzero"`
	Again    int           `json:"again,omitempty"` // times that it began soon after its end
	Muted    bool          `json:"muted,omitempty"` // its notice was silenced, so its end is too
	Part     verdict.Part  `json:"part,omitempty"`
	Severity string        `json:"severity,omitempty"`
	Sentence string        `json:"sentence,omitempty"`
	Cause    verdict.Cause `json:"cause,omitempty"`
}

func (e Episode) quiet() time.Duration { return min(Quiet<<min(e.Again, 10), QuietMost) }

// step is one Step in progress.
type step struct {
	Rule
	state    State
	changed  bool
	now      time.Time
	seen     Observation
	silenced bool
	out      []Notice
}

// Step decides about an observation. changed is false if state and notices stay as they are; then nothing needs to be
// stored. A notice of a silenced rule is Silenced, and so is the end of a cause whose notice was.
func (r Rule) Step(s State, o Observation, silenced bool) (next State, out []Notice, changed bool) {
	st := &step{Rule: r, state: s, now: o.Verdict.At, seen: o, silenced: silenced}
	st.state.Episodes = maps.Clone(s.Episodes)
	if st.state.Episodes == nil {
		st.state.Episodes = map[string]Episode{}
	}
	if s.Began.IsZero() {
		st.state.Began, st.changed = st.now, true
	}
	if r.on(Cause) || r.on(End) {
		st.causes(func(f verdict.Finding) bool { return f.Part != verdict.PartStore })
	}
	if o.RequestsKnown {
		st.requests()
	}
	if o.DoubtsKnown && r.on(Doubt) {
		st.doubts()
	}
	if rows, known := o.Views[r.View]; known && r.on(View) {
		st.view(rows)
	} else if !known {
		st.follow(viewKey, false, false, 0) // nothing shows that it is over
	}
	st.forget()
	return st.state, st.out, st.changed
}

// StoreStep is Step for causes of the store itself, which cannot be claimed in it. Each instance runs it on a State
// of its own; shared is the last State that all of them read, so that they give the same IDs.
func (r Rule) StoreStep(own, shared State, o Observation, silenced bool) (next State, out []Notice) {
	st := &step{Rule: r, state: own, now: o.Verdict.At, seen: o, silenced: silenced}
	if st.state.Episodes = maps.Clone(own.Episodes); st.state.Episodes == nil {
		st.state.Episodes = map[string]Episode{}
	}
	st.state.Count = shared.Count
	if r.on(Cause) || r.on(End) {
		st.causes(func(f verdict.Finding) bool { return f.Part == verdict.PartStore })
	}
	return st.state, st.out
}

func (st *step) set(key string, e Episode) { st.state.Episodes[key], st.changed = e, true }

func (st *step) drop(key string) { delete(st.state.Episodes, key); st.changed = true }

// notice adds a notice about key, which is new each time.
func (st *step) notice(kind Kind, key string, n Notice) string {
	n.ID, n.Name, n.Kind, n.At, n.Context = idOf(st.seen.Scope, st.Name, key), st.Name, kind, st.now, st.seen.Context
	n.Silenced = n.Silenced || st.silenced
	for _, text := range []*string{&n.Sentence, &n.Next, &n.Command, &n.Who, &n.Object, &n.ObjectID, &n.Request, &n.For,
		&n.View, &n.Context} {
		*text = clean(*text)
	}
	st.out = append(st.out, n)
	return n.ID
}

// begin opens the episode of key unless it is open.
func (st *step) begin(key string, e Episode) {
	was, known := st.state.Episodes[key]
	if known && was.Ended.IsZero() {
		return
	}
	if known && st.now.Sub(was.Ended) < recently {
		e.Again = was.Again + 1
	}
	st.state.Count++
	e.N, e.Since = st.state.Count, st.now
	st.set(key, e)
}

// follow moves an open episode. is: it is so now; over: a fact shows that it is not. lasted: its notice is due;
// ended: it was noticed and is over.
func (st *step) follow(key string, is, over bool, hold time.Duration) (e Episode, lasted, ended bool) {
	e, known := st.state.Episodes[key]
	if !known || !e.Ended.IsZero() {
		return e, false, false
	}
	noticed := !e.Noticed.IsZero()
	switch {
	case !over && !e.Gone.IsZero():
		e.Gone = time.Time{}
		st.set(key, e)
	case over && !noticed:
		st.drop(key)
	case over && e.Gone.IsZero():
		e.Gone = st.now
		st.set(key, e)
	case over && st.now.Sub(e.Gone) >= e.quiet():
		e.Ended = st.now
		st.set(key, e)
		return e, false, true
	}
	if is && !noticed && st.now.Sub(e.Since) >= hold {
		e.Noticed, e.Muted = st.now, st.silenced
		st.set(key, e)
		return e, true, false
	}
	return e, false, false
}

func causeKey(c verdict.Cause) string { return "cause:" + string(c) }

// causes follows the causes that mine accepts. Only the first finding begins one.
func (st *step) causes(mine func(verdict.Finding) bool) {
	v := st.seen.Verdict
	found := map[verdict.Cause]verdict.Finding{}
	for _, f := range v.Findings {
		if _, have := found[f.Cause]; !have {
			found[f.Cause] = f
		}
	}
	if f, wrong := v.First(); wrong && f.Severity >= st.Min && mine(f) && !st.remainder(f, found) {
		st.begin(causeKey(f.Cause), Episode{Cause: f.Cause, Part: f.Part})
	}
	for _, key := range slices.Sorted(maps.Keys(st.state.Episodes)) {
		e := st.state.Episodes[key]
		if e.Cause == "" || !mine(verdict.Finding{Part: e.Part}) {
			continue
		}
		f, is := found[e.Cause]
		e, lasted, ended := st.follow(key, is, !is && v.Of(e.Part) == verdict.Good, st.For)
		name := fmt.Sprintf("%s:%d", key, e.N)
		if open := !e.Noticed.IsZero() && e.Ended.IsZero(); open && is != e.Absent.IsZero() {
			if e.Absent = st.now; is {
				e.Absent = time.Time{}
			}
			st.set(key, e)
		}
		if lasted {
			e.Severity, e.Sentence = f.Severity.String(), clean(f.Sentence)
			st.set(key, e)
		}
		if lasted && st.on(Cause) {
			st.notice(Cause, name, Notice{Severity: e.Severity, Cause: f.Cause, Part: f.Part, Sentence: f.Sentence,
				Since: f.Since, Next: f.Next.Do, Command: f.Next.Command, Who: string(f.Who)})
		}
		if ended && st.on(End) {
			st.notice(End, "end:"+name, Notice{Severity: e.Severity, Cause: e.Cause, Part: e.Part, Since: e.Since,
				Sentence: "Resolved after " + span(e.Gone.Sub(e.Since)) + ": " + e.Sentence, Silenced: e.Muted,
				Ends: idOf(st.seen.Scope, st.Name, name)})
		}
	}
}

// remainder reports whether f is what is left of a worse cause of the same part, which has gone within Quiet: when a
// service comes back, not all of its calls have succeeded yet.
func (st *step) remainder(f verdict.Finding, found map[verdict.Cause]verdict.Finding) bool {
	for _, e := range st.state.Episodes {
		_, is := found[e.Cause]
		worse := e.Part == f.Part && e.Severity == verdict.Critical.String() && f.Severity < verdict.Critical
		if worse && !is && e.Ended.IsZero() && (e.Absent.IsZero() || st.now.Sub(e.Absent) < Quiet) {
			return true
		}
	}
	return false
}

// requests notices each request once while it waits, and once when it is decided.
func (st *step) requests() {
	for _, q := range st.seen.Requests {
		what := strings.ReplaceAll(q.Act, ".", " ") + " on " + q.Object + " " + q.ObjectID
		n := Notice{Object: q.Object, ObjectID: q.ObjectID, Request: q.ID}
		decided := q.Decider != "" || q.Lapsed
		switch {
		case !decided && st.on(Approval) && st.once("approval:"+q.ID):
			n.Sentence = q.Requester + " asks for approval: " + what + ", until " + clock(q.Expires) + "."
			n.Next, n.Command, n.Who = "Approve or deny it.", "opdeck approval show "+q.ID,
				"a person with a role that may approve"
			st.notice(Approval, "approval:"+q.ID, n)
		case decided && st.on(Decision) && !q.Decided.Before(st.state.Began) && st.once("decision:"+q.ID):
			n.For = q.Requester
			switch {
			case q.Decider == "":
				n.Sentence = "No one decided request " + q.ID + " of " + q.Requester + " in time: " + what + "."
				n.Next = "Repeat the write to ask again."
			case q.Denied:
				n.Sentence = q.Decider + " denied request " + q.ID + " of " + q.Requester + ": " + what + "."
				n.Next, n.Command = "Read the reason.", "opdeck approval show "+q.ID
			default:
				n.Sentence = q.Decider + " approved request " + q.ID + " of " + q.Requester + ": " + what + "."
				n.Next = "Repeat the write to send it once, until " + clock(q.Expires) + "."
			}
			st.notice(Decision, "decision:"+q.ID, n)
		}
	}
}

// once reports whether key is new, and remembers it.
func (st *step) once(key string) bool {
	if _, known := st.state.Episodes[key]; known {
		return false
	}
	st.set(key, Episode{Since: st.now, Noticed: st.now})
	return true
}

// doubts notices each write in doubt once.
func (st *step) doubts() {
	have := map[string]bool{}
	for _, w := range st.seen.Doubts {
		key := "doubt:" + w.Ref
		have[key] = true
		if st.now.Sub(w.Sent) < st.After || !st.once(key) {
			continue
		}
		st.notice(Doubt, key, Notice{Object: w.Object, ObjectID: w.ObjectID, Since: w.Sent,
			Sentence: "The outcome of a write is unknown since " + clock(w.Sent) + ": " + strings.ReplaceAll(w.Act, ".", " ") +
				" on " + w.Object + " " + w.ObjectID + ".",
			Next: "Check the object before anyone repeats the write.", Command: "opdeck audit unsettled --settle",
			Who: string(verdict.Operator)})
	}
	for key := range st.state.Episodes {
		if strings.HasPrefix(key, "doubt:") && !have[key] {
			st.drop(key)
		}
	}
}

const viewKey = "view"

// view notices what the rule says about its view.
func (st *step) view(rows Rows) {
	if st.When == Missing {
		st.missing(rows)
		return
	}
	hold := time.Duration(0)
	if st.When == Stays {
		hold = st.For
	}
	if rows.Count > 0 {
		st.begin(viewKey, Episode{})
	}
	e, lasted, _ := st.follow(viewKey, rows.Count > 0, rows.Count == 0 && rows.Sure, hold)
	if !lasted {
		return
	}
	says := "The view " + st.View + " matches " + operations(rows.Count) + "."
	if st.When == Stays {
		says = "The view " + st.View + " has matched for " + span(st.now.Sub(e.Since)) + ": " + operations(rows.Count) +
			" now."
	}
	st.notice(View, fmt.Sprintf("view:%d", e.N), Notice{View: st.View, Count: rows.Count, Sentence: says, Since: e.Since,
		Next: "Check these operations.", Command: "opdeck operation list --view " + st.View})
}

// missing decides once a day, from the time By on, as soon as the index can tell.
func (st *step) missing(rows Rows) {
	zone := st.Zone
	if zone == nil {
		zone = time.UTC
	}
	local := st.now.In(zone)
	day := local.Format(time.DateOnly)
	hour, minute := int(st.By/time.Hour), int(st.By%time.Hour/time.Minute)
	due := time.Date(local.Year(), local.Month(), local.Day(), hour, minute, 0, 0, zone)
	if day == st.state.Judged || local.Before(due) || rows.Count == 0 && !rows.Sure {
		return
	}
	late := st.state.Began.After(due) // the rule was not there in time
	st.state.Judged, st.changed = day, true
	if rows.Count > 0 || late {
		return
	}
	st.notice(View, "view:"+day, Notice{View: st.View, Since: due,
		Sentence: "The view " + st.View + " has no operation by " + due.Format("15:04 MST") + ".",
		Next:     "Find out why no operation has arrived.", Command: "opdeck operation list --view " + st.View})
}

// forget drops what can no longer matter.
func (st *step) forget() {
	for key, e := range st.state.Episodes {
		request := strings.HasPrefix(key, "approval:") || strings.HasPrefix(key, "decision:")
		if request && st.now.Sub(e.Since) > kept || !e.Ended.IsZero() && st.now.Sub(e.Ended) >= recently {
			st.drop(key)
		}
	}
}

func clock(t time.Time) string { return t.UTC().Format("15:04 UTC") }

func span(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	return format.Duration(d)
}

func operations(n int64) string {
	if n == 1 {
		return "1 operation"
	}
	return fmt.Sprintf("%d operations", n)
}
