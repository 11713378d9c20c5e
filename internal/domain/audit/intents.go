package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

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
