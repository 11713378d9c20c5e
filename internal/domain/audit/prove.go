package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"opdeck/api"
)

// Proof proves with a few hashes that a record is in the log that a checkpoint signed (inclusion), or that the log of
// one checkpoint continues that of another (consistency). It says nothing about other records.
//
// An inclusion proof is the record as one line, followed by a proof in the form of c2sp.org/tlog-proof. A consistency
// proof is consistencyHead, the hashes, and the two checkpoints, the older one first, with an empty line before each.
type Proof struct {
	Record     []byte // exact bytes; inclusion only
	Hashes     []tlog.Hash
	Old        *Signed // consistency only
	Checkpoint Signed
}

const (
	proofHead       = "c2sp.org/tlog-proof@v1"
	consistencyHead = "opdeck.audit/consistency@v1"
)

// maxProof bounds a proof file, in bytes.
const maxProof = 64 << 10

var errNoProof = errors.New("audit: this is not a proof")

// Prover verifies the trail and makes proofs for others.
type Prover struct {
	*core
	log    *Log
	signer *Signer
}

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

// Prove proves that record seq is in the log of the newest checkpoint. The person in ctx needs api.MayAuditOut, and
// the proof is recorded like an export.
func (pr *Prover) Prove(ctx context.Context, seq int64) (Proof, error) {
	if err := pr.log.mayExport(ctx, api.Event{Name: EventEvidence, Object: "audit",
		Detail: fmt.Sprintf("proof of record %d", seq)}); err != nil {
		return Proof{}, err
	}
	head, err := pr.opt.Store.Head(ctx)
	if err != nil {
		return Proof{}, err
	}
	if seq < 1 || seq > head.N {
		return Proof{}, &api.Error{Op: "prove", Kind: api.NotFound,
			Public: fmt.Sprintf("There is no record %d; the trail ends at %d.", seq, head.N)}
	}
	if !pr.signs() {
		return Proof{}, pr.unsigned()
	}
	point, err := pr.signer.checkpointNow(ctx)
	if err != nil {
		return Proof{}, err
	}
	var rows []Row
	if err := pr.each(ctx, seq, seq, func(r Row) error { rows = append(rows, r); return nil }); err != nil {
		return Proof{}, err
	}
	if len(rows) == 0 || rows[0].Seq != seq {
		return Proof{}, fmt.Errorf("audit: record %d is missing; run opdeck audit verify", seq)
	}
	proof, err := pr.signer.inclusion(ctx, point.N, seq)
	if err != nil {
		return Proof{}, err
	}
	p := Proof{Record: rows[0].Bytes, Hashes: proof, Checkpoint: point}
	if err := p.holds(); err != nil {
		return Proof{}, fmt.Errorf("%w; run opdeck audit verify", err)
	}
	return p, nil
}

// unsigned is why this host signs no checkpoints.
func (c *core) unsigned() error {
	if err := c.Unrecorded(); err != nil {
		return err
	}
	return &api.Error{Op: "prove", Kind: api.BadConfig, Public: "There are no checkpoints: the store in memory has none."}
}

// ProveConsistency proves that the trail of n records continues that of m. Both need a checkpoint; n 0 means the
// newest.
func (pr *Prover) ProveConsistency(ctx context.Context, m, n int64) (Proof, error) {
	if err := pr.log.mayExport(ctx, api.Event{Name: EventEvidence, Object: "audit",
		Detail: fmt.Sprintf("proof of consistency from %d", m)}); err != nil {
		return Proof{}, err
	}
	if !pr.signs() {
		return Proof{}, pr.unsigned()
	}
	if n == 0 {
		last, err := pr.signer.checkpointNow(ctx)
		if err != nil {
			return Proof{}, err
		}
		n = last.N
	}
	old, err := pr.checkpointAt(ctx, m)
	if err != nil {
		return Proof{}, err
	}
	point, err := pr.checkpointAt(ctx, n)
	if err != nil {
		return Proof{}, err
	}
	if m > n {
		return Proof{}, &api.Error{Op: "prove", Kind: api.Usage, Public: "The older checkpoint comes first."}
	}
	p := Proof{Old: &old, Checkpoint: point}
	if m < n {
		if p.Hashes, err = pr.signer.continuation(ctx, m, n); err != nil {
			return Proof{}, err
		}
	}
	if err := p.holds(); err != nil {
		return Proof{}, fmt.Errorf("%w; run opdeck audit verify", err)
	}
	return p, nil
}

// checkpointAt returns the checkpoint of n records.
func (pr *Prover) checkpointAt(ctx context.Context, n int64) (Signed, error) {
	name, err := pr.signer.CheckpointFile(ctx)
	if err != nil {
		return Signed{}, err
	}
	list, err := readCheckpointFile(name)
	if err != nil {
		return Signed{}, err
	}
	var below, above int64
	for _, s := range list {
		switch {
		case s.N == n:
			return s, nil
		case s.N < n:
			below = s.N
		case above == 0:
			above = s.N
		}
	}
	public := fmt.Sprintf("There is no checkpoint for %d records.", n)
	if below > 0 || above > 0 {
		public += fmt.Sprintf(" The nearest are for %d and %d.", below, above)
	}
	return Signed{}, &api.Error{Op: "prove", Kind: api.NotFound, Public: public}
}

// seq is the number of the proven record.
func (p Proof) seq() int64 {
	var r Record
	_ = json.Unmarshal(p.Record, &r) // Prove and ParseProof have parsed it
	return r.Seq
}

// Text is the proof as a file.
func (p Proof) Text() []byte {
	var b bytes.Buffer
	if p.Old != nil {
		b.WriteString(consistencyHead + "\n")
	} else {
		fmt.Fprintf(&b, "%s\n%s\nindex %d\n", p.Record, proofHead, p.seq()-1)
	}
	for _, h := range p.Hashes {
		b.WriteString(h.String() + "\n")
	}
	if p.Old != nil {
		b.WriteString("\n" + p.Old.Note)
	}
	b.WriteString("\n" + p.Checkpoint.Note)
	return b.Bytes()
}

// ProofJSON is a proof in JSON, in the parts of its text.
type ProofJSON struct {
	Seq    int64  `json:"seq,omitempty"`
	Record string `json:"record,omitempty"` // the exact bytes
	Proof  string `json:"proof"`            // the rest of the text
}

// JSON is the proof in JSON.
func (p Proof) JSON() ProofJSON {
	text := string(p.Text())
	if p.Old != nil {
		return ProofJSON{Proof: text}
	}
	record, rest, _ := strings.Cut(text, "\n")
	return ProofJSON{p.seq(), record, rest}
}

// ParseProof parses a proof, as text or JSON, which must be exact.
func ParseProof(b []byte) (Proof, error) {
	if len(b) > maxProof {
		return Proof{}, errNoProof
	}
	text := string(b)
	var j ProofJSON
	if json.Unmarshal(b, &j) == nil && j.Proof != "" {
		if text = j.Proof; j.Record != "" {
			text = j.Record + "\n" + j.Proof
		}
	}
	var p Proof
	var hashes string
	parts := strings.Split(text, "\n\n")
	switch {
	case strings.HasPrefix(text, consistencyHead+"\n") && len(parts) == 5:
		old, err := ParseCheckpoint(parts[1] + "\n\n" + parts[2] + "\n")
		if err != nil {
			return p, errNoProof
		}
		p.Old = &old
		_, hashes, _ = strings.Cut(parts[0], "\n")
		parts = parts[2:]
	case len(parts) == 3:
		record, rest, _ := strings.Cut(parts[0], "\n")
		var found bool
		if rest, found = strings.CutPrefix(rest, proofHead+"\nindex "); !found {
			return p, errNoProof
		}
		var index string
		index, hashes, _ = strings.Cut(rest, "\n")
		p.Record = []byte(record)
		if strconv.FormatInt(p.seq()-1, 10) != index {
			return p, errNoProof
		}
	default:
		return p, errNoProof
	}
	var err error
	if p.Checkpoint, err = ParseCheckpoint(parts[1] + "\n\n" + parts[2]); err != nil {
		return p, errNoProof
	}
	for line := range strings.Lines(hashes) {
		h, err := tlog.ParseHash(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return p, errNoProof
		}
		p.Hashes = append(p.Hashes, h)
	}
	if string(p.Text()) != text || j.Seq != 0 && j.Seq != p.seq() {
		return p, errNoProof
	}
	return p, nil
}

// holds verifies the hashes of the proof against its checkpoints.
func (p Proof) holds() error {
	c := p.Checkpoint
	var r Record
	switch {
	case p.Old != nil && p.Old.Chain != c.Chain:
		return errors.New("audit: the checkpoints are of two logs")
	case p.Old != nil && p.Old.N == c.N:
		if p.Old.Root != c.Root || len(p.Hashes) > 0 {
			return errors.New("audit: the checkpoints disagree about the same records")
		}
		return nil
	case p.Old != nil:
		if p.Old.N > c.N || tlog.CheckTree(p.Hashes, c.N, c.Root, p.Old.N, p.Old.Root) != nil {
			return errors.New("audit: the newer checkpoint does not continue the older one")
		}
		return nil
	case json.Unmarshal(p.Record, &r) != nil || r.Chain != c.Chain || r.Seq < 1 || r.Seq > c.N:
		return errors.New("audit: the record is not of the trail that the checkpoint is for")
	case tlog.CheckRecord(p.Hashes, c.N, c.Root, r.Seq-1, tlog.RecordHash(p.Record)) != nil:
		return errors.New("audit: the proof does not lead from the record to the checkpoint")
	}
	return nil
}

// Proven is the result of a valid proof.
type Proven struct {
	Log     string          `json:"log"`
	Seq     int64           `json:"seq,omitempty"` // inclusion
	Record  json.RawMessage `json:"record,omitempty"`
	From    int64           `json:"from,omitempty"` // consistency: records of the older checkpoint
	Records int64           `json:"records"`        // of the checkpoint
	At      time.Time       `json:"at"`             // of the checkpoint
	Key     string          `json:"key"`            // fingerprint of the key that signed it
}

// VerifyProof verifies a proof with public keys of the log only, which must not come with the proof.
func VerifyProof(b []byte, keys []ed25519.PublicKey) (Proven, error) {
	p, err := ParseProof(b)
	if err != nil {
		return Proven{}, err
	}
	out := Proven{Log: p.Checkpoint.Chain, Records: p.Checkpoint.N, At: p.Checkpoint.At, Key: p.Checkpoint.signer(keys)}
	if out.Key == "" || p.Old != nil && p.Old.signer(keys) == "" {
		return Proven{}, errors.New("audit: none of the given keys signed the checkpoint")
	}
	if err := p.holds(); err != nil {
		return Proven{}, err
	}
	if p.Old != nil {
		out.From = p.Old.N
	} else {
		out.Seq, out.Record = p.seq(), p.Record
	}
	return out, nil
}
