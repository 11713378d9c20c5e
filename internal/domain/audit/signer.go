package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"opdeck/api"
)

// TamperedError: the trail contradicts a signed checkpoint.
type TamperedError struct {
	N      int64 // the checkpoint
	Reason string
	Older  bool // the trail ends before the checkpoint: its end was cut, or a backup was restored
}

// Error is a sentence for people.
func (e *TamperedError) Error() string {
	if e.Older {
		return fmt.Sprintf("the audit trail is older than its checkpoint for %d records: %s. If a backup was restored on "+
			"purpose: opdeck restore --reason WHY", e.N, e.Reason)
	}
	return fmt.Sprintf("the audit trail was tampered with: %s (checkpoint %d); run opdeck audit verify and keep a "+
		"copy of the store", e.Reason, e.N)
}

// Signer signs checkpoints of the trail, including records of other processes.
type Signer struct {
	*core
	record func(ctx context.Context, event, detail string) // records an event of this package

	publishing sync.Mutex // serialises work in the checkpoint file

	mu      sync.Mutex
	failure error  // guarded by mu: why the last checkpoint failed; nil if it did not
	known   Signed // guarded by mu: the newest checkpoint in the file when it was last read; zero: none
	lost    []byte // guarded by mu: the last line of the file, if a restore has lost it
}

// lastFailure is why the last checkpoint failed; nil if it did not.
func (sg *Signer) lastFailure() error {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	return sg.failure
}

// lastKnown is the newest checkpoint in the file when it was last read.
func (sg *Signer) lastKnown() Signed {
	sg.mu.Lock()
	defer sg.mu.Unlock()
	return sg.known
}

// Checkpoint signs the end of the trail, even if other processes wrote it, and writes the checkpoint to the file
// unless it is there. It first compares the trail with the last checkpoint; if they contradict, it signs nothing and
// returns a *TamperedError.
func (sg *Signer) Checkpoint(ctx context.Context) error {
	if !sg.signs() {
		return nil
	}
	return sg.result(ctx, sg.signHead(ctx))
}

func (sg *Signer) signHead(ctx context.Context) error {
	last, err := sg.compare(ctx)
	if err != nil {
		return err
	}
	head, err := sg.opt.Store.Head(ctx) // after the file, so that it cannot be behind it
	if err != nil || head.N == last.N {
		return err
	}
	s, err := sg.signAt(head)
	if err != nil {
		return err
	}
	if err := sg.opt.Store.PutCheckpoint(ctx, sg.toStore(s)); err != nil {
		return err
	}
	return sg.publish(s)
}

func (sg *Signer) signAt(head Head) (Signed, error) {
	return sg.opt.Key.sign(checkpointOf(head, sg.opt.Now()))
}

func (sg *Signer) toStore(s Signed) StoredCheckpoint {
	return StoredCheckpoint{Key: sg.fingerprint(), N: s.N, Note: s.Note}
}

// result keeps the result of a checkpoint and returns err. It passes a new error to Alarm and records signs of
// tampering.
func (sg *Signer) result(ctx context.Context, err error) error {
	sg.mu.Lock()
	news := err != nil && sg.failure == nil
	sg.failure = err
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

// publish writes a checkpoint to the checkpoint file durably, unless one there covers it.
func (sg *Signer) publish(s Signed) error {
	sg.publishing.Lock()
	defer sg.publishing.Unlock()
	sg.mu.Lock()
	lost := sg.lost
	sg.mu.Unlock()
	return sg.addCheckpoint(s, func(last Signed) bool {
		return last.N < s.N || lost != nil && bytes.Equal(last.Line, lost)
	})
}

// compare compares the trail with the newest checkpoint of this key, and returns it; the zero Signed if there is none
// or a restore has lost it.
func (sg *Signer) compare(ctx context.Context) (Signed, error) {
	head, err := sg.opt.Store.Head(ctx)
	if err != nil || head.N == 0 {
		return Signed{}, err
	}
	last, err := sg.lastCheckpoint(head.Chain)
	if err != nil {
		return Signed{}, err
	}
	bad, err := sg.contradicts(ctx, last)
	if err != nil {
		return Signed{}, err
	}
	var lost []byte
	if bad != nil {
		restores, err := sg.restores(ctx)
		if err != nil {
			return Signed{}, err
		}
		if slices.ContainsFunc(restores, func(r Restore) bool { return r.excuses(last) }) {
			bad, lost, last = nil, last.Line, Signed{}
		}
	}
	sg.mu.Lock()
	sg.known, sg.lost = last, lost
	sg.mu.Unlock()
	if bad != nil {
		return Signed{}, bad
	}
	return last, nil
}

// contradicts says how the trail contradicts its last checkpoint; nil if it does not.
func (sg *Signer) contradicts(ctx context.Context, last Signed) (*TamperedError, error) {
	if last.N == 0 {
		return nil, nil
	}
	if !last.By(sg.opt.Key.Public()) {
		return &TamperedError{N: last.N, Reason: "the last checkpoint was not signed by this key"}, nil
	}
	head, err := sg.opt.Store.Head(ctx) // again: the file may have grown since
	switch {
	case err != nil:
		return nil, err
	case last.Chain != head.Chain:
		return &TamperedError{N: last.N, Reason: "the checkpoints belong to another trail"}, nil
	case last.N > head.N:
		return &TamperedError{N: last.N, Reason: fmt.Sprintf("it has %d records", head.N), Older: true}, nil
	}
	rows, err := sg.opt.Store.Rows(ctx, last.N, 1)
	if err != nil || len(rows) == 1 && rows[0].Seq == last.N && Hash(rows[0].Bytes) == last.Head {
		return nil, err
	}
	// a record whose process knew the checkpoint came after a restore
	return &TamperedError{N: last.N, Reason: fmt.Sprintf("record %d is not the one that was signed", last.N),
		Older: len(rows) > 0 && entry(rows[0]).Signed >= last.N}, nil
}

// Uncovered is the number of records without a checkpoint by this key or one in Options.Trusted; 0 if nothing is
// signed here.
func (sg *Signer) Uncovered(ctx context.Context) (int64, error) {
	if !sg.signs() {
		return 0, nil
	}
	covered, err := sg.storedUpTo(ctx)
	if err != nil {
		return 0, err
	}
	head, err := sg.opt.Store.Head(ctx)
	return max(0, head.N-covered), err
}

// storedUpTo is the number of records of the newest checkpoint in the store that a known key signed and that the trail
// continues.
func (c *core) storedUpTo(ctx context.Context) (covered int64, err error) {
	points, err := c.opt.Store.Checkpoints(ctx)
	if err != nil {
		return 0, err
	}
	for _, p := range points {
		s, err := ParseCheckpoint(p.Note)
		if err != nil || s.N <= covered || !s.By(c.knownKeys()...) {
			continue
		}
		rows, err := c.opt.Store.Rows(ctx, s.N, 1)
		if err != nil {
			return 0, err
		}
		if len(rows) == 1 && rows[0].Seq == s.N && Hash(rows[0].Bytes) == s.Head {
			covered = s.N
		}
	}
	return covered, nil
}

// restores are the records of restores in the store that a stored checkpoint covers.
func (c *core) restores(ctx context.Context) (out []Restore, err error) {
	rows, err := c.opt.Store.Find(ctx, Query{Event: EventRestored, Phase: PhaseNote, Limit: 100})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	covered, err := c.storedUpTo(ctx)
	for _, row := range rows {
		var r Record
		if row.Seq <= covered && Hash(row.Bytes) == row.Hash && json.Unmarshal(row.Bytes, &r) == nil && r.Restored != nil {
			out = append(out, r.restore())
		}
	}
	return out, err
}

// core is the state shared by the parts of a Log.
type core struct {
	opt  Options
	boot string // id of this process: a UUID made at its start
}

// Unrecorded is why this process records nothing, nil if it does. Every method that adds a record returns it.
func (c *core) Unrecorded() error { return c.opt.Unrecorded }

// signs reports whether this process signs checkpoints.
func (c *core) signs() bool { return c.opt.Key != nil && c.opt.Checkpoints != "" }

// unsigned is why this host signs no checkpoints.
func (c *core) unsigned() error {
	if err := c.Unrecorded(); err != nil {
		return err
	}
	return &api.Error{Op: "sign the audit trail", Kind: api.BadConfig,
		Public: "There are no checkpoints: the store in memory has none."}
}

// fingerprint is the fingerprint of this process's signing key.
func (c *core) fingerprint() string { return Fingerprint(c.opt.Key.Public()) }

// knownKeys are the keys whose checkpoints are accepted: our own and those of other hosts.
func (c *core) knownKeys() []ed25519.PublicKey {
	var keys []ed25519.PublicKey
	if c.signs() {
		keys = append(keys, c.opt.Key.Public())
	}
	for _, t := range c.opt.Trusted {
		keys = append(keys, t.Key)
	}
	return keys
}

// alarm calls Options.Alarm.
func (c *core) alarm(err error) {
	if c.opt.Alarm != nil {
		c.opt.Alarm(err)
	}
}
