package audit

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
)

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
