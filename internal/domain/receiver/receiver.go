// Package receiver receives the service's webhooks and stores them in an inbox before it acknowledges them.
//
// The order is fixed: method and path, the raw body within a size and a time, a place among the requests at work,
// authentication of its bytes, decoding, durable storage, and only then 200. Everything else happens afterwards:
// listeners for new rows are notified and can never delay the answer. If a delivery cannot be stored, the answer is
// 503, and the sender retries; if it cannot be decoded, it is stored unchanged, with the reason.
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

	"opdeck/api/hook"
	"opdeck/internal/system/listen"
)

// MaxBody is the largest accepted body, in bytes.
const MaxBody = 256 << 10

// Options of a Receiver. Zero fields mean the defaults below.
type Options struct {
	Inbox Inbox // required
	// Rejects adds to the counts and stores rejected deliveries. nil: they are not stored.
	Rejects func(ctx context.Context, counts []RejectCount, last []Rejection) error
	// Verifier authenticates deliveries over HTTP. Without one they are refused; Replay works.
	Verifier hook.Verifier
	// Header is the header field of the proof; its value is never stored.
	Header string // "Authorization"
	Path   string // "/hooks"
	// Proxies are the addresses of the proxies in front. If set, only they may connect, and the sender is the last
	// address in X-Forwarded-For that is not one of them. Empty: no proxy, and that header is ignored.
	Proxies []netip.Prefix

	AtWork       int           // 256: requests that are verified and stored at a time
	BodyTimeout  time.Duration // 10 s: for a complete body
	StoreTimeout time.Duration // 8 s: then the sender should retry

	Log *slog.Logger     // discards
	Now func() time.Time // time.Now
}

func (o *Options) defaults() {
	o.Header, o.Path, o.AtWork = cmp.Or(o.Header, "Authorization"), cmp.Or(o.Path, "/hooks"), cmp.Or(o.AtWork, 256)
	o.BodyTimeout, o.StoreTimeout = cmp.Or(o.BodyTimeout, 10*time.Second), cmp.Or(o.StoreTimeout, 8*time.Second)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
}

// Receiver is the webhook endpoint: an http.Handler, and methods that need no network. The caller closes it.
type Receiver struct {
	opt                        Options
	places                     chan struct{} // holds one for each request at work; full once closed
	closing                    sync.Once
	idle                       chan struct{} // closed when none is at work any more
	refused, limited, rejected atomic.Int64  // as in Counters
	rejects                    *rejects
	lines                      listen.LogLimit // about deliveries

	mu    sync.Mutex // guards chans
	chans map[chan<- struct{}]bool
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
	return &Receiver{opt: opt, places: make(chan struct{}, opt.AtWork), idle: make(chan struct{}),
		rejects: newRejects(opt.Rejects, opt.Log), chans: map[chan<- struct{}]bool{}}, nil
}

// Close refuses later requests, waits for those at work, and stores what was rejected. After an error some may still be
// at work. It may be called again.
func (r *Receiver) Close(ctx context.Context) error {
	r.closing.Do(func() {
		go func() {
			for range cap(r.places) {
				r.places <- struct{}{}
			}
			close(r.idle)
		}()
	})
	select {
	case <-r.idle:
		return r.rejects.close(ctx)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// store stores an authenticated delivery.
func (r *Receiver) store(ctx context.Context, rec Record) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opt.StoreTimeout)
	defer cancel()
	res, err := r.opt.Inbox.Insert(ctx, rec)
	if err != nil {
		r.refused.Add(1)
		if n, ok := r.lines.Allow(err.Error(), "not stored", r.opt.Now()); ok {
			r.opt.Log.Error("webhooks cannot be stored; their senders are asked to retry", "err", err, "source",
				string(rec.Source), "held_back", n)
		}
		return res, err
	}
	s := res.Stored
	switch {
	case res.Outcome == OutcomeDuplicate, res.Outcome == OutcomeReused:
		return res, nil
	case res.Outcome == OutcomeConflict:
		r.opt.Log.Warn("webhook conflict: a known hook_id arrived with another body", "hook_id", s.HookID, "source",
			string(s.Source))
	case s.Status == Quarantined:
		r.opt.Log.Warn("webhook set aside", "key", s.Key, "reason", string(s.Reason), "source", string(s.Source))
	}
	r.notify()
	return res, nil
}

// Replay decodes a stored delivery again and notifies the listeners. It adds no row. The error is a *hook.Malformed if
// it is still unusable.
func (r *Receiver) Replay(ctx context.Context, key string) (Stored, error) {
	s, err := r.opt.Inbox.Get(ctx, key)
	if err == nil {
		_, err = s.Event()
	}
	if err == nil {
		r.notify()
	}
	return s, err
}

// recordOf makes the record of an accepted body. It cannot fail: an unusable one is quarantined with the reason.
func recordOf(body []byte, verdict hook.Verdict, source Source, at time.Time) Record {
	r := Record{Raw: body, Hash: sha256.Sum256(body), ReceivedAt: at.UTC(), Source: source, Verdict: verdict,
		Status: Unverified, Token: verdict.Token}
	r.Verdict.Token = nil
	if verdict.Authenticated {
		r.Status = Verified
	}
	e, err := hook.Decode(body)
	var bad *hook.Malformed
	if errors.As(err, &bad) {
		r.Status, r.Reason, r.Detail = Quarantined, bad.Reason, bad.Detail
		r.HookID, r.Type, r.Object = bad.ID, bad.Type, bad.Object
		r.Key = cmp.Or(bad.ID, "sha256:"+hex.EncodeToString(r.Hash[:]))
		return r
	}
	r.Key, r.HookID, r.Type, r.Object, r.ObjectID, r.CUID = e.ID, e.ID, e.Type, e.Object, e.ObjectID, e.CUID
	return r
}

// Notify sends to c, without blocking, when a row was stored or replayed, until stop is called. Give c room for one:
// the rows are read from the inbox.
func (r *Receiver) Notify(c chan<- struct{}) (stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.chans[c] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.chans, c)
	}
}

func (r *Receiver) notify() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.chans {
		select {
		case c <- struct{}{}:
		default: // already notified
		}
	}
}

// Counters counts what the receiver turned away since it started.
type Counters struct {
	Refused  int64 // not stored in time: 503
	Limited  int64 // too many at work: 503
	Rejected int64 // wrong method, path, size or body: 4xx
	AtWork   int   // deliveries that are verified and stored now
}

// Counters returns the counts.
func (r *Receiver) Counters() Counters {
	return Counters{r.refused.Load(), r.limited.Load(), r.rejected.Load(), len(r.places)}
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
