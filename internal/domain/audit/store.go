package audit

import (
	"context"
	"errors"
	"time"
)

// ErrNoRecord says that there is no such record.
var ErrNoRecord = errors.New("audit: no such record")

// Head is the end of the chain.
type Head struct {
	Chain string    // the log's name, made with its first record
	N     int64     // number of records, the seq of the last
	Hash  string    // of the last; zeros when there is none
	At    time.Time // of the last; zero when there is none
	Edge  Edge      // of the tree of N records; set by Append only, nil when the store lacks hashes
}

// Row is a stored record: its exact bytes, their hash, and copies of some fields
// to find it by.
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

	Tree       []byte            // for Append: the hashes of Node
	Checkpoint *StoredCheckpoint // for Append: a checkpoint that covers the trail up to this record; nil for none
}

// StoredCheckpoint is the newest checkpoint of one key, as the store keeps it.
type StoredCheckpoint struct {
	Key  string // fingerprint
	N    int64  // records it covers
	Note string // a signed note
}

// Derived is what the store says about the trail beside the records, at one moment.
type Derived struct {
	Head Head
	Open map[string]int64 // intents without an outcome: seq by UID
}

// Query selects records. Empty fields select all.
type Query struct {
	Actor  string    // a person's name
	Object string    // kind of object: operation, customer, …
	ID     string    // an object or an item of it
	Event  string    // a name; with "*" at its end the beginning of names
	Phase  Phase     // one phase only
	From   time.Time // at or after
	Until  time.Time // before
	Before int64     // records with a smaller seq: the Next of the page before
	Limit  int       // records a page: 1 to 1000, 0 means 100
}

// Store keeps the rows. All its methods may be called from many processes.
type Store interface {
	// Append locks the end of the chain, asks next for the rows that follow it
	// and stores them all or none. They are durable when it returns nil.
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
	// Derived returns what is derived from the records, in one snapshot.
	Derived(ctx context.Context) (Derived, error)

	// Nodes returns the stored hashes of the tree by seq; what is missing is left out.
	Nodes(ctx context.Context, seqs []int64) (map[int64][]byte, error)
	// PutNodes stores hashes of the tree, in place of those that are there.
	PutNodes(ctx context.Context, nodes []Node) error
	// TreeSize returns for how many records after that one hashes are stored, and the last of all.
	TreeSize(ctx context.Context, after int64) (count, last int64, err error)
	// Checkpoints returns the newest checkpoint of each key.
	Checkpoints(ctx context.Context) ([]StoredCheckpoint, error)
	// Segments returns the segments of the archive, oldest first.
	Segments(ctx context.Context) ([]Segment, error)
	// Archive notes a segment, which follows the last one. It is durable when it returns nil.
	Archive(ctx context.Context, s Segment) error
	// DropArchived removes up to limit rows and hashes that segments hold, and returns how many. It leaves intents
	// without an outcome and acts in doubt with their outcomes, the records at which the newest checkpoint of
	// each key ends, and the hashes that the edges of the tree there and at the end of the archive need (EdgeSeqs).
	DropArchived(ctx context.Context, limit int) (int, error)
	// PutCheckpoint stores a checkpoint unless the key has one for as many records.
	PutCheckpoint(ctx context.Context, p StoredCheckpoint) error
}
