package audit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"opdeck/api"
)

// Intents reads intents and their outcomes.
type Intents struct {
	*core
	log *Log
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
	p, err := in.find(ctx, Query{ID: item, Event: event, Phase: PhaseOutcome, Limit: 10})
	for _, e := range p.Entries {
		if e.Item == item {
			return e.Ref, err
		}
	}
	return "", err
}

// Done lists the acts on an object that are proven done, by the outcomes recorded since a time, newest first.
func (in *Intents) Done(ctx context.Context, object, id string, since time.Time) ([]Entry, error) {
	p, err := in.find(ctx, Query{Object: object, ID: id, Phase: PhaseOutcome, From: since, Limit: 1000})
	return slices.DeleteFunc(p.Entries, func(e Entry) bool { return e.Damaged || e.Outcome != ResultOK }), err
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
	p, err := in.find(ctx, Query{Object: intent.Object, ID: intent.ID, Event: intent.Event, Phase: PhaseOutcome,
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

// processGone reports whether the process of an intent is known to have ended.
func (c *core) processGone(e Entry) bool {
	return c.opt.Alive != nil && e.Marked && !e.Damaged && c.opt.Alive.Gone(e.Boot)
}

// Process is what is known of a process with a running act.
type Process int

// What is known.
const (
	Unmarked Process = iota + 1 // it is not known whether it still runs
	Running
)

// process reports what is known of the process of an intent.
func (c *core) process(e Entry) Process {
	if c.opt.Alive != nil && e.Marked && !e.Damaged && c.opt.Alive.Lives(e.Boot) {
		return Running
	}
	return Unmarked
}
