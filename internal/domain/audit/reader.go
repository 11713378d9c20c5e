package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"opdeck/api"
)

// Entry is a stored record.
type Entry struct {
	Record
	Hash    string
	Raw     []byte // the exact bytes
	Damaged bool   // the bytes were changed, are not a record, or differ from a column
	Why     string // what is damaged, as a sentence; "" for nothing
}

// Genuine reports whether the bytes match their hash, so that the record can be relied on even if a column was
// changed.
func (e Entry) Genuine() bool { return Hash(e.Raw) == e.Hash }

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

// differs names the first column of row that differs from its bytes; "" for none.
func (r Record) differs(row Row) string {
	for _, c := range []struct {
		name string
		same bool
	}{
		{"seq", r.Seq == row.Seq}, {"uid", r.UID == row.UID}, {"at_us", r.At.UnixMicro() == row.At.UnixMicro()},
		{"event", r.Event == row.Event},
		{"phase", r.Phase == row.Phase}, {"ref", r.Ref == row.Ref}, {"boot", r.Boot == row.Boot},
		{"actor", r.Actor.Name == row.Actor},
		{"object", r.Object == row.Object}, {"object_id", r.ID == row.ID}, {"item", r.Item == row.Item},
	} {
		if !c.same {
			return c.name
		}
	}
	return ""
}

// Page is one page of the trail, newest first.
type Page struct {
	Entries []Entry
	Next    int64 // Query.Before of the next page; 0 for the last
}

// Reader reads records for people, and records who read.
type Reader struct {
	*core
	log *Log
}

// Find returns a page of the trail. The person in ctx needs api.MayAudit. The query is recorded with its first page;
// if the trail cannot be written, it can still be read. The columns are searched: what someone changed there is found
// by Verify only.
func (rd *Reader) Find(ctx context.Context, q Query) (Page, error) {
	if err := rd.log.mustMay(ctx, "read the audit trail", api.MayAudit); err != nil {
		return Page{}, err
	}
	if q.Before == 0 {
		_ = rd.log.Note(ctx, api.ActorOf(ctx), api.Event{Name: EventRead, Object: q.Object, ID: q.ID, Detail: q.words()})
	}
	return rd.find(ctx, q)
}

func (c *core) find(ctx context.Context, q Query) (p Page, err error) {
	q.Actor, q.Object, q.ID = bounded(q.Actor, maxWord), bounded(q.Object, maxWord), bounded(q.ID, maxWord)
	if q.Limit <= 0 {
		q.Limit = 100
	}
	limit := min(q.Limit, 1000)
	q.Limit = limit + 1
	rows, err := c.opt.Store.Find(ctx, q)
	if err != nil {
		return p, err
	}
	if len(rows) > limit {
		rows = rows[:limit]
		p.Next = rows[limit-1].Seq
	}
	for _, row := range rows {
		p.Entries = append(p.Entries, entry(row))
	}
	return p, nil
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

// Export writes the records from seq from to seq to (0: the current end), each as a line of JSON with its hash and
// its exact bytes, and returns their number. The person in ctx needs api.MayAuditOut. The export is recorded first
// and contains its own record; if that fails, there is no export.
func (rd *Reader) Export(ctx context.Context, w io.Writer, from, to int64) (int64, error) {
	from = max(from, 1)
	detail := fmt.Sprintf("records %d to the end", from)
	if to > 0 {
		detail = fmt.Sprintf("records %d to %d", from, to)
	}
	if err := rd.log.mustMay(ctx, "export the audit trail", api.MayAuditOut); err != nil {
		return 0, err
	}
	e := api.Event{Name: EventExport, Object: "audit", Detail: detail}
	if err := rd.log.Note(ctx, api.ActorOf(ctx), e); err != nil {
		return 0, api.NotRecorded("export the audit trail", "nothing is exported from it", err)
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
		_, err := fmt.Fprintf(out, "{\"hash\":\"%s\",\"record\":%s}\n", r.Hash, r.Bytes)
		return err
	})
	return n, errors.Join(err, out.Flush())
}

// ErrNoRecord: there is no such record.
var ErrNoRecord = errors.New("audit: no such record")

// Head is the end of the chain.
type Head struct {
	Chain string    // name of the log, made with its first record
	N     int64     // number of records, which is the seq of the last
	Hash  string    // of the last; zeros if there is none
	At    time.Time // of the last; zero if there is none
	Epoch int64     // the record that began the present epoch; 0: an older program wrote the trail
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

	Epoch      bool              // for Append: an epoch begins with it
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
	// Checkpoints returns the newest checkpoint of each key.
	Checkpoints(ctx context.Context) ([]StoredCheckpoint, error)
	// PutCheckpoint stores a checkpoint unless the key has one of at least as many records.
	PutCheckpoint(ctx context.Context, p StoredCheckpoint) error
	// Segments returns the segments whose records are not in the store yet, oldest first.
	Segments(ctx context.Context) ([]Segment, error)
	// Import stores the rows of a segment and forgets the segment, all or nothing.
	Import(ctx context.Context, s Segment, rows []Row) error
}

// each calls fn for the rows in order.
func (c *core) each(ctx context.Context, from, to int64, fn func(Row) error) error {
	for from <= to {
		rows, err := c.opt.Store.Rows(ctx, from, 500)
		if err != nil || len(rows) == 0 {
			return err
		}
		for _, r := range rows {
			if r.Seq > to {
				return nil
			}
			if err := fn(r); err != nil {
				return err
			}
		}
		from = rows[len(rows)-1].Seq + 1
	}
	return nil
}
