package receiver

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"opdeck/internal/system/listen"
)

const (
	rejectsEvery = 100 * time.Millisecond // between writes, so that a flood costs the store little
	rejectsWrite = 8 * time.Second        // for one write
)

// rejects collects rejected deliveries until it writes them: the counts, and the last MaxRejected.
type rejects struct {
	store func(context.Context, []RejectCount, []Rejection) error // nil: nothing is stored
	log   *slog.Logger
	lines listen.LogLimit

	mu     sync.Mutex             // guards the next two
	counts map[string]RejectCount // by reason, since the last write
	last   []Rejection            // oldest first

	wake    chan struct{} // holds one token: there is something to write
	stop    chan struct{}
	once    sync.Once
	stopped chan struct{}
}

func newRejects(store func(context.Context, []RejectCount, []Rejection) error, log *slog.Logger) *rejects {
	r := &rejects{store: store, log: log, counts: map[string]RejectCount{}, wake: make(chan struct{}, 1),
		stop: make(chan struct{}), stopped: make(chan struct{})}
	go r.run()
	return r
}

// add counts a rejection and, with keep, stores it.
func (r *rejects) add(x Rejection, keep bool) {
	if r.store == nil {
		return
	}
	one := RejectCount{Reason: x.Reason, N: 1, First: x.At, Last: x.At, Detail: x.Detail, Source: x.Source}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts[x.Reason] = r.counts[x.Reason].and(one)
	if keep {
		r.last = newest(append(r.last, x))
	}
	r.signal()
}

func (r *rejects) signal() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func newest(list []Rejection) []Rejection { return list[max(0, len(list)-MaxRejected):] }

func (r *rejects) run() {
	defer close(r.stopped)
	for {
		select {
		case <-r.wake:
		case <-r.stop:
			r.write()
			return
		}
		r.write()
		select {
		case <-time.After(rejectsEvery):
		case <-r.stop:
		}
	}
}

// write stores what was collected. What cannot be stored is kept for the next write.
func (r *rejects) write() {
	r.mu.Lock()
	counts, last := r.counts, r.last
	r.counts, r.last = map[string]RejectCount{}, nil
	r.mu.Unlock()
	if len(counts) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), rejectsWrite)
	defer cancel()
	list := slices.SortedFunc(maps.Values(counts), func(a, b RejectCount) int { return a.Last.Compare(b.Last) })
	err := r.store(ctx, list, last)
	if err == nil {
		return
	}
	if n, ok := r.lines.Allow(err.Error(), "", time.Now()); ok {
		r.log.Warn("rejected webhooks cannot be noted now", "err", err, "held_back", n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for reason, newer := range r.counts {
		counts[reason] = counts[reason].and(newer)
	}
	r.counts, r.last = counts, newest(append(last, r.last...))
	r.signal()
}

// close writes the rest and stops.
func (r *rejects) close(ctx context.Context) error {
	r.once.Do(func() { close(r.stop) })
	select {
	case <-r.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

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

// and adds later rejections for the same reason.
func (c RejectCount) and(later RejectCount) RejectCount {
	if c.N > 0 {
		later.First = c.First
	}
	later.N += c.N
	return later
}

// Stray reports whether any passer-by causes it by trying paths, without any proof; it says nothing about the feed.
func (c RejectCount) Stray() bool { return c.Reason == reasonStray }

// Passing reports whether the sender should retry.
func (c RejectCount) Passing() bool { return c.Reason == reasonTooMany || c.Reason == reasonNotStored }

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
