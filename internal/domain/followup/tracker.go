package followup

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

// Trail is what is needed of the audit trail.
type Trail interface {
	Outcome(ctx context.Context, ref string, out api.Outcome) error
	Standing(ctx context.Context) (unsettled []audit.Entry, flying map[string]bool, err error)
	Entry(ctx context.Context, uid string) (audit.Entry, error)
	LastOutcome(ctx context.Context, intent audit.Entry) (audit.Entry, bool, error)
	Conclude(ctx context.Context, who api.Actor, e audit.Entry, note string) error
}

// Looker reads the object of a write once.
type Looker interface {
	Look(ctx context.Context, p api.Probe) (api.Sight, error)
}

// Options of a Tracker.
type Options struct {
	Store   Store
	Trail   Trail
	Context audit.Context // intents of other accounts are left to their own processes
	// LateAfter is how long after it was sent a write is looked for.
	LateAfter time.Duration
	Log       *slog.Logger
	// Follow are told about each outcome that is found here, in this order; they may
	// be told twice after a crash.
	Follow []func(ctx context.Context, s Settled) error
}

// Tracker follows the writes of one account. It implements api.Follower. Client must
// be set before it looks.
type Tracker struct {
	Client Looker
	opt    Options

	wake chan struct{} // holds one token: a row came or is due

	mu      sync.Mutex
	held    map[string]bool       // guarded by mu: rows that this process looks at
	known   map[string]Row        // guarded by mu: rows seen by Run, to notice what others settled
	tell    map[int]func(Settled) // guarded by mu
	tellers int                   // guarded by mu
}

var _ api.Follower = (*Tracker)(nil)

// New makes a Tracker.
func New(opt Options) *Tracker {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Tracker{opt: opt, wake: make(chan struct{}, 1), held: map[string]bool{}, known: map[string]Row{}, tell: map[int]func(Settled){}}
}

// Follow adds who is told about outcomes; call it before anything happens.
func (d *Tracker) Follow(fn func(ctx context.Context, s Settled) error) {
	d.opt.Follow = append(d.opt.Follow, fn)
}

// OnSettled registers fn for outcomes that were found later, here or by another
// process while Run runs; stop ends that.
func (d *Tracker) OnSettled(fn func(Settled)) (stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tellers++
	id := d.tellers
	d.tell[id] = fn
	return func() { d.mu.Lock(); defer d.mu.Unlock(); delete(d.tell, id) }
}

// Sending implements api.Follower.
func (d *Tracker) Sending(ctx context.Context, p api.Pending) error {
	now, err := d.opt.Store.Now(ctx)
	if err != nil {
		return err
	}
	return d.opt.Store.Add(ctx, Row{Ref: p.Ref, State: Sending, Sent: now, Next: now.Add(claimed), Write: Write{Kind: p.Act.Kind,
		Object: p.Act.Object, ID: p.Act.ID, Item: p.Act.Item, Name: p.Act.Name, Summary: p.Act.Summary, Who: p.Who.Name, Approval: p.Approval, Probe: p.Probe}})
}

// Ended implements api.Follower.
func (d *Tracker) Ended(ctx context.Context, ref string, out api.Outcome) error {
	if out.Verdict != api.Unclear {
		return d.opt.Store.Forget(ctx, ref)
	}
	rows, err := d.opt.Store.Rows(ctx)
	if err != nil {
		return err
	}
	now, err := d.opt.Store.Now(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Ref != ref {
			continue
		}
		next := r
		next.State = Unknown
		if !out.Looked.IsZero() {
			next.Looked = now
		}
		next.Next = d.after(next, now)
		_, err = d.opt.Store.Move(ctx, r, next)
		d.notify()
		return err
	}
	return nil
}

func (d *Tracker) notify() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Look looks at the rows that are due, at all of them when now is set, and
// settles what it can.
func (d *Tracker) Look(ctx context.Context, all bool) error {
	rows, err := d.Pending(ctx)
	if err != nil {
		return err
	}
	now, err := d.opt.Store.Now(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		switch {
		case r.State == NotSeen && !now.Before(r.Next):
			err = errors.Join(err, d.opt.Store.Forget(ctx, r.Ref))
		case r.State == NotSeen && !all:
		case r.State == Sending || all || !now.Before(r.Next):
			err = errors.Join(err, d.look(ctx, r))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return err
}

// look reads the object of one row.
func (d *Tracker) look(ctx context.Context, r Row) error {
	if !d.hold(r.Ref) {
		return nil
	}
	defer d.release(r.Ref)
	now, err := d.opt.Store.Now(ctx)
	if err != nil {
		return err
	}
	mine := r
	if mine.State == Sending {
		mine.State = Unknown
	}
	if mine.State == Unknown {
		mine.Next = now.Add(claimed)
	}
	if won, err := d.opt.Store.Move(ctx, r, mine); err != nil || !won {
		return err // another process looks
	}
	var s api.Sight
	err = nil
	if r.Probe.Readable() {
		s, err = d.Client.Look(ctx, r.Probe)
		if mine.Looks++; err == nil {
			mine.Looked = now
		}
	}
	switch {
	case s.Shown:
		return d.settle(ctx, mine, api.Outcome{Verdict: api.Done, Found: s.File, Detail: "a later read shows that it was done"})
	case mine.State == Unknown && now.Sub(r.Sent) >= d.opt.LateAfter:
		detail := "not seen within " + d.opt.LateAfter.String()
		if !r.Probe.Readable() {
			detail += "; nothing can be read about it"
		}
		return d.settle(ctx, mine, api.Outcome{Verdict: api.NotSeen, Detail: detail})
	}
	before := mine
	before.Looks, before.Looked = r.Looks, r.Looked
	if mine.State == Unknown {
		mine.Next = d.after(mine, now)
	}
	_, moveErr := d.opt.Store.Move(context.WithoutCancel(ctx), before, mine)
	if err != nil {
		d.opt.Log.Info("a write that is not settled could not be looked at", "act", string(r.Kind), "ref", r.Ref, "err", err)
	}
	return moveErr
}

func (d *Tracker) hold(ref string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held[ref] {
		return false
	}
	d.held[ref] = true
	return true
}

func (d *Tracker) release(ref string) { d.mu.Lock(); defer d.mu.Unlock(); delete(d.held, ref) }

// settle gives a write its outcome: the trail first, then whoever follows, then
// the row. After a crash in between it is settled once more.
func (d *Tracker) settle(ctx context.Context, r Row, out api.Outcome) error {
	ctx = context.WithoutCancel(ctx)
	now, err := d.opt.Store.Now(ctx)
	if err != nil {
		return err
	}
	out.Took, out.Looked = now.Sub(r.Sent), r.Looked
	if err := d.opt.Trail.Outcome(ctx, r.Ref, out); err != nil {
		return err
	}
	s := Settled{Row: r, Outcome: out}
	for _, follow := range d.opt.Follow {
		if followErr := follow(ctx, s); followErr != nil {
			err = errors.Join(err, followErr)
			d.opt.Log.Error("an outcome that was found later is not noted everywhere", "act", string(r.Kind), "ref", r.Ref, "err", followErr)
		}
	}
	d.mu.Lock()
	delete(d.known, r.Ref)
	d.mu.Unlock()
	if out.Verdict == api.NotSeen {
		err = errors.Join(err, d.remember(ctx, r, now))
	} else {
		err = errors.Join(err, d.opt.Store.Forget(ctx, r.Ref))
	}
	d.say(s)
	return err
}

// remember keeps a write that was not seen, so that a later sight still proves it.
func (d *Tracker) remember(ctx context.Context, r Row, now time.Time) error {
	rows, err := d.opt.Store.Rows(ctx)
	for _, is := range rows {
		if is.Ref == r.Ref {
			next := is
			next.State, next.Looked, next.Looks, next.Next = NotSeen, r.Looked, r.Looks, now.Add(remembered)
			_, err = d.opt.Store.Move(ctx, is, next)
			return err
		}
	}
	return err
}

// say tells those who asked to be told.
func (d *Tracker) say(s Settled) {
	d.mu.Lock()
	tell := make([]func(Settled), 0, len(d.tell))
	for _, fn := range d.tell {
		tell = append(tell, fn)
	}
	d.mu.Unlock()
	for _, fn := range tell {
		fn(s)
	}
}

// Conclude closes a write by what a person found.
func (d *Tracker) Conclude(ctx context.Context, who api.Actor, ref, note string) error {
	if err := api.Need(api.WithActor(ctx, who), "settle", api.MayAudit); err != nil {
		return err
	}
	rows, err := d.Pending(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.Ref != ref {
			continue
		}
		e, err := d.opt.Trail.Entry(ctx, ref)
		if err == nil {
			err = d.opt.Trail.Conclude(ctx, who, e, note)
		}
		if err != nil {
			return err
		}
		return d.opt.Store.Forget(ctx, ref)
	}
	return &api.Error{Op: "settle", Kind: api.NotFound,
		Public: "There is no unsettled act with that reference. Another person may have settled it, or its outcome arrived meanwhile."}
}

const (
	idle  = 30 * time.Second // between two looks at the store while nothing is unsettled
	tense = 5 * time.Second  // while something is
)
