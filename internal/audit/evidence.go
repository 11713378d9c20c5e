package audit

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"opdeck/api"
)

// evidenceFormat names the form of a pack.
const evidenceFormat = "opdeck-evidence/v1"

// Evidence is a pack of the records of one object, with what ties each to the
// chain, for somebody who does not get the whole log.
type Evidence struct {
	Format      string            `json:"format"`
	Chain       string            `json:"chain"`
	Object      string            `json:"object"`
	ID          string            `json:"id"`
	MadeAt      time.Time         `json:"made_at"`
	MadeBy      Person            `json:"made_by"`
	Build       string            `json:"build,omitempty"`
	Records     []Exhibit         `json:"records"`     // oldest first
	Checkpoints []json.RawMessage `json:"checkpoints"` // the first that covers each record, as signed
	Keys        []string          `json:"public_keys"` // PEM
}

// Exhibit is a record with the hashes around it.
type Exhibit struct {
	Seq      int64           `json:"seq"`
	PrevHash string          `json:"prev_hash"` // of the record before
	Hash     string          `json:"hash"`
	NextHash string          `json:"next_hash,omitempty"` // of the record after; none at the end
	Record   json.RawMessage `json:"record"`              // the exact bytes
}

// Extract writes the evidence pack of an object as JSON. The person in ctx needs
// api.MayAuditOut, and the extract is recorded as an export is.
func (l *Log) Extract(ctx context.Context, w io.Writer, object, id string) error {
	if err := l.takeAway(ctx, api.Event{Name: EventEvidence, Object: object, ID: id}); err != nil {
		return err
	}
	who := l.record(api.ActorOf(ctx), EventEvidence, PhaseNote)
	ev := Evidence{Format: evidenceFormat, Object: bounded(object, maxWord), ID: bounded(id, maxWord),
		MadeAt: who.At, MadeBy: who.Actor, Build: who.Build, Records: []Exhibit{}, Checkpoints: []json.RawMessage{}, Keys: []string{}}
	if err := l.exhibits(ctx, &ev); err != nil {
		return err
	}
	if err := l.covering(ctx, &ev); err != nil {
		return err
	}
	b, err := json.Marshal(ev) // no indentation: it would change the records' bytes
	if err != nil {
		return fmt.Errorf("audit: evidence: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// exhibits collects the records, that of this extract included.
func (l *Log) exhibits(ctx context.Context, ev *Evidence) error {
	q := Query{Object: ev.Object, ID: ev.ID, Limit: 1000}
	for {
		p, err := l.find(ctx, q)
		if err != nil {
			return err
		}
		for _, e := range p.Entries {
			x := Exhibit{Seq: e.Seq, PrevHash: e.Prev, Hash: e.Hash, Record: e.Raw}
			next, err := l.opt.Store.Rows(ctx, e.Seq+1, 1)
			if err != nil {
				return err
			}
			if len(next) == 1 && next[0].Seq == e.Seq+1 {
				x.NextHash = next[0].Hash
			}
			ev.Chain = e.Chain
			ev.Records = append([]Exhibit{x}, ev.Records...)
		}
		if q.Before = p.Next; q.Before == 0 {
			return nil
		}
	}
}

// covering adds, for each record, the first checkpoint that covers it.
func (l *Log) covering(ctx context.Context, ev *Evidence) error {
	if l.opt.Key == nil {
		return nil
	}
	ev.Keys = append(ev.Keys, l.opt.Key.PublicPEM())
	name, err := l.CheckpointFile(ctx)
	if err != nil || name == "" {
		return err
	}
	f, err := os.Open(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("audit: checkpoints: %w", err)
	}
	defer func() { _ = f.Close() }()
	list, _, err := ReadCheckpoints(f)
	if err != nil {
		return err
	}
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

// VerifyEvidence checks what can be checked of a pack without the log: that each
// record is what its hash says and holds the hash of the one before, and that
// the checkpoints were signed by one of the keys, which must not be taken from
// the pack itself. That the records stand in the log is for Verify to say.
func VerifyEvidence(in io.Reader, keys ...ed25519.PublicKey) (Report, error) {
	var ev Evidence
	d := json.NewDecoder(in)
	if err := d.Decode(&ev); err != nil || ev.Format != evidenceFormat {
		return Report{}, errors.New("audit: this is no evidence pack")
	}
	v := newVerifier()
	v.r.Chain = ev.Chain
	for _, raw := range ev.Checkpoints {
		if err := v.checkpoints(bytes.NewReader(append(bytes.Clone(raw), '\n')), keys...); err != nil {
			return Report{}, err
		}
	}
	for i, x := range ev.Records {
		v.line, v.r.Records = int64(i+1), v.r.Records+1
		var r link
		err := json.Unmarshal(x.Record, &r)
		switch {
		case Hash(x.Record) != x.Hash:
			v.problem(x.Seq, Changed, "record %d was changed: its bytes are not those that were hashed", x.Seq)
		case err != nil || r.Seq != x.Seq || r.Prev != x.PrevHash || r.Chain != ev.Chain:
			v.problem(x.Seq, Misplaced, "record %d is not the one that the pack says", x.Seq)
		case r.Object != ev.Object || r.ID != ev.ID && r.Item != ev.ID:
			v.problem(x.Seq, Misplaced, "record %d is about another object", x.Seq)
		default:
			v.anchor(x.Seq, x.Hash)
			v.people(r)
		}
		v.r.Last = max(v.r.Last, x.Seq)
	}
	v.points = map[int64][]Signed{} // ends beyond the pack are no cut
	return v.end(nil), nil
}
