package audit

import (
	"crypto/ed25519"
	"fmt"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"opdeck/api"
)

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
