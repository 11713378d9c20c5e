package audit

import (
	"errors"
	"time"
)

// Health is the state of the trail for display.
type Health struct {
	Err        error     // why the trail cannot be written; nil if it can
	Since      time.Time // since when
	Waiting    int       // records that wait to be stored
	Checkpoint error     // why the last checkpoint failed; nil if it did not
}

// OK reports whether there is no problem.
func (h Health) OK() bool { return h.Err == nil && h.Waiting == 0 && h.Checkpoint == nil }

// Tampered returns the contradiction between the trail and a checkpoint, nil for none. Until a person has checked it,
// nothing is signed.
func (h Health) Tampered() *TamperedError {
	var bad *TamperedError
	if errors.As(h.Checkpoint, &bad) {
		return bad
	}
	return nil
}

// Health returns the present state.
func (l *Log) Health() Health {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.health
	h.Waiting = len(l.pending)
	h.Checkpoint = l.Signer.lastFailure()
	return h
}

// writable records whether the trail can be written (err is nil) and returns err. It passes a change to Alarm.
func (l *Log) writable(err error) error {
	l.mu.Lock()
	news := (l.health.Err == nil) != (err == nil)
	switch l.health.Err = err; {
	case err == nil:
		l.health.Since = time.Time{}
	case news:
		l.health.Since = l.opt.Now()
	}
	l.mu.Unlock()
	if news {
		l.alarm(err)
	}
	return err
}

// notify tells Run that there is work.
func (l *Log) notify() {
	select {
	case l.notified <- struct{}{}:
	default:
	}
}
