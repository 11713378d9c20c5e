package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Exit codes of a verification.
const (
	ExitIntact     = 0 // nothing is wrong
	ExitBroken     = 1 // the trail was changed, or its integrity cannot be proven
	ExitUnreadable = 2 // it could not be verified
	ExitOther      = 2 // it is older than a kept checkpoint, or another trail
)

// ProblemKind is a kind of problem.
type ProblemKind string

// The kinds of problems.
const (
	Changed    ProblemKind = "changed"   // the bytes do not match the hash
	Broken     ProblemKind = "broken"    // a record does not continue the previous one
	Missing    ProblemKind = "missing"   // records are missing
	Misplaced  ProblemKind = "misplaced" // a record is out of order, or was inserted
	Malformed  ProblemKind = "malformed" // not a record
	OtherLog   ProblemKind = "other_log" // a record or a checkpoint belongs to another trail
	Forged     ProblemKind = "forged"    // a checkpoint that no known key signed
	Reordered  ProblemKind = "reordered" // checkpoints are out of order
	Cut        ProblemKind = "cut"       // by a checkpoint there were more records
	Rewritten  ProblemKind = "rewritten" // by a checkpoint there was another record
	HeadDiffer ProblemKind = "head"      // the store's recorded end is not the end
	Column     ProblemKind = "column"    // a column differs from its record
	SideTable  ProblemKind = "side"      // a derived table differs from the records
	Unsigned   ProblemKind = "unsigned"  // a checkpoint is missing
	Exchanged  ProblemKind = "exchanged" // there are checkpoints of another log
)

// Problem is one finding.
type Problem struct {
	Seq  int64       `json:"seq"` // the record; 0 if unknown
	Kind ProblemKind `json:"kind"`
	Text string      `json:"text"` // a sentence
}

// ClockStep is a clock that went back between two records.
type ClockStep struct {
	Seq  int64         `json:"seq"`
	Back time.Duration `json:"back_ns"`
}

// OpenIntent is an intent without an outcome.
type OpenIntent struct {
	Seq    int64     `json:"seq"`
	UID    string    `json:"uid"`
	At     time.Time `json:"at"`
	Event  string    `json:"event"`
	Actor  string    `json:"actor"`
	Object string    `json:"object"`
	ID     string    `json:"id"`
}

// Report is the result of a verification.
type Report struct {
	Chain       string       `json:"chain"`
	Records     int64        `json:"records"`
	First       int64        `json:"first"` // seq of the first and the last record
	Last        int64        `json:"last"`
	Head        string       `json:"head"` // hash of the last
	From        time.Time    `json:"from"`
	Until       time.Time    `json:"until"`
	Checkpoints int          `json:"checkpoints"` // valid ones
	Covered     int64        `json:"covered"`     // a checkpoint covers the records up to this one
	Problems    []Problem    `json:"problems"`    // the first ones, in order of detection
	More        int          `json:"more_problems"`
	Unsettled   []OpenIntent `json:"unsettled"`
	ClockSteps  []ClockStep  `json:"clock_steps"`
	Warnings    []string     `json:"warnings"`
	Restores    []Restore    `json:"restores,omitempty"` // backups that were restored, as the trail records them
	Against     []Comparison `json:"against,omitempty"`  // one for each kept note
	// Unknown are keys of other hosts whose checkpoints could not be checked here: their records are not proven.
	Unknown []string `json:"unknown_keys,omitempty"`
}

// Intact reports whether the trail has no problem, continues all kept notes, and all its checkpoints were checked.
func (r Report) Intact() bool {
	return len(r.Problems) == 0 && r.differing() == nil && len(r.Unknown) == 0
}

// differing returns the first note that the trail does not continue, nil for none.
func (r Report) differing() *Comparison {
	for i, c := range r.Against {
		if c.Result != Continues && c.Result != Restored {
			return &r.Against[i]
		}
	}
	return nil
}

// Exit is the exit code for the report.
func (r Report) Exit() int {
	switch {
	case r.differing() != nil:
		return ExitOther
	case len(r.Problems) > 0:
		return ExitBroken
	case len(r.Unknown) > 0:
		return ExitUnreadable
	}
	return ExitIntact
}

// Exchanged reports whether all that is wrong is that this host has signed another trail.
func (r Report) Exchanged() bool {
	return len(r.Problems) > 0 && r.More == 0 && r.differing() == nil &&
		!slices.ContainsFunc(r.Problems, func(p Problem) bool { return p.Kind != Exchanged })
}

// Summary is the result in one sentence.
func (r Report) Summary() string {
	out := r.verdict()
	for _, x := range r.Restores {
		out += fmt.Sprintf("; record %d: %s; recorded by %s", x.Seq, x.Sentence(), x.Actor)
		if x.Second != "" {
			out += ", approved by " + x.Second
		}
		out += ": " + x.Reason
	}
	return out
}

func (r Report) verdict() string {
	differing := r.differing()
	switch {
	case differing != nil && differing.Result == Older:
		return fmt.Sprintf("OLDER than %s: %s", differing.File, differing.Text)
	case differing != nil:
		return fmt.Sprintf("NOT the trail of %s: %s", differing.File, differing.Text)
	case len(r.Problems) > 0:
		if n := len(r.Problems) + r.More; n > 1 {
			return fmt.Sprintf("NOT intact: %d problems; the first: %s", n, r.Problems[0].Text)
		}
		return "NOT intact: " + r.Problems[0].Text
	case len(r.Unknown) > 0:
		return fmt.Sprintf("NOT proven: %d records are consistent, but the checkpoints of key %s cannot be checked here: "+
			"put its line of opdeck audit checkpoint into [audit] keys", r.Records, strings.Join(r.Unknown, ", "))
	case r.Covered == 0:
		return fmt.Sprintf("Not proven complete: no checkpoints. %d records are consistent; set [audit] checkpoints, until "+
			"then a cut end or a rewritten trail cannot be noticed", r.Records)
	case r.Covered < r.Last:
		return fmt.Sprintf("%d records are intact; checkpoints cover them up to %d", r.Records, r.Covered)
	}
	return fmt.Sprintf("%d records are intact, all covered by checkpoints", r.Records)
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
