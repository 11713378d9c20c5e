// Package receiver receives the service's webhooks, over HTTP or by hand, and stores them in an inbox before it
// acknowledges them.
//
// The order is fixed: method and path, limits, the raw body, authentication of its bytes, decoding, durable storage,
// and only then 200. Everything else happens afterwards: listeners for new rows are notified and can never delay the
// answer. If a delivery cannot be stored, the answer is 503, and the sender retries; if it cannot be decoded, it is
// stored unchanged, with the reason.
//
// The service documents neither retries nor order. So a repeated hook_id is one event, the same hook_id with another
// body is a conflict that is stored and shown, and the inbox is ordered by arrival.
package receiver

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/system/listen"
)

// MaxBody is the largest accepted body, in bytes.
const MaxBody = 256 << 10

// MaxUnpacked is the largest uncompressed body, in bytes.
const MaxUnpacked = 4 << 20

// Options of a Receiver. Zero fields mean the defaults below.
type Options struct {
	Inbox Inbox // required
	// Rejects adds to the counts and stores rejected deliveries; of more than MaxRejected, Overflow drops some. nil: they
	// are only counted.
	Rejects func(ctx context.Context, counts []RejectCount, kept []Rejection) error
	// Verifier authenticates deliveries over HTTP. Without one they are refused; Send and Replay work.
	Verifier hook.Verifier
	// Header is the header field of the proof; its value is never stored.
	Header string // "Authorization"
	Path   string // "/hooks"
	// Proxies are the addresses of the proxies in front. If set, only they may connect, and the sender is the last
	// address in X-Forwarded-For that is not one of them. Empty: no proxy, and that header is ignored.
	Proxies []netip.Prefix

	Queue        int           // 512: deliveries waiting for the inbox
	InFlight     int           // 256: concurrent requests
	InFlightEach int           // 128: of these, from one source
	PerSource    float64       // 5000: requests a second from one source; negative: no limit
	BodyTimeout  time.Duration // 10 s: for a complete body
	StoreTimeout time.Duration // 8 s: then the sender should retry
	RetryAfter   time.Duration // 5 s: the Retry-After header
	RejectEvery  time.Duration // 200 ms: least time between writes to Rejects

	Log *slog.Logger     // discards
	Now func() time.Time // time.Now
}

func (o *Options) defaults() {
	o.Header, o.Path = cmp.Or(o.Header, "Authorization"), cmp.Or(o.Path, "/hooks")
	o.Queue, o.InFlight, o.PerSource = cmp.Or(o.Queue, 512), cmp.Or(o.InFlight, 256), cmp.Or(o.PerSource, 5000)
	o.InFlightEach = cmp.Or(o.InFlightEach, max(o.InFlight/2, 1))
	o.BodyTimeout, o.StoreTimeout = cmp.Or(o.BodyTimeout, 10*time.Second), cmp.Or(o.StoreTimeout, 8*time.Second)
	o.RetryAfter, o.RejectEvery = cmp.Or(o.RetryAfter, 5*time.Second), cmp.Or(o.RejectEvery, 200*time.Millisecond)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Receiver is the webhook endpoint: an http.Handler, and methods that need no network. The caller closes it.
type Receiver struct {
	opt                        Options
	batch                      *batcher
	bounds                     *bounds
	hub                        hub
	refused, limited, rejected atomic.Int64 // as in Counters
	rejects                    *rejector
	lines                      listen.LogLimit // about deliveries
}

// New starts a receiver.
func New(opt Options) (*Receiver, error) {
	opt.defaults()
	switch {
	case opt.Inbox == nil:
		return nil, errors.New("webhooks: a receiver needs an inbox")
	case !strings.HasPrefix(opt.Path, "/") || strings.Contains(opt.Path, "//") || strings.ContainsAny(opt.Path, "?#% "):
		return nil, fmt.Errorf("webhooks: %q is not a valid path; write it like /hooks", opt.Path)
	case opt.Verifier != nil && opt.Verifier.Name() == hook.VerifyNone && len(opt.Proxies) > 0:
		return nil, errors.New("webhooks: verify = \"none\" is for this host only and cannot be used behind a proxy")
	}
	r := &Receiver{opt: opt, bounds: newBounds(opt.PerSource, opt.InFlight, opt.InFlightEach),
		rejects: newRejector(opt)}
	r.batch = newBatcher(opt.Inbox, opt.Queue, opt.StoreTimeout, r.stored)
	return r, nil
}

// Close refuses new deliveries and stores what waits.
func (r *Receiver) Close(ctx context.Context) error {
	return errors.Join(r.batch.close(ctx), r.rejects.close(ctx))
}

// accept stores an authenticated delivery.
func (r *Receiver) accept(ctx context.Context, d delivery) (Result, error) {
	res, err := r.batch.put(ctx, read(d))
	if err != nil {
		r.refused.Add(1)
		if n, ok := r.lines.Allow(err.Error(), "not stored", r.opt.Now()); ok {
			r.opt.Log.Error("webhooks cannot be stored; their senders are asked to retry", "err", err, "source",
				string(d.source), "held_back", n)
		}
		return Result{}, err
	}
	return res, nil
}

// stored logs new rows and notifies the listeners.
func (r *Receiver) stored(results []Result) {
	for _, res := range results {
		s := res.Stored
		switch {
		case res.Outcome == OutcomeDuplicate, res.Outcome == OutcomeReused:
			continue
		case res.Outcome == OutcomeConflict:
			r.opt.Log.Warn("webhook conflict: a known hook_id arrived with another body", "hook_id", s.HookID, "source",
				string(s.Source))
		case s.Status == Quarantined:
			r.opt.Log.Warn("webhook set aside", "key", s.Key, "reason", string(s.Reason), "source", string(s.Source))
		}
		r.hub.notify()
	}
}

// Replay decodes a stored delivery again and notifies the listeners. It adds no row, but stores the attempt. The
// error is a *hook.Malformed if it is still unusable.
func (r *Receiver) Replay(ctx context.Context, key string) (Stored, error) {
	s, err := r.opt.Inbox.Get(ctx, key)
	if err != nil {
		return Stored{}, err
	}
	a := Attempt{Key: s.Key, Act: "local", Target: "receiver", At: r.opt.Now().UTC(), Status: 200}
	_, bad := s.Event()
	if bad != nil {
		a.Status, a.Error = 0, bad.Error()
	}
	if err := r.opt.Inbox.AddAttempt(ctx, a); err != nil {
		return s, err
	}
	if bad != nil {
		return s, bad
	}
	r.hub.notify()
	return s, nil
}

// delivery is an accepted body with the circumstances of its arrival.
type delivery struct {
	body    []byte
	verdict hook.Verdict
	source  Source
	at      time.Time
}

// read makes the record of a delivery. It cannot fail: an unusable delivery is quarantined with the reason.
func read(d delivery) Record {
	r := Record{
		Raw: d.body, Hash: sha256.Sum256(d.body), ReceivedAt: d.at.UTC(), Source: d.source, Verdict: d.verdict,
		Status: Unverified,
	}
	r.Token, r.Verdict.Token = d.verdict.Token, nil
	if d.verdict.Authenticated {
		r.Status = Verified
	}
	e, err := hook.Decode(d.body)
	if err != nil {
		var bad *hook.Malformed
		if !errors.As(err, &bad) {
			bad = &hook.Malformed{Reason: hook.ReasonShape, Detail: "it cannot be read"}
		}
		return r.quarantine(bad)
	}
	r.Key, r.HookID, r.Type, r.Object, r.ObjectID, r.CUID = e.ID, e.ID, e.Type, e.Object, e.ObjectID, e.CUID
	return r
}

func (r Record) quarantine(bad *hook.Malformed) Record {
	r.Status, r.Reason, r.Detail = Quarantined, bad.Reason, bad.Detail
	r.HookID, r.Type, r.Object = bad.ID, bad.Type, bad.Object
	if r.Key = bad.ID; r.Key == "" {
		r.Key = "sha256:" + hex.EncodeToString(r.Hash[:])
	}
	return r
}

// learnFrom bounds the events of one operation that are compared with a read.
const learnFrom = 200

// Learn compares one read of an operation, sent at that time, with the authenticated events of the same operation and
// stores what they show about the codes. It returns the number of observations.
func Learn(ctx context.Context, inbox Inbox, op api.Operation, sent time.Time) (int, error) {
	rows, err := inbox.List(ctx, Filter{Object: hook.ObjectOperation, ObjectID: string(op.OPID),
		Statuses: []Status{Verified}, Limit: learnFrom})
	if err != nil || len(rows) == 0 {
		return 0, err
	}
	var events []hook.ReceivedEvent
	for _, s := range rows {
		if e, err := s.Event(); err == nil {
			events = append(events, hook.ReceivedEvent{Event: e, ReceivedAt: s.ReceivedAt, Bound: s.Verdict.Bound})
		}
	}
	pairs := hook.Pairs(events, hook.Read{Operation: op, At: sent})
	if len(pairs) == 0 {
		return 0, nil
	}
	return len(pairs), inbox.AddPairs(ctx, pairs)
}

// hub notifies listeners in this process of new rows.
type hub struct {
	mu    sync.Mutex // guards chans
	chans map[chan<- struct{}]bool
}

// Notify sends to c, without blocking, when a row was stored or replayed, until stop is called. Give c room for one:
// the rows are read from the inbox.
func (r *Receiver) Notify(c chan<- struct{}) (stop func()) {
	h := &r.hub
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.chans == nil {
		h.chans = map[chan<- struct{}]bool{}
	}
	h.chans[c] = true
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.chans, c)
	}
}

func (h *hub) notify() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.chans {
		select {
		case c <- struct{}{}:
		default: // already notified
		}
	}
}

// followPage bounds the events of one Next.
const followPage = 100

// Follower reads the inbox in order, including events of other processes. It is not safe for concurrent use; a screen
// runs one Next at a time as a command.
type Follower struct {
	inbox Inbox
	seq   int64
	every time.Duration
	wake  <-chan struct{}
}

// Follow starts after seq (0: from the first event; LastSeq: only new ones) and polls at least once in every. wake
// may be the channel of a Notify, which avoids the wait if the receiver is in this process, or nil.
func Follow(inbox Inbox, seq int64, every time.Duration, wake <-chan struct{}) *Follower {
	return &Follower{inbox: inbox, seq: seq, every: every, wake: wake}
}

// Each passes the events that choose accepts to fn, in order, until ctx ends, and then returns nil; it also ends with
// an error of the inbox or of fn.
func (f *Follower) Each(ctx context.Context, choose func(Stored) bool, fn func(Stored) error) error {
	for {
		events, err := f.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, s := range events {
			if !choose(s) {
				continue
			}
			if err := fn(s); err != nil {
				return err
			}
		}
	}
}

// Next waits for events and returns at least one, oldest first. After an error of the inbox the position is
// unchanged, so it can be called again.
func (f *Follower) Next(ctx context.Context) ([]Stored, error) {
	for {
		events, err := f.inbox.After(ctx, f.seq, followPage)
		if err != nil {
			return nil, err
		}
		if n := len(events); n > 0 {
			f.seq = events[n-1].Seq
			return events, nil
		}
		waitFor(ctx, f.every, f.wake)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
}

// Counters counts what the receiver turned away since it started.
type Counters struct {
	Refused  int64 // not stored in time: 503
	Limited  int64 // over a limit: 503
	Rejected int64 // wrong method, path, size or body: 4xx
	Queued   int   // deliveries that wait for the inbox now
}

// Counters returns the counts.
func (r *Receiver) Counters() Counters {
	return Counters{r.refused.Load(), r.limited.Load(), r.rejected.Load(), len(r.batch.in)}
}

// bounds limits the requests a second of one source, and the concurrent requests in total and of one source.
type bounds struct {
	rate        float64 // requests a second, with a burst of one second; 0 or less: no limit
	total, each int     // concurrent requests

	mu   sync.Mutex // guards the rest
	used int
	by   map[netip.Addr]*load
}

// load is a source's usage of its limits.
type load struct {
	working int
	left    float64 // requests of the burst left at that time
	at      time.Time
}

const maxSources = 10_000 // remembered

func newBounds(rate float64, total, each int) *bounds {
	return &bounds{rate: rate, total: total, each: each, by: map[netip.Addr]*load{}}
}

// of returns the source's load. The caller holds mu.
func (b *bounds) of(source netip.Addr, now time.Time) *load {
	l := b.by[source]
	if l == nil {
		if len(b.by) >= maxSources {
			b.forget(now)
		}
		l = &load{left: b.rate, at: now}
		b.by[source] = l
	}
	return l
}

// allow reports whether the source may send one more request now.
func (b *bounds) allow(source netip.Addr, now time.Time) bool {
	if b.rate <= 0 {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	l := b.of(source, now)
	if d := now.Sub(l.at).Seconds(); d > 0 {
		l.left, l.at = min(b.rate, l.left+d*b.rate), now
	}
	if l.left < 1 {
		return false
	}
	l.left--
	return true
}

// acquire reports whether one more request of the source may be handled; release ends it.
func (b *bounds) acquire(source netip.Addr, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := b.by[source]; b.used >= b.total || l != nil && l.working >= b.each {
		return false
	}
	b.used++
	b.of(source, now).working++
	return true
}

func (b *bounds) release(source netip.Addr) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used--
	if l := b.by[source]; l.working > 1 || b.rate > 0 {
		l.working--
	} else {
		delete(b.by, source)
	}
}

// forget drops idle sources with their full rate; if there is none, all idle ones.
func (b *bounds) forget(now time.Time) {
	for _, idle := range []time.Duration{time.Second, 0} {
		for a, l := range b.by {
			if l.working == 0 && now.Sub(l.at) >= idle {
				delete(b.by, a)
			}
		}
		if len(b.by) < maxSources {
			return
		}
	}
}
