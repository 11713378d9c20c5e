package followup

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/audit"
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

// Options of a Desk.
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

// Desk follows the writes of one account. It implements api.Follower. Client must
// be set before it looks.
type Desk struct {
	Client Looker
	opt    Options

	wake chan struct{} // holds one token: a row came or is due

	mu      sync.Mutex
	held    map[string]bool       // guarded by mu: rows that this process looks at
	known   map[string]Row        // guarded by mu: rows seen by Run, to notice what others settled
	tell    map[int]func(Settled) // guarded by mu
	tellers int                   // guarded by mu
}

var _ api.Follower = (*Desk)(nil)

// New makes a Desk.
func New(opt Options) *Desk {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Desk{opt: opt, wake: make(chan struct{}, 1), held: map[string]bool{}, known: map[string]Row{}, tell: map[int]func(Settled){}}
}

// Follow adds who is told about outcomes; call it before anything happens.
func (d *Desk) Follow(fn func(ctx context.Context, s Settled) error) {
	d.opt.Follow = append(d.opt.Follow, fn)
}

// OnSettled registers fn for outcomes that were found later, here or by another
// process while Run runs; stop ends that.
func (d *Desk) OnSettled(fn func(Settled)) (stop func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.tellers++
	id := d.tellers
	d.tell[id] = fn
	return func() { d.mu.Lock(); defer d.mu.Unlock(); delete(d.tell, id) }
}

// Sending implements api.Follower.
func (d *Desk) Sending(ctx context.Context, p api.Pending) error {
	now, err := d.opt.Store.Now(ctx)
	if err != nil {
		return err
	}
	return d.opt.Store.Add(ctx, Row{Ref: p.Ref, State: Sending, Sent: now, Next: now.Add(claimed), Write: Write{Kind: p.Act.Kind,
		Object: p.Act.Object, ID: p.Act.ID, Item: p.Act.Item, Name: p.Act.Name, Summary: p.Act.Summary, Who: p.Who.Name, Approval: p.Approval, Probe: p.Probe}})
}

// Ended implements api.Follower.
func (d *Desk) Ended(ctx context.Context, ref string, out api.Outcome) error {
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
		d.rouse()
		return err
	}
	return nil
}

func (d *Desk) rouse() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// Pending lists the writes whose outcome is not known, oldest first, and those
// that were not seen in time. What is under way in living processes is left out;
// what died with its process, also under an older opdeck, is taken in.
func (d *Desk) Pending(ctx context.Context) ([]Row, error) {
	gone, flying, err := d.opt.Trail.Standing(ctx)
	if err != nil {
		return nil, err
	}
	rows, err := d.opt.Store.Rows(ctx)
	if err != nil {
		return nil, err
	}
	have, dead := map[string]bool{}, map[string]bool{}
	gone = slices.DeleteFunc(gone, func(e audit.Entry) bool { return flying[e.UID] })
	for _, e := range gone {
		dead[e.UID] = true
	}
	var out []Row
	for _, r := range rows {
		have[r.Ref] = true
		if r.State == Sending && !dead[r.Ref] {
			if flying[r.Ref] {
				continue
			}
			if ok, err := d.closed(ctx, &r); err != nil || !ok {
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		out = append(out, r)
	}
	for _, e := range gone {
		if have[e.UID] || e.Damaged || e.Context.BaseURL != d.opt.Context.BaseURL || e.Context.Account != d.opt.Context.Account {
			continue
		}
		r, err := d.adopt(ctx, e)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// Of lists those of one object, without looking whether processes died.
func (d *Desk) Of(ctx context.Context, id string) ([]Row, error) {
	rows, err := d.opt.Store.Rows(ctx)
	return slices.DeleteFunc(rows, func(r Row) bool { return r.ID != id || r.State == Sending }), err
}

// closed looks at a row whose intent has an outcome although the row does not
// say so: its process ended in between. ok: that outcome is an open one.
func (d *Desk) closed(ctx context.Context, r *Row) (ok bool, err error) {
	e, err := d.opt.Trail.Entry(ctx, r.Ref)
	if err != nil {
		return false, err
	}
	last, some, err := d.opt.Trail.LastOutcome(ctx, e)
	if err != nil || !some {
		return false, err // it came between two reads: the next look sees it
	}
	if last.Outcome != audit.ResultUnknown {
		return false, d.opt.Store.Forget(ctx, r.Ref)
	}
	next := *r
	next.State = Unknown
	moved, err := d.opt.Store.Move(ctx, *r, next)
	*r = next
	return moved, err
}

// adopt takes in an intent that has no row.
func (d *Desk) adopt(ctx context.Context, e audit.Entry) (Row, error) {
	p := api.Probe{Kind: api.ActKind(e.Event)}
	switch e.Object {
	case "operation":
		p.OPID, p.GUID = e.ID, e.Item
	case "customer":
		p.CUID = e.ID
	}
	if p.Kind == api.ActUploadDocument || p.Kind == api.ActSetHooks || p.Kind == api.ActSetApplication {
		p.Kind = "" // the trail does not hold what would prove them
	}
	now, err := d.opt.Store.Now(ctx)
	if err != nil {
		return Row{}, err
	}
	r := Row{Ref: e.UID, State: Sending, Sent: e.At, Next: now, Write: Write{Kind: api.ActKind(e.Event), Object: e.Object, ID: e.ID, Item: e.Item,
		Name: audit.Reading(e.Name).Line(80), Summary: audit.Reading(e.Summary).Line(300), Who: audit.Reading(e.Actor.Name).Line(80), Probe: p}}
	return r, d.opt.Store.Add(ctx, r)
}

// Look looks at the rows that are due, at all of them when now is set, and
// settles what it can.
func (d *Desk) Look(ctx context.Context, all bool) error {
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
func (d *Desk) look(ctx context.Context, r Row) error {
	if !d.hold(r.Ref) {
		return nil
	}
	defer d.letGo(r.Ref)
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

func (d *Desk) hold(ref string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held[ref] {
		return false
	}
	d.held[ref] = true
	return true
}

func (d *Desk) letGo(ref string) { d.mu.Lock(); defer d.mu.Unlock(); delete(d.held, ref) }

// settle gives a write its outcome: the trail first, then whoever follows, then
// the row. After a crash in between it is settled once more.
func (d *Desk) settle(ctx context.Context, r Row, out api.Outcome) error {
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
func (d *Desk) remember(ctx context.Context, r Row, now time.Time) error {
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
func (d *Desk) say(s Settled) {
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

// Saw takes operations that were read for whatever reason: what they prove is
// settled at once.
func (d *Desk) Saw(ctx context.Context, ops []api.Operation) {
	d.proven(ctx, func(r Row) (string, bool) {
		for _, op := range ops {
			if r.Probe.ProvenBy(op) {
				return "", true
			}
		}
		return "", false
	})
}

// Shown takes a look that another part of the program made and that showed what
// the write wanted.
func (d *Desk) Shown(ctx context.Context, p api.Probe, s api.Sight) {
	d.proven(ctx, func(r Row) (string, bool) {
		q := r.Probe
		return s.File, q.Kind == p.Kind && q.OPID == p.OPID && q.CUID == p.CUID && q.GUID == p.GUID && q.Since.Equal(p.Since)
	})
}

// proven settles as done the rows that is says so about; file is the id of an
// uploaded file.
func (d *Desk) proven(ctx context.Context, is func(Row) (file string, ok bool)) {
	rows, err := d.opt.Store.Rows(ctx)
	if err != nil || len(rows) == 0 {
		return // trouble is told by who needs the store
	}
	for _, r := range rows {
		file, ok := is(r)
		if !ok || r.State == Sending && !d.dead(ctx, r.Ref) || !d.hold(r.Ref) {
			continue
		}
		if now, err := d.opt.Store.Now(ctx); err == nil {
			r.Looked = now
		}
		if err := d.settle(ctx, r, api.Outcome{Verdict: api.Done, Found: file, Detail: "a later read shows that it was done"}); err != nil {
			d.opt.Log.Error("a write that is proven done could not be settled", "ref", r.Ref, "err", err)
		}
		d.letGo(r.Ref)
	}
}

// dead reports that the process of a write has ended without an outcome.
func (d *Desk) dead(ctx context.Context, ref string) bool {
	gone, flying, err := d.opt.Trail.Standing(ctx)
	return err == nil && !flying[ref] && slices.ContainsFunc(gone, func(e audit.Entry) bool { return e.UID == ref })
}

// Stirred says that an object changed: what is not known about it is looked at
// soon, by whichever process is first.
func (d *Desk) Stirred(ctx context.Context, id string) {
	rows, err := d.opt.Store.Rows(ctx)
	if err != nil || len(rows) == 0 {
		return
	}
	now, err := d.opt.Store.Now(ctx)
	for _, r := range rows {
		if err != nil || r.ID != id || r.State != Unknown || !r.Probe.Readable() {
			continue
		}
		next := r
		next.Next = now
		_, _ = d.opt.Store.Move(ctx, r, next) // else another process is at it
		d.rouse()
	}
}

// Conclude closes a write by what a person found.
func (d *Desk) Conclude(ctx context.Context, who api.Actor, ref, note string) error {
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
	return &api.Error{Op: "settle", Kind: api.NotFound, Public: "There is no unsettled act with that reference.",
		Hint: "Another person may have settled it, or its outcome arrived meanwhile."}
}

const (
	idle  = 30 * time.Second // between two looks at the store while nothing is unsettled
	tense = 5 * time.Second  // while something is
)

// Run looks in the background, with what people leave of the budgets, until ctx
// ends. Any number of processes may run it: a row is looked at by one of them.
func (d *Desk) Run(ctx context.Context) {
	ctx = limit.Background(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-d.wake:
		case <-timer.C:
		}
		if err := d.Look(ctx, false); err != nil && ctx.Err() == nil {
			d.opt.Log.Warn("unsettled writes could not be looked at", "err", err)
		}
		timer.Reset(d.notice(ctx))
	}
}

// notice tells what other processes settled since the last time, and how long
// nothing is due.
func (d *Desk) notice(ctx context.Context) time.Duration {
	rows, err := d.opt.Store.Rows(ctx)
	if err != nil {
		return idle
	}
	now, err := d.opt.Store.Now(ctx)
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
	d.mu.Lock()
	was := d.known
	d.known = map[string]Row{}
	for ref, r := range is {
		if r.State == Unknown {
			d.known[ref] = r
		}
	}
	d.mu.Unlock()
	for ref, r := range was {
		if there, ok := is[ref]; !ok || there.State != Unknown {
			d.tellFound(ctx, r)
		}
	}
	return wait
}

// verdicts are the outcomes as the trail words them.
var verdicts = map[audit.Result]api.Verdict{audit.ResultOK: api.Done, audit.ResultDenied: api.Denied, audit.ResultFailed: api.Failed, audit.ResultNotSeen: api.NotSeen}

// tellFound tells what another process found.
func (d *Desk) tellFound(ctx context.Context, r Row) {
	e, err := d.opt.Trail.Entry(ctx, r.Ref)
	if err != nil {
		return
	}
	last, some, err := d.opt.Trail.LastOutcome(ctx, e)
	v := verdicts[last.Outcome]
	if err != nil || !some || v == "" {
		return
	}
	d.say(Settled{Row: r, Outcome: api.Outcome{Verdict: v, Detail: audit.Reading(last.Error).Line(300)}})
}
