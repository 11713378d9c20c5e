package audit

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"time"

	"opdeck/api"
)

// Prover verifies the trail, signs its end for others, and begins epochs.
type Prover struct {
	*core
	log *Log
}

// VerifierKey is the public key of this host, which has signed a checkpoint of that chain.
func (pr *Prover) VerifierKey(chain string) string { return pr.opt.Key.VerifierKey(chain) }

// NewestNote signs the end of the trail like Checkpoint and returns the newest checkpoint. The person in ctx needs
// api.MayAudit. The note holds the number of records and hashes, but no record.
func (pr *Prover) NewestNote(ctx context.Context) (Signed, error) {
	const op = "sign the audit trail"
	if err := pr.log.mustMay(ctx, op, api.MayAudit); err != nil {
		return Signed{}, err
	}
	if !pr.signs() {
		return Signed{}, pr.unsigned()
	}
	if err := pr.log.Signer.Checkpoint(ctx); err != nil {
		return Signed{}, err
	}
	chain, err := pr.Chain(ctx)
	if err != nil {
		return Signed{}, err
	}
	s, err := pr.lastCheckpoint(chain)
	if err == nil && s.N == 0 {
		err = &api.Error{Op: op, Kind: api.NotFound, Public: "The trail is empty: there is nothing to sign."}
	}
	return s, err
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
	v, err := pr.verified(ctx, notes)
	if err != nil {
		return Report{}, err
	}
	return v.report(), nil
}

// verified checks the trail.
func (pr *Prover) verified(ctx context.Context, notes []KeptNote) (*verifier, error) {
	v := &verifier{r: Report{Problems: []Problem{}, Unsettled: []OpenIntent{}, ClockSteps: []ClockStep{},
		Warnings: []string{}}, prev: zeroHash, want: 1, epoch: 1, clocks: map[string]time.Time{},
		open: map[string]OpenIntent{}, points: map[int64][]Signed{}, newest: map[string]Signed{},
		claimed: map[string]claim{}, hashes: map[int64]string{}, matched: map[string]bool{},
		keys: pr.knownKeys(), guest: pr.Unrecorded() != nil}
	for _, k := range notes {
		s, err := k.read(v.keys)
		if err != nil {
			return nil, err
		}
		v.notes = append(v.notes, keptNote{k.File, s})
	}
	began, err := pr.opt.Store.Head(ctx)
	if err != nil {
		return nil, err
	}
	v.began = began.N
	if err := pr.readCheckpoints(ctx, began.Chain, v); err != nil {
		return nil, err
	}
	side, err := pr.walk(ctx, v)
	if err != nil {
		return nil, err
	}
	v.checkTables(side)
	v.checkCheckpoints()
	return v, nil
}

// publishTime bounds the time between storing a checkpoint and writing it to the checkpoint file.
const publishTime = 10 * time.Second

// readCheckpoints reads the checkpoint files of the known keys and the newest checkpoints in the store. A process
// stores each and then writes it to its file, so a file that is behind is read again for a while; what a file has and
// the store had not yet before is looked for in the store after it.
func (pr *Prover) readCheckpoints(ctx context.Context, chain string, v *verifier) error {
	for try := 0; ; try++ {
		stored, err := pr.opt.Store.Checkpoints(ctx) // before the files
		if err != nil {
			return err
		}
		files, err := pr.readFiles(chain)
		if err != nil {
			return err
		}
		behind := slices.ContainsFunc(stored, func(p StoredCheckpoint) bool {
			s, err := ParseCheckpoint(p.Note)
			f, there := files[p.Key]
			return err == nil && there && f.newest().N < s.N && pr.opt.Now().Sub(s.At).Abs() < publishTime
		})
		if behind && try < 20 {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(50 * time.Millisecond):
			}
			continue
		}
		after, err := pr.opt.Store.Checkpoints(ctx)
		if err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(files)) {
			v.readFile(key, files[key])
		}
		v.readStored(stored, after, files)
		break
	}
	if !pr.signs() {
		return nil
	}
	others, err := pr.otherLogs(chain)
	for _, name := range others {
		v.problem(0, Exchanged, "%s holds checkpoints of another trail: the store was made anew or replaced", name)
	}
	return err
}

// pointFile is the content of a checkpoint file.
type pointFile struct {
	list []Signed
	torn bool
}

// newest is the last checkpoint of a file; the zero Signed if there is none.
func (f pointFile) newest() Signed {
	if len(f.list) == 0 {
		return Signed{}
	}
	return f.list[len(f.list)-1]
}

// readFiles reads the checkpoint files of our key, which is there even if it is empty, and of those in
// Options.Trusted that have one here, by fingerprint.
func (pr *Prover) readFiles(chain string) (map[string]pointFile, error) {
	files := map[string]pointFile{}
	if !pr.signs() {
		return files, nil
	}
	for _, key := range pr.knownKeys() {
		by := Fingerprint(key)
		list, torn, err := readCheckpointFile(pr.checkpointFile(chain, by))
		if errors.Is(err, fs.ErrNotExist) && by != pr.fingerprint() {
			continue
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		files[by] = pointFile{list, torn}
	}
	return files, nil
}

// walk checks all records up to the snapshot that it returns.
func (pr *Prover) walk(ctx context.Context, v *verifier) (Derived, error) {
	if err := pr.each(ctx, 1, math.MaxInt64-1, v.row); err != nil {
		return Derived{}, err
	}
	side, err := pr.opt.Store.Derived(ctx)
	if err == nil {
		err = pr.each(ctx, v.want, side.Head.N, v.row) // what was written meanwhile
	}
	return side, err
}

const (
	maxProblems = 100
	maxDoubts   = 1000
)

// verifier checks records one by one.
type verifier struct {
	r     Report
	keys  []ed25519.PublicKey
	guest bool  // this host has no key: those of other hosts are perhaps not known here
	began int64 // records when the verification began

	want   int64                // next seq
	prev   string               // expected prev of the next record
	epoch  int64                // the record that began the present epoch
	clocks map[string]time.Time // of the last record of each process, and of each key that signs
	open   map[string]OpenIntent
	hashes map[int64]string // of the records at which a kept note ends

	points   map[int64][]Signed // checkpoints by the number of their records
	matched  map[string]bool    // notes of checkpoints that the trail continues
	newest   map[string]Signed  // by key: its last checkpoint in the file
	lost     []suspicion        // checkpoints that the trail does not continue
	claimed  map[string]claim   // by key
	outcome  int64              // the last outcome, which was signed as it was stored
	notes    []keptNote
	first    int64  // the first record that was changed; 0 for none
	firstHow string // what is wrong with it
}

// claim is the newest checkpoint of a key that records mention.
type claim struct{ n, seq int64 }

// suspicion is a checkpoint that the trail does not continue, with the problem that this is unless a restore has lost
// it.
type suspicion struct {
	Problem
	s Signed
}

// keptNote is a parsed KeptNote.
type keptNote struct {
	file string
	Signed
}

func (v *verifier) problem(seq int64, kind ProblemKind, format string, args ...any) {
	if len(v.r.Problems) == maxProblems {
		v.r.More++
		return
	}
	v.r.Problems = append(v.r.Problems, Problem{Seq: seq, Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// damaged is problem for a changed record; the first one counts for kept notes.
func (v *verifier) damaged(seq int64, kind ProblemKind, format string, args ...any) {
	if v.first == 0 {
		v.first, v.firstHow = seq, fmt.Sprintf(format, args...)
	}
	v.problem(seq, kind, format, args...)
}

func (v *verifier) suspect(s Signed, seq int64, kind ProblemKind, format string, args ...any) {
	v.lost = append(v.lost, suspicion{Problem{Seq: seq, Kind: kind, Text: fmt.Sprintf(format, args...)}, s})
}

// readFile takes the checkpoints of a file, whose order matters.
func (v *verifier) readFile(key string, f pointFile) {
	if f.torn {
		v.r.Warnings = append(v.r.Warnings, "the last line of a checkpoint file is torn and was left out")
	}
	var last Signed
	for i, s := range f.list {
		switch {
		case s.signer(v.keys) != key:
			v.problem(0, Forged, "checkpoint %d of the file of key %s (for %d records) was not signed by it", i+1, key, s.N)
			continue
		case s.N < last.N:
			v.suspect(last, 0, Reordered, "checkpoint %d of a file (for %d records) comes after one for %d", i+1, s.N, last.N)
		case s.Note == last.Note:
			v.problem(0, Reordered, "checkpoint %d of a file (for %d records) is there twice", i+1, s.N)
		}
		last = s
		v.r.Checkpoints++
		v.points[s.N] = append(v.points[s.N], s)
	}
	v.newest[key] = last
}

// readStored takes the newest checkpoints in the store, as they were before and after the files, and compares them.
func (v *verifier) readStored(stored, after []StoredCheckpoint, files map[string]pointFile) {
	in := map[string]int64{}
	for _, p := range after {
		if s, err := ParseCheckpoint(p.Note); err == nil && s.N == p.N && s.signer(v.keys) == p.Key {
			in[p.Key] = s.N
		}
	}
	for _, p := range stored {
		if !slices.ContainsFunc(v.keys, func(k ed25519.PublicKey) bool { return Fingerprint(k) == p.Key }) {
			continue // the records show whether it matters
		}
		s, err := ParseCheckpoint(p.Note)
		if err != nil || s.N != p.N || s.signer(v.keys) != p.Key {
			v.problem(0, Forged, "the checkpoint that the store keeps of key %s was not signed by it", p.Key)
			continue
		}
		v.points[s.N] = append(v.points[s.N], s)
		f, there := files[p.Key]
		switch {
		case !there:
			v.newest[p.Key] = s
		case f.newest().N < s.N:
			v.suspect(s, 0, Unsigned, "the checkpoint file of key %s ends at %d records, and the store knows of a checkpoint "+
				"for %d: a process ended before it wrote it, or the end of the file was removed", p.Key, f.newest().N, s.N)
		}
	}
	for key, s := range v.newest {
		if s.N > in[key] {
			v.suspect(s, 0, SideTable, "the store knows of checkpoints of key %s for up to %d records, and its file has one "+
				"for %d", key, in[key], s.N)
		}
	}
}

// row checks the next record.
func (v *verifier) row(row Row) error {
	v.r.Records++
	var r Record
	err := json.Unmarshal(row.Bytes, &r)
	switch {
	case Hash(row.Bytes) != row.Hash:
		v.damaged(v.want, Changed, "record %d was changed: its bytes do not match its hash", v.want)
	case err != nil || r.V != Version || r.Seq < 1:
		v.damaged(v.want, Malformed, "record %d cannot be read", v.want)
	default:
		v.record(r, row)
		return nil
	}
	v.follow(v.want, row.Hash)
	return nil
}

// record checks a record whose bytes match its hash.
func (v *verifier) record(r Record, row Row) {
	if v.r.Chain == "" {
		v.r.Chain, v.r.First, v.r.From = r.Chain, r.Seq, r.At
	}
	if r.Chain != v.r.Chain {
		v.damaged(r.Seq, OtherLog, "record %d belongs to another trail", r.Seq)
	}
	v.checkOrder(r, row.Hash)
	if name := r.differs(row); name != "" {
		v.problem(r.Seq, Column, "the column %s differs from record %d: lists and searches would show something else", name,
			r.Seq)
	}
	for _, s := range v.points[r.Seq] {
		if s.Chain == r.Chain && s.Head == row.Hash {
			v.matched[s.Note], v.r.Covered = true, r.Seq
		}
	}
	if slices.ContainsFunc(v.notes, func(n keptNote) bool { return n.N == r.Seq }) {
		v.hashes[r.Seq] = row.Hash
	}
	switch r.Phase {
	case PhaseIntent:
		v.open[r.UID] = OpenIntent{Seq: r.Seq, UID: r.UID, At: r.At, Event: r.Event, Actor: r.Actor.Name, Object: r.Object,
			ID: r.ID}
	case PhaseOutcome:
		delete(v.open, r.Ref)
	}
	if r.Signer != "" {
		c, have := v.claimed[r.Signer]
		if now := r.Seq > v.began; !have || !now && r.Signed > c.n { // what is written now mentions newer ones than were read
			c = claim{r.Signed, r.Seq}
			if now {
				c.n = 0
			}
			v.claimed[r.Signer] = c
		}
		if r.Phase == PhaseOutcome && r.Seq <= v.began {
			v.outcome = r.Seq
		}
	}
	if r.Event == EventRestored && r.Restored != nil {
		v.r.Restores = append(v.r.Restores, r.restore())
		for key, c := range v.claimed {
			if c.n > r.Restored.To { // it was lost with the records that it covered
				v.claimed[key] = claim{0, c.seq}
			}
		}
	}
	if r.Event == EventRestored || r.Event == EventEpoch {
		v.epoch = r.Seq
	}
}

// checkOrder compares the record with the previous one.
func (v *verifier) checkOrder(r Record, hash string) {
	switch {
	case r.Seq == v.want && r.Prev != v.prev:
		v.damaged(r.Seq, Broken, "record %d does not continue the record before it: one of the two was changed", r.Seq)
	case r.Seq == v.want+1:
		v.damaged(v.want, Missing, "record %d is missing", v.want)
	case r.Seq > v.want:
		v.damaged(v.want, Missing, "records %d to %d are missing", v.want, r.Seq-1)
	case r.Seq < v.want:
		v.damaged(r.Seq, Misplaced, "record %d is out of order, or was inserted", r.Seq)
		return
	}
	v.follow(r.Seq, hash)
	if r.Event == EventClock && r.Phase == PhaseNote {
		before, same := v.clocks[r.Boot]
		if !same {
			before = v.clocks[r.Signer]
		}
		if back := before.Sub(r.At); back > clockSlack {
			v.r.ClockSteps = append(v.r.ClockSteps, ClockStep{Seq: r.Seq, Back: back})
		}
	}
	v.clocks[r.Boot], v.clocks[r.Signer], v.r.Until = r.At, r.At, r.At
}

// follow makes the record the previous one.
func (v *verifier) follow(seq int64, hash string) {
	v.want, v.prev = seq+1, hash
	v.r.Last, v.r.Head = seq, hash
}

// unsettled returns the intents without an outcome, oldest first.
func (v *verifier) unsettled() []OpenIntent {
	return slices.SortedFunc(maps.Values(v.open), func(a, b OpenIntent) int { return int(a.Seq - b.Seq) })
}

// checkTables compares the derived tables with the records.
func (v *verifier) checkTables(s Derived) {
	for _, d := range v.unsettled() {
		if s.Open[d.UID] != d.Seq {
			v.problem(d.Seq, SideTable, "the outcome of record %d is unknown, and the list of writes with an unknown "+
				"outcome does not contain it: %s of %s by %s", d.Seq, d.Event, d.ID, d.Actor)
		}
	}
	for _, uid := range slices.Sorted(maps.Keys(s.Open)) {
		if _, ok := v.open[uid]; !ok {
			v.problem(s.Open[uid], SideTable, "the list of writes with an unknown outcome contains record %d, which has an "+
				"outcome or is not an intent", s.Open[uid])
		}
	}
	n := v.r.Last
	switch {
	case s.Head.N != n || n > 0 && s.Head.Hash != v.r.Head:
		v.problem(s.Head.N, HeadDiffer, "the store says that record %d is the last, the last one found is %d", s.Head.N, n)
	case n > 0 && (s.Head.Chain != v.r.Chain || s.Head.At.UnixMicro() != v.r.Until.UnixMicro()):
		v.problem(n, HeadDiffer, "the end that the store remembers differs from record %d", n)
	case n > 0 && s.Head.Epoch > 0 && s.Head.Epoch != v.epoch:
		v.problem(v.epoch, HeadDiffer, "the store says that the epoch began with record %d, and it began with %d",
			s.Head.Epoch, v.epoch)
	}
}

// checkCheckpoints finds the checkpoints that the trail does not continue.
func (v *verifier) checkCheckpoints() {
	later := slices.DeleteFunc(v.lost, func(x suspicion) bool { return x.Kind != Reordered && !v.matched[x.s.Note] })
	v.lost = nil
	for _, n := range slices.Sorted(maps.Keys(v.points)) {
		for _, s := range v.points[n] {
			switch {
			case v.matched[s.Note]:
			case v.r.Chain != "" && s.Chain != v.r.Chain:
				v.problem(0, OtherLog, "the checkpoint for %d records belongs to another trail", n)
			case n > v.r.Last:
				v.suspect(s, v.r.Last+1, Cut, "the end was cut, or a backup was restored: there are records up to %d, but a "+
					"checkpoint of %s says %d; if a backup was restored: opdeck restore --reason WHY", v.r.Last,
					s.At.Format(time.RFC3339), n)
			default:
				v.suspect(s, n, Rewritten, "record %d is not the one that its checkpoint of %s signed: the trail was rewritten "+
					"before %d, or a backup was restored; if one was: opdeck restore --reason WHY", n,
					s.At.Format(time.RFC3339), n+1)
			}
		}
	}
	v.lost = append(v.lost, later...)
	v.lost = slices.DeleteFunc(v.lost, func(x suspicion) bool { return v.excused(x.s) })
}

// checkClaims looks for the checkpoints that records mention.
func (v *verifier) checkClaims() {
	for _, key := range slices.Sorted(maps.Keys(v.claimed)) {
		c, newest := v.claimed[key], v.newest[key]
		known := slices.ContainsFunc(v.keys, func(k ed25519.PublicKey) bool { return Fingerprint(k) == key })
		switch {
		case !known && (v.guest || c.n == 0): // a key that signed nothing yet is that of another host that has just begun
			v.r.Unknown = append(v.r.Unknown, key)
		case c.n <= newest.N:
		case newest.N == 0:
			v.problem(c.seq, Unsigned, "record %d says that key %s signed a checkpoint for %d records, but none of its "+
				"checkpoints was found: they or the key were lost; keys of other hosts go into [audit] keys", c.seq, key, c.n)
		default:
			v.problem(c.seq, Unsigned, "record %d says that key %s signed a checkpoint for %d records, but the newest one "+
				"found is for %d", c.seq, key, c.n, newest.N)
		}
	}
	if v.outcome > v.r.Covered && !(v.guest && len(v.r.Unknown) > 0) {
		v.problem(v.outcome, Unsigned, "record %d is an outcome that no checkpoint covers: its process ended before it "+
			"signed, or checkpoints were removed", v.outcome)
	}
}

// report completes the report. Of the checkpoints that the trail does not continue it names the first of each kind:
// every later one differs too.
func (v *verifier) report() Report {
	for i, x := range v.lost {
		if slices.IndexFunc(v.lost, func(y suspicion) bool { return y.Kind == x.Kind }) == i {
			v.problem(x.Seq, x.Kind, "%s", x.Text)
		}
	}
	v.checkClaims()
	for _, n := range v.notes {
		v.r.Against = append(v.r.Against, v.compareNote(n))
	}
	v.r.Unsettled = append(v.r.Unsettled, v.unsettled()...)
	if over := len(v.r.Unsettled) - maxDoubts; over > 0 {
		v.r.Unsettled = v.r.Unsettled[:maxDoubts]
		v.r.Warnings = append(v.r.Warnings, fmt.Sprintf("%d more writes have an unknown outcome", over))
	}
	return v.r
}

// compareNote compares the whole trail with one note. One of what a restore has lost is none of the trail, and
// explained.
func (v *verifier) compareNote(n keptNote) Comparison {
	out := Comparison{File: n.file, Records: n.N, At: n.At, Result: Another}
	switch {
	case v.r.Chain != "" && n.Chain != v.r.Chain:
		out.Text = fmt.Sprintf("the checkpoint is for trail %s, and this is trail %s", n.Chain, v.r.Chain)
	case v.excused(n.Signed) && v.hashes[n.N] != n.Head:
		out.Result = Restored
		out.Text = "the checkpoint is for records that were lost when a backup was restored; the trail records that restore"
	case n.N > v.r.Last:
		out.Result, out.Seq = Older, v.r.Last+1
		out.Text = fmt.Sprintf("the trail ends at record %d, but the checkpoint is for %d: the trail is an older copy, or "+
			"records were removed", v.r.Last, n.N)
	case v.first > 0 && v.first <= n.N:
		out.Seq, out.Text = v.first, v.firstHow
	case v.hashes[n.N] != n.Head:
		out.Seq = n.N
		out.Text = fmt.Sprintf("record %d is not the one that the checkpoint signed: the trail differs there or before", n.N)
	default:
		out.Result = Continues
		out.Text = fmt.Sprintf("the trail begins with the %d records that the checkpoint signed", n.N)
	}
	return out
}

// read parses the note, which must be exact and signed by one of keys. The error names the file.
func (k KeptNote) read(keys []ed25519.PublicKey) (Signed, error) {
	s, err := ParseCheckpoint(string(k.Text))
	switch {
	case err != nil:
		return s, &api.Error{Op: "verify the audit trail", Kind: api.Usage, Err: err,
			Public: k.File + " does not contain exactly one checkpoint as opdeck audit checkpoint prints it."}
	case !s.By(keys...):
		return s, &api.Error{Op: "verify the audit trail", Kind: api.Usage,
			Public: "The signature of " + k.File + " is not valid, or its key is not known here.",
			Hint:   "Add the key of another host, or a replaced one, to [audit] keys."}
	}
	return s, nil
}
