package receiver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"time"

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
	// Rejects stores rejected deliveries; nil: they are only counted.
	Rejects Rejects
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
	opt     Options
	batch   *batcher
	bounds  *bounds
	hub     hub
	stats   stats
	rejects *rejector
	lines   listen.LogLimit // about deliveries
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
		rejects: newRejector(opt.Rejects, opt.RejectEvery, opt.Log)}
	r.batch = newBatcher(opt.Inbox, opt.Queue, opt.StoreTimeout, r.stats.committed, r.stored)
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
		r.stats.count(func(c *Counters) { c.Refused++ })
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
