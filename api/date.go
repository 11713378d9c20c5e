package api

import (
	"net/http"
	"sync"
	"time"
)

// serviceClock estimates the service's time from the Date header of its newest answer. The two clocks may differ, so
// times in answers are compared with this clock only.
type serviceClock struct {
	mu   sync.Mutex
	date time.Time // guarded by mu; zero: no answer had one
	at   time.Time // guarded by mu: when that answer arrived, by our clock
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

// now is the service's time at our time at, up to a second behind; zero: not known.
func (s *serviceClock) now(at time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.date.IsZero() {
		return time.Time{}
	}
	return s.date.Add(at.Sub(s.at))
}
