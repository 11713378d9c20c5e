package audit

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"opdeck/api"
)

// Page is one page of the trail, newest first.
type Page struct {
	Entries []Entry
	Next    int64 // Query.Before of the next page; 0 for the last
	// Archived is, on the last page, the newest archive segment with older records; zero for none.
	Archived Segment
}

// Reader reads records for people, and records who read.
type Reader struct {
	*core
	log *Log
}

// entry converts a stored row. It uses only the hashed bytes, unless they were changed.
func entry(row Row) Entry {
	e := Entry{Hash: row.Hash, Raw: row.Bytes}
	err := json.Unmarshal(row.Bytes, &e.Record)
	if err != nil {
		e.Record = Record{}
	}
	switch {
	case Hash(row.Bytes) != row.Hash:
		e.Why = "its bytes do not match its hash"
	case err != nil:
		e.Why = "it is not a record"
	default:
		if name := e.Record.differs(row); name != "" {
			e.Damaged, e.Why = true, "the column "+name+" beside it was changed"
		}
		return e
	}
	e.Damaged = true
	e.Seq, e.UID, e.At = row.Seq, row.UID, row.At
	return e
}

// Find returns a page of the trail. The person in ctx needs api.MayAudit. The query is recorded with its first page;
// if the trail cannot be written, it can still be read.
func (rd *Reader) Find(ctx context.Context, q Query) (Page, error) {
	if err := rd.log.mustMay(ctx, "read the audit trail", api.MayAudit); err != nil {
		return Page{}, err
	}
	if q.Before == 0 {
		_ = rd.log.Note(ctx, api.ActorOf(ctx), api.Event{Name: EventRead, Object: q.Object, ID: q.ID, Detail: q.words()})
	}
	return rd.find(ctx, q)
}

func (rd *Reader) find(ctx context.Context, q Query) (Page, error) {
	q.Actor, q.Object, q.ID = bounded(q.Actor, maxWord), bounded(q.Object, maxWord), bounded(q.ID, maxWord)
	if q.Limit <= 0 {
		q.Limit = 100
	}
	limit := min(q.Limit, 1000)
	q.Limit = limit + 1
	rows, err := rd.opt.Store.Find(ctx, q)
	if err != nil {
		return Page{}, err
	}
	var list []Entry
	for _, row := range rows {
		list = append(list, entry(row))
	}
	if q.selects() {
		if list, err = rd.addUnindexed(ctx, q, list); err != nil {
			return Page{}, err
		}
	}
	var p Page
	if len(list) > limit {
		list = list[:limit]
		p.Next = list[limit-1].Seq
	}
	p.Entries = list
	if p.Next == 0 {
		if p.Archived, err = rd.archived(ctx); q.From.After(p.Archived.At) {
			p.Archived = Segment{}
		}
	}
	return p, err
}

// maxComplete bounds the records that are read to complete the answer of a query; beyond it only Verify finds changed
// columns.
const maxComplete = 5000

// addUnindexed adds the records that match the query by their bytes but not by their columns, which may have been
// changed.
func (rd *Reader) addUnindexed(ctx context.Context, q Query, found []Entry) ([]Entry, error) {
	to := q.Before - 1
	if to < 0 {
		head, err := rd.opt.Store.Head(ctx)
		if err != nil {
			return nil, err
		}
		to = head.N
	}
	from := int64(1)
	if len(found) >= q.Limit {
		from = found[len(found)-1].Seq
	}
	from = max(from, to-maxComplete+1)
	have := map[int64]bool{}
	for _, e := range found {
		have[e.Seq] = true
	}
	err := rd.eachStored(ctx, from, to, func(row Row) error {
		var r Record
		if have[row.Seq] || json.Unmarshal(row.Bytes, &r) == nil && r.differs(row) == "" {
			return nil // its columns were searched
		}
		if e := entry(row); q.matches(e) {
			found = append(found, e)
		}
		return nil
	})
	slices.SortFunc(found, func(a, b Entry) int { return int(b.Seq - a.Seq) })
	if len(found) > q.Limit {
		found = found[:q.Limit]
	}
	return found, err
}

// selects reports whether q filters by a column.
func (q Query) selects() bool {
	q.Before, q.Limit = 0, 0
	return q != Query{}
}

// matches reports whether the record matches q by its bytes.
func (q Query) matches(e Entry) bool {
	event := q.Event == "" || e.Event == q.Event
	if start, ok := strings.CutSuffix(q.Event, "*"); ok {
		event = strings.HasPrefix(e.Event, start)
	}
	return event && (q.Actor == "" || e.Actor.Name == q.Actor) && (q.Object == "" || e.Object == q.Object) &&
		(q.ID == "" || e.Record.ID == q.ID || e.Item == q.ID) && (q.Phase == "" || e.Phase == q.Phase) &&
		(q.From.IsZero() || !e.At.Before(q.From)) && (q.Until.IsZero() || e.At.Before(q.Until))
}

// words describes the query for its record.
func (q Query) words() string {
	s := ""
	add := func(name, v string) {
		if v != "" {
			s += fmt.Sprintf(" %s %s", name, v)
		}
	}
	add("person", q.Actor)
	add("event", q.Event)
	add("phase", string(q.Phase))
	if !q.From.IsZero() {
		add("from", q.From.UTC().Format("2006-01-02T15:04:05Z"))
	}
	if !q.Until.IsZero() {
		add("until", q.Until.UTC().Format("2006-01-02T15:04:05Z"))
	}
	if s == "" {
		return "all"
	}
	return s[1:]
}

// A line of an export: the hash, then the exact bytes of the record.
const (
	exportOpen = `{"hash":"`
	exportMid  = `","record":`
	exportEnd  = `}`
	hashLen    = 2 * sha256.Size
)

// exportLine is the line of a record, without its end.
func exportLine(hash string, record []byte) []byte {
	return fmt.Appendf(make([]byte, 0, len(record)+100), "%s%s%s%s%s", exportOpen, hash, exportMid, record, exportEnd)
}

// parseLine splits a line, which must be exact.
func parseLine(line []byte) (hash string, record []byte, ok bool) {
	head := len(exportOpen) + hashLen + len(exportMid)
	if len(line) <= head+len(exportEnd) || !bytes.HasPrefix(line, []byte(exportOpen)) ||
		!bytes.HasSuffix(line, []byte(exportEnd)) ||
		string(line[len(exportOpen)+hashLen:head]) != exportMid {
		return "", nil, false
	}
	hash = string(line[len(exportOpen) : len(exportOpen)+hashLen])
	raw, err := hex.DecodeString(hash)
	return hash, line[head : len(line)-len(exportEnd)], err == nil && hex.EncodeToString(raw) == hash
}

// Export writes the records from seq from to seq to (0: the current end) as JSON lines with exact bytes and hashes,
// and returns their number. The person in ctx needs api.MayAuditOut. The export is recorded first and contains its
// own record; if that fails, there is no export.
func (rd *Reader) Export(ctx context.Context, w io.Writer, from, to int64) (int64, error) {
	from = max(from, 1)
	detail := fmt.Sprintf("records %d to the end", from)
	if to > 0 {
		detail = fmt.Sprintf("records %d to %d", from, to)
	}
	if err := rd.log.mayExport(ctx, api.Event{Name: EventExport, Object: "audit", Detail: detail}); err != nil {
		return 0, err
	}
	head, err := rd.opt.Store.Head(ctx)
	if err != nil {
		return 0, err
	}
	if to <= 0 || to > head.N {
		to = head.N
	}
	out := bufio.NewWriterSize(w, 64<<10)
	var n int64
	err = rd.each(ctx, from, to, func(r Row) error {
		n++
		_, err := out.Write(append(exportLine(r.Hash, r.Bytes), '\n'))
		return err
	})
	return n, errors.Join(err, out.Flush())
}

// Exit codes of a verification.
const (
	ExitIntact     = 0 // nothing is wrong
	ExitBroken     = 1 // the log was changed, or its integrity cannot be proven
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
	Repeated   ProblemKind = "repeated"  // a record occurs twice
	Malformed  ProblemKind = "malformed" // not a record
	Torn       ProblemKind = "torn"      // the last line is incomplete: a crash, or cut by hand
	OtherLog   ProblemKind = "other_log" // a record or a checkpoint belongs to another trail
	Forged     ProblemKind = "forged"    // a checkpoint that no known key signed
	Reordered  ProblemKind = "reordered" // checkpoints are out of order
	Cut        ProblemKind = "cut"       // by a checkpoint there were more records
	Rewritten  ProblemKind = "rewritten" // by a checkpoint there was another record
	Unproven   ProblemKind = "unproven"  // the first record is not number 1, and no checkpoint leads to it
	HeadDiffer ProblemKind = "head"      // the store's recorded end is not the end
	Column     ProblemKind = "column"    // a column differs from its record
	SideTable  ProblemKind = "side"      // a derived table differs from the records
	Unsigned   ProblemKind = "unsigned"  // a checkpoint is missing
	Exchanged  ProblemKind = "exchanged" // there are checkpoints of another log
)

// Problem is one finding.
type Problem struct {
	Seq  int64       `json:"seq"`  // the record; 0 if unknown
	Line int64       `json:"line"` // of the log, from 1
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
	Archived    int64        `json:"archived,omitempty"` // records up to this one are archived
	Checkpoints int          `json:"checkpoints"`        // valid ones
	Covered     int64        `json:"covered"`            // a checkpoint covers the records up to this one
	Problems    []Problem    `json:"problems"`           // the first ones, in order of detection
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

// Summary is the result in one sentence.
func (r Report) Summary() string {
	out := r.verdict()
	if r.Archived > 0 && r.Intact() {
		out = fmt.Sprintf("%s; they reach back to %s, those up to %d in the archive", out, r.From.UTC().Format(time.DateOnly),
			r.Archived)
	}
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

// ErrNoRecord: there is no such record.
var ErrNoRecord = errors.New("audit: no such record")

// Head is the end of the chain.
type Head struct {
	Chain string    // name of the log, made with its first record
	N     int64     // number of records, which is the seq of the last
	Hash  string    // of the last; zeros if there is none
	At    time.Time // of the last; zero if there is none
	Edge  Edge      // of the tree of N records; set by Append only, nil if the store lacks hashes
}

// Row is a stored record: its exact bytes, their hash, and columns to find it by.
type Row struct {
	Seq    int64
	UID    string
	At     time.Time
	Event  string
	Phase  Phase
	Ref    string
	Boot   string
	Actor  string
	Object string
	ID     string
	Item   string
	Bytes  []byte
	Hash   string

	Tree       []byte            // for Append: Node.Hashes
	Checkpoint *StoredCheckpoint // for Append: a checkpoint of the trail up to this record; nil for none
}

// StoredCheckpoint is the newest checkpoint of one key.
type StoredCheckpoint struct {
	Key  string // fingerprint
	N    int64  // number of records
	Note string // a signed note
}

// Derived is the store's derived data about the trail, in one snapshot.
type Derived struct {
	Head Head
	Open map[string]int64 // intents without an outcome: seq by UID
}

// Query selects records. Empty fields match all.
type Query struct {
	Actor  string    // a person's name
	Object string    // kind of object: operation, customer, …
	ID     string    // of an object or an item of it
	Event  string    // a name, or a prefix followed by "*"
	Phase  Phase     // one phase only
	From   time.Time // at or after
	Until  time.Time // before
	Before int64     // records with a smaller seq: Page.Next of the previous page
	Limit  int       // page size: 1 to 1000, 0 means 100
}

// Store keeps the rows. Many processes may call its methods.
type Store interface {
	// Append locks the end of the chain, calls next for the rows that follow and stores them all or none. They are
	// durable when it returns nil.
	Append(ctx context.Context, next func(Head) ([]Row, error)) error
	// Head returns the end of the chain.
	Head(ctx context.Context) (Head, error)
	// Get returns the record with that UID, or ErrNoRecord.
	Get(ctx context.Context, uid string) (Row, error)
	// Rows returns up to limit rows from seq from on, in order.
	Rows(ctx context.Context, from int64, limit int) ([]Row, error)
	// Find returns the rows of a query, newest first.
	Find(ctx context.Context, q Query) ([]Row, error)
	// Open returns the intents without an outcome, oldest first.
	Open(ctx context.Context) ([]Row, error)
	// Derived returns the derived data in one snapshot.
	Derived(ctx context.Context) (Derived, error)

	// Nodes returns the stored hashes of the tree by seq, omitting missing ones.
	Nodes(ctx context.Context, seqs []int64) (map[int64][]byte, error)
	// PutNodes stores or replaces hashes of the tree.
	PutNodes(ctx context.Context, nodes []Node) error
	// TreeSize returns the number of records after that one with stored hashes, and the last record with any.
	TreeSize(ctx context.Context, after int64) (count, last int64, err error)
	// Checkpoints returns the newest checkpoint of each key.
	Checkpoints(ctx context.Context) ([]StoredCheckpoint, error)
	// Segments returns the segments of the archive, oldest first.
	Segments(ctx context.Context) ([]Segment, error)
	// Archive records a segment, which must follow the last one. It is durable when it returns nil.
	Archive(ctx context.Context, s Segment) error
	// DropArchived removes up to limit archived rows and hashes, and returns how many. It keeps open intents, acts in
	// doubt with their outcomes, the records at which each key's newest checkpoint ends, and the hashes for the edges
	// of the tree there and at the end of the archive (EdgeSeqs).
	DropArchived(ctx context.Context, limit int) (int, error)
	// PutCheckpoint stores a checkpoint unless the key has one of at least as many records.
	PutCheckpoint(ctx context.Context, p StoredCheckpoint) error
}
