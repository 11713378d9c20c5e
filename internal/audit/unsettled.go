package audit

import (
	"context"
	"fmt"

	"opdeck/api"
)

// Entry is a record as it is stored.
type Entry struct {
	Record
	Hash    string
	Raw     []byte // the exact bytes
	Damaged bool   // the bytes are not those that were hashed, or no record
}

// Unsettled lists the intents of which nobody knows what became of them, oldest
// first: the process ended in between, or the outcome could not be stored. The
// writes may have happened: read their objects again, then call Settle. Acts
// that are under way, here or (for Options.Grace, unless they are known to have
// ended) in other processes, are not listed.
func (l *Log) Unsettled(ctx context.Context) ([]Entry, error) {
	out, _, err := l.Standing(ctx)
	return out, err
}

// Standing is Unsettled, and beside it the UIDs of the intents that are under way
// here or may be in other processes.
func (l *Log) Standing(ctx context.Context) (unsettled []Entry, flying map[string]bool, err error) {
	rows, err := l.opt.Store.Open(ctx)
	if err != nil {
		return nil, nil, err
	}
	waiting := map[string]bool{}
	l.mu.Lock()
	for _, r := range l.pending {
		waiting[r.Ref] = true
	}
	l.mu.Unlock()
	flying = map[string]bool{}
	now := l.opt.Now()
	for _, row := range rows {
		age, e := now.Sub(row.At), entry(row)
		switch {
		case row.Boot == l.boot:
			if !waiting[row.UID] {
				flying[row.UID] = true
				continue
			}
		case age >= 0 && age < l.opt.Grace && !l.gone(e):
			flying[row.UID] = true
			continue
		}
		unsettled = append(unsettled, e)
	}
	return unsettled, flying, nil
}

// Last is the number of the newest record, 0 for none.
func (l *Log) Last(ctx context.Context) (int64, error) {
	h, err := l.opt.Store.Head(ctx)
	return h.N, err
}

// Began reports whether an act on the object with that id was begun after the
// record of that number. An act that was not begun was not sent.
func (l *Log) Began(ctx context.Context, after int64, event, id string) (bool, error) {
	rows, err := l.opt.Store.Find(ctx, Query{ID: id, Event: event, Phase: PhaseIntent, Limit: 1})
	return len(rows) > 0 && rows[0].Seq > after, err
}

// Entry returns the record with that UID.
func (l *Log) Entry(ctx context.Context, uid string) (Entry, error) {
	row, err := l.opt.Store.Get(ctx, uid)
	if err != nil {
		return Entry{}, err
	}
	return entry(row), nil
}

// LastOutcome returns the newest outcome of an intent, "" when it has none. What
// was unknown at first may have a later one.
func (l *Log) LastOutcome(ctx context.Context, intent Entry) (Entry, bool, error) {
	rows, err := l.opt.Store.Find(ctx, Query{Object: intent.Object, ID: intent.ID, Event: intent.Event, Phase: PhaseOutcome, Limit: 1000})
	if err != nil {
		return Entry{}, false, err
	}
	for _, row := range rows {
		if row.Ref == intent.UID {
			return entry(row), true, nil
		}
	}
	return Entry{}, false, nil
}

// gone reports that the process of an intent is known to have ended.
func (l *Log) gone(e Entry) bool {
	return l.opt.Alive != nil && e.Marked && !e.Damaged && l.opt.Alive.Gone(e.Boot)
}

// Settle closes an unsettled intent: who looked, and note says in a sentence
// what they found. The trail keeps it as an outcome that stays unknown, since
// nobody can prove which act made the object what it is.
func (l *Log) Settle(ctx context.Context, who api.Actor, ref, note string) error {
	if err := api.Need(api.WithActor(ctx, who), "settle", api.MayAudit); err != nil {
		return err
	}
	open, err := l.Unsettled(ctx)
	if err != nil {
		return err
	}
	for _, e := range open {
		if e.UID != ref {
			continue
		}
		return l.Conclude(ctx, who, e, note)
	}
	return &api.Error{Op: "settle", Kind: api.NotFound, Public: "There is no unsettled act with that reference.",
		Hint: "Another person may have settled it, or its outcome arrived meanwhile."}
}

// Conclude appends what a person found about an act whose outcome is unknown. See
// Settle; the caller has asked whether they may.
func (l *Log) Conclude(ctx context.Context, who api.Actor, e Entry, note string) error {
	if e.Damaged {
		return fmt.Errorf("audit: the record of %s is damaged; run the verification", e.UID)
	}
	r := l.record(who, e.Event, PhaseOutcome)
	r.Ref, r.Outcome = e.UID, ResultUnknown
	r.Object, r.ID, r.Item, r.Act = e.Object, e.ID, e.Item, e.Act
	r.Code, r.Detail = code(r.Event, r.Phase, r.Outcome), prose(note, maxText)
	return l.append(ctx, &r)
}
