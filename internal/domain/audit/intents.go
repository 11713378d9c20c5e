package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"opdeck/api"
)

// Entry is a stored record.
type Entry struct {
	Record
	Hash    string
	Raw     []byte // the exact bytes
	Damaged bool   // the bytes were changed, are not a record, or differ from a column
	Why     string // what is damaged, as a sentence; "" for nothing
}

// Genuine reports whether the bytes match their hash, so that the record can be relied on even if a column was
// changed.
func (e Entry) Genuine() bool { return Hash(e.Raw) == e.Hash }

// Intents reads intents and their outcomes.
type Intents struct {
	*core
	log    *Log
	reader *Reader

	reading sync.Mutex
	recent  recent // guarded by reading
}

// recent caches the open intents among the newest records, from their bytes.
type recent struct {
	next int64
	open map[string]Row
}

// OpenIntents lists the intents without a known outcome, oldest first: the process ended in between, or the outcome
// could not be stored. The writes may have been done: read their objects again, then call Conclude.
//
// Acts that are running, here or (for Options.Grace, unless their process is known to have ended) in other processes,
// are in underWay instead, by UID. An intent of this process whose outcome waits to be stored is in underWay too, and
// in both if storing fails: this process knows the outcome, so no other must look it up.
func (in *Intents) OpenIntents(ctx context.Context) (unsettled []Entry, underWay map[string]Process, err error) {
	rows, err := in.opt.Store.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	if rows, err = in.withUnlisted(ctx, rows); err != nil {
		return nil, nil, err
	}
	failing := in.log.failing()
	underWay = map[string]Process{}
	now := in.opt.Now()
	for _, row := range rows {
		e := entry(row)
		age := now.Sub(e.At)
		switch {
		case e.Boot == in.boot:
			underWay[e.UID] = Running
			if !failing[e.UID] {
				continue
			}
		case age >= 0 && age < in.opt.Grace && !in.processGone(e):
			underWay[e.UID] = in.process(e)
			continue
		}
		unsettled = append(unsettled, e)
	}
	return unsettled, underWay, nil
}

// Maker returns the intent of an event whose outcome created the object with that id, "" for none.
func (in *Intents) Maker(ctx context.Context, event, item string) (ref string, err error) {
	p, err := in.reader.find(ctx, Query{ID: item, Event: event, Phase: PhaseOutcome, Limit: 10})
	for _, e := range p.Entries {
		if e.Item == item {
			return e.Ref, err
		}
	}
	return "", err
}

// Entry returns the record with that UID.
func (in *Intents) Entry(ctx context.Context, uid string) (Entry, error) {
	row, err := in.opt.Store.Get(ctx, uid)
	if err != nil {
		return Entry{}, err
	}
	return entry(row), nil
}

// LastOutcome returns the newest outcome of an intent; ok is false if there is none. An unknown outcome may be
// followed by another.
func (in *Intents) LastOutcome(ctx context.Context, intent Entry) (Entry, bool, error) {
	p, err := in.reader.find(ctx, Query{Object: intent.Object, ID: intent.ID, Event: intent.Event, Phase: PhaseOutcome,
		Limit: 1000})
	if err != nil {
		return Entry{}, false, err
	}
	for _, e := range p.Entries {
		if e.Ref == intent.UID {
			return e, true, nil
		}
	}
	return Entry{}, false, nil
}

// Outcome is Log.Outcome; an unknown outcome may be followed by another.
func (in *Intents) Outcome(ctx context.Context, ref string, out api.Outcome) error {
	return in.log.Outcome(ctx, ref, out)
}

// Conclude closes an open intent; note says in a sentence what who found. The trail records the outcome as unknown,
// since no one can prove which act caused the object's state. The caller has checked the permission of who.
func (in *Intents) Conclude(ctx context.Context, who api.Actor, e Entry, note string) error {
	if e.Damaged {
		return fmt.Errorf("audit: the record of %s is damaged; run opdeck audit verify", e.UID)
	}
	r := in.log.record(who, e.Event, PhaseOutcome)
	r.Ref, r.Outcome = e.UID, ResultUnknown
	r.Object, r.ID, r.Item, r.Act = e.Object, e.ID, e.Item, e.Act
	r.Code, r.Detail = code(r.Event, r.Phase, r.Outcome), prose(note)
	return in.log.append(ctx, &r)
}

// withUnlisted adds to rows the open intents in the newest records that the store's list lacks.
func (in *Intents) withUnlisted(ctx context.Context, rows []Row) ([]Row, error) {
	head, err := in.opt.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	in.reading.Lock()
	defer in.reading.Unlock()
	if in.recent.open == nil || in.recent.next > head.N+1 {
		last, err := in.archived(ctx) // of older ones the store keeps open intents, but not all outcomes
		if err != nil {
			return nil, err
		}
		in.recent = recent{next: max(last.Last+1, head.N-maxComplete+1), open: map[string]Row{}}
	}
	err = in.eachStored(ctx, in.recent.next, head.N, func(row Row) error {
		var r Record
		if json.Unmarshal(row.Bytes, &r) == nil {
			switch r.Phase {
			case PhaseIntent:
				in.recent.open[r.UID] = row
			case PhaseOutcome:
				delete(in.recent.open, r.Ref)
			}
		}
		in.recent.next = row.Seq + 1
		return nil
	})
	if err != nil {
		return nil, err
	}
	listed := map[int64]bool{}
	for _, row := range rows {
		listed[row.Seq] = true
	}
	for _, row := range in.recent.open {
		if !listed[row.Seq] {
			rows = append(rows, row)
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return int(a.Seq - b.Seq) })
	return rows, nil
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
		if b.count > 0 {
			soonest(b.began.Add(floodWindow).Sub(now))
		}
	}
	if l.signs() {
		soonest(l.compared.Add(l.opt.Interval).Sub(now))
		if l.Signer.full() {
			soonest(0)
		}
	}
	return wait, some
}

// work does what is due.
func (l *Log) work(ctx context.Context) {
	l.mu.Lock()
	l.pending = append(l.pending, l.closeWindows(false)...)
	now := l.opt.Now()
	due := l.signs() && (l.Signer.full() || now.Sub(l.compared) >= l.opt.Interval)
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
	who, wrote := l.started, l.Signer.used()
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
