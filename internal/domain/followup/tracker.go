package followup

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/api/redact"
	"opdeck/internal/domain/audit"
)

// Options of a Tracker.
type Options struct {
	Store   Store
	Trail   *audit.Intents
	Context audit.Context // intents of other accounts are left to their own processes
	// Date is the service's time, zero if not known; may be nil.
	Date func() time.Time
	// LateAfter is how long a write is looked up after it was sent.
	LateAfter time.Duration
	Log       *slog.Logger
	// Follow are called with each outcome that is found here, in this order; after a crash perhaps twice.
	Follow []func(ctx context.Context, s Settled) error
}

// Tracker follows the writes of one account. It implements api.Follower. Set Client before it looks.
type Tracker struct {
	Client endpoint.Caller // unmasked
	opt    Options

	wake chan struct{} // holds one token: a row was added or is due

	mu         sync.Mutex
	held       map[string]bool       // guarded by mu: rows that this process is looking at
	known      map[string]Row        // guarded by mu: rows that Run has seen, to detect what other processes settled
	observers  map[int]func(Settled) // guarded by mu
	registered int                   // guarded by mu
}

var _ api.Follower = (*Tracker)(nil)

// New returns a Tracker.
func New(opt Options) *Tracker {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Tracker{opt: opt, wake: make(chan struct{}, 1), held: map[string]bool{}, known: map[string]Row{},
		observers: map[int]func(Settled){}}
}

// Follow adds fn to Options.Follow; call it before any other method.
func (t *Tracker) Follow(fn func(ctx context.Context, s Settled) error) {
	t.opt.Follow = append(t.opt.Follow, fn)
}

// OnSettled registers fn for outcomes that are found later, here or by another process while Run runs; stop removes
// it.
func (t *Tracker) OnSettled(fn func(Settled)) (stop func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.registered++
	id := t.registered
	t.observers[id] = fn
	return func() { t.mu.Lock(); defer t.mu.Unlock(); delete(t.observers, id) }
}

// Sending implements api.Follower.
func (t *Tracker) Sending(ctx context.Context, p api.Pending) (*api.Doubt, error) {
	if _, _, err := t.rows(ctx); err != nil {
		return nil, err
	}
	now, err := t.opt.Store.Now(ctx)
	if err != nil {
		return nil, err
	}
	r := Row{Ref: p.Ref, State: Sending, Claim: p.Claim, Sent: now, Until: now.Add(t.opt.LateAfter),
		Next: now.Add(claimed),
		Write: Write{Kind: p.Act.Kind, Object: p.Act.Object, ID: p.Act.ID, Item: p.Act.Item,
			Name: redact.Said(p.Act.Name), Summary: redact.Said(p.Act.Summary), // a file's name is told to everybody
			Who: p.Who.Name, Approval: p.Approval, Probe: p.Probe, Date: p.Date, Host: time.Now().UTC()}}
	holder, err := t.opt.Store.Add(ctx, r, func(other Row) bool { return t.over(other, now, p.Date) })
	if holder == nil {
		holder = &r
	}
	return holder.doubt(), err
}

// Ended implements api.Follower.
func (t *Tracker) Ended(ctx context.Context, ref string, out api.Outcome) error {
	state := map[api.Verdict]State{api.Unclear: Unknown, api.Seen: Seen}[out.Verdict]
	if state == "" {
		return t.opt.Store.Forget(ctx, ref)
	}
	now, err := t.opt.Store.Now(ctx)
	if err != nil {
		return err
	}
	err = t.change(ctx, ref, func(r *Row) {
		r.State = state
		if !out.Looked.IsZero() || state == Seen {
			r.Looked = now
		}
		r.Next = t.nextLook(*r, now)
	})
	t.notify()
	return err
}

// Doubt implements api.Follower.
func (t *Tracker) Doubt(ctx context.Context, claim string, date time.Time) (*api.Doubt, error) {
	rows, now, err := t.rows(ctx)
	for _, r := range rows {
		if r.Claim == claim && !t.over(r, now, date) {
			return r.doubt(), err
		}
	}
	return nil, err
}

// Claimed implements api.Follower.
func (t *Tracker) Claimed(ctx context.Context, p api.Probe, id string) (bool, error) {
	ref, err := t.opt.Trail.Maker(ctx, string(p.Kind), id)
	return ref != "" && ref != p.Ref, err
}

func (r Row) doubt() *api.Doubt {
	return &api.Doubt{Ref: r.Ref, What: r.What(), Who: r.Who, Sent: r.Sent, Until: r.Until}
}

// over reports whether a write is not expected to arrive any more: by the store's clock late_after is over, and no
// other clock contradicts that, as it would if the store's had been set forward. date is the service's time. A clock
// that was set back is ignored.
func (t *Tracker) over(r Row, now, date time.Time) bool {
	const cut = 2 * time.Second // Date has whole seconds
	if r.State == NotSeen {
		return true
	}
	early := func(sent, now time.Time) bool {
		took := now.Sub(sent)
		return !sent.IsZero() && !now.IsZero() && took >= 0 && took+cut < t.opt.LateAfter
	}
	return !now.Before(r.Until) && !early(r.Date, date) && !early(r.Host, time.Now())
}

// rows returns the writes and the store's time. A wait longer than ever planned is from before the store's clock was
// set back; it starts again.
func (t *Tracker) rows(ctx context.Context) ([]Row, time.Time, error) {
	rows, err := t.opt.Store.Rows(ctx)
	if err != nil || len(rows) == 0 {
		return nil, time.Time{}, err
	}
	now, err := t.opt.Store.Now(ctx)
	if err != nil {
		return nil, now, err
	}
	for i, r := range rows {
		next := t.notBeyond(r, now)
		next.Claim = t.claim(ctx, r, rows)
		if next.Until.Equal(r.Until) && next.Next.Equal(r.Next) && next.Claim == r.Claim {
			continue
		}
		moved, err := t.opt.Store.Move(ctx, r, next)
		if err != nil {
			return nil, now, err
		}
		if moved {
			rows[i] = next
		}
	}
	return rows, now, nil
}

func (t *Tracker) notBeyond(r Row, now time.Time) Row {
	if r.Until.Sub(now) > t.opt.LateAfter {
		r.Until = now.Add(t.opt.LateAfter)
	}
	switch {
	case r.State == NotSeen:
		if r.Next.Sub(now) > remembered {
			r.Next = now.Add(remembered)
		}
	case endpoint.Readable(r.Probe) && r.State != Seen && r.Next.Sub(now) > longest:
		r.Next = now
	case r.Next.After(r.Until) && r.Next.Sub(now) > claimed:
		r.Next = r.Until
	}
	return r
}

// change changes the row of a write, unless it is gone or another process is first.
func (t *Tracker) change(ctx context.Context, ref string, change func(*Row)) error {
	rows, err := t.opt.Store.Rows(ctx)
	for _, r := range rows {
		if r.Ref == ref {
			next := r
			change(&next)
			_, err = t.opt.Store.Move(ctx, r, next)
			return err
		}
	}
	return err
}

func (t *Tracker) notify() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// Look looks at the rows that are due, or at all of them, and settles what it can.
func (t *Tracker) Look(ctx context.Context, all bool) error {
	if err := t.opt.Trail.Unrecorded(); err != nil {
		return err
	}
	rows, err := t.Pending(ctx)
	if err != nil {
		return err
	}
	now, err := t.opt.Store.Now(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		switch {
		case r.State == NotSeen && !now.Before(r.Next):
			err = errors.Join(err, t.opt.Store.Forget(ctx, r.Ref))
		case r.State == NotSeen && !all:
		case r.Unsure && now.Before(r.Next): // its process may still be sending
		case r.State == Sending || all || !now.Before(r.Next):
			err = errors.Join(err, t.look(ctx, r))
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return err
}

// look reads the object of one row.
func (t *Tracker) look(ctx context.Context, r Row) error {
	if !t.hold(r.Ref) {
		return nil
	}
	defer t.release(r.Ref)
	now, err := t.opt.Store.Now(ctx)
	if err != nil {
		return err
	}
	mine := r
	if mine.State == Sending {
		mine.State = Unknown
	}
	if mine.State != NotSeen {
		mine.Next = now.Add(claimed)
	}
	if won, err := t.opt.Store.Move(ctx, r, mine); err != nil || !won {
		return err // another process looks
	}
	var s api.Observation
	err = nil
	var date time.Time
	if t.opt.Date != nil {
		date = t.opt.Date()
	}
	if endpoint.Readable(r.Probe) {
		s, err = endpoint.Do(ctx, t.Client, endpoint.Look, r.Probe)
		s.Evidence.Seen = evidence.Moment{At: now, By: evidence.Store}
		if mine.Reads++; err == nil {
			mine.Looked = now
		}
	}
	over := t.over(mine, now, date)
	shown := s.Shown || mine.State == Seen && len(s.Candidates) > 1 // a second one does not take the first away
	switch {
	case shown && s.Evidence.Flaw(r.need(now)) == evidence.Sound && (over || mine.State != Seen):
		return t.settle(ctx, mine, r.seen(s, over))
	case mine.State != NotSeen && over:
		detail := "no read showed it within " + t.opt.LateAfter.String()
		switch {
		case mine.State == Seen && err != nil:
			detail = "a read showed it, but the last one failed"
		case mine.State == Seen:
			detail = "a read showed it, but the last one does not"
		case !endpoint.Readable(r.Probe):
			detail += "; nothing can be read about it"
		}
		why := evidence.Conclusion{Kind: evidence.Act, Says: "unknown outcome", Object: r.ID, Item: r.Item, Open: detail}
		if s.Evidence.Read != "" {
			why.Rests = []evidence.Evidence{s.Evidence}
		}
		return t.settle(ctx, mine, api.Outcome{Verdict: api.NotSeen, Detail: detail, Why: why})
	}
	before := mine
	before.Reads, before.Looked = r.Reads, r.Looked
	if mine.State != NotSeen {
		mine.Next = t.nextLook(mine, now)
	}
	_, moveErr := t.opt.Store.Move(context.WithoutCancel(ctx), before, mine)
	if err != nil {
		t.opt.Log.Info("a write that is not settled could not be looked at", "act", string(r.Kind), "ref", r.Ref, "err", err)
	}
	return moveErr
}

func (t *Tracker) hold(ref string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.held[ref] {
		return false
	}
	t.held[ref] = true
	return true
}

func (t *Tracker) release(ref string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.held, ref)
}

// settle gives a write its outcome: first in the trail, then to the followers, then in the row, which stays while the
// request may arrive or its state may show. After a crash in between it is repeated.
func (t *Tracker) settle(ctx context.Context, r Row, out api.Outcome) error {
	ctx = context.WithoutCancel(ctx)
	now, err := t.opt.Store.Now(ctx)
	if err != nil {
		return err
	}
	evidence.Note(ctx, out.Why)
	out.Took, out.Looked = max(now.Sub(r.Sent), 0), r.Looked
	if err := t.opt.Trail.Outcome(ctx, r.Ref, out); err != nil {
		return err
	}
	s := Settled{Row: r, Outcome: out}
	for _, follow := range t.opt.Follow {
		if followErr := follow(ctx, s); followErr != nil {
			err = errors.Join(err, followErr)
			t.opt.Log.Error("an outcome that was found later could not be recorded everywhere", "act", string(r.Kind), "ref",
				r.Ref,
				"err", followErr)
		}
	}
	t.mu.Lock()
	delete(t.known, r.Ref)
	t.mu.Unlock()
	state, next := NotSeen, now.Add(remembered)
	if out.Verdict == api.Seen {
		state, next = Seen, r.Until
	}
	if out.Verdict == api.Seen && out.Why.Open == "" { // over
		err = errors.Join(err, t.opt.Store.Forget(ctx, r.Ref))
	} else {
		err = errors.Join(err, t.change(ctx, r.Ref, func(is *Row) {
			is.State, is.Looked, is.Reads, is.Next = state, r.Looked, r.Reads, next
		}))
	}
	t.say(s)
	return err
}

// say calls the functions of OnSettled.
func (t *Tracker) say(s Settled) {
	t.mu.Lock()
	observers := slices.Collect(maps.Values(t.observers))
	t.mu.Unlock()
	for _, fn := range observers {
		fn(s)
	}
}

// Conclude closes a write with what a person found; who needs api.MayAudit.
func (t *Tracker) Conclude(ctx context.Context, who api.Actor, ref, note string) error {
	if err := api.Need(api.WithActor(ctx, who), "settle", api.MayAudit); err != nil {
		return err
	}
	rows, err := t.Pending(ctx)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(rows, func(r Row) bool { return r.Ref == ref }) {
		return &api.Error{Op: "settle", Kind: api.NotFound, Public: "No write with an unknown outcome has that reference.",
			Hint: "Another person may have settled it, or its outcome has become known."}
	}
	e, err := t.opt.Trail.Entry(ctx, ref)
	if err != nil {
		return err
	}
	if err := t.opt.Trail.Conclude(ctx, who, e, note); err != nil {
		return err
	}
	return t.opt.Store.Forget(ctx, ref)
}

const (
	idle  = 30 * time.Second // between reads of the store while all is settled
	tense = 5 * time.Second  // while something is not
)

// Pending lists the writes that may still arrive, oldest first, and those that were not seen in time. It omits
// writes of processes that are known to run; it includes those of dead processes and, as Unsure, those of processes
// that may still run.
func (t *Tracker) Pending(ctx context.Context) ([]Row, error) {
	gone, underWay, err := t.opt.Trail.OpenIntents(ctx)
	if err != nil {
		return nil, err
	}
	rows, _, err := t.rows(ctx)
	if err != nil {
		return nil, err
	}
	have, dead := map[string]bool{}, map[string]bool{}
	gone = slices.DeleteFunc(gone, func(e audit.Entry) bool { return underWay[e.UID] != 0 })
	for _, e := range gone {
		dead[e.UID] = true
	}
	var out []Row
	for _, r := range rows {
		have[r.Ref] = true
		open := r.State != Sending || dead[r.Ref]
		switch {
		case open:
		case underWay[r.Ref] == audit.Unmarked:
			r.Unsure, open = true, true
		case underWay[r.Ref] == 0:
			if open, err = t.closed(ctx, &r); err != nil {
				return nil, err
			}
		}
		if open {
			out = append(out, r)
		}
	}
	for _, e := range gone {
		if have[e.UID] || e.Damaged || e.Context.BaseURL != t.opt.Context.BaseURL ||
			e.Context.Account != t.opt.Context.Account {
			continue
		}
		if is := endpoint.Of(api.ActKind(e.Event)); is != nil && is.Writes() {
			if err := t.neverSent(ctx, e); err != nil && t.opt.Trail.Unrecorded() == nil {
				return nil, err
			}
			continue
		}
		r, err := t.adopt(ctx, e)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// neverSent closes an intent whose process ended before it stored the write, and so before it sent anything.
func (t *Tracker) neverSent(ctx context.Context, e audit.Entry) error {
	return t.opt.Trail.Outcome(ctx, e.UID, api.Outcome{Verdict: api.Failed,
		Detail: "its process ended before anything was sent"})
}

// Of lists the writes on one object, without checking for dead processes.
func (t *Tracker) Of(ctx context.Context, id string) ([]Row, error) {
	rows, err := t.opt.Store.Rows(ctx)
	return slices.DeleteFunc(rows, func(r Row) bool { return r.ID != id || r.State == Sending }), err
}

// lagging is how long a read may still list a document that was removed.
const lagging = 10 * time.Minute

// Removed are the documents whose last proven write of ours took them off an operation, within the last ten minutes,
// and when it did: a read that lists one may be older.
func (t *Tracker) Removed(ctx context.Context, opid string) (map[string]time.Time, error) {
	done, err := t.opt.Trail.Done(ctx, "operation", opid, time.Now().Add(-lagging))
	at := map[string]time.Time{}
	for _, e := range slices.Backward(done) {
		switch {
		case e.Context.BaseURL != t.opt.Context.BaseURL:
		case e.Event == string(api.ActRemoveDocument):
			at[e.Item] = e.At
		case e.Event == string(api.ActAttachDocument):
			delete(at, e.Item)
		}
	}
	return at, err
}

// InDoubt lists the objects of a kind with a write whose outcome is unknown, without checking for dead processes.
func (t *Tracker) InDoubt(ctx context.Context, object string) (ids []string, err error) {
	rows, err := t.opt.Store.Rows(ctx)
	for _, r := range rows {
		if r.State != Sending && r.Object == object {
			ids = append(ids, r.ID)
		}
	}
	return ids, err
}

// closed updates a row whose intent has an outcome that the row lacks, because its process ended in between. ok: that
// outcome is an unknown one.
func (t *Tracker) closed(ctx context.Context, r *Row) (ok bool, err error) {
	e, err := t.opt.Trail.Entry(ctx, r.Ref)
	if err != nil {
		return false, err
	}
	last, some, err := t.opt.Trail.LastOutcome(ctx, e)
	if err != nil || !some {
		return false, err // it was added between two reads: the next look sees it
	}
	next := *r
	switch last.Outcome {
	case audit.ResultUnknown:
		next.State = Unknown
	case audit.ResultSeen:
		next.State = Seen
	default:
		return false, t.opt.Store.Forget(ctx, r.Ref)
	}
	moved, err := t.opt.Store.Move(ctx, *r, next)
	*r = next
	return moved, err
}

// adopt adds the intent of an act on the session, which has no row: no read can show its outcome.
func (t *Tracker) adopt(ctx context.Context, e audit.Entry) (Row, error) {
	now, err := t.opt.Store.Now(ctx)
	if err != nil {
		return Row{}, err
	}
	r := ofIntent(e)
	r.Until, r.Next = e.At.Add(t.opt.LateAfter), now
	_, err = t.opt.Store.Add(ctx, r, nil)
	return r, err
}

// ofIntent is the row of an intent that has none. Nothing can be read about it.
func ofIntent(e audit.Entry) Row {
	return Row{Ref: e.UID, State: Sending, Sent: e.At,
		Write: Write{Kind: api.ActKind(e.Event), Object: e.Object, ID: e.ID, Item: e.Item,
			Name: audit.Unquote(e.Name).Line(80), Summary: audit.Unquote(e.Summary).Line(300),
			Who: audit.Unquote(e.Actor.Name).Line(80)}}
}

// Restored stores the row of an intent in a restored store that has none, and reports whether the intent is a write. It
// may have been sent after the backup was taken, so it is in doubt and holds its claim.
func Restored(ctx context.Context, st Store, e audit.Entry, taken time.Time, lateAfter time.Duration) (bool, error) {
	is := endpoint.Of(api.ActKind(e.Event))
	if e.Damaged || is == nil || !is.Writes() {
		return false, nil
	}
	now, err := st.Now(ctx)
	if err != nil {
		return false, err
	}
	r := ofIntent(e)
	r.State, r.Until, r.Next, r.Restored = Unknown, now.Add(lateAfter), now, taken
	r.Claim = endpoint.Rule(r.Kind).Claim(api.Act{Kind: r.Kind, Object: r.Object, ID: r.ID, Item: r.Item})
	holder, err := st.Add(ctx, r, nil)
	if err == nil && holder != nil { // another write in doubt holds the claim
		r.Claim = ""
		_, err = st.Add(ctx, r, nil)
	}
	return true, err
}

// claim is the claim of r among rows. A write of an opdeck without claims gets that of its request, as far as its
// intent shows the request, unless another write holds it.
func (t *Tracker) claim(ctx context.Context, r Row, rows []Row) string {
	is := endpoint.Of(r.Kind)
	if r.Claim != "" || r.State == NotSeen || is == nil || !is.Writes() {
		return r.Claim
	}
	rule, act := endpoint.Rule(r.Kind), api.Act{Kind: r.Kind, Object: r.Object, ID: r.ID, Item: r.Item}
	if rule.Opposite == "" {
		e, err := t.opt.Trail.Entry(ctx, r.Ref)
		if err != nil || e.Body != "" || e.Secret != "" { // the whole request is not known
			return ""
		}
		act.Method, act.Path = e.Method, e.Path
	}
	claim := rule.Claim(act)
	if slices.ContainsFunc(rows, func(other Row) bool { return other.Claim == claim }) {
		return ""
	}
	return claim
}
