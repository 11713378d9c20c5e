package notify

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"opdeck/internal/domain/verdict"
)

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
