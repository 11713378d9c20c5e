package audit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
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

	// Archive is the folder for records that leave the store; "": records stay.
	Archive     string
	Key         *Key          // signs checkpoints; nil: no checkpoints
	Checkpoints string        // their file, or a folder for it; "": no checkpoints
	Trusted     []Trusted     // keys of other hosts that sign for the same store
	Unrecorded  error         // why nothing can be recorded here, such as a missing key; nil: it can
	Every       int64         // most records between checkpoints; 0 means 100
	Interval    time.Duration // most time between checkpoints of new records; 0 means 60 s

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
	Prover  *Prover  // verification, proofs, evidence
	// Archivist moves old records out of the store.
	Archivist *Archivist

	began    time.Time
	newID    func() string
	notified chan struct{} // holds one token: there is work for Run

	clock  sync.Mutex
	latest time.Time // guarded by clock: of the records of this process

	marking sync.Once
	release func(behind bool) // removes the mark of this process; nil: none
	marked  bool              // set before the first intent, then constant

	flushing sync.Mutex // serialises work on pending

	mu         sync.Mutex
	unfinished map[string]Record // guarded by mu: our intents without an outcome
	pending    []*Record         // guarded by mu: records that could not be stored, in order
	windows    map[string]*bound // guarded by mu: floods, by event
	health     Health            // guarded by mu; Signer has the part about checkpoints
	started    *api.Actor        // guarded by mu: the actor of Start, for the stop record
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
	opt.Every = cmp.Or(opt.Every, 100)
	opt.Interval = cmp.Or(opt.Interval, time.Minute)
	opt.Grace = cmp.Or(opt.Grace, 5*time.Minute)
	c := &core{opt: opt, boot: newUUID()}
	l := &Log{core: c, began: opt.Now(), newID: newUUID, notified: make(chan struct{}, 1),
		unfinished: map[string]Record{}, windows: map[string]*bound{}}
	l.Signer = &Signer{core: c, tree: &tree{core: c}, checkpointFiles: &checkpointFiles{core: c}, known: -1,
		notify: l.notify, record: l.noteOwn}
	l.Reader = &Reader{core: c, log: l}
	l.Intents = &Intents{core: c, log: l, reader: l.Reader}
	l.Prover = &Prover{core: c, log: l, signer: l.Signer}
	l.Archivist = &Archivist{core: c, signer: l.Signer}
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
	due, drop := l.limitRate(&r)
	if len(due) > 0 {
		l.mu.Lock()
		l.pending = append(l.pending, due...)
		l.mu.Unlock()
	}
	if drop {
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
