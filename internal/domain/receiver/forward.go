package receiver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"opdeck/api/hook"
)

// SendTimeout bounds one forward or replay, including its answer.
const SendTimeout = 30 * time.Second

// Forwarder sends stored bodies unchanged to a URL. It follows no redirect and stores every attempt in the inbox.
type Forwarder struct {
	inbox  Inbox
	client *http.Client
	target *url.URL
	sign   hook.Signer
	now    func() time.Time
}

// NewForwarder returns an error unless the target is https, or http to this host. sign signs the deliveries for the
// target (the original signature is not stored); nil sends them unsigned.
func NewForwarder(inbox Inbox, target string, sign hook.Signer) (*Forwarder, error) {
	u, err := url.Parse(target)
	switch {
	case err != nil || u.Host == "" || u.Opaque != "":
		return nil, errors.New("events: the target is not a URL; write it like http://127.0.0.1:3000/hooks")
	case u.User != nil:
		return nil, errors.New("events: the target must not contain a user or password")
	case u.Scheme != "https" && (u.Scheme != "http" || !isLoopbackHost(u.Host)):
		return nil, fmt.Errorf("events: the target must be https, or http to this host; it is %s", safeURL(u))
	}
	if sign == nil {
		sign = func(http.Header, []byte, time.Time) error { return nil }
	}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	t.MaxResponseHeaderBytes = 64 << 10
	return &Forwarder{inbox: inbox, target: u, sign: sign, now: time.Now, client: &http.Client{
		Transport: t, Timeout: SendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes idle connections.
func (f *Forwarder) Close() { f.client.CloseIdleConnections() }

// safeURL omits the parts that may hold a secret.
func safeURL(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

// forward sends one stored event and stores the attempt; act is "forward" or "replay". The error means that the
// attempt could not be stored; the target's answer is in the Attempt.
func (f *Forwarder) forward(ctx context.Context, s Stored, act string) (Attempt, error) {
	a := Attempt{Key: s.Key, Act: act, Target: safeURL(f.target), At: f.now().UTC()}
	began := time.Now()
	status, err := f.post(ctx, s)
	a.Status, a.Latency = status, time.Since(began).Truncate(time.Microsecond)
	if err != nil {
		a.Error = failure(err)
	}
	return a, f.inbox.AddAttempt(context.WithoutCancel(ctx), a)
}

func (f *Forwarder) post(ctx context.Context, s Stored) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, f.target.String(), bytes.NewReader(s.Raw))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "opdeck")
	if err := f.sign(req.Header, s.Raw, f.now()); err != nil {
		return 0, err
	}
	res, err := f.client.Do(req)
	if err != nil {
		return 0, err
	}
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 64<<10)) // so that the connection can be reused
	return res.StatusCode, res.Body.Close()
}

// failure is a sentence without the URL, which may hold a secret.
func failure(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return "stopped before the target answered"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "the target did not answer in time"
	}
	return "the target could not be reached: " + err.Error()
}

// Replay sends the stored event with that key; ErrNotFound if there is none.
func (f *Forwarder) Replay(ctx context.Context, key string) (Attempt, error) {
	s, err := f.inbox.Get(ctx, key)
	if err != nil {
		return Attempt{}, err
	}
	return f.forward(ctx, s, "replay")
}

// Run forwards the events of follow that choose accepts, in order, and passes each attempt to report, until ctx ends;
// then it returns nil. A failed attempt is not repeated.
func (f *Forwarder) Run(ctx context.Context, follow *Follower, choose func(Stored) bool,
	report func(Stored, Attempt)) error {
	going := func(s Stored) bool { return ctx.Err() == nil && choose(s) }
	return follow.Each(ctx, going, func(s Stored) error {
		a, err := f.forward(ctx, s, "forward")
		if err == nil {
			report(s, a)
		}
		return err
	})
}
