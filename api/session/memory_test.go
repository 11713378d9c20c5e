package session_test

import (
	"sync/atomic"
	"testing"
	"time"

	"opdeck/api/session"
	"opdeck/api/session/sessiontest"
)

// shifted is the host's clock, moved.
type shifted struct{ by atomic.Int64 }

var began = time.Now()

func (s *shifted) Wall() time.Time { return time.Now().Add(time.Duration(s.by.Load())) }
func (s *shifted) Steady() time.Duration {
	return 48*time.Hour + time.Since(began) + time.Duration(s.by.Load())
}

func init() {
	session.NewMemory = func(c session.Clock) session.Store { return sessiontest.NewMemory(c) }
}

func TestMemory(t *testing.T) {
	sessiontest.Run(t, func(*testing.T) sessiontest.Opened {
		clock := &shifted{}
		m := sessiontest.NewMemory(clock)
		return sessiontest.Opened{Store: m, Peer: m, Shift: func(d time.Duration) { clock.by.Add(int64(d)) }}
	})
}
