package audit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"opdeck/api"
)

// An epoch begins with a record that says what is missing before it (EventRestored), or how the trail of an older
// program was found (EventEpoch).

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
		return fmt.Sprintf("the trail was restored%s, with %d signed records; no later checkpoint is known here", from, r.To)
	case r.Lost == 0:
		return fmt.Sprintf("the trail was restored%s, with %d signed records: what was signed after it was taken, until %s, "+
			"is missing", from, r.To, r.Signed.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("the trail was restored%s from %d to %d records: records %d to %d, signed on %s, are missing", from,
		r.From, r.To, r.To+1, r.From, r.Signed.UTC().Format(time.RFC3339))
}

// restore is the restore that a record of EventRestored names.
func (r Record) restore() Restore {
	x := *r.Restored
	x.Seq, x.At, x.Actor, x.Reason = r.Seq, r.At, r.Actor.Who(), r.Reason
	return x
}

// excuses reports whether a checkpoint that the trail does not continue was lost by this restore.
func (r Restore) excuses(s Signed) bool {
	return (s.N > r.To || r.since(s)) && s.At.Before(r.At.Truncate(time.Millisecond))
}

// since reports whether a checkpoint was signed after the restored snapshot was taken. Such a one may be of as many
// records and differ: an older snapshot had been restored before.
func (r Restore) since(s Signed) bool { return r.Backup != "" && s.At.After(r.Taken) }

// excused reports whether a restore that a matching checkpoint covers excuses s.
func (v *verifier) excused(s Signed) bool {
	return slices.ContainsFunc(v.r.Restores, func(r Restore) bool { return r.Seq <= v.r.Covered && r.excuses(s) })
}

// Restorable says which restore the trail shows, by the checkpoints that are known here and by kept notes. from is the
// snapshot that opdeck restore put in place, nil for none: with it, the trail need not be older than a checkpoint. The
// error is a refusal when there is no restore, or when the records were changed. The person in ctx needs
// api.MayAuditOut.
func (pr *Prover) Restorable(ctx context.Context, notes []KeptNote, from *FromBackup) (Restore, error) {
	const op = "record a restored trail"
	if err := pr.log.mustMay(ctx, op, api.MayAuditOut); err != nil {
		return Restore{}, err
	}
	if from != nil {
		for _, text := range from.Notes {
			k := KeptNote{File: "the replaced store", Text: []byte(text)}
			if _, err := k.read(pr.knownKeys()); err == nil {
				notes = append(slices.Clone(notes), k)
			}
		}
	}
	v, err := pr.verified(ctx, notes)
	if err != nil {
		return Restore{}, err
	}
	r, err := v.restored(from)
	if err != nil {
		return r, &api.Error{Op: op, Kind: api.Refused, Rule: api.RuleAudit, Unsent: true,
			Public: "This cannot be recorded as a restored backup: " + err.Error() + ".",
			Hint:   "opdeck audit verify lists what is wrong. Do not change the store or the checkpoint files."}
	}
	return r, nil
}

// restored is the restore that explains the checkpoints that the trail does not continue.
func (v *verifier) restored(from *FromBackup) (Restore, error) {
	r := Restore{To: v.r.Covered, Found: v.r.Last, From: v.r.Covered}
	if from != nil {
		r.Backup, r.Taken = from.ID, from.Taken
	}
	var lost []Signed
	for _, x := range v.lost {
		if x.Kind == Cut || x.Kind == Rewritten {
			lost = append(lost, x.s)
		}
	}
	for _, n := range v.notes {
		if v.hashes[n.N] != n.Head && !v.excused(n.Signed) {
			lost = append(lost, n.Signed)
		}
	}
	if len(lost) == 0 && from == nil {
		return r, errors.New("the trail is not older than any known checkpoint")
	}
	for _, s := range lost {
		switch {
		case s.Chain != v.r.Chain:
			return r, errors.New("a checkpoint belongs to another trail")
		case s.N <= r.To && !r.since(s):
			return r, fmt.Errorf("a checkpoint for %d records differs, and a later one for %d matches: the trail was forked",
				s.N, r.To)
		case s.N > r.From || r.From == r.To && s.At.After(r.Signed):
			r.From, r.Head, r.Signed = max(s.N, r.From), s.Head, s.At
		}
	}
	r.Lost = r.From - r.To
	for _, p := range v.r.Problems {
		if p.Kind != Unsigned { // what was written since the restore could not be signed
			return r, errors.New(p.Text)
		}
	}
	return r, nil
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
	point, err := pr.log.store(ctx, &r, true)
	if err != nil {
		return found, pr.log.writable(err)
	}
	found = r.restore()
	found.Reason = reason
	return found, pr.log.Signer.result(ctx, pr.log.Signer.goOn(ctx, *point))
}

// goOn writes a checkpoint behind one that a restore has lost.
func (sg *Signer) goOn(ctx context.Context, s Signed) error {
	if _, err := sg.compare(ctx); err != nil { // it finds the restore
		return err
	}
	return sg.publish(s)
}

// BeginEpoch imports the archived records of a trail that an older program wrote, verifies all of it, once, and begins
// an epoch with a record that names its last hash and says what was found, which it returns; "" where there is nothing
// to do. What is missing in the archive is imported by a later call.
func (pr *Prover) BeginEpoch(ctx context.Context) (said string, err error) {
	if !pr.signs() || pr.Unrecorded() != nil {
		return "", nil
	}
	missing, err := pr.Import(ctx, "")
	if err != nil {
		return "", err
	}
	head, err := pr.opt.Store.Head(ctx)
	if err != nil || head.N == 0 || head.Epoch > 0 {
		return missing, err
	}
	v, err := pr.verified(ctx, nil)
	if err != nil {
		return "", err
	}
	said = "the audit trail of an older program was verified: " + v.report().Summary()
	if missing != "" {
		said += "; " + missing
	}
	r := pr.log.record(api.Actor{Name: "opdeck", Via: "service"}, EventEpoch, PhaseNote)
	r.Object, r.ID, r.Detail = "audit", head.Hash, prose(said)
	errBegun := errors.New("another process did it")
	err = pr.opt.Store.Append(ctx, func(h Head) ([]Row, error) {
		if h.Epoch > 0 {
			return nil, errBegun
		}
		rows, _, err := pr.log.makeRows(h, &r)
		return rows, err
	})
	if errors.Is(err, errBegun) {
		return missing, nil
	}
	if err != nil {
		return "", err
	}
	_ = pr.log.Signer.Checkpoint(ctx) // reported by Health and Alarm
	return said, nil
}
