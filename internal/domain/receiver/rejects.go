package receiver

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Limits of the stored rejected deliveries.
const (
	MaxRejected     = 100     // deliveries per account
	MaxRejectedBody = 4 << 10 // bytes of each body
)

// Rejection is the stored part of a rejected delivery, without any secret.
type Rejection struct {
	ID        int64
	At        time.Time
	Status    int    // HTTP status of the answer
	Reason    string // one of a few words: "signature", "algorithm", "path", …
	Detail    string // what was wrong and which setting to change, a sentence; safe to print
	Source    Source
	Algorithm string   // of a JWT, safe to print; "" when not known
	Claims    []string // names of a JWT's claims, safe to print
	Request   string   // method and path, safe to print
	Header    []HeaderField
	Body      []byte // the start of the body
	Size      int64  // bytes of the body that were read
}

// HeaderField is one line of a header. Value is Redacted for every name that may hold a secret.
type HeaderField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Redacted replaces a value that is not stored.
const Redacted = "••••"

const rejectedKey = "rejected:"

// Key identifies the rejection for people: rejected:12.
func (r Rejection) Key() string { return rejectedKey + strconv.FormatInt(r.ID, 10) }

// RejectionID parses a Key; ok is false for any other key.
func RejectionID(key string) (id int64, ok bool) {
	n, is := strings.CutPrefix(key, rejectedKey)
	if !is {
		return 0, false
	}
	id, err := strconv.ParseInt(n, 10, 64)
	return id, err == nil && id > 0
}

// RejectCount is the number of deliveries rejected for one reason.
type RejectCount struct {
	Reason      string
	N           int64
	First, Last time.Time
	Detail      string // of the last one
	Source      Source // of the last one
}

// Stray reports whether any passer-by causes it by trying paths, without any proof; it says nothing about the feed.
func (c RejectCount) Stray() bool { return c.Reason == reasonStray }

// Passing reports whether the sender should retry.
func (c RejectCount) Passing() bool { return c.Reason == reasonTooMany || c.Reason == reasonNotStored }

// Rejects stores the rejected deliveries of one account.
type Rejects interface {
	// Reject adds to the counts and stores the deliveries; of more than MaxRejected, Overflow drops some.
	Reject(ctx context.Context, counts []RejectCount, kept []Rejection) error
	// Rejected returns the newest deliveries first.
	Rejected(ctx context.Context, limit int) ([]Rejection, error)
	// Rejection returns one, or ErrNotFound.
	Rejection(ctx context.Context, id int64) (Rejection, error)
	// RejectCounts returns the counts, most recent reason first.
	RejectCounts(ctx context.Context) ([]RejectCount, error)
}

// Trouble is the state of the feed for its operator.
type Trouble struct {
	Backlog  Backlog
	Rejected []RejectCount // most recent reason first
}

// Refusals sums the reasons that concern the feed and are not temporary: their number, and the last one.
func (t Trouble) Refusals() (n int64, last RejectCount) {
	for _, c := range t.Rejected {
		if c.Stray() || c.Passing() {
			continue
		}
		if n == 0 {
			last = c
		}
		n += c.N
	}
	return n, last
}
