package api

import (
	"net/http"
	"sync"
	"time"
)

// serviceClock is the service's time, as the Date of its newest answer told it. Where the
// service's clock and ours differ, only times of the service compare with what it says.
type serviceClock struct {
	mu   sync.Mutex
	date time.Time // guarded by mu; zero: no answer told it
	at   time.Time // guarded by mu: when that answer came, by our clock
}

func (s *serviceClock) saw(h http.Header, at time.Time) {
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.date, s.at = date.UTC(), at
}

// now is the service's time when ours is at, up to a second behind; zero: not known.
func (s *serviceClock) now(at time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.date.IsZero() {
		return time.Time{}
	}
	return s.date.Add(at.Sub(s.at))
}
