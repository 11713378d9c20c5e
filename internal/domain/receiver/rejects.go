package receiver

import (
	"context"
	"strconv"
	"strings"
	"time"
)

// Bounds of what is kept of deliveries that were not accepted.
const (
	MaxRejected     = 100     // deliveries, of one account
	MaxRejectedBody = 4 << 10 // bytes of each body
)

// Rejection is one delivery that was not accepted, as far as it is kept: no
// secret is in it.
type Rejection struct {
	ID        int64
	At        time.Time
	Status    int    // the answer: HTTP status
	Reason    string // one of a few words: "signature", "algorithm", "path", …
	Detail    string // a sentence: what was wrong, and what to set; safe to print
	Source    Source
	Algorithm string   // of a JWT, safe to print; "" when not known
	Claims    []string // names of a JWT's claims, safe to print
	Request   string   // method and path, safe to print
	Header    []HeaderField
	Body      []byte // its beginning
	Size      int64  // of the body, as far as it was read
}

// HeaderField is one line of a header. Value is Hidden for every name that is not
// known to hold no secret.
type HeaderField struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Redacted replaces a value that is not kept.
const Redacted = "••••"

const rejectedKey = "rejected:"

// Key names the rejection for people: rejected:12.
func (r Rejection) Key() string { return rejectedKey + strconv.FormatInt(r.ID, 10) }

// RejectionID reads a Key; ok is false for the key of anything else.
func RejectionID(key string) (id int64, ok bool) {
	n, is := strings.CutPrefix(key, rejectedKey)
	if !is {
		return 0, false
	}
	id, err := strconv.ParseInt(n, 10, 64)
	return id, err == nil && id > 0
}

// RejectCount is how many deliveries were not accepted for one reason.
type RejectCount struct {
	Reason      string
	N           int64
	First, Last time.Time
	Detail      string // of the last one
	Source      Source // of the last one
}

// Stray reports whether it is what any passer-by causes who tries paths, without
// anything that could prove a delivery; it says nothing about the feed.
func (c RejectCount) Stray() bool { return c.Reason == reasonStray }

// Passing reports whether the sender was asked to retry.
func (c RejectCount) Passing() bool { return c.Reason == reasonTooMany || c.Reason == reasonNotStored }

// Rejects keeps what was not accepted, of one account.
type Rejects interface {
	// Reject adds to the counts and keeps the deliveries, of which only the last
	// MaxRejected stay; those of the source that has most go first.
	Reject(ctx context.Context, counts []RejectCount, kept []Rejection) error
	// Rejected returns the newest deliveries first.
	Rejected(ctx context.Context, limit int) ([]Rejection, error)
	// Rejection returns one, ErrNotFound if there is none.
	Rejection(ctx context.Context, id int64) (Rejection, error)
	// RejectCounts returns the counts, the reason that came last first.
	RejectCounts(ctx context.Context) ([]RejectCount, error)
}

// Trouble is what an operator of the feed should know.
type Trouble struct {
	Backlog  Backlog
	Rejected []RejectCount // the reason that came last first
}

// Refusals sums up the reasons that concern the feed and do not pass by
// themselves: how many there were, and the last one.
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
