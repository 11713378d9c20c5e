package sandbox

import (
	"bytes"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/uuid"
)

const (
	deliveryTimeout = 5 * time.Second
	deliveryLease   = 3 * deliveryTimeout
	longestBackoff  = 5 * time.Minute
	leasePoll       = 500 * time.Millisecond // while events wait and another process holds the lease
	idlePoll        = 2 * time.Second        // while webhooks are on: another process may have left events behind
	closeGrace      = time.Second            // for a delivery under way when the service is closed
)

// notifyDeliverer wakes the deliverer of this process.
func (s *Service) notifyDeliverer() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

type delivery struct {
	id, created int64
	hookID      string
	body        []byte
	attempts    int
}

// deliver sends what waits in the outbox until ctx ends. Of all processes on
// the file the one that holds the lease delivers; it sleeps while nothing waits.
func (s *Service) deliver(ctx context.Context) {
	// One connection a delivery: nothing can be sent again behind our back.
	client := &http.Client{Timeout: deliveryTimeout, Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	holder := uuid.NewString()
	defer s.releaseLease(holder)
	for {
		wait := s.deliverDue(ctx, client, holder)
		if !s.rest(ctx, wait) {
			return
		}
	}
}

// rest waits until woken, or for d when that is above 0; false: ctx is over.
func (s *Service) rest(ctx context.Context, d time.Duration) bool {
	var alarm <-chan time.Time
	if d > 0 {
		t := time.NewTimer(d)
		defer t.Stop()
		alarm = t.C
	}
	select {
	case <-ctx.Done():
		return false
	case <-s.wake:
	case <-alarm:
	}
	return true
}

// deliverDue delivers what is due and returns how long to sleep; 0: until woken.
func (s *Service) deliverDue(ctx context.Context, client *http.Client, holder string) time.Duration {
	for ctx.Err() == nil {
		st, d, wait, err := s.nextDelivery(ctx, holder)
		if err != nil {
			return time.Second
		}
		if d == nil {
			return wait
		}
		status := post(ctx, client, st, *d, s.now())
		if err := s.delivered(ctx, st, *d, status); err != nil {
			return time.Second
		}
	}
	return 0
}

// nextDelivery takes or renews the lease and picks the oldest event that is due.
func (s *Service) nextDelivery(ctx context.Context, holder string) (st settings, d *delivery, wait time.Duration, err error) {
	waiting, err := count(ctx, s.ro, `SELECT count(*) FROM (SELECT 1 FROM outbox WHERE state = 'waiting' LIMIT 1)`)
	if err != nil || waiting == 0 {
		return st, nil, s.idle(ctx, holder), err
	}
	err = s.write(ctx, func(tx *sql.Tx) error {
		now := s.now().UnixNano()
		if st, err = loadSettings(ctx, tx); err != nil || !st.Hook.Enabled {
			return err
		}
		left, err := takeLease(ctx, tx, holder, now)
		if err != nil || left > 0 {
			wait = min(left, leasePoll)
			return err
		}
		var next delivery
		var due int64
		err = tx.QueryRowContext(ctx, `SELECT id, hook_id, body, created, attempts, next FROM outbox WHERE state = 'waiting' ORDER BY next, id LIMIT 1`).
			Scan(&next.id, &next.hookID, &next.body, &next.created, &next.attempts, &due)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return nil
		case err != nil:
			return err
		case due > now:
			wait = time.Duration(due - now)
		default:
			d = &next
		}
		return nil
	})
	return st, d, wait, err
}

// idle gives the lease up and returns how long to sleep: for ever when webhooks are off.
func (s *Service) idle(ctx context.Context, holder string) time.Duration {
	st, err := loadSettings(ctx, s.ro)
	if err != nil || !st.Hook.Enabled {
		return 0
	}
	held, err := count(ctx, s.ro, `SELECT count(*) FROM setting WHERE name = 'lease' AND value ->> 'holder' = ?`, holder)
	if err == nil && held > 0 {
		s.releaseLease(holder)
	}
	return idlePoll
}

// takeLease returns how long another process still holds the lease; 0: ours.
func takeLease(ctx context.Context, tx *sql.Tx, holder string, now int64) (time.Duration, error) {
	var owner string
	var until int64
	err := tx.QueryRowContext(ctx, `SELECT value ->> 'holder', value ->> 'until' FROM setting WHERE name = 'lease'`).Scan(&owner, &until)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return 0, err
	}
	if owner != "" && owner != holder && until > now {
		return time.Duration(until - now), nil
	}
	return 0, putLease(ctx, tx, holder, now+int64(deliveryLease))
}

func putLease(ctx context.Context, q querier, holder string, until int64) error {
	_, err := q.ExecContext(ctx, `INSERT INTO setting(name, value) VALUES('lease', json_object('holder', ?, 'until', ?))
		ON CONFLICT(name) DO UPDATE SET value = excluded.value`, holder, until)
	return err
}

// releaseLease lets the next process deliver at once.
func (s *Service) releaseLease(holder string) {
	ctx := context.Background()
	// A failure only means that the others wait for the lease to run out.
	_, _ = s.db.ExecContext(ctx, `DELETE FROM setting WHERE name = 'lease' AND value ->> 'holder' = ?`, holder)
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
func (s *Service) delivered(ctx context.Context, st settings, d delivery, status string) error {
	ctx = context.WithoutCancel(ctx) // the receiver has it: this must be noted even while closing
	attempts, state := d.attempts+1, "waiting"
	next := s.now().Add(backoff(time.Duration(st.HookBackoff), attempts)).UnixNano()
	switch {
	case len(status) == 3 && status[0] == '2':
		state = "delivered"
	case attempts >= st.HookAttempts:
		state = "given up"
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE outbox SET attempts = ?, status = ?, state = ?, next = ? WHERE id = ?`, attempts, status, state, next, d.id)
		return err
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
