package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"opdeck/api"
)

// Prover verifies the trail and signs its end for others.
type Prover struct {
	*core
	log    *Log
	signer *Signer
}

// VerifierKey is the public key of this host, which has signed a checkpoint of that chain.
func (pr *Prover) VerifierKey(chain string) string { return pr.opt.Key.VerifierKey(chain) }

// NewestNote signs the end of the trail like Checkpoint and returns the newest checkpoint. The person in ctx needs
// api.MayAudit. The note holds the number of records and hashes, but no record.
func (pr *Prover) NewestNote(ctx context.Context) (Signed, error) {
	if err := pr.log.mustMay(ctx, "sign the audit trail", api.MayAudit); err != nil {
		return Signed{}, err
	}
	if !pr.signs() {
		return Signed{}, pr.unsigned()
	}
	s, err := pr.signer.checkpointNow(ctx)
	if err == nil && s.N == 0 {
		err = &api.Error{Op: "sign the audit trail", Kind: api.NotFound,
			Public: "The trail is empty: there is nothing to sign."}
	}
	return s, err
}

// unsigned is why this host signs no checkpoints.
func (c *core) unsigned() error {
	if err := c.Unrecorded(); err != nil {
		return err
	}
	return &api.Error{Op: "sign the audit trail", Kind: api.BadConfig,
		Public: "There are no checkpoints: the store in memory has none."}
}

// Verify verifies the stored trail: the records, all derived columns and tables, this Log's checkpoints and those of
// the keys in Options.Trusted. The person in ctx needs api.MayAudit.
func (pr *Prover) Verify(ctx context.Context) (Report, error) { return pr.VerifyAgainst(ctx, nil) }

// VerifyAgainst is Verify that also compares the trail with kept notes. A note that cannot be read, or was signed
// neither by our key nor by one in Options.Trusted, is an error.
func (pr *Prover) VerifyAgainst(ctx context.Context, notes []KeptNote) (Report, error) {
	if err := pr.log.mustMay(ctx, "verify the audit trail", api.MayAudit); err != nil {
		return Report{}, err
	}
	v, err := pr.verified(ctx, notes, false, nil)
	if err != nil {
		return Report{}, err
	}
	return v.r, nil
}

// verified checks the trail. accept: also the notes may show a restore. from: the snapshot that was put in place; nil
// for none.
func (pr *Prover) verified(ctx context.Context, notes []KeptNote, accept bool, from *FromBackup) (*verifier, error) {
	v := newVerifier()
	v.accept, v.from, v.guest, v.known = accept, from, pr.Unrecorded() != nil, map[string]bool{}
	for _, k := range pr.knownKeys() {
		v.known[Fingerprint(k)] = true
	}
	if err := v.readNotes(notes, pr.knownKeys()); err != nil {
		return nil, err
	}
	if err := pr.awaitPublishing(ctx); err != nil {
		return nil, err
	}
	before, err := pr.opt.Store.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	files, err := pr.readFiles(ctx, v)
	if err != nil {
		return nil, err
	}
	// after the files and before the records: what is stored first is read last
	points, err := pr.opt.Store.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	pr.checkStored(v, before, points, files)
	if _, v.treeEnd, err = pr.opt.Store.TreeSize(ctx, 0); err != nil {
		return nil, err
	}
	side, err := pr.walk(ctx, v)
	if err != nil {
		return nil, err
	}
	v.checkTables(side)
	v.r = v.end(&side.Head)
	return v, nil
}

// awaitPublishing waits briefly for checkpoints that another process has stored and is writing to the checkpoint
// file.
func (pr *Prover) awaitPublishing(ctx context.Context) error {
	if !pr.signs() {
		return nil
	}
	for range 20 {
		points, err := pr.opt.Store.Checkpoints(ctx)
		if err != nil {
			return err
		}
		last, err := pr.signer.lastCheckpoint(ctx)
		if err != nil {
			return nil // the read of the whole file reports it
		}
		soon := false
		for _, p := range points {
			if s, err := ParseCheckpoint(p.Note); err == nil && p.Key == pr.fingerprint() && s.N > last.N &&
				pr.opt.Now().Sub(s.At).Abs() < publishTime {
				soon = true
			}
		}
		if !soon {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// readFiles reads the checkpoint files of the trusted keys, and returns where they end, by key; a key without a file
// is missing.
func (pr *Prover) readFiles(ctx context.Context, v *verifier) (map[string]int64, error) {
	newest := map[string]int64{}
	own, err := pr.signer.CheckpointFile(ctx)
	if err != nil || !pr.signs() {
		return newest, err
	}
	read := func(name string, key ed25519.PublicKey) error {
		f, err := openCheckpointFile(name)
		if f == nil {
			return err
		}
		defer func() { _ = f.Close() }()
		by := Fingerprint(key)
		newest[by] = max(newest[by], 0)
		if err := v.checkpoints(f, key); err != nil {
			return err
		}
		newest[by] = max(newest[by], v.lastOf[by].N)
		return nil
	}
	if own != "" {
		if err := read(own, pr.opt.Key.Public()); err != nil {
			return nil, err
		}
	}
	if folder, err := pr.signer.checkpointFolder(); err != nil {
		return nil, err
	} else if folder != "" {
		for _, t := range pr.opt.Trusted {
			if err := read(filepath.Join(folder, "audit-"+t.Chain+"-"+Fingerprint(t.Key)+".jsonl"), t.Key); err != nil {
				return nil, err
			}
		}
	}
	others, err := pr.signer.otherLogs(own)
	for _, name := range others {
		v.problem(0, Exchanged, "%s contains checkpoints of another trail: the trail was replaced or removed. If you "+
			"created this store anew, move that file away", filepath.Base(name))
	}
	return newest, err
}

// checkStored compares the stored newest checkpoints with the files. before and points were read before and after the
// files, since other processes keep signing.
func (pr *Prover) checkStored(v *verifier, before, points []StoredCheckpoint, files map[string]int64) {
	first := map[string]int64{}
	for _, p := range before {
		first[p.Key] = p.N
	}
	keys := map[string]ed25519.PublicKey{}
	for _, k := range pr.knownKeys() {
		keys[Fingerprint(k)] = k
	}
	stored := map[string]int64{}
	for _, p := range points {
		key, known := keys[p.Key]
		if !known {
			continue // the records show whether it matters
		}
		s, err := ParseCheckpoint(p.Note)
		if err != nil || s.N != p.N || !s.By(key) {
			v.problem(0, Forged, "the checkpoint that the store keeps of key %s was not signed by it", p.Key)
			continue
		}
		stored[p.Key] = s.N
		newest, there := files[p.Key]
		switch {
		case !there && (!pr.signs() || p.Key != pr.fingerprint()):
			v.storedOnly[p.Key] = s.N
		case s.N > newest && s.N <= first[p.Key]:
			v.suspect(s, 0, Unsigned, "the checkpoint file of key %s ends at %d records, and the store knows of a checkpoint "+
				"for %d: "+
				"a process ended before it wrote it, or the end of the file was removed", p.Key, newest, s.N)
		}
		v.points[s.N] = append(v.points[s.N], s)
	}
	for key, newest := range files {
		if newest > stored[key] {
			v.suspect(v.lastOf[key], 0, SideTable, "the store knows of checkpoints of key %s for up to %d records, and its "+
				"file has one "+
				"for %d", key, stored[key], newest)
		}
	}
}

// walk checks all records up to the snapshot that it returns.
func (pr *Prover) walk(ctx context.Context, v *verifier) (Derived, error) {
	next := int64(1)
	pages := func(to int64) error {
		for {
			n, err := pr.page(ctx, v, next, to)
			if err != nil || n == 0 {
				return err
			}
			next += n
		}
	}
	if err := pages(0); err != nil {
		return Derived{}, err
	}
	side, err := pr.opt.Store.Derived(ctx)
	if err == nil && next <= side.Head.N {
		err = pages(side.Head.N)
	}
	return side, err
}

// verifyPage is the number of records per read.
const verifyPage = 500

// page checks the next records from seq from, up to to unless that is 0, and returns the last one.
func (pr *Prover) page(ctx context.Context, v *verifier, from, to int64) (int64, error) {
	rows, err := pr.opt.Store.Rows(ctx, from, verifyPage)
	if err != nil {
		return 0, err
	}
	// after the rows: a missing row was archived before it was removed
	if s, archived, err := pr.segmentFrom(ctx, from); err != nil {
		return 0, err
	} else if archived {
		return s.Last - from + 1, pr.verifySegment(s, v)
	}
	if len(rows) == 0 {
		return 0, nil
	}
	seqs := make([]int64, len(rows))
	for i, r := range rows {
		seqs[i] = r.Seq
	}
	nodes, err := pr.opt.Store.Nodes(ctx, seqs)
	if err != nil {
		return 0, err
	}
	last := from - 1
	for _, r := range rows {
		if to > 0 && r.Seq > to {
			break
		}
		last = r.Seq
		v.line++
		if rec, ok := v.record(r.Hash, r.Bytes); ok {
			if name := rec.differs(r); name != "" {
				v.problem(r.Seq, Column, "the column %s differs from record %d: lists and searches would show something else", name,
					r.Seq)
			}
		}
		if have, ok := nodes[r.Seq]; v.hashes != nil && (ok || r.Seq <= v.treeEnd) && !bytes.Equal(have, v.hashes) {
			v.problem(r.Seq, SideTable, "the stored tree differs from record %d; to rebuild it, empty the table audit_tree",
				r.Seq)
		}
	}
	return last - from + 1, nil
}

// differs names the first column of row that differs from its bytes; "" for none.
func (r Record) differs(row Row) string {
	for _, c := range []struct {
		name string
		same bool
	}{
		{"seq", r.Seq == row.Seq}, {"uid", r.UID == row.UID}, {"at_us", r.At.UnixMicro() == row.At.UnixMicro()},
		{"event", r.Event == row.Event},
		{"phase", r.Phase == row.Phase}, {"ref", r.Ref == row.Ref}, {"boot", r.Boot == row.Boot},
		{"actor", r.Actor.Name == row.Actor},
		{"object", r.Object == row.Object}, {"object_id", r.ID == row.ID}, {"item", r.Item == row.Item},
	} {
		if !c.same {
			return c.name
		}
	}
	return ""
}

// checkTables compares the derived tables with the records.
func (v *verifier) checkTables(s Derived) {
	for _, d := range v.unsettled() {
		if s.Open[d.UID] != d.Seq {
			v.problem(d.Seq, SideTable, "the outcome of record %d is unknown, and the list of writes with an unknown "+
				"outcome does not contain it: %s of %s by %s", d.Seq, d.Event, d.ID, d.Actor)
		}
	}
	var extra []int64
	for uid, seq := range s.Open {
		if _, ok := v.open[uid]; !ok {
			extra = append(extra, seq)
		}
	}
	slices.Sort(extra)
	for _, seq := range extra {
		v.problem(seq, SideTable, "the list of writes with an unknown outcome contains record %d, which has an outcome or "+
			"is not an intent",
			seq)
	}
	if v.treeEnd > v.r.Last {
		v.problem(v.r.Last+1, SideTable, "the stored tree covers %d records, but there are %d", v.treeEnd, v.r.Last)
	}
	if n := v.r.Last; s.Head.N == n && n > 0 && (s.Head.Chain != v.r.Chain ||
		s.Head.At.UnixMicro() != v.r.Until.UnixMicro()) {
		v.problem(n, HeadDiffer, "the end that the store remembers differs from record %d", n)
	}
}

// KeptNote is a checkpoint kept outside the store, as printed by opdeck audit checkpoint.
type KeptNote struct {
	File string // file name, for the report
	Text []byte
}

// ComparisonResult is the relation of the trail to a kept note.
type ComparisonResult string

// The results.
const (
	Continues ComparisonResult = "continues" // the trail begins with the records that the note signed
	Older     ComparisonResult = "older"     // the trail ends before the note
	Another   ComparisonResult = "another"   // other records, or another trail
	Restored  ComparisonResult = "restored"  // the note is of what a recorded restore has lost
)

// Comparison compares the trail with one kept note.
type Comparison struct {
	File    string           `json:"file"`
	Records int64            `json:"records"` // of the note
	At      time.Time        `json:"at"`      // of the note
	Result  ComparisonResult `json:"result"`
	Seq     int64            `json:"seq,omitempty"` // the first record known to differ or to be missing
	Text    string           `json:"text"`          // a sentence
}

// signedNote is a parsed KeptNote.
type signedNote struct {
	file string
	Signed
}

// read parses the note, which must be exact and signed by one of keys. The error names the file.
func (k KeptNote) read(keys []ed25519.PublicKey) (signedNote, error) {
	s, err := ParseCheckpoint(string(k.Text))
	switch {
	case err != nil:
		return signedNote{}, &api.Error{Op: "verify the audit trail", Kind: api.Usage, Err: err,
			Public: k.File + " does not contain exactly one checkpoint as opdeck audit checkpoint prints it."}
	case !s.By(keys...):
		return signedNote{}, &api.Error{Op: "verify the audit trail", Kind: api.Usage,
			Public: "The signature of " + k.File + " is not valid, or its key is not known here.",
			Hint:   "Add the key of another host, or a replaced one, to [audit] keys; with --file, give it with --pub."}
	}
	return signedNote{k.File, s}, nil
}

// noteCheck collects what is needed to compare the trail with kept notes.
type noteCheck struct {
	notes        []signedNote
	passed       map[int64]passedRecord // by the number of records of a note
	firstDamaged int64                  // the first record that was changed; 0 for none
	damage       string                 // what is wrong with it
}

// passedRecord is a record at which a note ends.
type passedRecord struct {
	hash string
	root tlog.Hash // of the tree up to the record
	tree bool      // root is known
}

// readNotes reads all notes before the trail is read.
func (c *noteCheck) readNotes(notes []KeptNote, keys []ed25519.PublicKey) error {
	c.passed = map[int64]passedRecord{}
	for _, k := range notes {
		n, err := k.read(keys)
		if err != nil {
			return err
		}
		c.notes = append(c.notes, n)
	}
	return nil
}

// pass remembers the record if a note ends with it. edge is nil if the tree is not known.
func (c *noteCheck) pass(seq int64, hash string, edge Edge) {
	for _, n := range c.notes {
		if n.N != seq {
			continue
		}
		p := passedRecord{hash: hash, tree: edge != nil}
		if p.tree {
			p.root = edge.root()
		}
		c.passed[seq] = p
	}
}

// compare compares the whole trail, described by r, with one note.
func (c *noteCheck) compare(n signedNote, r Report) Comparison {
	out := Comparison{File: n.file, Records: n.N, At: n.At, Result: Another}
	end, met := c.passed[n.N]
	switch {
	case r.Chain != "" && n.Chain != r.Chain:
		out.Text = fmt.Sprintf("the checkpoint is for trail %s, and this is trail %s", n.Chain, r.Chain)
	case n.N > r.Last:
		out.Result, out.Seq = Older, r.Last+1
		out.Text = fmt.Sprintf("the trail ends at record %d, but the checkpoint is for %d: the trail is an older copy, or "+
			"records were removed", r.Last, n.N)
	case n.N < r.First:
		out.Seq = n.N
		out.Text = fmt.Sprintf("this copy begins with record %d and cannot be compared with a checkpoint for %d", r.First,
			n.N)
	case c.firstDamaged > 0 && c.firstDamaged <= n.N:
		out.Seq, out.Text = c.firstDamaged, c.damage
	case !met || end.hash != n.Head || end.tree && end.root != n.Root:
		out.Seq = n.N
		out.Text = fmt.Sprintf("record %d is not the one that the checkpoint signed: the trail differs there or before", n.N)
	default:
		out.Result = Continues
		out.Text = fmt.Sprintf("the trail begins with the %d records that the checkpoint signed", n.N)
	}
	return out
}

// Health is the state of the trail for display.
type Health struct {
	Err        error     // why the trail cannot be written; nil if it can
	Since      time.Time // since when
	Waiting    int       // records that wait to be stored
	Checkpoint error     // why the last checkpoint failed; nil if it did not
}

// OK reports whether there is no problem.
func (h Health) OK() bool { return h.Err == nil && h.Waiting == 0 && h.Checkpoint == nil }

// Tampered returns the contradiction between the trail and a checkpoint, nil for none. Until a person has checked it,
// nothing is signed.
func (h Health) Tampered() *TamperedError {
	var bad *TamperedError
	if errors.As(h.Checkpoint, &bad) {
		return bad
	}
	return nil
}

// Health returns the present state.
func (l *Log) Health() Health {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.health
	h.Waiting = len(l.pending)
	h.Checkpoint = l.Signer.lastFailure()
	return h
}

// writable records whether the trail can be written (err is nil) and returns err. It passes a change to Alarm.
func (l *Log) writable(err error) error {
	l.mu.Lock()
	news := (l.health.Err == nil) != (err == nil)
	switch l.health.Err = err; {
	case err == nil:
		l.health.Since = time.Time{}
	case news:
		l.health.Since = l.opt.Now()
	}
	l.mu.Unlock()
	if news {
		l.alarm(err)
	}
	return err
}

// notify tells Run that there is work.
func (l *Log) notify() {
	select {
	case l.notified <- struct{}{}:
	default:
	}
}
