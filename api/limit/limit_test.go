package limit_test

import (
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/api/limit/limittest"
)

// shifted is the host's clock, moved.
type shifted struct{ by time.Duration }

var began = time.Now()

func (s *shifted) Wall() time.Time       { return time.Now().Add(s.by) }
func (s *shifted) Steady() time.Duration { return 48*time.Hour + time.Since(began) + s.by }

func TestMemory(t *testing.T) {
	limittest.Run(t, func(*testing.T) limittest.Opened {
		clock := &shifted{}
		m := limit.NewMemory(clock)
		return limittest.Opened{Store: m, Peer: m, Shift: func(d time.Duration) { clock.by += d }}
	})
}
