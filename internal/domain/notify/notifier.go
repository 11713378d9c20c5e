package notify

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"opdeck/internal/domain/verdict"
)

// Sender sends a notice to its receiver. Its error is a sentence without a secret, safe to draw.
type Sender interface {
	Send(ctx context.Context, n Notice) error
}

// Options of a Notifier.
type Options struct {
	Store   Store
	Scope   string // base_url and account
	Owner   string // of this process's claims: unique
	Rules   []Rule
	Senders map[string]Sender // one for each rule
	// Observe reads what is so now.
	Observe func(ctx context.Context) Observation
	Log     *slog.Logger
	Every   time.Duration // between observations; 0: 5 s
}

// Notifier watches for one process and sends notices for all.
type Notifier struct {
	Options
	due map[string]chan struct{} // by rule: holds a token if this process has added a notice

	shared map[string]Shared // as read last
	own    map[string]State  // of causes of the store
	alone  sync.WaitGroup    // sends without a claim
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
	n := &Notifier{Options: opt, due: map[string]chan struct{}{}, shared: map[string]Shared{}, own: map[string]State{}}
	for _, r := range opt.Rules {
		n.due[r.Name] = make(chan struct{}, 1)
	}
	return n
}

// Run watches and sends until ctx ends; then it waits for attempts in progress.
func (n *Notifier) Run(ctx context.Context) {
	var parts sync.WaitGroup
	parts.Go(func() { n.every(ctx, nil, func() { n.Watch(ctx) }) })
	for _, r := range n.Rules {
		parts.Go(func() {
			n.every(ctx, n.due[r.Name], func() {
				for ctx.Err() == nil && n.Deliver(ctx, r.Name) {
				}
			})
		})
	}
	parts.Wait()
	n.alone.Wait()
}

// every calls fn now, at intervals, and when notified, until ctx ends.
func (n *Notifier) every(ctx context.Context, notified <-chan struct{}, fn func()) {
	t := time.NewTicker(n.Every)
	defer t.Stop()
	for {
		fn()
		select {
		case <-ctx.Done():
			return
		case <-t.C:
		case <-notified:
		}
	}
}

// Watch observes once and adds the notices that are due.
func (n *Notifier) Watch(ctx context.Context) {
	o := n.Observe(ctx)
	o.Scope = n.Scope
	if ctx.Err() != nil || o.Verdict.At.IsZero() {
		return
	}
	shared, _, err := n.Store.Shared(ctx, n.Scope)
	if err == nil {
		n.shared = shared
	}
	for _, r := range n.Rules {
		n.watchStore(ctx, r, o)
		if err != nil {
			continue
		}
		known := n.shared[r.Name]
		if _, _, changed := r.Step(known.State, o, false); !changed {
			continue
		}
		added := 0
		err := n.Store.Update(ctx, n.Scope, r.Name, func(s State, silenced bool) (State, []Notice, bool) {
			next, add, changed := r.Step(s, o, silenced)
			added = len(add)
			return next, add, changed
		})
		if err != nil {
			n.Log.Debug("notices cannot be stored now", "notify", r.Name, "err", err)
		} else if added > 0 {
			select {
			case n.due[r.Name] <- struct{}{}:
			default:
			}
		}
	}
}

// watchStore follows the causes of the store, which no one can claim there: each instance sends their notices, with
// the same ID.
func (n *Notifier) watchStore(ctx context.Context, r Rule, o Observation) {
	known := n.shared[r.Name]
	before := n.own[r.Name]
	own, out := r.StoreStep(before, known.State, o, known.Silence.Active(o.Verdict.At))
	n.own[r.Name] = own
	for _, no := range out {
		if !no.Silenced {
			n.alone.Go(func() { n.sendAlone(ctx, no) })
		}
	}
	for key, e := range own.Episodes {
		if e.Ended.IsZero() || !before.Episodes[key].Ended.IsZero() {
			continue
		}
		// The number is used up, so that the next outage has other IDs.
		_ = n.Store.Update(ctx, n.Scope, r.Name, func(s State, _ bool) (State, []Notice, bool) {
			changed := s.Count < e.N
			s.Count = max(s.Count, e.N)
			return s, nil, changed
		})
	}
}

const aloneTries = 3

func (n *Notifier) sendAlone(ctx context.Context, no Notice) {
	for try := range aloneTries {
		if n.send(ctx, Delivery{no, try + 1}) == nil {
			return
		}
		t := time.NewTimer(retryAfter(try + 1))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// Deliver makes one attempt to send the oldest notice of a rule that is due; it reports whether there was one.
func (n *Notifier) Deliver(ctx context.Context, rule string) bool {
	d, ok, err := n.Store.Claim(ctx, n.Scope, rule, n.Owner)
	if err != nil || !ok {
		return false
	}
	var out Outcome
	if err := n.send(ctx, d); err == nil {
		out.Delivered = true
	} else {
		out.Error = clean(err.Error())
		if out.Retry = retryAfter(d.Attempt); d.Attempt >= attemptsMost {
			out.Retry = 0
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), doneTimeout)
	defer cancel()
	if err := n.Store.Done(end, n.Scope, n.Owner, d.Notice.ID, out); err != nil {
		n.Log.Warn("the outcome of a notice was not stored; it is sent again", "notify", rule, "id", d.Notice.ID, "err", err)
		return false
	}
	return true
}

const doneTimeout = 5 * time.Second

// attemptsMost is how many attempts there are within GiveUp.
const attemptsMost = int(GiveUp/RetryMost) + 6

// retryAfter is the pause after an attempt.
func retryAfter(attempt int) time.Duration { return min(RetryFirst<<min(attempt-1, 10), RetryMost) }

// send makes one attempt, which the end of ctx does not cut off.
func (n *Notifier) send(ctx context.Context, d Delivery) error {
	s := n.Senders[d.Notice.Name]
	if s == nil {
		return errors.New("this process has no receiver of that name")
	}
	try, cancel := context.WithTimeout(context.WithoutCancel(ctx), SendTimeout)
	defer cancel()
	err := s.Send(try, d.Notice)
	if err != nil {
		n.Log.Warn("a notice was not sent", "notify", d.Notice.Name, "kind", string(d.Notice.Kind), "id", d.Notice.ID,
			"attempt", d.Attempt, "err", clean(err.Error()))
		return err
	}
	n.Log.Info("a notice was sent", "notify", d.Notice.Name, "kind", string(d.Notice.Kind), "id", d.Notice.ID,
		"attempt", d.Attempt)
	return nil
}

// Example is a test notice of a rule.
func Example(rule, context string, now time.Time) Notice {
	return Notice{ID: idOf("test", rule, now.Format(time.RFC3339Nano)), Name: rule, Kind: Test, Test: true,
		Context: clean(context), At: now, Severity: verdict.Info.String(),
		Sentence: "This is a test of [notify." + clean(rule) + "]. Nothing is wrong.", Next: "Nothing."}
}
