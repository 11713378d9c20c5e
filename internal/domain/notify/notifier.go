// Package notify tells one receiver when the first cause of the verdict begins and ends and when a write waits for
// approval: each once over all instances of opdeck serve and all restarts.
//
// All instances share a State: what was told as begun and not yet as ended. What is to be sent follows from it. A
// Notifier adds what it observes, claims the first notice that is due, sends it and records that. A process that ends
// between sending and recording leaves a claim that lapses; then the notice is sent again with the same ID, by which a
// receiver drops the second one. The receiver is a program of this host (Command) or an address (Webhook).
package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"opdeck/api/redact"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
)

// Kind is what a notice is about.
type Kind string

// The kinds.
const (
	Cause    Kind = "cause"    // a new first cause
	End      Kind = "end"      // the end of a cause
	Approval Kind = "approval" // a request that waits for a second person
	Test     Kind = "test"     // opdeck notify test
)

// Notice is what is sent. Its texts are safe to draw, masked as for the lowest role, and on one line.
type Notice struct {
	ID       string        `json:"id"` // the same in every attempt and from every instance
	Kind     Kind          `json:"kind"`
	Test     bool          `json:"test"`
	Context  string        `json:"context"`
	At       time.Time     `json:"at"` // the store's time
	Severity string        `json:"severity,omitempty"`
	Cause    verdict.Cause `json:"cause,omitempty"`
	Part     verdict.Part  `json:"part,omitempty"`
	Sentence string        `json:"sentence"`
	Since    time.Time     `json:"since,omitzero"`
	Next     string        `json:"next,omitempty"`
	Command  string        `json:"command,omitempty"` // of the next step
	Who      string        `json:"who,omitempty"`     // can carry it out
	Object   string        `json:"object,omitempty"`  // "operation"
	ObjectID string        `json:"object_id,omitempty"`
	Request  string        `json:"request,omitempty"` // for approval
	Ends     string        `json:"ends,omitempty"`    // the ID of the notice whose cause ended
}

// idOf is the ID of the notice about something in a scope: the same on every host.
func idOf(scope, about string) string {
	sum := sha256.Sum256([]byte(scope + "\n" + about))
	return "ntc_" + hex.EncodeToString(sum[:12])
}

// clean makes a text of a notice safe: one line, no token, no account number.
func clean(s string) string { return untrusted.Text(redact.Scrub(mask.Value(s))).Line(maxText) }

const maxText = 500 // characters of one text

// Example is a test notice.
func Example(context string, now time.Time) Notice {
	return Notice{ID: idOf("test", now.Format(time.RFC3339Nano)), Kind: Test, Test: true, Context: clean(context), At: now,
		Severity: verdict.Info.String(), Sentence: "This is a test of [notify]. Nothing is wrong.", Next: "Nothing."}
}

// Sender sends a notice to its receiver. Its error is a sentence without a secret, safe to draw.
type Sender interface {
	Send(ctx context.Context, n Notice) error
}

// Store keeps the State of an account.
type Store interface {
	// Update calls change with the state and the store's time. If change returns true, it is called again in a
	// transaction, which excludes every other Update of the scope, and the state is stored if it returns true again.
	Update(ctx context.Context, scope string, change func(s *State, now time.Time) bool) error
}

// Options of a Notifier.
type Options struct {
	Store  Store
	Scope  string           // base_url and account
	Min    verdict.Severity // the mildest cause that is told
	Sender Sender           // nil: nothing is told
	// Observe reads what is so now.
	Observe func(ctx context.Context) Observation
	Log     *slog.Logger
}

// Observation is what one process sees now.
type Observation struct {
	Context       string
	Verdict       verdict.Verdict    // At is the store's time
	Requests      []approval.Request // that wait; times are the store's
	RequestsKnown bool
}

// How notices are made and sent.
const (
	Every       = 5 * time.Second  // between observations of a process, and between its notices
	Quiet       = time.Minute      // facts must show for so long that a cause is over
	Lease       = time.Minute      // of a claim; SendTimeout is shorter
	SendTimeout = 20 * time.Second // of an attempt
	RetryFirst  = 5 * time.Second  // doubles with each attempt
	RetryMost   = 5 * time.Minute
)

const recordTimeout = 5 * time.Second

// Notifier watches for one process and sends notices for all.
type Notifier struct {
	Options
	known State  // as read last
	alone *State // of this process, while the store fails; else nil
}

// New returns a Notifier.
func New(opt Options) *Notifier { return &Notifier{Options: opt} }

// Run watches and sends until ctx ends and an attempt in progress is over.
func (n *Notifier) Run(ctx context.Context) {
	t := time.NewTicker(Every)
	defer t.Stop()
	for ctx.Err() == nil {
		n.Step(ctx)
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
}

// Step observes once, adds what is to be told, and makes one attempt to send the first notice if it is due.
func (n *Notifier) Step(ctx context.Context) {
	o := n.Observe(ctx)
	if ctx.Err() != nil || o.Verdict.At.IsZero() || n.Sender == nil {
		return
	}
	var c claim
	update := func(ctx context.Context, change func(*State, time.Time) bool) error {
		return n.Store.Update(ctx, n.Scope, change)
	}
	err := update(ctx, func(s *State, now time.Time) (changed bool) {
		changed = s.join(n.alone)
		changed = s.observe(o, n.Scope, n.Min) || changed
		n.known = *s
		c = s.claim(now)
		return changed || c.due()
	})
	switch f, wrong := o.Verdict.First(); {
	case err == nil:
		n.alone = nil
	case wrong && f.Part == verdict.PartStore: // it cannot be claimed there: each instance tells it, with the same ID
		if n.alone == nil {
			n.alone = n.known.told()
		}
		n.alone.begin(o, n.Scope, n.Min)
		c = n.alone.claim(o.Verdict.At)
		update = func(_ context.Context, change func(*State, time.Time) bool) error {
			change(n.alone, o.Verdict.At)
			return nil
		}
	default:
		return
	}
	if !c.due() {
		return
	}
	sent := n.send(ctx, c)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	err = update(end, func(s *State, now time.Time) bool { return s.record(c, sent, now) })
	if err != nil {
		n.Log.Warn("the outcome of a notice was not stored; it is sent again", "id", c.ID, "err", err)
	}
}

// send makes one attempt, which the end of ctx does not cut off.
func (n *Notifier) send(ctx context.Context, c claim) (sent bool) {
	try, cancel := context.WithTimeout(context.WithoutCancel(ctx), SendTimeout)
	defer cancel()
	err := n.Sender.Send(try, c.Notice)
	log := n.Log.With("kind", string(c.Kind), "id", c.ID, "attempt", c.attempt)
	if err != nil {
		log.Warn("a notice was not sent", "err", clean(err.Error()))
		return false
	}
	log.Info("a notice was sent")
	return true
}

// State is what all instances know. It holds no secret.
type State struct {
	Count int64  `json:"count"` // causes so far
	Told  []Told `json:"told,omitempty"`
	// Of the first notice that is to be sent: the attempts so far, and when the claim lapses or the next one is due.
	Attempt int       `json:"attempt,omitempty"`
	Next    time.Time `json:"next,omitzero"`
}

// Told is a cause until its end was told, or a request for approval while it waits.
type Told struct {
	N      int64     `json:"n,omitempty"`     // of a cause: Count with it
	Notice Notice    `json:"notice"`          // of its beginning
	Begun  bool      `json:"begun,omitempty"` // the receiver has that
	Gone   time.Time `json:"gone,omitzero"`   // facts have shown since then that the cause is over
}

// claim is the right to make an attempt until a time; the zero claim: nothing is due.
type claim struct {
	Notice
	attempt int
	until   time.Time
}

func (c claim) due() bool { return c.attempt > 0 }

func (s *State) observe(o Observation, scope string, least verdict.Severity) (changed bool) {
	begun, over, asked := s.begin(o, scope, least), s.over(o), s.requests(o, scope)
	return begun || over || asked
}

// begin adds the first cause unless it was told. What is left of a worse cause of the same part is no new one: when a
// service comes back, not all of its calls have succeeded yet.
func (s *State) begin(o Observation, scope string, least verdict.Severity) bool {
	f, wrong := o.Verdict.First()
	if !wrong || f.Severity < least {
		return false
	}
	for _, t := range s.Told {
		worse := t.Notice.Severity == verdict.Critical.String() && f.Severity < verdict.Critical
		if t.Notice.Cause == f.Cause || t.Notice.Part == f.Part && worse {
			return false
		}
	}
	s.Count++
	s.add(o, s.Count, Notice{ID: idOf(scope, fmt.Sprintf("cause:%s:%d", f.Cause, s.Count)), Kind: Cause, Cause: f.Cause,
		Part: f.Part, Severity: f.Severity.String(), Sentence: f.Sentence, Since: f.Since, Next: f.Next.Do,
		Command: f.Next.Command, Who: string(f.Who)})
	return true
}

func (s *State) add(o Observation, count int64, n Notice) {
	n.At, n.Context = o.Verdict.At, o.Context
	for _, text := range []*string{&n.Sentence, &n.Next, &n.Command, &n.Who, &n.Object, &n.ObjectID, &n.Request,
		&n.Context} {
		*text = clean(*text)
	}
	s.Told = append(s.Told, Told{N: count, Notice: n})
}

// over notes since when facts show that a cause is over. Not known is not over.
func (s *State) over(o Observation) (changed bool) {
	now := o.Verdict.At
	for i := range s.Told {
		t := &s.Told[i]
		lasts := slices.ContainsFunc(o.Verdict.Findings, func(f verdict.Finding) bool { return f.Cause == t.Notice.Cause })
		switch over := !lasts && o.Verdict.Of(t.Notice.Part) == verdict.Good; {
		case over && (t.Gone.IsZero() || t.Gone.After(now)): // later than now: the clock was set back
			t.Gone, changed = now, true
		case !over && !t.Gone.IsZero():
			t.Gone, changed = time.Time{}, true
		}
	}
	return changed
}

// requests adds the requests that wait for a second person and removes those that no longer do.
func (s *State) requests(o Observation, scope string) (changed bool) {
	if !o.RequestsKnown {
		return false
	}
	waiting := map[string]bool{}
	for _, q := range o.Requests {
		id := idOf(scope, "approval:"+q.ID)
		waiting[id] = true
		if slices.ContainsFunc(s.Told, func(t Told) bool { return t.Notice.ID == id }) {
			continue
		}
		changed = true
		s.add(o, 0, Notice{ID: id, Kind: Approval, Object: q.Act.Object, ObjectID: q.Act.ID, Request: q.ID,
			Sentence: fmt.Sprintf("%s asks for approval: %s on %s %s, until %s.", q.Requester.Name,
				strings.ReplaceAll(string(q.Act.Kind), ".", " "), q.Act.Object, q.Act.ID, q.Expires.UTC().Format("15:04 UTC")),
			Next: "Approve or deny it.", Command: "opdeck approval show " + q.ID,
			Who: "a person with a role that may approve"})
	}
	told := len(s.Told)
	s.Told = slices.DeleteFunc(s.Told, func(t Told) bool { return t.Notice.Kind == Approval && !waiting[t.Notice.ID] })
	return changed || len(s.Told) < told
}

// first returns the first notice that is to be sent: the end of a cause only after its beginning.
func (s *State) first(now time.Time) (n Notice, ok bool) {
	for _, t := range s.Told {
		switch {
		case !t.Begun:
			return t.Notice, true
		case !t.Gone.IsZero() && now.Sub(t.Gone) >= Quiet:
			return t.end(now), true
		}
	}
	return n, false
}

// end is the notice of the end of a cause.
func (t Told) end(now time.Time) Notice {
	c := t.Notice
	return Notice{ID: idOf(c.ID, "end"), Kind: End, Context: c.Context, At: now, Severity: c.Severity, Cause: c.Cause,
		Part: c.Part, Since: c.Since, Ends: c.ID, Sentence: clean("Resolved after " +
			format.Duration(max(0, t.Gone.Sub(c.Since)).Round(time.Second)) + ": " + c.Sentence)}
}

// claim claims the first notice that is to be sent, if an attempt is due. A time further ahead than it can be is of a
// clock that was set back.
func (s *State) claim(now time.Time) (c claim) {
	n, some := s.first(now)
	if !some || s.Next.After(now) && !s.Next.After(now.Add(RetryMost)) {
		return c
	}
	s.Attempt, s.Next = s.Attempt+1, now.Add(Lease)
	return claim{n, s.Attempt, s.Next}
}

// record records the outcome of an attempt, unless the claim has lapsed and another process has it.
func (s *State) record(c claim, sent bool, now time.Time) (changed bool) {
	switch {
	case !s.Next.Equal(c.until):
		return false
	case !sent:
		s.Next = now.Add(min(RetryFirst<<min(s.Attempt-1, 10), RetryMost))
		return true
	}
	s.Attempt, s.Next = 0, time.Time{}
	s.Told = slices.DeleteFunc(s.Told, func(t Told) bool { return t.Notice.ID == c.Ends })
	for i := range s.Told {
		s.Told[i].Begun = s.Told[i].Begun || s.Told[i].Notice.ID == c.ID
	}
	return true
}

// told returns the state of a process that cannot use the store: what is known there is told through it.
func (s State) told() *State {
	own := &State{Count: s.Count, Told: slices.Clone(s.Told)}
	for i := range own.Told {
		own.Told[i].Begun, own.Told[i].Gone = true, time.Time{}
	}
	return own
}

// join adds the causes that a process told alone (nil: none), unless another one has added them.
func (s *State) join(alone *State) bool {
	count := s.Count
	if alone != nil {
		for _, t := range alone.Told {
			if t.N > count {
				s.Told, s.Count = append(s.Told, t), max(s.Count, t.N)
			}
		}
	}
	return s.Count > count
}
