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

// MaxBody is the largest body that is taken, in bytes.
const MaxBody = 256 << 10

// MaxUnpacked is the largest text of a compressed body, in bytes.
const MaxUnpacked = 4 << 20

// Options of a Receiver. Zero fields have the defaults named.
type Options struct {
	Inbox Inbox // needed
	// Rejects keeps what was not accepted; nil: it is only counted.
	Rejects Rejects
	// Verifier judges what comes over HTTP. Without one nothing is taken there;
	// Send and Replay work.
	Verifier hook.Verifier
	// Header is where the proof of a delivery is found; its value is never kept.
	Header string // "Authorization"
	Path   string // "/hooks"
	// Proxies are the addresses of the proxy in front. Only they may then
	// connect, and the sender is the last address in X-Forwarded-For that is
	// not one of them. Empty: no proxy, and that header is not looked at.
	Proxies []netip.Prefix

	Queue        int           // 512: deliveries that may wait for the inbox
	InFlight     int           // 256: requests that are verified and stored at a time
	InFlightEach int           // 128: of these, from one source
	PerSource    float64       // 5000: requests a second from one source; negative: no bound
	BodyTimeout  time.Duration // 10 s: for all of a body
	StoreTimeout time.Duration // 8 s: then the sender is asked to retry
	RetryAfter   time.Duration // 5 s: the Retry-After header
	RejectEvery  time.Duration // 200 ms: the shortest time between two writes to Rejects

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

// Receiver is the webhook endpoint: an http.Handler, and the ways in that need
// no network. Close it.
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

// Close takes nothing more and stores what waits.
func (r *Receiver) Close(ctx context.Context) error {
	return errors.Join(r.batch.close(ctx), r.rejects.close(ctx))
}

// accept stores a delivery that was authenticated.
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

// stored logs new rows and notifies who waits for them.
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

// Send puts a body through the receiver without the network. It is marked as
// manual and is unverified, whatever it says of itself.
func (r *Receiver) Send(ctx context.Context, body []byte) (Result, error) {
	if len(body) == 0 || len(body) > MaxBody {
		return Result{}, fmt.Errorf("webhooks: the body has %d bytes; 1 to %d are taken", len(body), MaxBody)
	}
	bodies, err := hook.Parts(body, "", "", MaxUnpacked)
	if err != nil {
		bodies = [][]byte{body} // set aside as it is: nobody would send it again
	}
	var first Result
	for i, one := range bodies {
		res, err := r.accept(ctx, delivery{body: one, verdict: hook.Verdict{Verifier: string(Manual)}, source: Manual,
			at: r.opt.Now()})
		if err != nil {
			return first, err
		}
		if i == 0 {
			first = res
		}
	}
	return first, nil
}

// Replay puts a stored delivery through the receiver again: it is read again and
// who waits for rows is notified once more. No row is made of it; the
// attempt is kept. The error is a *hook.Malformed when it still cannot be used.
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
