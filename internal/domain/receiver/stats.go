package receiver

import (
	"maps"
	"sync"
	"time"
)

// Counters counts the receiver's work since it started.
type Counters struct {
	Requests     int64
	Stored       int64 // new rows except conflicts
	Duplicates   int64
	Conflicts    int64
	Quarantined  int64 // of the stored
	Unauthorized int64 // answered 401
	OldSecret    int64 // authenticated with the old secret of a rotation
	Refused      int64 // not stored in time: 503
	Limited      int64 // over a limit: 503
	Rejected     int64 // wrong method, path, size or body: 4xx
	Working      int   // being verified or stored
	Queued       int   // of these, waiting for the inbox

	Reasons map[string]int64 // of 401, by reason
	LastAt  time.Time        // of the last new row; zero for none
}

// stats counts since the start of the receiver.
type stats struct {
	mu sync.Mutex
	c  Counters // guarded by mu
}

func (s *stats) count(add func(*Counters)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c.Reasons == nil {
		s.c.Reasons = map[string]int64{}
	}
	add(&s.c)
}

// committed counts the results of a commit.
func (s *stats) committed(results []Result) {
	s.count(func(c *Counters) {
		for _, res := range results {
			switch res.Outcome {
			case OutcomeDuplicate:
				c.Duplicates++
				continue
			case OutcomeConflict:
				c.Conflicts++
			case OutcomeNew:
				c.Stored++
				if res.Stored.Status == Quarantined {
					c.Quarantined++
				}
			}
			c.LastAt = res.Stored.ReceivedAt.UTC()
		}
	})
}

// Counters returns a copy of the counts.
func (r *Receiver) Counters() Counters {
	var out Counters
	r.stats.count(func(c *Counters) { out = *c; out.Reasons = maps.Clone(c.Reasons) })
	out.Working, out.Queued = r.bounds.inUse(), len(r.batch.in)
	return out
}
