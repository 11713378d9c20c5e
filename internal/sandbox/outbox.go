package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	deliveryTimeout = 5 * time.Second
	claimTime       = 3 * deliveryTimeout // no other process sends a claimed event for that long
	longestBackoff  = 5 * time.Minute
	idlePoll        = 2 * time.Second // while webhooks are on: another process may have left events behind
	closeGrace      = time.Second     // for a delivery under way when the service is closed
)

// notifyDeliverer wakes the deliverer of this process.
func (s *store) notifyDeliverer() {
	select {
	case s.raised <- struct{}{}:
	default:
	}
}

// courier delivers what is in the outbox.
type courier struct {
	*store
	inbox atomic.Pointer[http.Client] // reaches the Receiver of this process; nil: there is none
}

type delivery struct {
	id, next int64
	hookID   string
	body     []byte
	attempts int
}

// deliver sends what waits in the outbox until ctx ends.
func (s *courier) deliver(ctx context.Context) {
	// One connection a delivery: the transport cannot send anything twice by itself.
	network := &http.Client{Timeout: deliveryTimeout, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	for {
		wait := s.deliverDue(ctx, network)
		var timer <-chan time.Time
		if wait > 0 {
			timer = time.After(wait)
		}
		select {
		case <-ctx.Done():
			return
		case <-s.raised:
		case <-timer:
		}
	}
}

// deliverDue delivers what is due and returns how long to sleep; 0: until notified.
func (s *courier) deliverDue(ctx context.Context, network *http.Client) time.Duration {
	for ctx.Err() == nil {
		inProcess := s.inbox.Load()
		st, d, wait, err := s.claim(ctx, inProcess != nil)
		if err != nil {
			return time.Second
		}
		if d == nil {
			return wait
		}
		client := network
		if st.Hook.URL == InProcessHook {
			client = inProcess
		}
		status := post(ctx, client, st, *d, s.clock())
		if err := s.delivered(ctx, st, *d, status); err != nil {
			return time.Second
		}
	}
	return 0
}

// claim reserves the event that has been due longest for this process. If none is
// due, it returns how long to sleep: forever if webhooks are off, or if they go to
// a receiver in another process.
func (s *courier) claim(ctx context.Context, receives bool) (st settings, d *delivery, wait time.Duration, err error) {
	if st, err = loadSettings(ctx, s.ro); err != nil || !st.Hook.Enabled || st.Hook.URL == InProcessHook && !receives {
		return st, nil, 0, err
	}
	const waiting = ` FROM outbox WHERE state = 'waiting' ORDER BY next, id LIMIT 1`
	if n, err := count(ctx, s.ro, `SELECT count(*) FROM (SELECT 1`+waiting+`)`); err != nil || n == 0 {
		return st, nil, idlePoll, err
	}
	wait = idlePoll
	err = s.write(ctx, func(tx *sql.Tx) error {
		columns := func(d *delivery) []any { return []any{&d.id, &d.hookID, &d.body, &d.attempts, &d.next} }
		found, err := query(ctx, tx, columns, `SELECT id, hook_id, body, attempts, next`+waiting)
		if err != nil || len(found) == 0 {
			return err
		}
		now := s.clock().UnixNano()
		if left := time.Duration(found[0].next - now); left > 0 {
			wait = min(left, idlePoll)
			return nil
		}
		d = &found[0]
		return execute(ctx, tx, `UPDATE outbox SET next = ? WHERE id = ?`, now+int64(claimTime), d.id)
	})
	return st, d, wait, err
}

// post sends one event and returns the status code, or the error in words.
func post(ctx context.Context, client *http.Client, st settings, d delivery, now time.Time) string {
	call, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(closeGrace, cancel) })()
	r, err := http.NewRequestWithContext(call, http.MethodPost, st.Hook.URL, bytes.NewReader(d.body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+signHook(st.Hook.JWTSecret, d, now))
	resp, err := client.Do(r)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	return strconv.Itoa(resp.StatusCode)
}

// signHook is the JWT of a delivery: HS256; iat, exp, jti (the hook_id) and
// body_sha256 (hex) bind it to this body.
func signHook(secret string, d delivery, now time.Time) string {
	sum := sha256.Sum256(d.body)
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "jti": d.hookID, "body_sha256": hex.EncodeToString(sum[:]),
	}).SignedString([]byte(secret))
	if err != nil {
		panic(err) // a byte key always signs
	}
	return token
}

// delivered notes the outcome; any 2xx is a success, everything else is
// repeated with growing waits until the attempts are used up.
func (s *courier) delivered(ctx context.Context, st settings, d delivery, status string) error {
	ctx = context.WithoutCancel(ctx) // the receiver has it: this must be noted even while closing
	attempts, state := d.attempts+1, "waiting"
	next := s.clock().Add(backoff(time.Duration(st.HookBackoff), attempts)).UnixNano()
	switch {
	case len(status) == 3 && status[0] == '2':
		state = "delivered"
	case attempts >= st.HookAttempts:
		state = "given up"
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		return execute(ctx, tx, `UPDATE outbox SET attempts = ?, status = ?, state = ?, next = ? WHERE id = ?`, attempts,
			status, state, next, d.id)
	})
}

func backoff(first time.Duration, attempts int) time.Duration {
	d := first
	for range attempts - 1 {
		if d *= 2; d > longestBackoff {
			return longestBackoff
		}
	}
	return d
}
