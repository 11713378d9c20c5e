package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"
)

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
