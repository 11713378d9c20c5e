package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"opdeck/api"
)

// TamperedError says that the trail is not what a signed checkpoint says.
type TamperedError struct {
	N      int64 // the checkpoint
	Reason string
}

// Error is a sentence for people.
func (e *TamperedError) Error() string {
	return fmt.Sprintf("the audit trail was tampered with: %s (checkpoint %d); run the verification and keep a copy of the store", e.Reason, e.N)
}

// signs reports whether this Log signs checkpoints.
func (l *Log) signs() bool { return l.opt.Key != nil && l.opt.Checkpoints != "" }

// Checkpoint signs the end of the trail, also when other processes wrote it, and writes
// the checkpoint to the file, unless it is there already. It first compares the trail
// with the last checkpoint; when they differ it signs nothing and returns a
// *TamperedError.
func (l *Log) Checkpoint(ctx context.Context) error {
	if !l.signs() {
		return nil
	}
	l.recoverPoint(ctx)
	return l.checkpointResult(ctx, l.signHead(ctx))
}

// NewestNote signs the end of the trail as Checkpoint does and returns the newest checkpoint. The person in
// ctx needs api.MayAudit. It tells how many records there are and hashes, and nothing of the records.
func (l *Log) NewestNote(ctx context.Context) (Signed, error) {
	if err := l.mustMay(ctx, "sign the audit trail", api.MayAudit); err != nil {
		return Signed{}, err
	}
	if !l.signs() {
		return Signed{}, errNoCheckpoints
	}
	if err := l.Checkpoint(ctx); err != nil {
		return Signed{}, err
	}
	s, err := l.lastPoint(ctx)
	if err == nil && s.N == 0 {
		err = &api.Error{Op: "sign the audit trail", Kind: api.NotFound, Public: "The trail is empty: there is nothing to sign."}
	}
	return s, err
}

func (l *Log) signHead(ctx context.Context) error {
	l.mu.Lock()
	counted := l.since // these the head below holds
	l.mu.Unlock()
	last, err := l.lastPoint(ctx) // before the head: it cannot be ahead of it
	if err != nil {
		return err
	}
	head, err := l.edge(ctx)
	if err != nil {
		return err
	}
	if err := l.checkPoint(ctx, last, head); err != nil {
		return err
	}
	l.mu.Lock()
	l.since -= min(counted, l.since)
	l.mu.Unlock()
	l.sawPoint(last.N)
	if last.N == head.N {
		return nil
	}
	s, err := l.signAt(head, l.opt.Now())
	if err != nil {
		return err
	}
	if err := l.opt.Store.PutPoint(ctx, *l.point(s)); err != nil {
		return err
	}
	return l.publish(ctx, s)
}

// signAt signs the trail as it stands at head, whose edge is known.
func (l *Log) signAt(head Head, at time.Time) (Signed, error) {
	return l.opt.Key.signNote(Checkpoint{Chain: head.Chain, N: head.N, Head: head.Hash, Root: head.Edge.root(), At: at.UTC().Truncate(time.Millisecond)})
}

func (l *Log) point(s Signed) *StoredCheckpoint {
	return &StoredCheckpoint{Key: l.fingerprint(), N: s.N, Note: s.Note}
}

// checkpointResult notes the result of making a checkpoint and passes err on. It tells
// Alarm about a new error and records what looks like tampering.
func (l *Log) checkpointResult(ctx context.Context, err error) error {
	l.mu.Lock()
	news := err != nil && l.health.Checkpoint == nil
	l.health.Checkpoint = err
	if err != nil {
		l.since = max(l.since, 1) // try again an interval later
	}
	l.mu.Unlock()
	if !news {
		return err
	}
	var bad *TamperedError
	if errors.As(err, &bad) {
		l.noteOwn(ctx, EventTamper, bad.Error())
	}
	l.alarm(err)
	return err
}

// Uncovered is the number of records that no checkpoint covers, by this key or by
// one in Options.Trusted; 0 when nothing is signed here.
func (l *Log) Uncovered(ctx context.Context) (int64, error) {
	if !l.signs() {
		return 0, nil
	}
	last, err := l.lastPoint(ctx)
	if err != nil {
		return 0, err
	}
	points, err := l.opt.Store.Points(ctx)
	if err != nil {
		return 0, err
	}
	covered := last.N
	for _, p := range points {
		for _, t := range l.opt.Trusted {
			if s, err := ParseCheckpoint(p.Note); err == nil && s.By(t.Key) {
				covered = max(covered, s.N)
			}
		}
	}
	head, err := l.opt.Store.Head(ctx)
	return max(0, head.N-covered), err
}

// noteOwn records an event of this package itself. It may be called while other
// records wait.
func (l *Log) noteOwn(ctx context.Context, event, detail string) {
	r := l.record(api.Actor{Name: "opdeck", Via: "service"}, event, PhaseNote)
	r.Object, r.Detail = "audit", prose(detail)
	_ = l.append(ctx, &r) // told by Health and Alarm
}

// publish writes a checkpoint to the checkpoint file, durably.
// Many that come at once are written as one: the newest covers all.
func (l *Log) publish(ctx context.Context, s Signed) error {
	l.mu.Lock()
	if s.N > l.newest.N {
		l.newest = s
	}
	l.mu.Unlock()
	l.publishing.Lock()
	defer l.publishing.Unlock()
	l.mu.Lock()
	covered, newest := l.published >= s.N, l.newest
	l.mu.Unlock()
	if covered {
		return nil
	}
	name, err := l.CheckpointFile(ctx)
	if err != nil {
		return err
	}
	if err := l.addLine(name, newest.Line, func(last Signed) bool { return last.N < newest.N }); err != nil {
		return err
	}
	l.mu.Lock()
	l.published = newest.N
	l.mu.Unlock()
	l.sawPoint(newest.N)
	l.notify()
	return nil
}

// checkBeforeSigning compares the trail with the newest checkpoint in the file, unless
// this process knows that nobody else has written since it last did.
func (l *Log) checkBeforeSigning(ctx context.Context) error {
	last, err := l.lastPoint(ctx)
	if err != nil {
		return err
	}
	if l.sawPoint(last.N); last.N == 0 {
		return nil
	}
	head, err := l.opt.Store.Head(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	trusted := head.N > 0 && l.trusted.N == head.N && l.trusted.Hash == head.Hash && l.trusted.Chain == head.Chain && last.N <= head.N &&
		bytes.Equal(last.Line, l.trustedBy)
	l.mu.Unlock()
	if trusted { // nobody else has written since
		return nil
	}
	if err := l.checkPoint(ctx, last, head); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trusted, l.trustedBy = head, last.Line
	return nil
}

// sawPoint notes that there is a checkpoint for n records in the checkpoint file, and
// returns the newest that was seen there; -1 when nobody has looked.
func (l *Log) sawPoint(n int64) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.known = max(l.known, n)
	return l.known
}

// onContinued notes that this process has added records to from, up to to, and
// which checkpoint covers them, if one does.
func (l *Log) onContinued(from, to Head, point *Signed) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.trusted.N != from.N || l.trusted.Hash != from.Hash || from.N == 0 {
		return
	}
	if l.trusted = to; point != nil {
		l.trustedBy = point.Line
	}
}

// checkPoint compares the trail with its last checkpoint.
func (l *Log) checkPoint(ctx context.Context, last Signed, head Head) error {
	switch {
	case last.N == 0:
		return nil
	case !last.By(l.opt.Key.Public()):
		return &TamperedError{last.N, "the last checkpoint was not signed by this key"}
	case last.Chain != head.Chain:
		return &TamperedError{last.N, "the checkpoints belong to another log"}
	case last.N > head.N:
		return &TamperedError{last.N, fmt.Sprintf("it has %d records, and a checkpoint says %d", head.N, last.N)}
	}
	rows, err := l.opt.Store.Rows(ctx, last.N, 1)
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].Seq != last.N || Hash(rows[0].Bytes) != last.Head {
		return &TamperedError{last.N, fmt.Sprintf("record %d is not the one that was signed", last.N)}
	}
	root, err := l.rootAt(ctx, last.N)
	if errors.Is(err, errBehind) { // made again from the records before anything is signed
		return nil
	}
	if err == nil && root != last.Root {
		err = &TamperedError{last.N, fmt.Sprintf("the stored tree of the first %d records is not the one that was signed", last.N)}
	}
	return err
}

// publishTime is how long a process may take from storing a checkpoint to writing it
// to the checkpoint file.
const publishTime = 10 * time.Second

// recoverPoint writes to the checkpoint file the checkpoint that a process stored and
// did not write there before it ended, once, and records that. It keeps the
// trail going: what is wrong is told by Verify.
func (l *Log) recoverPoint(ctx context.Context) {
	l.mu.Lock()
	done := l.recovered
	l.recovered = true
	l.mu.Unlock()
	if done {
		return
	}
	points, err := l.opt.Store.Points(ctx)
	if err != nil {
		return
	}
	last, err := l.lastPoint(ctx)
	if err != nil {
		return
	}
	for _, p := range points {
		s, err := ParseCheckpoint(p.Note)
		if p.Key != l.fingerprint() || err != nil || s.N <= last.N || !s.By(l.opt.Key.Public()) {
			continue
		}
		head, err := l.opt.Store.Head(ctx)
		if err != nil || l.checkPoint(ctx, s, head) != nil || l.checkPoint(ctx, last, head) != nil {
			return
		}
		if l.ownerEnded(ctx, s) {
			l.noteOwn(ctx, EventUncovered, fmt.Sprintf("the checkpoint for %d records of %s was missing from the checkpoint file, which ended at %d: "+
				"the process ended before it wrote it, or it was removed; it was written now", s.N, s.At.Format(timeForm), last.N))
		}
		_ = l.publish(ctx, s)
	}
}

// ownerEnded reports that the process that stored s will not write it any more.
func (l *Log) ownerEnded(ctx context.Context, s Signed) bool {
	rows, err := l.opt.Store.Rows(ctx, s.N, 1)
	if err != nil || len(rows) == 0 {
		return false
	}
	e := entry(rows[0])
	if e.Boot == l.boot {
		return false
	}
	if age := l.opt.Now().Sub(s.At); age < 0 || age > publishTime {
		return true
	}
	if e.Ref == "" {
		return false
	}
	intent, err := l.opt.Store.Get(ctx, e.Ref)
	return err == nil && l.processGone(entry(intent))
}
