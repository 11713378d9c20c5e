package store

import (
	"sync"
	"time"
)

// slowAfter is how long a store may keep its caller waiting before people are
// told what for.
const slowAfter = 2 * time.Second

// tellAgain is the least time between two notices of one database.
const tellAgain = 15 * time.Second

// notices tells people what a store waits for.
type notices struct {
	tell func(string) // nil: nobody is told

	mu   sync.Mutex
	last time.Time // guarded by mu
}

// notice tells a sentence, unless one was told a moment ago.
func (db *DB) notice(sentence string) {
	n := &db.notices
	if n.tell == nil {
		return
	}
	n.mu.Lock()
	late := time.Since(n.last) < tellAgain
	if !late {
		n.last = time.Now()
	}
	n.mu.Unlock()
	if !late {
		n.tell(sentence)
	}
}

// slow tells people what a call waits for when it takes long; stop must be
// called when it has ended.
func (db *DB) slow() (stop func()) {
	if db.notices.tell == nil {
		return func() {}
	}
	t := time.AfterFunc(slowAfter, func() { db.notice(db.waitsFor()) })
	return func() { t.Stop() }
}

func (db *DB) waitsFor() string {
	if db.engine == Postgres {
		return "Waiting for " + db.where() + ", which has not answered yet."
	}
	return "Waiting for " + db.where() + ", which another process holds; see which program has it open."
}
