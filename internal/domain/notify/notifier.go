// Package notify tells one receiver when the first cause of the verdict begins and ends and when a write waits for
// approval: each once over all instances of opdeck serve and all restarts.
//
// Step decides, purely, from the State that all instances share and an Observation, and queues the notices in it. A
// Notifier claims the oldest one, sends it and removes it. A process that ends between sending and removing leaves a
// claim that lapses; then the notice is sent again with the same ID, by which a receiver drops the second one. The
// receiver is a program of this host (Command) or an address (Webhook).
package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"opdeck/api/redact"
	"opdeck/api/untrusted"
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

// idOf is the ID of a notice: the same on every host.
func idOf(scope, key string) string {
	sum := sha256.Sum256([]byte(scope + "\n" + key))
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

// Store keeps the State of an account. All times are the store's.
type Store interface {
	// State returns the state and the time. It writes nothing.
	State(ctx context.Context, scope string) (State, time.Time, error)
	// Update calls change in one transaction, which excludes every other Update of the scope, and stores the state if
	// change returns true. It may call change again when the transaction is repeated.
	Update(ctx context.Context, scope string, change func(s *State, now time.Time) bool) error
}

// Options of a Notifier.
type Options struct {
	Store  Store
	Scope  string           // base_url and account
	Owner  string           // of this process's claims: unique
	Min    verdict.Severity // the mildest cause that is told
	Sender Sender           // nil: nothing is told
	// Observe reads what is so now.
	Observe func(ctx context.Context) Observation
	Log     *slog.Logger
	Every   time.Duration // between observations; 0: 5 s
}

// Notifier watches for one process and sends notices for all.
type Notifier struct {
	Options
	known State                     // as read last
	alone map[verdict.Cause]Episode // causes that this process told while the store failed
	sends sync.WaitGroup            // of those
}

const usualEvery = 5 * time.Second

// New returns a Notifier.
func New(opt Options) *Notifier {
	if opt.Every == 0 {
		opt.Every = usualEvery
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Notifier{Options: opt, alone: map[verdict.Cause]Episode{}}
}

// Run watches and sends until ctx ends; then it waits for attempts in progress.
func (n *Notifier) Run(ctx context.Context) {
	due := make(chan struct{}, 1)
	var sender sync.WaitGroup
	sender.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-due:
				for ctx.Err() == nil && n.Deliver(ctx) {
				}
			}
		}
	})
	t := time.NewTicker(n.Every)
	defer t.Stop()
	for ctx.Err() == nil {
		if n.Watch(ctx) {
			select {
			case due <- struct{}{}:
			default:
			}
		}
		select {
		case <-ctx.Done():
		case <-t.C:
		}
	}
	sender.Wait()
	n.sends.Wait()
}

// Watch observes once and queues the notices that are due; it reports whether there is one to send.
func (n *Notifier) Watch(ctx context.Context) bool {
	o := n.Observe(ctx)
	o.Scope = n.Scope
	if ctx.Err() != nil || o.Verdict.At.IsZero() || n.Sender == nil {
		return false
	}
	s, now, err := n.Store.State(ctx, n.Scope)
	if err == nil {
		var changed bool
		if s, changed = n.step(s, o); changed {
			err = n.Store.Update(ctx, n.Scope, func(into *State, _ time.Time) bool {
				s, changed = n.step(*into, o)
				*into = s
				return changed
			})
		}
	}
	if err != nil {
		n.watchAlone(ctx, o)
		return false
	}
	n.known, n.alone = s, map[verdict.Cause]Episode{}
	return s.due(now)
}

// step is Step after the causes that this process told alone were added, unless another one has added them.
func (n *Notifier) step(s State, o Observation) (State, bool) {
	s, joined := n.joined(s)
	s, changed := s.Step(o, n.Min)
	return s, joined || changed
}

func (n *Notifier) joined(s State) (_ State, changed bool) {
	s = s.copied()
	count := s.Count
	for c, e := range n.alone {
		if e.N > count {
			s.Open[c], s.Count = e, max(s.Count, e.N)
		}
	}
	return s, s.Count > count
}

// watchAlone tells a cause of the store itself, which cannot be claimed there: each instance sends it, with the same
// ID. Its end is told through the store.
func (n *Notifier) watchAlone(ctx context.Context, o Observation) {
	f, wrong := o.Verdict.First()
	s, _ := n.joined(n.known)
	if !wrong || f.Part != verdict.PartStore || !s.begin(o, n.Min) {
		return
	}
	n.alone[f.Cause] = s.Open[f.Cause]
	no := s.Queue[len(s.Queue)-1].Notice
	n.sends.Go(func() {
		for attempt := 1; attempt <= aloneTries && n.send(ctx, no, attempt) != nil; attempt++ {
			t := time.NewTimer(retryAfter(attempt))
			select {
			case <-ctx.Done():
				t.Stop()
				return
			case <-t.C:
			}
		}
	})
}

const aloneTries = 3

// Deliver makes one attempt to send the oldest notice if it is due; it reports whether there is another one.
func (n *Notifier) Deliver(ctx context.Context) (more bool) {
	var q Queued
	var ok, lapsed bool
	err := n.Store.Update(ctx, n.Scope, func(s *State, now time.Time) bool {
		q, ok = s.claim(n.Owner, now)
		return ok
	})
	if err != nil || !ok {
		return false
	}
	failed := n.send(ctx, q.Notice, q.Attempt)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	err = n.Store.Update(end, n.Scope, func(s *State, now time.Time) bool {
		changed := s.end(q, failed == nil, now)
		lapsed, more = failed != nil && q.lapsed(now), s.due(now)
		return changed
	})
	if err != nil {
		n.Log.Warn("the outcome of a notice was not stored; it is sent again", "id", q.Notice.ID, "err", err)
		return false
	}
	if lapsed {
		n.Log.Error("a notice is not tried again", "kind", string(q.Notice.Kind), "id", q.Notice.ID,
			"says", q.Notice.Sentence)
	}
	return more
}

const endTimeout = 5 * time.Second

// send makes one attempt, which the end of ctx does not cut off.
func (n *Notifier) send(ctx context.Context, no Notice, attempt int) error {
	try, cancel := context.WithTimeout(context.WithoutCancel(ctx), SendTimeout)
	defer cancel()
	err := n.Sender.Send(try, no)
	log := n.Log.With("kind", string(no.Kind), "id", no.ID, "attempt", attempt)
	if err != nil {
		log.Warn("a notice was not sent", "err", clean(err.Error()))
		return err
	}
	log.Info("a notice was sent")
	return nil
}

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
