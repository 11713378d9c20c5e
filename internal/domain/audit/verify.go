package audit

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// VerifyInput is what an exported log is verified against.
type VerifyInput struct {
	Checkpoints []io.Reader         // checkpoint files
	Keys        []ed25519.PublicKey // keys of possible signers
	Against     []KeptNote          // kept notes, signed by one of Keys
}

// VerifyLog verifies an exported log, complete or in several consecutive exports. It needs neither config nor network
// and writes nothing. The error says that something could not be read; the Report holds the problems of the log.
func VerifyLog(log io.Reader, with VerifyInput) (Report, error) {
	v := newVerifier()
	if err := v.readFiles(with.Checkpoints, with.Keys); err != nil {
		return Report{}, err
	}
	if err := v.readNotes(with.Against, with.Keys); err != nil {
		return Report{}, err
	}
	in := newLines(log)
	for {
		line, err := in.next()
		v.line++
		switch {
		case err == io.EOF:
			return v.end(nil), nil
		case errors.Is(err, errTorn):
			v.problem(v.want, Torn, "the last line is incomplete; the records before it are checked")
			return v.end(nil), nil
		case err != nil:
			return Report{}, err
		}
		if s, err := parseSigned(bytes.Clone(line)); err == nil {
			v.endOfSegment(s, with.Keys)
			continue
		}
		hash, record, ok := parseLine(line)
		if !ok {
			v.damaged(v.want, Malformed, "line %d is not a record", v.line)
			v.lost = true
			continue
		}
		v.record(hash, record)
	}
}

const (
	maxProblems = 100
	maxDoubts   = 1000
)

// verifier checks records one by one.
type verifier struct {
	r         Report
	line      int64
	want      int64                // next seq
	prev      string               // expected prev of the next record
	lost      bool                 // the previous record has a problem, so the next one's prev proves nothing
	clocks    map[string]time.Time // of the last record of each process, and of each key that signs
	open      map[string]OpenIntent
	points    map[int64][]Signed // valid checkpoints by N
	cover                        // who signed what, and what the records say of it
	noteCheck                    // the kept notes

	edge   Edge   // of the tree so far; nil if not known
	hashes []byte // of the tree, for the last record

	treeEnd   int64   // the last record with stored hashes of the tree
	restore   Restore // that would explain what is wrong, unless noRestore says why none does
	noRestore error
	accept    bool              // the notes may show a restore that is to be recorded
	guest     bool              // this host has no key: those of other hosts are perhaps not known here
	known     map[string]bool   // the keys that can be checked here; nil for an export
	from      *FromBackup       // the snapshot that opdeck put in place; nil: none
	suspected []suspicion       // checkpoints that the trail does not match
	lastOf    map[string]Signed // the last line of the file of each key
	tail      tail
}

func newVerifier() *verifier {
	return &verifier{r: Report{Problems: []Problem{}, Unsettled: []OpenIntent{}, ClockSteps: []ClockStep{},
		Warnings: []string{}},
		prev: zeroHash, want: 1, clocks: map[string]time.Time{}, lastOf: map[string]Signed{}, open: map[string]OpenIntent{},
		points: map[int64][]Signed{}, cover: newCover(), edge: Edge{}}
}

func (v *verifier) problem(seq int64, kind ProblemKind, format string, args ...any) {
	if len(v.r.Problems) == maxProblems {
		v.r.More++
		return
	}
	v.r.Problems = append(v.r.Problems, Problem{Seq: seq, Line: v.line, Kind: kind, Text: fmt.Sprintf(format, args...)})
}

// damaged is problem for a changed record; the first one counts for kept notes.
func (v *verifier) damaged(seq int64, kind ProblemKind, format string, args ...any) {
	if v.firstDamaged == 0 {
		v.firstDamaged, v.damage = seq, fmt.Sprintf(format, args...)
	}
	v.problem(seq, kind, format, args...)
}

// readFiles reads the given checkpoint files.
func (v *verifier) readFiles(files []io.Reader, keys []ed25519.PublicKey) error {
	if len(files) > 0 && len(keys) == 0 {
		return errors.New("audit: checkpoints cannot be checked without the public key")
	}
	for _, f := range files {
		if err := v.checkpoints(f, keys...); err != nil {
			return err
		}
	}
	return nil
}

// checkpoints reads one file of checkpoints, whose order matters.
func (v *verifier) checkpoints(in io.Reader, keys ...ed25519.PublicKey) error {
	list, torn, err := ReadCheckpoints(in)
	if err != nil {
		return err
	}
	if torn {
		v.r.Warnings = append(v.r.Warnings, "the last line of a checkpoint file is torn and was left out")
	}
	var last Signed
	for i, s := range list {
		by := s.signer(keys)
		switch {
		case by == "":
			v.problem(0, Forged, "checkpoint %d of a file (for %d records) was signed by none of the given keys", i+1, s.N)
			continue
		case i > 0 && s.N < last.N:
			v.suspect(last, 0, Reordered, "checkpoint %d of a file (for %d records) comes after one for %d", i+1, s.N, last.N)
		case i > 0 && bytes.Equal(s.Line, last.Line):
			v.problem(0, Reordered, "checkpoint %d of a file (for %d records) comes after one for %d", i+1, s.N, last.N)
		}
		last, v.lastOf[by] = s, s
		v.addCheckpoint(s, by)
		v.r.Checkpoints++
	}
	return nil
}

// addCheckpoint adds a valid checkpoint.
func (v *verifier) addCheckpoint(s Signed, by string) {
	if !slices.ContainsFunc(v.points[s.N], func(have Signed) bool { return have.Checkpoint == s.Checkpoint }) {
		v.points[s.N] = append(v.points[s.N], s)
	}
	v.noteSignature(s, by)
}

// record checks the next record and returns it; ok is false if its bytes were changed.
func (v *verifier) record(hash string, b []byte) (r Record, ok bool) {
	v.r.Records++
	v.hashes = nil
	real := Hash(b)
	err := json.Unmarshal(b, &r)
	seq := r.Seq
	switch {
	case real != hash:
		v.damaged(v.want, Changed, "record %d was changed: its bytes do not match its hash", v.want)
		v.follow(v.want, hash)
		return r, false
	case err != nil || r.V != Version || seq < 1:
		v.damaged(v.want, Malformed, "record %d cannot be read", v.want)
		v.follow(v.want, hash)
		return r, false
	}
	v.checkStart(r)
	v.checkOrder(r, hash)
	v.addLeaf(seq, b)
	v.compareWithCheckpoints(seq, hash)
	v.pass(seq, hash, v.edge)
	v.matchIntent(r)
	v.noteSigner(r)
	v.noteTail(r)
	v.noteRestore(r)
	return r, true
}

// addLeaf appends the record to the tree, unless earlier ones are missing.
func (v *verifier) addLeaf(seq int64, b []byte) {
	if len(v.r.Problems) > 0 || !v.edge.fits(seq-1) {
		v.edge = nil
		return
	}
	v.hashes, v.edge = v.edge.grow(seq-1, b)
}

// checkStart takes the name of the log and, if it does not begin at record 1, a checkpoint that leads to its first
// record.
func (v *verifier) checkStart(r Record) {
	if v.r.Chain == "" {
		v.r.Chain, v.r.First, v.r.From = r.Chain, r.Seq, r.At
		if v.r.Records == 1 && r.Seq > 1 {
			v.checkLead(r)
			v.want, v.prev = r.Seq, r.Prev
		}
	}
	if r.Chain != v.r.Chain {
		v.damaged(r.Seq, OtherLog, "record %d belongs to another trail", r.Seq)
	}
}

// checkLead checks that a checkpoint leads to the first record of a log without its beginning.
func (v *verifier) checkLead(r Record) {
	if !slices.ContainsFunc(v.points[r.Seq-1], func(s Signed) bool { return s.Chain == r.Chain && s.Head == r.Prev }) {
		v.problem(r.Seq, Unproven, "the trail begins with record %d, and no checkpoint for %d leads to it", r.Seq, r.Seq-1)
	}
}

// checkOrder compares the record with the previous one.
func (v *verifier) checkOrder(r Record, hash string) {
	switch {
	case r.Seq == v.want && r.Prev != v.prev && !v.lost:
		v.damaged(r.Seq, Broken, "record %d does not continue the record before it: one of the two was changed", r.Seq)
	case r.Seq > v.want && r.Seq == v.want+1:
		v.damaged(v.want, Missing, "record %d is missing", v.want)
	case r.Seq > v.want:
		v.damaged(v.want, Missing, "records %d to %d are missing", v.want, r.Seq-1)
	case r.Seq == v.want-1 && hash == v.prev:
		v.damaged(r.Seq, Repeated, "record %d is there twice", r.Seq)
		return
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
	v.want, v.prev, v.lost = seq+1, hash, false
	v.r.Last, v.r.Head = seq, hash
}

// compareWithCheckpoints compares the record with its checkpoints.
func (v *verifier) compareWithCheckpoints(seq int64, hash string) {
	for _, s := range v.points[seq] {
		switch {
		case s.Chain != v.r.Chain:
			v.problem(seq, OtherLog, "the checkpoint for %d records belongs to another trail", seq)
		case s.Head != hash:
			v.suspect(s, seq, Rewritten, "record %d is not the one that its checkpoint signed: the trail was rewritten before "+
				"%d",
				seq, seq+1)
		case v.edge != nil && v.edge.root() != s.Root:
			v.edge = nil
			v.problem(seq, Rewritten, "the first %d records are not those of the tree that their checkpoint signed", seq)
		default:
			v.r.Covered = max(v.r.Covered, seq)
		}
	}
}

// matchIntent matches intents and outcomes.
func (v *verifier) matchIntent(r Record) {
	switch r.Phase {
	case PhaseIntent:
		v.open[r.UID] = OpenIntent{Seq: r.Seq, UID: r.UID, At: r.At, Event: r.Event, Actor: r.Actor.Name, Object: r.Object,
			ID: r.ID}
	case PhaseOutcome:
		delete(v.open, r.Ref)
	}
}

// unsettled returns the intents without an outcome so far, oldest first.
func (v *verifier) unsettled() []OpenIntent {
	return slices.SortedFunc(maps.Values(v.open), func(a, b OpenIntent) int { return int(a.Seq - b.Seq) })
}

// end completes the report. head is the store's recorded end; nil for an export.
func (v *verifier) end(head *Head) Report {
	older := ", or this copy is older than its checkpoints"
	if head != nil {
		older = ""
	}
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(v.points))) {
		if n <= v.r.Last {
			break
		}
		for _, s := range v.points[n] {
			if v.r.Chain != "" && s.Chain != v.r.Chain {
				v.problem(0, OtherLog, "the checkpoint for %d records belongs to another trail", n)
				continue
			}
			v.suspect(s, v.r.Last+1, Cut, "the end was cut%s: there are records up to %d, but a checkpoint says %d", older,
				v.r.Last, n)
		}
	}
	v.reportUncovered()
	if head != nil && (head.N != v.r.Last || head.N > 0 && head.Hash != v.r.Head) {
		v.problem(head.N, HeadDiffer, "the store says that record %d is the last, the last one found is %d", head.N, v.r.Last)
	}
	for _, n := range v.notes {
		v.r.Against = append(v.r.Against, v.compareNote(n))
	}
	v.resolve(head != nil)
	v.r.Unsettled = append(v.r.Unsettled, v.unsettled()...)
	if over := len(v.r.Unsettled) - maxDoubts; over > 0 {
		v.r.Unsettled = v.r.Unsettled[:maxDoubts]
		v.r.Warnings = append(v.r.Warnings, fmt.Sprintf("%d more writes have an unknown outcome", over))
	}
	return v.r
}

// verifySegment checks the records of a segment like those of the store. Problems name its file.
func (pr *Prover) verifySegment(s Segment, v *verifier) error {
	path := pr.path(s)
	v.r.Archived = s.Last
	began := len(v.r.Problems)
	end, err := pr.readSegment(s, func(hash string, b []byte) error {
		v.line++
		v.record(hash, b)
		return nil
	}, func(line int64) {
		v.damaged(v.want, Malformed, "line %d is not a record", line)
		v.lost = true
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		v.damaged(s.First, Missing, "it is missing, with the records %d to %d; host %s wrote it to %s", s.First, s.Last,
			s.Host, s.Folder)
	case err != nil:
		v.damaged(s.First, Missing, "it cannot be read: %v", err)
	case v.want != s.Last+1:
		v.damaged(v.want, Missing, "it ends before record %d", v.want)
	case v.prev != s.Hash && !v.lost:
		v.damaged(s.Last, Changed, "record %d is not the one that was archived", s.Last)
	case end.N != s.Last:
		v.problem(s.Last, Unsigned, "it does not end with the checkpoint for %d records", s.Last)
	default:
		v.endOfSegment(end, pr.knownKeys())
	}
	for i := began; i < len(v.r.Problems); i++ {
		v.r.Problems[i].Text = "archive segment " + path + ": " + v.r.Problems[i].Text
	}
	if len(v.r.Problems) > began {
		v.edge = nil
	}
	v.follow(s.Last, s.Hash) // the store says what the rest continues
	return nil
}

// endOfSegment checks the checkpoint at the end of a segment against the records before it.
func (v *verifier) endOfSegment(s Signed, keys []ed25519.PublicKey) {
	switch {
	case len(keys) == 0:
		v.r.Warnings = append(v.r.Warnings, "the checkpoints within the segments were not checked: no key was given")
	case v.guest && !s.By(keys...):
		v.r.Warnings = append(v.r.Warnings, fmt.Sprintf("the checkpoint for %d records was not checked: its key is not "+
			"known here", s.N))
	case !s.By(keys...):
		v.problem(s.N, Forged, "the checkpoint for %d records was signed by none of the known keys", s.N)
	case s.N != v.r.Last || s.Chain != v.r.Chain || s.Head != v.r.Head:
		v.problem(s.N, Rewritten, "the checkpoint for %d records is not that of record %d before it", s.N, v.r.Last)
	case v.edge != nil && v.edge.root() != s.Root:
		v.problem(s.N, Rewritten, "the first %d records are not those of the tree that their checkpoint signed", s.N)
	default:
		v.addCheckpoint(s, s.signer(keys))
		v.compareWithCheckpoints(s.N, s.Head)
	}
}
