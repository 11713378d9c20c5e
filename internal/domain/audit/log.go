package audit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
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
	sign, cannot := l.prepareSigning(ctx, r)
	var point *Signed
	var from, to Head
	store := func(h Head) (rows []Row, err error) {
		if !h.Edge.fits(h.N) {
			return nil, errBehind
		}
		point, from = nil, h
		rows, h, err = l.makeRows(h, r)
		to = h
		if err != nil || !sign {
			return rows, err
		}
		s, err := l.Signer.signAt(h, l.opt.Now())
		if err != nil {
			return nil, err
		}
		point, rows[len(rows)-1].Checkpoint = &s, l.Signer.toStore(s)
		return rows, nil
	}
	err := l.opt.Store.Append(ctx, store)
	if errors.Is(err, errBehind) {
		if err = l.Signer.catchUp(ctx); err == nil {
			err = l.opt.Store.Append(ctx, store)
		}
	}
	if err != nil && !l.isStored(ctx, r) {
		return l.writable(err)
	}
	_ = l.writable(nil)
	l.Signer.onStored()
	l.Signer.onContinued(from, to, point)
	switch {
	case point != nil:
		_ = l.Signer.checkpointResult(ctx, l.Signer.publish(ctx, *point)) // reported by Health and Alarm
	case cannot != nil:
		_ = l.Signer.checkpointResult(ctx, cannot)
	}
	return nil
}

// prepareSigning prepares r for the checkpoint that is stored with it, if any, and returns why there cannot be one.
// The record names the signing key and its newest known checkpoint, so that a lost checkpoint is detected.
func (l *Log) prepareSigning(ctx context.Context, r *Record) (sign bool, cannot error) {
	if !l.signs() {
		return false, nil
	}
	l.Signer.recoverCheckpoint(ctx)
	if back := l.Signer.sinceStart().Sub(r.At); back > hostSlack {
		r.back = max(r.back, back)
	}
	if r.Phase == PhaseOutcome {
		cannot = l.Signer.checkBeforeSigning(ctx)
	} else if l.Signer.seenCheckpoint(-1) < 0 {
		if last, err := l.Signer.lastCheckpoint(ctx); err == nil {
			l.Signer.seenCheckpoint(last.N)
		}
	}
	r.Signer, r.Signed = l.fingerprint(), max(l.Signer.seenCheckpoint(-1), 0)
	return r.Phase == PhaseOutcome && cannot == nil, cannot
}

// makeRows returns the rows of r after h, and the new head.
func (l *Log) makeRows(h Head, r *Record) ([]Row, Head, error) {
	var rows []Row
	add := func(r *Record) error {
		row, err := r.row(h)
		if err != nil {
			return err
		}
		next := Head{Chain: h.Chain, N: row.Seq, Hash: row.Hash, At: row.At}
		row.Tree, next.Edge = h.Edge.grow(h.N, row.Bytes)
		rows, h = append(rows, row), next
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

// Per minute a process stores at most floodAll refused attempts of a kind, and floodOne of one person at one address,
// in full; it counts the rest.
const (
	floodWindow = time.Minute
	floodAll    = 60
	floodOne    = 10
	floodNames  = 5 // names in the record of the count
)

// bound counts one kind of event within a window.
type bound struct {
	began time.Time
	full  int            // stored in full
	who   map[string]int // stored in full, by person and address
	rest  Record         // the last one that was only counted
	count int64
	first time.Time
	names []string
}

// rateLimited reports whether frequent events of this name are only counted.
func rateLimited(event string) bool {
	if event == EventDenied {
		return true
	}
	i := strings.LastIndexByte(event, '.')
	return i >= 0 && slices.Contains([]string{".denied", ".failed", ".refused", ".quarantined"}, event[i:])
}

// limitRate counts a note; drop: it must not be stored. due are the records of windows that ended.
func (l *Log) limitRate(r *Record) (due []*Record, drop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	due = l.closeWindows(false)
	if !rateLimited(r.Event) {
		return due, false
	}
	b := l.windows[r.Event]
	if b == nil {
		b = &bound{began: l.opt.Now(), who: map[string]int{}}
		l.windows[r.Event] = b
	}
	who := r.Actor.Name + "\x00" + r.From
	if b.full < floodAll && b.who[who] < floodOne {
		b.full++
		b.who[who]++
		return due, false
	}
	if b.count++; b.count == 1 {
		b.first = r.At
	}
	b.rest = *r
	if len(b.names) < floodNames && !slices.Contains(b.names, r.Actor.Name) {
		b.names = append(b.names, r.Actor.Name)
	}
	return due, true
}

// closeWindows removes the windows that are over (or all) from l.windows and returns the records of their counts. The
// caller holds mu.
func (l *Log) closeWindows(all bool) []*Record {
	var due []*Record
	for event, b := range l.windows {
		age := l.opt.Now().Sub(b.began)
		if !all && age >= 0 && age < floodWindow {
			continue
		}
		delete(l.windows, event)
		if b.count == 0 {
			continue
		}
		r := b.rest
		l.stamp(&r)
		r.Count, r.Since = b.count, b.first.Format(time.RFC3339Nano)
		r.Detail = fmt.Sprintf("repeated within a minute, by %s; the last: %s", strings.Join(b.names, ", "), r.Detail)
		r.Detail = bounded(r.Detail, maxText)
		if len(b.names) > 1 {
			r.Actor, r.From, r.Sid = Author{}, "", ""
		}
		due = append(due, &r)
	}
	slices.SortFunc(due, func(a, b *Record) int { return strings.Compare(a.Event, b.Event) })
	return due
}

// cover is what a verification knows about the signers of the trail.
type cover struct {
	signed     map[string]map[int64]bool  // by key: the numbers of records of its checkpoints
	claimed    map[string]map[int64]int64 // by key: the checkpoints that records mention, and the first such record
	outcomes   []int64                    // seq of outcomes, which are signed as soon as they are stored
	storedOnly map[string]int64           // keys of other hosts: up to where they signed, by the store
}

func newCover() cover {
	return cover{signed: map[string]map[int64]bool{}, claimed: map[string]map[int64]int64{},
		storedOnly: map[string]int64{}}
}

// noteSignature records a checkpoint of a key.
func (v *verifier) noteSignature(s Signed, by string) {
	if v.signed[by] == nil {
		v.signed[by] = map[int64]bool{}
	}
	v.signed[by][s.N] = true
}

// noteSigner records what a record says about checkpoints.
func (v *verifier) noteSigner(r Record) {
	if r.Signer == "" {
		return
	}
	claims := v.claimed[r.Signer]
	if claims == nil {
		claims = map[int64]int64{}
		v.claimed[r.Signer] = claims
	}
	if _, ok := claims[r.Signed]; !ok && r.Signed > 0 {
		claims[r.Signed] = r.Seq
	}
	if r.Phase == PhaseOutcome {
		v.outcomes = append(v.outcomes, r.Seq)
	}
	if r.Event == EventUncovered && r.Phase == PhaseNote {
		v.r.Warnings = append(v.r.Warnings, fmt.Sprintf("record %d: %s", r.Seq, r.Detail))
	}
}

// reportUncovered reports checkpoints that are missing.
func (v *verifier) reportUncovered() {
	v.line = 0 // it concerns all of them
	for _, key := range slices.Sorted(maps.Keys(v.claimed)) {
		// a key that no record says to have signed with is that of another host that has just begun
		if v.known != nil && !v.known[key] && (v.guest || len(v.claimed[key]) == 0) {
			v.r.Unknown = append(v.r.Unknown, key)
			continue
		}
		v.reportMissing(key, v.claimed[key])
	}
	if v.guest && len(v.r.Unknown) > 0 {
		return // their checkpoints may cover all
	}
	open := slices.DeleteFunc(v.outcomes, func(seq int64) bool { return seq <= v.r.Covered })
	switch n := len(open); {
	case n == 1:
		v.problem(open[0], Unsigned, "record %d is an outcome that no checkpoint covers: its process ended before it "+
			"signed, or checkpoints were removed", open[0])
	case n > 1:
		v.problem(open[0], Unsigned, "%d outcomes, records %d to %d, are covered by no checkpoint: their processes ended "+
			"before they signed, or checkpoints were removed", n, open[0], open[n-1])
	}
}

// reportMissing reports missing checkpoints of one key that records mention.
func (v *verifier) reportMissing(key string, claims map[int64]int64) {
	var missing []int64
	for n := range claims {
		if !v.signed[key][n] && n >= v.r.First && n > v.storedOnly[key] && !v.lostBefore(n, claims[n]) {
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return
	}
	slices.Sort(missing)
	newest := missing[len(missing)-1]
	switch {
	case len(v.signed[key]) == 0 && v.storedOnly[key] == 0:
		v.problem(claims[newest], Unsigned, "record %d says that key %s signed a checkpoint for %d records, but none of "+
			"its checkpoints was found: they or the key were lost, or not given; keys of other hosts go into [audit] keys",
			claims[newest],
			key, newest)
	case len(missing) == 1:
		v.problem(claims[newest], Unsigned, "record %d says that key %s signed a checkpoint for %d records, but it was not "+
			"found", claims[newest], key, newest)
	default:
		v.problem(claims[newest], Unsigned, "%d checkpoints of key %s that records mention were not found; the newest is "+
			"for %d records (record %d)",
			len(missing), key, newest, claims[newest])
	}
}
