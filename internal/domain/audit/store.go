package audit

import (
	"context"
	"errors"
	"time"
)

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
