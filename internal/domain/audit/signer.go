package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// TamperedError says that the trail is not what a signed checkpoint says.
type TamperedError struct {
	N      int64 // the checkpoint
	Reason string
}

// Error is a sentence for people.
func (e *TamperedError) Error() string {
	return fmt.Sprintf("the audit trail was tampered with: %s (checkpoint %d); run the verification and keep a copy of "+
		"the store", e.Reason, e.N)
}

// Signer signs checkpoints of the trail, also of what other processes wrote.
type Signer struct {
	*core
	*tree
	*checkpointFiles
	notify func()                                          // signals Run
	record func(ctx context.Context, event, detail string) // records an event of this package

	publishing sync.Mutex // serialises work in the checkpoint file

	mu        sync.Mutex
	failure   error  // guarded by mu: why the last checkpoint failed; nil when it did not
	recovered bool   // guarded by mu: recoverCheckpoint was done
	unsigned  int64  // guarded by mu: records of ours since our last checkpoint
	known     int64  // guarded by mu: records of the newest checkpoint seen in the checkpoint file; -1: not looked
	newest    Signed // guarded by mu: of ours, to be published
	published int64  // guarded by mu: records of the newest of ours that was
	trusted   Head   // guarded by mu: an end of the trail that continues the newest checkpoint, as far as is known
	trustedBy []byte // guarded by mu: the line of that checkpoint
}

// onStored counts a record of ours that was stored.
func (sg *Signer) onStored() {
	sg.mu.Lock()
	sg.unsigned++
	due := sg.unsigned >= sg.opt.Every || sg.unsigned == 1 // the first starts Run's timer
	sg.mu.Unlock()
	if due {
		sg.notify()
	}
}

// full reports that Options.Every records of ours are in no checkpoint.
func (sg *Signer) full() bool {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	return sg.unsigned >= sg.opt.Every
}

// used reports whether this process wrote or signed anything.
func (sg *Signer) used() bool {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	return sg.unsigned > 0 || sg.published > 0
}

// lastFailure is why the last checkpoint failed; nil when it did not.
func (sg *Signer) lastFailure() error {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	return sg.failure
}

// Checkpoint signs the end of the trail, also when other processes wrote it, and writes
// the checkpoint to the file, unless it is there already. It first compares the trail
// with the last checkpoint; when they differ it signs nothing and returns a
// *TamperedError.
func (sg *Signer) Checkpoint(ctx context.Context) error {
	if !sg.signs() {
		return nil
	}
	sg.recoverCheckpoint(ctx)
	return sg.checkpointResult(ctx, sg.signHead(ctx))
}

func (sg *Signer) signHead(ctx context.Context) error {
	sg.mu.Lock()
	counted := sg.unsigned // these the head below holds
	sg.mu.Unlock()
	last, err := sg.lastCheckpoint(ctx) // before the head: it cannot be ahead of it
	if err != nil {
		return err
	}
	head, err := sg.edge(ctx)
	if err != nil {
		return err
	}
	if err := sg.compareWithCheckpoint(ctx, last, head); err != nil {
		return err
	}
	sg.mu.Lock()
	sg.unsigned -= min(counted, sg.unsigned)
	sg.mu.Unlock()
	sg.seenCheckpoint(last.N)
	if last.N == head.N {
		return nil
	}
	s, err := sg.signAt(head, sg.opt.Now())
	if err != nil {
		return err
	}
	if err := sg.opt.Store.PutCheckpoint(ctx, *sg.toStore(s)); err != nil {
		return err
	}
	return sg.publish(ctx, s)
}

// signAt signs the trail up to head, whose edge is known.
func (sg *Signer) signAt(head Head, at time.Time) (Signed, error) {
	return sg.opt.Key.signNote(Checkpoint{Chain: head.Chain, N: head.N, Head: head.Hash, Root: head.Edge.root(),
		At: at.UTC().Truncate(time.Millisecond)})
}

func (sg *Signer) toStore(s Signed) *StoredCheckpoint {
	return &StoredCheckpoint{Key: sg.fingerprint(), N: s.N, Note: s.Note}
}

// checkpointResult notes the result of making a checkpoint and passes err on. It passes
// a new error to Alarm and records what looks like tampering.
func (sg *Signer) checkpointResult(ctx context.Context, err error) error {
	sg.mu.Lock()
	news := err != nil && sg.failure == nil
	sg.failure = err
	if err != nil {
		sg.unsigned = max(sg.unsigned, 1) // try again an interval later
	}
	sg.mu.Unlock()
	if !news {
		return err
	}
	var bad *TamperedError
	if errors.As(err, &bad) {
		sg.record(ctx, EventTamper, bad.Error())
	}
	sg.alarm(err)
	return err
}

// Uncovered is the number of records that no checkpoint covers, by this key or by
// one in Options.Trusted; 0 when nothing is signed here.
func (sg *Signer) Uncovered(ctx context.Context) (int64, error) {
	if !sg.signs() {
		return 0, nil
	}
	last, err := sg.lastCheckpoint(ctx)
	if err != nil {
		return 0, err
	}
	points, err := sg.opt.Store.Checkpoints(ctx)
	if err != nil {
		return 0, err
	}
	covered := last.N
	for _, p := range points {
		for _, t := range sg.opt.Trusted {
			if s, err := ParseCheckpoint(p.Note); err == nil && s.By(t.Key) {
				covered = max(covered, s.N)
			}
		}
	}
	head, err := sg.opt.Store.Head(ctx)
	return max(0, head.N-covered), err
}

// publish writes a checkpoint to the checkpoint file, durably.
// Many that come at once are written as one: the newest covers all.
func (sg *Signer) publish(ctx context.Context, s Signed) error {
	sg.mu.Lock()
	if s.N > sg.newest.N {
		sg.newest = s
	}
	sg.mu.Unlock()
	sg.publishing.Lock()
	defer sg.publishing.Unlock()
	sg.mu.Lock()
	covered, newest := sg.published >= s.N, sg.newest
	sg.mu.Unlock()
	if covered {
		return nil
	}
	name, err := sg.CheckpointFile(ctx)
	if err != nil {
		return err
	}
	if err := sg.addLine(name, newest.Line, func(last Signed) bool { return last.N < newest.N }); err != nil {
		return err
	}
	sg.mu.Lock()
	sg.published = newest.N
	sg.mu.Unlock()
	sg.seenCheckpoint(newest.N)
	sg.notify()
	return nil
}

// checkBeforeSigning compares the trail with the newest checkpoint in the file, unless
// this process knows that nobody else has written since it last did.
func (sg *Signer) checkBeforeSigning(ctx context.Context) error {
	last, err := sg.lastCheckpoint(ctx)
	if err != nil {
		return err
	}
	if sg.seenCheckpoint(last.N); last.N == 0 {
		return nil
	}
	head, err := sg.opt.Store.Head(ctx)
	if err != nil {
		return err
	}
	sg.mu.Lock()
	trusted := head.N > 0 && sg.trusted.N == head.N && sg.trusted.Hash == head.Hash && sg.trusted.Chain == head.Chain &&
		last.N <= head.N &&
		bytes.Equal(last.Line, sg.trustedBy)
	sg.mu.Unlock()
	if trusted { // nobody else has written since
		return nil
	}
	if err := sg.compareWithCheckpoint(ctx, last, head); err != nil {
		return err
	}
	sg.mu.Lock()
	defer sg.mu.Unlock()
	sg.trusted, sg.trustedBy = head, last.Line
	return nil
}

// seenCheckpoint notes that there is a checkpoint for n records in the checkpoint file, and
// returns the newest that was seen there; -1 when nobody has looked.
func (sg *Signer) seenCheckpoint(n int64) int64 {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	sg.known = max(sg.known, n)
	return sg.known
}

// onContinued notes that this process has added records to from, up to to, and
// which checkpoint covers them, if one does.
func (sg *Signer) onContinued(from, to Head, point *Signed) {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	if sg.trusted.N != from.N || sg.trusted.Hash != from.Hash || from.N == 0 {
		return
	}
	if sg.trusted = to; point != nil {
		sg.trustedBy = point.Line
	}
}

// compareWithCheckpoint compares the trail with its last checkpoint.
func (sg *Signer) compareWithCheckpoint(ctx context.Context, last Signed, head Head) error {
	switch {
	case last.N == 0:
		return nil
	case !last.By(sg.opt.Key.Public()):
		return &TamperedError{last.N, "the last checkpoint was not signed by this key"}
	case last.Chain != head.Chain:
		return &TamperedError{last.N, "the checkpoints belong to another log"}
	case last.N > head.N:
		return &TamperedError{last.N, fmt.Sprintf("it has %d records, but a checkpoint says %d", head.N, last.N)}
	}
	rows, err := sg.opt.Store.Rows(ctx, last.N, 1)
	if err != nil {
		return err
	}
	if len(rows) == 0 || rows[0].Seq != last.N {
		if _, archived, err := sg.segmentFrom(ctx, last.N); err != nil || archived {
			return err // the verification reads the archive
		}
	}
	if len(rows) == 0 || rows[0].Seq != last.N || Hash(rows[0].Bytes) != last.Head {
		return &TamperedError{last.N, fmt.Sprintf("record %d is not the one that was signed", last.N)}
	}
	root, err := sg.rootAt(ctx, last.N)
	if errors.Is(err, errBehind) { // made again from the records before anything is signed
		return nil
	}
	if err == nil && root != last.Root {
		err = &TamperedError{last.N, fmt.Sprintf("the stored tree of the first %d records is not the one that was signed",
			last.N)}
	}
	return err
}

// publishTime is how long a process may take from storing a checkpoint to writing it
// to the checkpoint file.
const publishTime = 10 * time.Second

// recoverCheckpoint writes to the checkpoint file the checkpoint that a process stored and
// did not write there before it ended, once, and records that. It keeps the
// trail going: Verify reports what is wrong.
func (sg *Signer) recoverCheckpoint(ctx context.Context) {
	sg.mu.Lock()
	done := sg.recovered
	sg.recovered = true
	sg.mu.Unlock()
	if done {
		return
	}
	points, err := sg.opt.Store.Checkpoints(ctx)
	if err != nil {
		return
	}
	last, err := sg.lastCheckpoint(ctx)
	if err != nil {
		return
	}
	for _, p := range points {
		s, err := ParseCheckpoint(p.Note)
		if p.Key != sg.fingerprint() || err != nil || s.N <= last.N || !s.By(sg.opt.Key.Public()) {
			continue
		}
		head, err := sg.opt.Store.Head(ctx)
		if err != nil || sg.compareWithCheckpoint(ctx, s, head) != nil || sg.compareWithCheckpoint(ctx, last, head) != nil {
			return
		}
		if sg.ownerEnded(ctx, s) {
			sg.record(ctx, EventUncovered, fmt.Sprintf("the checkpoint for %d records of %s was missing from the checkpoint "+
				"file, which ended at %d: "+
				"the process ended before it wrote it, or it was removed; it was written now", s.N, s.At.Format(timeForm), last.N))
		}
		_ = sg.publish(ctx, s)
	}
}

// ownerEnded reports that the process that stored s will not write it any more.
func (sg *Signer) ownerEnded(ctx context.Context, s Signed) bool {
	rows, err := sg.opt.Store.Rows(ctx, s.N, 1)
	if err != nil || len(rows) == 0 {
		return false
	}
	e := entry(rows[0])
	if e.Boot == sg.boot {
		return false
	}
	if age := sg.opt.Now().Sub(s.At); age < 0 || age > publishTime {
		return true
	}
	if e.Ref == "" {
		return false
	}
	intent, err := sg.opt.Store.Get(ctx, e.Ref)
	return err == nil && sg.processGone(entry(intent))
}
