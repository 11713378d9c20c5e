package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"opdeck/api"
)

// evidenceFormat names the format of a pack.
const evidenceFormat = "opdeck-evidence/v1"

// Evidence is a pack of the records of one object, with proofs that they are in the chain, for a person who does not
// get the whole log.
type Evidence struct {
	Format  string           `json:"format"`
	Chain   string           `json:"chain"`
	Object  string           `json:"object"`
	ID      string           `json:"id"`
	MadeAt  time.Time        `json:"made_at"`
	MadeBy  Person           `json:"made_by"`
	Build   string           `json:"build,omitempty"`
	Records []EvidenceRecord `json:"records"` // oldest first
	// the first that covers each record, and the one of the proofs, as signed
	Checkpoints []json.RawMessage `json:"checkpoints"`
	// number of records of the checkpoint of the proofs
	ProvenBy int64    `json:"proven_by,omitempty"`
	Keys     []string `json:"public_keys"` // PEM
}

// EvidenceRecord is a record with the hashes of its neighbours.
type EvidenceRecord struct {
	Seq      int64           `json:"seq"`
	PrevHash string          `json:"prev_hash"` // of the previous record
	Hash     string          `json:"hash"`
	NextHash string          `json:"next_hash,omitempty"` // of the next record; "" at the end
	Record   json.RawMessage `json:"record"`              // the exact bytes
	Proof    []tlog.Hash     `json:"proof,omitempty"`     // of inclusion in the tree (RFC 6962, 2.1.1)
}

// Extract writes the evidence pack of an object as JSON. The person in ctx needs api.MayAuditOut, and the extract is
// recorded like an export.
func (pr *Prover) Extract(ctx context.Context, w io.Writer, object, id string) error {
	if err := pr.log.mayExport(ctx, api.Event{Name: EventEvidence, Object: object, ID: id}); err != nil {
		return err
	}
	who := pr.log.record(api.ActorOf(ctx), EventEvidence, PhaseNote)
	ev := Evidence{Format: evidenceFormat, Object: bounded(object, maxWord), ID: bounded(id, maxWord),
		MadeAt: who.At, MadeBy: who.Actor, Build: who.Build, Records: []EvidenceRecord{}, Checkpoints: []json.RawMessage{},
		Keys: []string{}}
	signed := pr.signer.Checkpoint(ctx) // so that all records can be proven; Health reports a failure
	if err := pr.addRecords(ctx, &ev); err != nil {
		return err
	}
	if err := pr.addCheckpoints(ctx, &ev); err != nil {
		return err
	}
	if signed == nil {
		if err := pr.addProofs(ctx, &ev); err != nil {
			return err
		}
	}
	b, err := json.Marshal(ev) // no indentation: it would change the records' bytes
	if err != nil {
		return fmt.Errorf("audit: evidence: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// addRecords collects the records, including that of this extract. It checks the bytes of all records, because
// changed columns can hide some.
func (pr *Prover) addRecords(ctx context.Context, ev *Evidence) error {
	head, err := pr.opt.Store.Head(ctx)
	if err != nil {
		return err
	}
	id, err := json.Marshal(ev.ID)
	if err != nil {
		return fmt.Errorf("audit: evidence: %w", err)
	}
	before := int64(-1) // seq of the previous row, if it is in the pack
	return pr.each(ctx, 1, head.N, func(row Row) error {
		if n := len(ev.Records); before == row.Seq-1 {
			ev.Records[n-1].NextHash = row.Hash
		}
		mine := row.Object == ev.Object && (row.ID == ev.ID || row.Item == ev.ID)
		if !mine && !bytes.Contains(row.Bytes, id) {
			return nil
		}
		e := entry(row)
		if !mine && (e.Object != ev.Object || e.Record.ID != ev.ID && e.Item != ev.ID) {
			return nil
		}
		if e.Object != ev.Object && Hash(row.Bytes) == row.Hash {
			return nil // only its columns say so
		}
		if e.Chain != "" {
			ev.Chain = e.Chain
		}
		if !json.Valid(row.Bytes) {
			return fmt.Errorf("audit: record %d is damaged; run opdeck audit verify, and take the whole trail as evidence",
				row.Seq)
		}
		ev.Records = append(ev.Records, EvidenceRecord{Seq: row.Seq, PrevHash: e.Prev, Hash: row.Hash, Record: row.Bytes})
		before = row.Seq
		return nil
	})
}

// addProofs adds a proof for each record that it is in the tree of the newest checkpoint.
func (pr *Prover) addProofs(ctx context.Context, ev *Evidence) error {
	last, err := pr.signer.lastCheckpoint(ctx)
	if err != nil || last.Chain != ev.Chain {
		return err
	}
	for i, x := range ev.Records {
		if x.Seq > last.N {
			continue
		}
		proof, err := pr.signer.inclusion(ctx, last.N, x.Seq)
		if err != nil {
			return err
		}
		ev.Records[i].Proof = proof
	}
	ev.ProvenBy = last.N
	if !slices.ContainsFunc(ev.Checkpoints, func(have json.RawMessage) bool { return bytes.Equal(have, last.Line) }) {
		ev.Checkpoints = append(ev.Checkpoints, last.Line)
	}
	return nil
}

// addCheckpoints adds, for each record, the first checkpoint that covers it.
func (pr *Prover) addCheckpoints(ctx context.Context, ev *Evidence) error {
	if pr.opt.Key == nil {
		return nil
	}
	ev.Keys = append(ev.Keys, pr.opt.Key.PublicPEM())
	name, err := pr.signer.CheckpointFile(ctx)
	if err != nil || name == "" {
		return err
	}
	list, err := readCheckpointFile(name)
	if err != nil {
		return err
	}
	lost, err := pr.signer.restores(ctx)
	if err != nil {
		return err
	}
	list = kept(list, lost)
	at := 0 // records before it are covered
	for _, s := range list {
		if at == len(ev.Records) {
			break
		}
		if s.Chain != ev.Chain || s.N < ev.Records[at].Seq {
			continue
		}
		ev.Checkpoints = append(ev.Checkpoints, s.Line)
		for at < len(ev.Records) && ev.Records[at].Seq <= s.N {
			at++
		}
	}
	return nil
}

// VerifyEvidence verifies a pack without the log: each record has its hash, holds the hash of the previous one, and
// is in the tree of a checkpoint signed by one of keys, which must not come from the pack itself. If checkpoint files
// are given, the pack's checkpoints must be in them. Only Verify with the whole log can show that no record about the
// object was omitted.
func VerifyEvidence(in io.Reader, checkpoints []io.Reader, keys ...ed25519.PublicKey) (Report, error) {
	var ev Evidence
	d := json.NewDecoder(in)
	if err := d.Decode(&ev); err != nil || ev.Format != evidenceFormat {
		return Report{}, errors.New("audit: this is not an evidence pack")
	}
	v := newVerifier()
	v.r.Chain, v.r.Evidence, v.partial, v.edge = ev.Chain, true, true, nil
	if err := v.readFiles(checkpoints, keys); err != nil {
		return Report{}, err
	}
	known := v.points
	v.points = map[int64][]Signed{} // checkpoints beyond the pack do not mean a cut
	for _, raw := range ev.Checkpoints {
		if err := v.checkpoints(bytes.NewReader(append(bytes.Clone(raw), '\n')), keys...); err != nil {
			return Report{}, err
		}
	}
	if len(checkpoints) > 0 {
		v.checkAmong(known)
	}
	for i, x := range ev.Records {
		v.line, v.r.Records = int64(i+1), v.r.Records+1
		v.checkEvidenceRecord(ev, x)
		v.r.Last = max(v.r.Last, x.Seq)
	}
	v.points = map[int64][]Signed{}
	return v.end(nil), nil
}

// checkAmong compares the checkpoints of the pack with the given ones.
func (v *verifier) checkAmong(known map[int64][]Signed) {
	newest := int64(0)
	for n, list := range known {
		for _, s := range list {
			if s.Chain == v.r.Chain {
				newest = max(newest, n)
			}
		}
	}
	if newest == 0 {
		v.problem(0, OtherLog, "none of the given checkpoints is for the trail of this pack")
		return
	}
	for _, n := range slices.Sorted(maps.Keys(v.points)) {
		for _, s := range v.points[n] {
			same := slices.ContainsFunc(known[n], func(k Signed) bool {
				return k.Chain == s.Chain && k.Head == s.Head && k.Root == s.Root
			})
			switch {
			case same:
			case n > newest:
				v.r.Warnings = append(v.r.Warnings, fmt.Sprintf(
					"the pack's checkpoint for %d records is newer than those given, which end at %d", n, newest))
			default:
				v.problem(0, Forged, "the pack's checkpoint for %d records is not among those given", n)
			}
		}
	}
}

// checkEvidenceRecord checks one record of a pack.
func (v *verifier) checkEvidenceRecord(ev Evidence, x EvidenceRecord) {
	var r Record
	err := json.Unmarshal(x.Record, &r)
	switch {
	case Hash(x.Record) != x.Hash:
		v.problem(x.Seq, Changed, "record %d was changed: its bytes do not match its hash", x.Seq)
		return
	case err != nil || r.Seq != x.Seq || r.Prev != x.PrevHash || r.Chain != ev.Chain:
		v.problem(x.Seq, Misplaced, "record %d is not the one that the pack names", x.Seq)
		return
	case r.Object != ev.Object || r.ID != ev.ID && r.Item != ev.ID:
		v.problem(x.Seq, Misplaced, "record %d is about another object", x.Seq)
		return
	}
	v.compareWithCheckpoints(x.Seq, x.Hash)
	v.matchIntent(r)
	if ev.ProvenBy < x.Seq {
		return // written while signing was impossible
	}
	for _, s := range v.points[ev.ProvenBy] {
		if s.Chain == ev.Chain && tlog.CheckRecord(x.Proof, s.N, s.Root, x.Seq-1, tlog.RecordHash(x.Record)) == nil {
			v.r.Proven++
			v.r.Covered = max(v.r.Covered, s.N)
			return
		}
	}
	v.problem(x.Seq, Unproven, "record %d is not proven to be in the trail: no valid checkpoint, or the proof does not "+
		"lead to it", x.Seq)
}
