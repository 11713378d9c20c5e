package audit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"opdeck/api"
)

// Options configure a Log.
type Options struct {
	Store   Store            // required
	Context Context          // the service and account of the acts
	Build   string           // version of the program
	Now     func() time.Time // nil: time.Now

	Key         *Key          // signs checkpoints; nil: no checkpoints
	Checkpoints string        // the folder for their files, which exists; "": no checkpoints
	Trusted     []Trusted     // keys of other hosts that sign for the same store
	Unrecorded  error         // why nothing can be recorded here, such as a missing key; nil: it can
	Interval    time.Duration // between checkpoints of new records; 0 means 60 s

	// Grace is how long another process may take from intent to outcome before its act counts as open; 0 means 5
	// minutes.
	Grace time.Duration
	// Alive detects processes that ended unexpectedly, so that their acts need no Grace; may be nil. See also
	// Log.Mark.
	Alive Alive
	// Alarm is called, without locks held, when the trail or its checkpoints cannot be written, and with nil once
	// they can again. It must not block.
	Alarm func(error)
}

// Alive marks processes with running acts, by their Boot.
type Alive interface {
	// Hold marks this process until release is called or it ends. behind: it leaves acts without a stored outcome, so
	// Gone must be true for it from then on.
	Hold(boot string) (release func(behind bool), ok bool)
	// Gone reports that a process has ended; false when in doubt. It is called only for processes that were marked.
	Gone(boot string) bool
	// Lives reports that a process is running; false when in doubt.
	Lives(boot string) bool
}

// Log writes the trail: intents, outcomes and notes. It implements api.Auditor. Any number of Logs and processes may
// share a store; they write one chain.
type Log struct {
	*core
	Reader  *Reader  // queries and exports
	Intents *Intents // writes with an unknown outcome
	Signer  *Signer  // checkpoints
	Prover  *Prover  // verification, epochs

	began    time.Time
	newID    func() string
	notified chan struct{} // holds one token: there is work for Run

	clock  sync.Mutex
	latest time.Time // guarded by clock: of the records of this process

	first sync.Once // the first record of this process is compared with the newest checkpoint

	marking sync.Once
	release func(behind bool) // removes the mark of this process; nil: none
	marked  bool              // set before the first intent, then constant

	flushing sync.Mutex // serialises work on pending

	mu         sync.Mutex
	unfinished map[string]Record // guarded by mu: our intents without an outcome
	pending    []*Record         // guarded by mu: records that could not be stored, in order
	windows    map[string]*bound // guarded by mu: refusals, by event
	health     Health            // guarded by mu; Signer has the part about checkpoints
	started    *api.Actor        // guarded by mu: the actor of Start, for the stop record
	wrote      bool              // guarded by mu: this process stored a record
	compared   time.Time         // guarded by mu: when Run last compared the trail with its checkpoint
}

var _ api.Auditor = (*Log)(nil)

// New returns a Log. It writes nothing yet.
func New(opt Options) (*Log, error) {
	if opt.Store == nil {
		return nil, errors.New("audit: no store")
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	opt.Interval = cmp.Or(opt.Interval, time.Minute)
	opt.Grace = cmp.Or(opt.Grace, 5*time.Minute)
	c := &core{opt: opt, boot: newUUID()}
	l := &Log{core: c, began: opt.Now(), newID: newUUID, notified: make(chan struct{}, 1),
		unfinished: map[string]Record{}, windows: map[string]*bound{}}
	l.Signer = &Signer{core: c, record: l.noteOwn}
	l.Reader = &Reader{core: c, log: l}
	l.Intents = &Intents{core: c, log: l}
	l.Prover = &Prover{core: c, log: l}
	return l, nil
}

// Mark sets Options.Alive after New. Call it before any other method.
func (l *Log) Mark(alive Alive) { l.opt.Alive = alive }

// newUUID returns a UUID of version 7; it panics without randomness.
func newUUID() string { return uuid.Must(uuid.NewV7()).String() }

// Intent stores the act before it is sent and returns the reference for its outcome. After an error nothing may be
// sent.
func (l *Log) Intent(ctx context.Context, who api.Actor, act api.Act) (string, error) {
	if l.opt.Unrecorded != nil {
		return "", l.opt.Unrecorded
	}
	if err := l.Flush(ctx); err != nil { // waiting outcomes are stored first
		return "", err
	}
	l.marking.Do(func() {
		if l.opt.Alive == nil {
			return
		}
		if release, ok := l.opt.Alive.Hold(l.boot); ok {
			l.mu.Lock()
			l.release, l.marked = release, true
			l.mu.Unlock()
		}
	})
	r := l.record(who, string(act.Kind), PhaseIntent)
	r.Marked = l.marked
	r.act(act)
	if err := l.append(ctx, &r); err != nil {
		return "", err
	}
	l.mu.Lock()
	l.unfinished[r.UID] = r
	l.mu.Unlock()
	return r.UID, nil
}

// Outcome stores the outcome of an intent. If that fails, the outcome is kept and retried by Run, by Flush and before
// the next record; until then the act is open, and the error says so.
func (l *Log) Outcome(ctx context.Context, ref string, out api.Outcome) error {
	if l.opt.Unrecorded != nil {
		return l.opt.Unrecorded
	}
	r, err := l.intentOf(ctx, ref)
	if err != nil {
		return err
	}
	l.stamp(&r)
	r.Ref, r.Seq = ref, 0 // it is not in the chain yet
	r.outcome(out)
	l.mu.Lock()
	l.pending = append(l.pending, &r)
	l.mu.Unlock()
	if err := l.Flush(ctx); err != nil {
		return fmt.Errorf("the outcome of %s is not in the audit trail yet and will be tried again: %w", r.Event, err)
	}
	return nil
}

// Note stores an event that is not a write. Frequent refusals are only counted.
func (l *Log) Note(ctx context.Context, who api.Actor, e api.Event) error {
	if l.opt.Unrecorded != nil {
		return l.opt.Unrecorded
	}
	r := l.record(who, bounded(e.Name, maxWord), PhaseNote)
	r.Object, r.ID, r.Detail = bounded(e.Object, maxWord), bounded(e.ID, maxWord), prose(e.Detail)
	if !l.limitRate(&r) {
		l.notify()
		return nil
	}
	if err := l.Flush(ctx); err != nil {
		return err
	}
	return l.append(ctx, &r)
}

// noteOwn records an event of this package. It may be called while other records wait.
func (l *Log) noteOwn(ctx context.Context, event, detail string) {
	r := l.record(api.Actor{Name: "opdeck", Via: "service"}, event, PhaseNote)
	r.Object, r.Detail = "audit", prose(detail)
	_ = l.append(ctx, &r) // reported by Health and Alarm
}

// record returns a new record with the current time.
func (l *Log) record(who api.Actor, event string, phase Phase) Record {
	r := Record{Event: event, Phase: phase, Context: l.context(),
		Actor: personOf(who),
		Via:   bounded(who.Via, maxWord), From: bounded(who.From, maxWord), Sid: bounded(who.Session, maxWord)}
	r.Code = code(event, phase, "")
	l.stamp(&r)
	return r
}

func (l *Log) context() Context {
	c := l.opt.Context
	return Context{Name: bounded(c.Name, maxWord), BaseURL: bounded(c.BaseURL, maxText),
		Account: bounded(c.Account, maxWord)}
}

// stamp gives the record a new identity and the current time.
func (l *Log) stamp(r *Record) {
	now := l.opt.Now()
	r.UID, r.Boot, r.Build = l.newID(), l.boot, bounded(l.opt.Build, maxWord)
	r.At, r.Mono = now.UTC().Truncate(time.Microsecond), now.Sub(l.began).Microseconds()
	l.clock.Lock()
	defer l.clock.Unlock()
	if r.back = l.latest.Sub(r.At); r.back <= clockSlack {
		r.back = 0
	}
	if r.back > 0 || r.At.After(l.latest) {
		l.latest = r.At
	}
}

// intentOf returns a copy of the intent with that reference, from memory or the store.
func (l *Log) intentOf(ctx context.Context, ref string) (Record, error) {
	l.mu.Lock()
	r, ours := l.unfinished[ref]
	l.mu.Unlock()
	if ours {
		return r, nil
	}
	row, err := l.opt.Store.Get(ctx, ref)
	if err != nil {
		return Record{}, fmt.Errorf("audit: intent %s: %w", ref, err)
	}
	e := entry(row)
	if e.Damaged || e.Phase != PhaseIntent {
		return Record{}, fmt.Errorf("audit: %s is not an intact intent", ref)
	}
	return e.Record, nil
}

// clockSlack is how far a clock must go back to be recorded. Records of one process are compared with each other, its
// first one with the newest checkpoint of this host: other hosts have other clocks, and a record may wait before it is
// stored.
const clockSlack = 2 * time.Second

// hostSlack is clockSlack for the first record of a process, which may have waited behind others of this host.
const hostSlack = time.Minute

// append stores r at the end of the chain. An outcome is stored with a checkpoint that covers it, which then goes to
// the checkpoint file. If the store returns an error, append checks whether the record was committed after all.
func (l *Log) append(ctx context.Context, r *Record) error {
	if l.opt.Unrecorded != nil {
		return l.opt.Unrecorded
	}
	var cannot error
	if l.signs() {
		l.first.Do(func() {
			if last, err := l.Signer.compare(ctx); err == nil && last.At.Sub(r.At) > hostSlack {
				r.back = max(r.back, last.At.Sub(r.At))
			}
		})
		if r.Phase == PhaseOutcome {
			_, cannot = l.Signer.compare(ctx)
		}
		r.Signer, r.Signed = l.fingerprint(), l.Signer.lastKnown().N // so that a lost checkpoint is detected
	}
	point, err := l.store(ctx, r, l.signs() && r.Phase == PhaseOutcome && cannot == nil)
	if err != nil && !l.isStored(ctx, r) {
		return l.writable(err)
	}
	_ = l.writable(nil)
	l.mu.Lock()
	l.wrote = true
	l.mu.Unlock()
	if point != nil {
		cannot = l.Signer.publish(*point)
	}
	if point != nil || cannot != nil {
		_ = l.Signer.result(ctx, cannot) // reported by Health and Alarm
	}
	return nil
}

// store appends r, with a checkpoint if sign.
func (l *Log) store(ctx context.Context, r *Record, sign bool) (point *Signed, err error) {
	err = l.opt.Store.Append(ctx, func(h Head) ([]Row, error) {
		rows, to, err := l.makeRows(h, r)
		if point = nil; err != nil || !sign {
			return rows, err
		}
		s, err := l.Signer.signAt(to)
		if err != nil {
			return nil, err
		}
		stored := l.Signer.toStore(s)
		point, rows[len(rows)-1].Checkpoint = &s, &stored
		return rows, nil
	})
	return point, err
}

// makeRows returns the rows of r after h, and the new head.
func (l *Log) makeRows(h Head, r *Record) ([]Row, Head, error) {
	var rows []Row
	add := func(r *Record) error {
		row, err := r.row(h)
		if err != nil {
			return err
		}
		rows, h = append(rows, row), Head{Chain: h.Chain, N: row.Seq, Hash: row.Hash, At: row.At}
		return nil
	}
	if r.back > 0 {
		if err := add(l.clockStep(r, r.back)); err != nil {
			return nil, h, err
		}
	}
	err := add(r)
	return rows, h, err
}

// clockStep is the record before one whose clock went back.
func (l *Log) clockStep(r *Record, back time.Duration) *Record {
	return &Record{UID: l.newID(), At: r.At, Mono: r.Mono, Boot: r.Boot, Event: EventClock, Phase: PhaseNote,
		Code: code(EventClock, PhaseNote, ""), Context: r.Context, Build: r.Build, Signer: r.Signer, Signed: r.Signed,
		Detail: fmt.Sprintf("the clock of this host went back by %s", back.Round(time.Millisecond))}
}

// isStored reports whether r was stored after all.
func (l *Log) isStored(ctx context.Context, r *Record) bool {
	if r.Seq == 0 {
		return false // it was never placed in the chain
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	row, err := l.opt.Store.Get(ctx, r.UID)
	if err != nil {
		return false
	}
	b, err := r.encode()
	return err == nil && bytes.Equal(b, row.Bytes)
}

// Flush stores the waiting records in order.
func (l *Log) Flush(ctx context.Context) error {
	if l.Health().Waiting == 0 {
		return nil
	}
	l.flushing.Lock()
	defer l.flushing.Unlock()
	for {
		l.mu.Lock()
		if len(l.pending) == 0 {
			l.mu.Unlock()
			return nil
		}
		r := l.pending[0]
		l.mu.Unlock()
		if !l.isStored(ctx, r) {
			if err := l.append(ctx, r); err != nil {
				l.notify()
				return err
			}
		}
		l.mu.Lock()
		l.pending = l.pending[1:]
		delete(l.unfinished, r.Ref)
		l.mu.Unlock()
	}
}

// failing returns the intents whose outcomes wait to be stored; the value is true if storing them fails.
func (l *Log) failing() map[string]bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]bool{}
	for _, r := range l.pending {
		out[r.Ref] = l.health.Err != nil
	}
	return out
}

// floodAll is how many refused attempts of a kind a process stores in full within a floodWindow; it counts the rest.
const (
	floodWindow = time.Minute
	floodAll    = 60
	floodNames  = 5 // names in the record of the count
)

// bound counts one kind of refusal within a window.
type bound struct {
	began time.Time
	full  int    // stored in full
	rest  Record // the last one that was only counted
	first time.Time
	names []string
}

// rateLimited reports whether frequent events of this name are only counted.
func rateLimited(event string) bool {
	i := strings.LastIndexByte(event, '.')
	return event == EventDenied ||
		i >= 0 && slices.Contains([]string{".denied", ".failed", ".refused", ".quarantined"}, event[i:])
}

// limitRate reports whether a note is to be stored in full; else it was counted.
func (l *Log) limitRate(r *Record) (full bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pending = append(l.pending, l.closeWindows(false)...)
	if !rateLimited(r.Event) {
		return true
	}
	b := l.windows[r.Event]
	if b == nil {
		b = &bound{began: l.opt.Now()}
		l.windows[r.Event] = b
	}
	if b.full < floodAll {
		b.full++
		return true
	}
	count := b.rest.Count + 1
	if count == 1 {
		b.first = r.At
	}
	b.rest = *r
	b.rest.Count = count
	if len(b.names) < floodNames && !slices.Contains(b.names, r.Actor.Name) {
		b.names = append(b.names, r.Actor.Name)
	}
	return false
}

// closeWindows removes the windows that are over (or all) from l.windows and returns the records of their counts. The
// caller holds mu.
func (l *Log) closeWindows(all bool) []*Record {
	var due []*Record
	for event, b := range l.windows {
		if age := l.opt.Now().Sub(b.began); !all && age >= 0 && age < floodWindow {
			continue
		}
		delete(l.windows, event)
		if b.rest.Count == 0 {
			continue
		}
		r := b.rest
		l.stamp(&r)
		r.Since = b.first.Format(time.RFC3339Nano)
		r.Detail = bounded(fmt.Sprintf("repeated within a minute, by %s; the last: %s", strings.Join(b.names, ", "),
			r.Detail), maxText)
		if len(b.names) > 1 {
			r.Actor, r.From, r.Sid = Author{}, "", ""
		}
		due = append(due, &r)
	}
	slices.SortFunc(due, func(a, b *Record) int { return strings.Compare(a.Event, b.Event) })
	return due
}

// retry is the pause before Run retries to store a record.
const retry = 5 * time.Second

// Start records that this process starts writing the trail for who; Close then records the end. Short commands need
// neither.
func (l *Log) Start(ctx context.Context, who api.Actor) error {
	if l.opt.Unrecorded != nil {
		return l.opt.Unrecorded
	}
	l.mu.Lock()
	l.started = &who
	l.mu.Unlock()
	return l.Note(ctx, who, api.Event{Name: EventStart, Object: "audit", Detail: "process " + l.boot})
}

// Run does background work until ctx ends: it stores waiting outcomes and counts of refused attempts, and signs
// checkpoints, also of other processes' records. It compares the trail with its newest checkpoint at the start and
// every Interval; it sleeps while nothing is due.
func (l *Log) Run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, some := l.nextWork()
		if some {
			timer.Reset(wait)
		} else {
			timer.Stop()
		}
		select {
		case <-ctx.Done():
			return
		case <-l.notified:
		case <-timer.C:
			l.work(ctx)
		}
	}
}

// nextWork reports whether work is planned, and in how long.
func (l *Log) nextWork() (wait time.Duration, some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opt.Now()
	soonest := func(d time.Duration) {
		if d = max(d, 0); !some || d < wait {
			wait, some = d, true
		}
	}
	if len(l.pending) > 0 {
		soonest(retry)
	}
	for _, b := range l.windows {
		if b.rest.Count > 0 {
			soonest(b.began.Add(floodWindow).Sub(now))
		}
	}
	if l.signs() {
		soonest(l.compared.Add(l.opt.Interval).Sub(now))
	}
	return wait, some
}

// work does what is due.
func (l *Log) work(ctx context.Context) {
	l.mu.Lock()
	l.pending = append(l.pending, l.closeWindows(false)...)
	now := l.opt.Now()
	due := l.signs() && now.Sub(l.compared) >= l.opt.Interval
	if due {
		l.compared = now
	}
	l.mu.Unlock()
	_ = l.Flush(ctx) // reported by Health and Alarm
	if due {
		_ = l.Signer.Checkpoint(ctx)
	}
}

// Close stores waiting records, records the end if Start was called, and signs the end of the trail, even if other
// processes wrote it. The Log must not be used afterwards. The error says what could not be stored: those acts stay
// open.
func (l *Log) Close(ctx context.Context) error {
	l.mu.Lock()
	l.pending = append(l.pending, l.closeWindows(true)...)
	who, wrote := l.started, l.wrote
	l.mu.Unlock()
	err := l.Flush(ctx)
	if who != nil {
		err = errors.Join(err, l.Note(ctx, *who, api.Event{Name: EventStop, Object: "audit", Detail: "process " + l.boot}))
	}
	if signed := l.Signer.Checkpoint(ctx); wrote || who != nil {
		err = errors.Join(err, signed) // else reported by Health and Alarm
	}
	l.mu.Lock()
	release, behind := l.release, len(l.unfinished) > 0
	l.release = nil
	l.mu.Unlock()
	if release != nil {
		release(behind)
	}
	return err
}

// Health is the state of the trail for display.
type Health struct {
	Err        error     // why the trail cannot be written; nil if it can
	Since      time.Time // since when
	Waiting    int       // records that wait to be stored
	Checkpoint error     // why the last checkpoint failed; nil if it did not
}

// OK reports whether there is no problem.
func (h Health) OK() bool { return h.Err == nil && h.Waiting == 0 && h.Checkpoint == nil }

// Tampered returns the contradiction between the trail and a checkpoint, nil for none. Until a person has checked it,
// nothing is signed.
func (h Health) Tampered() *TamperedError {
	var bad *TamperedError
	if errors.As(h.Checkpoint, &bad) {
		return bad
	}
	return nil
}

// Health returns the present state.
func (l *Log) Health() Health {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.health
	h.Waiting = len(l.pending)
	h.Checkpoint = l.Signer.lastFailure()
	return h
}

// writable records whether the trail can be written (err is nil) and returns err. It passes a change to Alarm.
func (l *Log) writable(err error) error {
	l.mu.Lock()
	news := (l.health.Err == nil) != (err == nil)
	switch l.health.Err = err; {
	case err == nil:
		l.health.Since = time.Time{}
	case news:
		l.health.Since = l.opt.Now()
	}
	l.mu.Unlock()
	if news {
		l.alarm(err)
	}
	return err
}

// notify tells Run that there is work.
func (l *Log) notify() {
	select {
	case l.notified <- struct{}{}:
	default:
	}
}

// mustMay is api.Need that also records a refusal.
func (l *Log) mustMay(ctx context.Context, op string, p api.Permission) error {
	err := api.Need(api.WithTrail(ctx, nil), op, p)
	if err != nil {
		_ = l.Note(ctx, api.ActorOf(ctx), api.Event{Name: EventDenied, Object: "audit", Detail: op})
	}
	return err
}
