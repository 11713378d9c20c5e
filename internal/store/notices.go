package store

import (
	"sync"
	"time"
)

// slowAfter is how long a store may keep its caller waiting before a notice; noticeGap is the least time between two
// notices of one database.
const (
	slowAfter = 2 * time.Second
	noticeGap = 15 * time.Second
)

// notices reports to people what a store waits for.
type notices struct {
	send func(string) // nil: no notices

	mu   sync.Mutex
	last time.Time // guarded by mu
}

// notice reports a sentence, unless the last notice was recent.
func (db *DB) notice(sentence string) {
	n := &db.notices
	if n.send == nil {
		return
	}
	n.mu.Lock()
	due := time.Since(n.last) >= noticeGap
	if due {
		n.last = time.Now()
	}
	n.mu.Unlock()
	if due {
		n.send(sentence)
	}
}

// slow reports the cause if a call takes long; stop must be called when the call ends.
func (db *DB) slow() (stop func()) {
	if db.notices.send == nil {
		return func() {}
	}
	t := time.AfterFunc(slowAfter, func() {
		why := ", which another process has locked. Check which program has it open."
		if db.engine == Postgres {
			why = ", which has not answered yet."
		}
		db.notice("Waiting for " + db.where() + why)
	})
	return func() { t.Stop() }
}
