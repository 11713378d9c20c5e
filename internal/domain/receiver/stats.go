package receiver

import (
	"sync"
	"sync/atomic"
	"time"
)

// stats counts since the start of the receiver.
type stats struct {
	requests, stored, duplicates, conflicts, quarantined atomic.Int64
	unauthorized, oldSecret, refused, limited, rejected  atomic.Int64
	lastAt                                               atomic.Int64 // ns since 1970 of the last new row

	mu      sync.Mutex // guards reasons
	reasons map[string]int64
}

func (s *stats) count(results []Result) {
	for _, res := range results {
		switch res.Outcome {
		case OutcomeDuplicate:
			s.duplicates.Add(1)
			continue
		case OutcomeConflict:
			s.conflicts.Add(1)
		case OutcomeNew:
			s.stored.Add(1)
			if res.Stored.Status == Quarantined {
				s.quarantined.Add(1)
			}
		}
		s.lastAt.Store(res.Stored.ReceivedAt.UnixNano())
	}
}

func (s *stats) deny(reason string) {
	s.unauthorized.Add(1)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reasons == nil {
		s.reasons = map[string]int64{}
	}
	s.reasons[reason]++ // a few fixed words
}

// Counters is what the receiver did since it started.
type Counters struct {
	Requests     int64
	Stored       int64 // new rows but conflicts
	Duplicates   int64
	Conflicts    int64
	Quarantined  int64 // of the stored
	Unauthorized int64 // answered 401
	OldSecret    int64 // authenticated with the secret on its way out
	Refused      int64 // could not be stored in time: 503
	Limited      int64 // too much at once: 503
	Rejected     int64 // wrong method, path, size or body: 4xx
	Working      int   // verified or stored now
	Queued       int   // of these, waiting for the inbox
	Dropped      int64 // notes that slow subscribers missed; the inbox has the events

	Reasons map[string]int64 // of 401, by the verifier's word
	LastAt  time.Time        // of the last new row; zero when there was none
}

// Counters returns a copy of the counts.
func (r *Receiver) Counters() Counters {
	s := &r.stats
	c := Counters{
		Requests: s.requests.Load(), Stored: s.stored.Load(), Duplicates: s.duplicates.Load(), Conflicts: s.conflicts.Load(),
		Quarantined: s.quarantined.Load(), Unauthorized: s.unauthorized.Load(), OldSecret: s.oldSecret.Load(), Refused: s.refused.Load(),
		Limited: s.limited.Load(), Rejected: s.rejected.Load(), Working: r.slots.inUse(), Queued: r.batch.depth(), Dropped: r.hub.dropped.Load(), Reasons: map[string]int64{},
	}
	if ns := s.lastAt.Load(); ns != 0 {
		c.LastAt = time.Unix(0, ns).UTC()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, n := range s.reasons {
		c.Reasons[k] = n
	}
	return c
}
