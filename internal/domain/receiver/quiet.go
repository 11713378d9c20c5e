package receiver

import (
	"sync"
	"time"
)

// quietFor is how long a line about the same thing is held back.
const quietFor = time.Minute

// maxQuiet is how many keys are kept; the keys beyond that share one line.
const maxQuiet = 256

// Quiet limits repeated log lines: the first of a minute is written, with the
// number of those held back since the one before. The zero value is ready; it is
// safe for many goroutines.
type Quiet struct {
	mu   sync.Mutex // guards the rest
	told map[string]*held
}

type held struct {
	at time.Time
	n  int64 // held back since then
}

// Allow reports whether a line about key may be written now, and how many were
// held back since the last one.
func (q *Quiet) Allow(key string, now time.Time) (before int64, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.told == nil {
		q.told = map[string]*held{}
	}
	h := q.told[key]
	if h == nil && len(q.told) >= maxQuiet {
		q.forget(now)
		if len(q.told) >= maxQuiet {
			key = ""
			h = q.told[key]
		}
	}
	if h == nil {
		q.told[key] = &held{at: now}
		return 0, true
	}
	if d := now.Sub(h.at); d >= 0 && d < quietFor {
		h.n++
		return 0, false
	}
	before, h.n, h.at = h.n, 0, now
	return before, true
}

// forget drops the keys whose minute is over.
func (q *Quiet) forget(now time.Time) {
	for key, h := range q.told {
		if now.Sub(h.at) >= quietFor {
			delete(q.told, key)
		}
	}
}
