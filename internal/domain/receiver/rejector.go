package receiver

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"opdeck/internal/system/listen"
)

const (
	rejectFlood = 10              // longer pauses during a flood
	rejectWrite = 8 * time.Second // for one write
)

// rejector collects rejected deliveries and writes them in intervals, so that a flood of them costs the store little.
// What cannot be written waits, within limits.
type rejector struct {
	store func(context.Context, []RejectCount, []Rejection) error // nil: not stored
	pause time.Duration                                           // between writes
	log   *slog.Logger
	lines listen.LogLimit

	mu     sync.Mutex              // guards the next two
	counts map[string]*RejectCount // by reason, since the last write
	kept   []Rejection             // oldest first

	wake    chan struct{} // holds one token: there is something to write
	stop    chan struct{}
	once    sync.Once
	stopped chan struct{}
}

func newRejector(opt Options) *rejector {
	r := &rejector{store: opt.Rejects, pause: opt.RejectEvery, log: opt.Log, counts: map[string]*RejectCount{},
		wake: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan struct{})}
	go r.run()
	return r
}

// add counts a rejection and, with keep, stores it.
func (r *rejector) add(x Rejection, keep bool) {
	if r.store == nil {
		return
	}
	r.mu.Lock()
	c := r.counts[x.Reason]
	if c == nil {
		c = &RejectCount{Reason: x.Reason, First: x.At}
		r.counts[x.Reason] = c
	}
	c.N++
	c.Last, c.Detail, c.Source = x.At, x.Detail, x.Source
	if keep {
		r.keep(x)
	}
	r.mu.Unlock()
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

func (r *rejector) keep(more ...Rejection) {
	r.kept = append(r.kept, more...)
	sources := make([]Source, len(r.kept))
	for i, x := range r.kept {
		sources[i] = x.Source
	}
	drop := Overflow(sources, MaxRejected)
	i := -1
	r.kept = slices.DeleteFunc(r.kept, func(Rejection) bool { i++; return drop[i] })
}

func (r *rejector) run() {
	defer close(r.stopped)
	for {
		select {
		case <-r.wake:
		case <-r.stop:
			r.write()
			return
		}
		pause := r.pause
		if r.write() >= MaxRejected/2 {
			pause *= rejectFlood
		}
		t := time.NewTimer(pause)
		select {
		case <-t.C:
		case <-r.stop:
		}
		t.Stop()
	}
}

// write stores what was collected and returns the number of deliveries. What cannot be stored is kept for the next
// write.
func (r *rejector) write() int {
	r.mu.Lock()
	counts, kept := r.counts, r.kept
	r.counts, r.kept = map[string]*RejectCount{}, nil
	r.mu.Unlock()
	if len(counts) == 0 {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), rejectWrite)
	defer cancel()
	list := make([]RejectCount, 0, len(counts))
	for _, c := range counts {
		list = append(list, *c)
	}
	slices.SortFunc(list, func(a, b RejectCount) int { return a.Last.Compare(b.Last) })
	err := r.store(ctx, list, kept)
	if err == nil {
		return len(kept)
	}
	if n, ok := r.lines.Allow(err.Error(), "", time.Now()); ok {
		r.log.Warn("rejected webhooks cannot be noted now", "err", err, "held_back", n)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for reason, old := range counts {
		c := r.counts[reason]
		if c == nil {
			r.counts[reason] = old
			continue
		}
		c.N, c.First = c.N+old.N, old.First
	}
	newer := r.kept
	r.kept = kept
	r.keep(newer...)
	select {
	case r.wake <- struct{}{}: // after the pause
	default:
	}
	return len(kept)
}

// close writes the rest and stops.
func (r *rejector) close(ctx context.Context) error {
	r.once.Do(func() { close(r.stop) })
	select {
	case <-r.stopped:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Overflow marks entries of a list, oldest first, to drop until most remain: repeatedly the oldest one of the source
// with most entries. So a flood from one source does not displace others.
func Overflow(sources []Source, most int) (drop []bool) {
	drop = make([]bool, len(sources))
	n := map[Source]int{}
	for _, s := range sources {
		n[s]++
	}
	for left := len(sources); left > most; left-- {
		biggest := 0
		for _, k := range n {
			biggest = max(biggest, k)
		}
		i := 0
		for drop[i] || n[sources[i]] < biggest {
			i++
		}
		drop[i] = true
		n[sources[i]]--
	}
	return drop
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
