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

// How notices are made and sent.
const (
	Quiet       = time.Minute      // facts must show for so long that a cause is over
	Lease       = time.Minute      // of a claim; SendTimeout is shorter
	SendTimeout = 20 * time.Second // of an attempt
	RetryFirst  = 5 * time.Second  // doubles with each attempt
	RetryMost   = 5 * time.Minute
	GiveUp      = 6 * time.Hour // after the notice was made
)

// State is what all instances know. It holds no secret.
type State struct {
	Count    int64                     `json:"count"`              // causes so far
	Open     map[verdict.Cause]Episode `json:"open,omitempty"`     // causes that were told and have not ended
	Requests []string                  `json:"requests,omitempty"` // requests for approval that were told and still wait
	Queue    []Queued                  `json:"queue,omitempty"`    // notices to send, oldest first
}

// Episode is a cause that was told.
type Episode struct {
	N        int64            `json:"n"`
	Since    time.Time        `json:"since"`
	Gone     time.Time        `json:"gone,omitzero"` // facts have shown since then that it is over
	Part     verdict.Part     `json:"part"`
	Severity verdict.Severity `json:"severity"`
	Sentence string           `json:"sentence"`
}

// Queued is a notice to send.
type Queued struct {
	Notice  Notice    `json:"notice"`
	Owner   string    `json:"owner,omitempty"` // who sends it, or did last
	Attempt int       `json:"attempt,omitempty"`
	Next    time.Time `json:"next,omitzero"` // when the claim lapses, or the next attempt is due
}

// Observation is what one process sees now.
type Observation struct {
	Scope, Context string
	Verdict        verdict.Verdict // At is the store's time
	Requests       []Request       // waiting
	RequestsKnown  bool
}

// Request is a request for approval that waits.
type Request struct {
	ID, Act, Object, ObjectID, Requester string
	Expires                              time.Time
}

// Step returns the state after an observation. changed is false if nothing needs to be stored.
func (s State) Step(o Observation, least verdict.Severity) (next State, changed bool) {
	s = s.copied()
	begun, ended, asked := s.begin(o, least), s.ends(o), s.requests(o)
	return s, begun || ended || asked
}

func (s State) copied() State {
	s.Open, s.Requests, s.Queue = maps.Clone(s.Open), slices.Clone(s.Requests), slices.Clone(s.Queue)
	if s.Open == nil {
		s.Open = map[verdict.Cause]Episode{}
	}
	return s
}

// tell queues a notice about key, which is new each time.
func (s *State) tell(o Observation, key string, n Notice) {
	n.ID, n.At, n.Context = idOf(o.Scope, key), o.Verdict.At, o.Context
	for _, text := range []*string{&n.Sentence, &n.Next, &n.Command, &n.Who, &n.Object, &n.ObjectID, &n.Request,
		&n.Context} {
		*text = clean(*text)
	}
	s.Queue = append(s.Queue, Queued{Notice: n})
}

func causeKey(c verdict.Cause, e Episode) string { return fmt.Sprintf("cause:%s:%d", c, e.N) }

// begin tells the first cause unless it was told. What is left of a worse cause of the same part is no new one: when a
// service comes back, not all of its calls have succeeded yet.
func (s *State) begin(o Observation, least verdict.Severity) bool {
	f, wrong := o.Verdict.First()
	if !wrong || f.Severity < least {
		return false
	}
	for c, e := range s.Open {
		if c == f.Cause || e.Part == f.Part && e.Severity > f.Severity {
			return false
		}
	}
	s.Count++
	e := Episode{N: s.Count, Since: o.Verdict.At, Part: f.Part, Severity: f.Severity, Sentence: clean(f.Sentence)}
	s.Open[f.Cause] = e
	s.tell(o, causeKey(f.Cause, e), Notice{Kind: Cause, Severity: f.Severity.String(), Cause: f.Cause, Part: f.Part,
		Sentence: f.Sentence, Since: f.Since, Next: f.Next.Do, Command: f.Next.Command, Who: string(f.Who)})
	return true
}

// ends tells the causes that facts have shown to be over for Quiet without a break. Not known is not over.
func (s *State) ends(o Observation) (changed bool) {
	now := o.Verdict.At
	for _, c := range slices.Sorted(maps.Keys(s.Open)) {
		e := s.Open[c]
		is := slices.ContainsFunc(o.Verdict.Findings, func(f verdict.Finding) bool { return f.Cause == c })
		over := !is && o.Verdict.Of(e.Part) == verdict.Good
		switch {
		case !over && e.Gone.IsZero():
			continue
		case !over:
			e.Gone = time.Time{}
			s.Open[c] = e
		case e.Gone.IsZero() || e.Gone.After(now): // later than now: the clock was set back
			e.Gone = now
			s.Open[c] = e
		case now.Sub(e.Gone) < Quiet:
			continue
		default:
			delete(s.Open, c)
			key := causeKey(c, e)
			s.tell(o, "end:"+key, Notice{Kind: End, Severity: e.Severity.String(), Cause: c, Part: e.Part, Since: e.Since,
				Sentence: "Resolved after " + format.Duration(e.Gone.Sub(e.Since).Round(time.Second)) + ": " + e.Sentence,
				Ends:     idOf(o.Scope, key)})
		}
		changed = true
	}
	return changed
}

// requests tells each request that waits for a second person.
func (s *State) requests(o Observation) (changed bool) {
	if !o.RequestsKnown {
		return false
	}
	var waiting []string
	for _, q := range o.Requests {
		waiting = append(waiting, q.ID)
		if slices.Contains(s.Requests, q.ID) {
			continue
		}
		s.tell(o, "approval:"+q.ID, Notice{Kind: Approval, Object: q.Object, ObjectID: q.ObjectID, Request: q.ID,
			Sentence: q.Requester + " asks for approval: " + strings.ReplaceAll(q.Act, ".", " ") + " on " + q.Object + " " +
				q.ObjectID + ", until " + q.Expires.UTC().Format("15:04 UTC") + ".",
			Next: "Approve or deny it.", Command: "opdeck approval show " + q.ID,
			Who: "a person with a role that may approve"})
	}
	slices.Sort(waiting)
	changed = !slices.Equal(waiting, s.Requests)
	s.Requests = waiting
	return changed
}

// due reports whether the oldest notice can be claimed. A time further ahead than it can be is of a clock that was set
// back.
func (s State) due(now time.Time) bool {
	return len(s.Queue) > 0 && (!s.Queue[0].Next.After(now) || s.Queue[0].Next.After(now.Add(RetryMost)))
}

// claim gives owner the oldest notice if it is due.
func (s *State) claim(owner string, now time.Time) (q Queued, ok bool) {
	if !s.due(now) {
		return q, false
	}
	q = Queued{s.Queue[0].Notice, owner, s.Queue[0].Attempt + 1, now.Add(Lease)}
	s.Queue[0] = q
	return q, true
}

// end removes a claimed notice that was sent or is too old to try again, else it sets the time of the next attempt.
// Nothing happens if the claim belongs to another owner by now.
func (s *State) end(q Queued, sent bool, now time.Time) (changed bool) {
	if len(s.Queue) == 0 || s.Queue[0].Notice.ID != q.Notice.ID || s.Queue[0].Owner != q.Owner {
		return false
	}
	if sent || q.lapsed(now) {
		s.Queue = s.Queue[1:]
	} else {
		s.Queue[0].Next, s.Queue[0].Owner = now.Add(retryAfter(q.Attempt)), ""
	}
	return true
}

func (q Queued) lapsed(now time.Time) bool { return now.Sub(q.Notice.At) > GiveUp }

// retryAfter is the pause after an attempt.
func retryAfter(attempt int) time.Duration { return min(RetryFirst<<min(attempt-1, 10), RetryMost) }
