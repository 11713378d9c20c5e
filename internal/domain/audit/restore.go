package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"opdeck/api"
)

// Restore is a restored backup as the trail records it: the trail is older than a checkpoint that was signed.
type Restore struct {
	From   int64     `json:"from"`   // records of the newest lost checkpoint
	Head   string    `json:"head"`   // hash of the record at which it ends
	Signed time.Time `json:"signed"` // when it was signed
	To     int64     `json:"to"`     // records that a checkpoint from before proves to be there
	// records when the restore was accepted; those after To are proven by no older checkpoint
	Found  int64     `json:"found"`
	Reason string    `json:"reason,omitempty"`      // as the person gave it
	Second string    `json:"approved_by,omitempty"` // who approved it; "" where the context asks for nobody
	Seq    int64     `json:"seq,omitempty"`         // the record of the restore; 0 before it is written
	At     time.Time `json:"at,omitzero"`           // when it was recorded
	Actor  string    `json:"by,omitempty"`          // who recorded it
	Lost   int64     `json:"missing"`               // records that were signed and are not there any more
	Backup string    `json:"backup,omitempty"`      // id of the snapshot that was restored, where opdeck restored it
	Taken  time.Time `json:"taken,omitzero"`        // when that snapshot was taken
}

// FromBackup is the snapshot that opdeck restore put in place, as it noted it beside the store.
type FromBackup struct {
	ID    string    `json:"id"`
	Taken time.Time `json:"taken"`
	Notes []string  `json:"notes,omitempty"` // checkpoints of the replaced store
}

// Sentence says from where to where the trail was restored, and what is missing.
func (r Restore) Sentence() string {
	from := ""
	if r.Backup != "" {
		from = " by the snapshot " + r.Backup + " of " + r.Taken.UTC().Format(time.RFC3339)
	}
	switch {
	case r.Lost == 0 && r.Signed.IsZero():
		return fmt.Sprintf("the trail was restored%s, with %d records; no later checkpoint is known here", from, r.To)
	case r.Lost == 0:
		return fmt.Sprintf("the trail was restored%s, with %d records: what was signed after it was taken, until %s, is "+
			"missing", from, r.To, r.Signed.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("the trail was restored%s from %d to %d records: records %d to %d, signed on %s, are missing", from,
		r.From, r.To, r.To+1, r.From, r.Signed.UTC().Format(time.RFC3339))
}

// excuses reports whether a checkpoint that the trail does not match was lost by this restore.
func (r Restore) excuses(s Signed) bool {
	return (s.N > r.To || r.since(s)) && s.At.Before(r.At.Truncate(time.Millisecond))
}

// since reports whether a checkpoint was signed after the restored snapshot was taken. Such a one may be of as many
// records and differ: an older snapshot had been restored before.
func (r Restore) since(s Signed) bool { return r.Backup != "" && s.At.After(r.Taken) }

// suspicion is a checkpoint that the trail does not match, with the problem that this is unless a restore excuses it.
type suspicion struct {
	Problem
	s  Signed
	at int // where in the report's problems it belongs
}

// suspect keeps a problem back until the records of restores are known.
func (v *verifier) suspect(s Signed, seq int64, kind ProblemKind, format string, args ...any) {
	v.suspected = append(v.suspected, suspicion{Problem{Seq: seq, Line: v.line, Kind: kind,
		Text: fmt.Sprintf(format, args...)}, s, len(v.r.Problems)})
}

// tail is what is known of the records since the newest checkpoint that the trail matches.
type tail struct {
	before  int64 // records whose process did not know of a checkpoint beyond them: from before the backup
	aware   bool  // there are others behind them
	outcome bool  // an outcome is among those before, though outcomes are signed as they are stored
}

// noteTail follows the records behind the newest matching checkpoint.
func (v *verifier) noteTail(r Record) {
	switch {
	case v.r.Covered >= r.Seq:
		v.tail = tail{}
	case v.tail.aware || r.Signed >= r.Seq:
		v.tail.aware = true
	default:
		v.tail.before++
		v.tail.outcome = v.tail.outcome || r.Phase == PhaseOutcome && r.Signer != ""
	}
}

// noteRestore notes the record of a restore.
func (v *verifier) noteRestore(r Record) {
	if r.Event != EventRestored || r.Restored == nil {
		return
	}
	x := *r.Restored
	x.Seq, x.At, x.Actor, x.Reason = r.Seq, r.At, r.Actor.Who(), r.Reason
	v.r.Restores = append(v.r.Restores, x)
}

// excused reports whether a restore that a matching checkpoint covers excuses s.
func (v *verifier) excused(s Signed) bool {
	return slices.ContainsFunc(v.r.Restores, func(r Restore) bool { return r.Seq <= v.r.Covered && r.excuses(s) })
}

// lostBefore reports whether the checkpoint for n records that the record seq mentions was lost by a restore: the
// record was written between the restore and its act, by a host that knew the checkpoint and signed nothing meanwhile.
func (v *verifier) lostBefore(n, seq int64) bool {
	return slices.ContainsFunc(v.r.Restores, func(r Restore) bool {
		return r.Seq <= v.r.Covered && n > r.To && seq > r.To && seq <= r.Seq
	})
}

// compareNote compares the trail with a kept note. One of what a restore has lost is none of the trail, and explained.
func (v *verifier) compareNote(n signedNote) Comparison {
	c := v.compare(n, v.r)
	if c.Result == Continues {
		return c
	}
	if v.excused(n.Signed) {
		c.Result, c.Text = Restored, "the checkpoint is for records that were lost when a backup was restored; the trail "+
			"records that restore"
	} else if v.accept {
		v.suspect(n.Signed, c.Seq, Cut, "%s", c.Text)
	}
	return c
}

// resolve reports what no restore excuses. stored: it is the trail in the store, which can be accepted as restored.
func (v *verifier) resolve(stored bool) {
	left := slices.DeleteFunc(v.suspected, func(x suspicion) bool { return v.excused(x.s) })
	v.suspected = left
	if len(left) == 0 {
		return
	}
	v.restore, v.noRestore = v.findRestore()
	older := stored && v.noRestore == nil
	if older {
		left = slices.DeleteFunc(slices.Clone(left), func(x suspicion) bool { return x.Kind == Cut || x.Kind == Rewritten })
	}
	for i := len(left) - 1; i >= 0; i-- { // from the end, so that places stay what they are
		x := left[i]
		if first := slices.IndexFunc(left, func(y suspicion) bool { return y.Kind == x.Kind }); x.Kind == Rewritten ||
			x.Kind == Cut {
			if first != i {
				continue // every later checkpoint differs too
			}
		}
		v.insert(min(x.at, len(v.r.Problems)), x.Problem)
	}
	if older {
		v.insert(0, Problem{Seq: v.r.Last + 1, Kind: Cut, Text: fmt.Sprintf("the trail is older than the checkpoint for %d "+
			"records of %s: its end was cut, or a backup was restored; if that was on purpose: opdeck restore --reason WHY",
			v.restore.From, v.restore.Signed.UTC().Format(time.RFC3339))})
	}
}

// insert adds a problem where it was met.
func (v *verifier) insert(at int, p Problem) {
	if len(v.r.Problems) >= maxProblems {
		v.r.More++
		return
	}
	v.r.Problems = slices.Insert(v.r.Problems, at, p)
}

// findRestore is the restore that would explain everything that is wrong; the error says why none does.
func (v *verifier) findRestore() (Restore, error) {
	r := Restore{To: v.r.Covered, Found: v.r.Last, From: v.r.Covered}
	if v.from != nil {
		r.Backup, r.Taken = v.from.ID, v.from.Taken
	}
	first := int64(math.MaxInt64) // records of the first checkpoint that may be of a change
	for _, x := range v.suspected {
		switch {
		case x.Kind == Unsigned && v.from != nil: // the file is that of the replaced store
			continue
		case x.s.N <= r.To && !r.since(x.s):
			return r, fmt.Errorf("a checkpoint for %d records differs, and a later one for %d matches: the trail was forked",
				x.s.N, r.To)
		case x.s.Chain != v.r.Chain:
			return r, errors.New("a checkpoint belongs to another trail")
		case !r.since(x.s):
			first = min(first, x.s.N)
		}
		if x.s.N > r.From || r.From == r.To && x.s.At.After(r.Signed) {
			r.From, r.Head, r.Signed = max(x.s.N, r.From), x.s.Head, x.s.At
		}
	}
	r.Lost = r.From - r.To
	if err := v.onlyUnsigned(); err != nil {
		return r, err
	}
	switch {
	case r.To+v.tail.before >= first:
		return r, fmt.Errorf("records up to %d are not those that were signed, and were not written after a restore",
			r.To+v.tail.before)
	case v.tail.outcome:
		return r, fmt.Errorf("an outcome behind record %d was never signed: the trail was changed", r.To)
	}
	return r, nil
}

// onlyUnsigned is an error if more is wrong with the trail than missing checkpoints: what was written since the restore
// could not be signed.
func (v *verifier) onlyUnsigned() error {
	for _, p := range v.r.Problems {
		if p.Kind != Unsigned {
			return errors.New(p.Text)
		}
	}
	return nil
}

// Restorable says which restore the trail shows, by the checkpoints that are known here and by kept notes. from is the
// snapshot that opdeck restore put in place, nil for none: with it, the trail need not be older than a checkpoint. The
// error is a refusal when there is no restore, or when the trail was changed or forked. The person in ctx needs
// api.MayAuditOut.
func (pr *Prover) Restorable(ctx context.Context, notes []KeptNote, from *FromBackup) (Restore, error) {
	const op = "record a restored trail"
	if err := pr.log.mustMay(ctx, op, api.MayAuditOut); err != nil {
		return Restore{}, err
	}
	v, err := pr.verified(ctx, append(slices.Clone(notes), pr.notesOf(from)...), true, from)
	if err != nil {
		return Restore{}, err
	}
	r, err := v.restore, v.noRestore
	switch {
	case len(v.suspected) > 0:
	case from == nil:
		err = errors.New("the trail is not older than any known checkpoint")
	default:
		r, err = v.findRestore()
	}
	if err != nil {
		return r, &api.Error{Op: op, Kind: api.Refused, Rule: api.RuleAudit, Unsent: true,
			Public: "This cannot be recorded as a restored backup: " + err.Error() + ".",
			Hint:   "opdeck audit verify lists what is wrong. Do not change the store or the checkpoint files."}
	}
	return r, nil
}

// notesOf are the checkpoints of the replaced store that a known key signed.
func (pr *Prover) notesOf(from *FromBackup) (notes []KeptNote) {
	if from == nil {
		return nil
	}
	for _, text := range from.Notes {
		k := KeptNote{File: "the replaced store", Text: []byte(text)}
		if _, err := k.read(pr.knownKeys()); err == nil {
			notes = append(notes, k)
		}
	}
	return notes
}

// AcceptRestore records the restore that Restorable finds: as one record that is signed as it is stored, by which the
// checkpoint file continues. second is who approved it.
func (pr *Prover) AcceptRestore(ctx context.Context, notes []KeptNote, from *FromBackup, reason,
	second string) (Restore, error) {
	if !pr.signs() {
		return Restore{}, pr.unsigned()
	}
	found, err := pr.Restorable(ctx, notes, from)
	if err != nil {
		return found, err
	}
	found.Second = prose(second)
	r := pr.log.record(api.ActorOf(ctx), EventRestored, PhaseNote)
	r.Object, r.Reason, r.Summary, r.Restored = "audit", prose(reason), prose(found.Sentence()), &found
	r.Signer, r.Signed = pr.fingerprint(), found.To
	if err := pr.log.appendRestore(ctx, &r); err != nil {
		return found, err
	}
	found.Seq, found.At, found.Actor, found.Reason = r.Seq, r.At, r.Actor.Who(), reason
	return found, nil
}

// appendRestore stores r with a checkpoint that covers it, though the trail does not continue the newest one.
func (l *Log) appendRestore(ctx context.Context, r *Record) error {
	var point Signed
	store := func(h Head) ([]Row, error) {
		if !h.Edge.fits(h.N) {
			return nil, errBehind
		}
		rows, to, err := l.makeRows(h, r)
		if err != nil {
			return nil, err
		}
		if point, err = l.Signer.signAt(to, l.opt.Now()); err == nil {
			rows[len(rows)-1].Checkpoint = l.Signer.toStore(point)
		}
		return rows, err
	}
	err := l.opt.Store.Append(ctx, store)
	if errors.Is(err, errBehind) {
		if err = l.Signer.catchUp(ctx); err == nil {
			err = l.opt.Store.Append(ctx, store)
		}
	}
	if err != nil {
		return l.writable(err)
	}
	return l.Signer.continueWith(ctx, point)
}

// continueWith writes a checkpoint behind one that a restore has lost, and signs on from there.
func (sg *Signer) continueWith(ctx context.Context, s Signed) error {
	sg.publishing.Lock()
	defer sg.publishing.Unlock()
	name, err := sg.CheckpointFile(ctx)
	if err != nil {
		return err
	}
	if _, err := sg.addPoint(name, s, func(last Signed) bool { return !bytes.Equal(last.Line, s.Line) }); err != nil {
		return err
	}
	sg.mu.Lock()
	defer sg.mu.Unlock()
	sg.failure, sg.unsigned, sg.known, sg.published, sg.newest = nil, 0, s.N, s.N, s
	sg.trusted, sg.trustedBy = Head{}, nil
	return nil
}

// restores are the records of restores in the store that a stored checkpoint of a known key covers.
func (sg *Signer) restores(ctx context.Context) ([]Restore, error) {
	rows, err := sg.opt.Store.Find(ctx, Query{Event: EventRestored, Phase: PhaseNote, Limit: 100})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	points, err := sg.opt.Store.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	covered := int64(0)
	for _, p := range points {
		s, err := ParseCheckpoint(p.Note)
		if err != nil || !s.By(sg.knownKeys()...) {
			continue
		}
		at, err := sg.opt.Store.Rows(ctx, s.N, 1)
		if err == nil && len(at) == 1 && at[0].Seq == s.N && Hash(at[0].Bytes) == s.Head {
			covered = max(covered, s.N)
		}
	}
	var out []Restore
	for _, row := range rows {
		var r Record
		if Hash(row.Bytes) == row.Hash && json.Unmarshal(row.Bytes, &r) == nil && r.Restored != nil && r.Seq <= covered {
			x := *r.Restored
			x.Seq, x.At = r.Seq, r.At
			out = append(out, x)
		}
	}
	return out, nil
}

// kept are the checkpoints that no restore has lost.
func kept(list []Signed, lost []Restore) []Signed {
	return slices.DeleteFunc(list, func(s Signed) bool {
		return slices.ContainsFunc(lost, func(r Restore) bool { return r.excuses(s) })
	})
}

// afterRestore signs on where a restore that is recorded excuses the newest checkpoint in the file: another host
// recorded
// it, or the process ended before it wrote its checkpoint there.
func (sg *Signer) afterRestore(ctx context.Context, last Signed) error {
	known, err := sg.restores(ctx)
	if err != nil || !slices.ContainsFunc(known, func(r Restore) bool { return r.excuses(last) }) {
		return err
	}
	head, err := sg.edge(ctx)
	if err != nil {
		return err
	}
	if rows, err := sg.opt.Store.Rows(ctx, last.N, 1); err != nil || len(rows) == 1 && Hash(rows[0].Bytes) == last.Head {
		return err // it is no lost one
	}
	s, err := sg.signAt(head, sg.opt.Now())
	if err != nil {
		return err
	}
	if err := sg.opt.Store.PutCheckpoint(ctx, *sg.toStore(s)); err != nil {
		return err
	}
	return sg.continueWith(ctx, s)
}
