package audit

import (
	"errors"
	"time"
)

// Health is the state of the trail, for a banner.
type Health struct {
	Err        error     // why the trail cannot be written; nil when it can
	Since      time.Time // since when
	Waiting    int       // records that wait to be stored
	Checkpoint error     // why the last checkpoint failed; nil when it did not
}

// OK reports whether there is no trouble.
func (h Health) OK() bool { return h.Err == nil && h.Waiting == 0 && h.Checkpoint == nil }

// Tampered returns what a checkpoint found wrong with the trail: then none is
// signed until somebody has looked; nil when it found nothing.
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

// writable notes whether the trail can be written (err is nil) and passes err on. A
// change is passed to Alarm.
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

// notify signals Run: there is work.
func (l *Log) notify() {
	select {
	case l.notified <- struct{}{}:
	default:
	}
}
