package session

import (
	"testing"
	"time"

	"opdeck/api/secret"
)

// still is a clock that does not run.
type still time.Time

func (s still) Wall() time.Time       { return time.Time(s) }
func (s still) Steady() time.Duration { return 0 }

// TestAPairThatIsOver is no session: state none, both ends in the past, no
// rotation ahead. One that can be refreshed still is.
func TestAPairThatIsOver(t *testing.T) {
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	m := &Manager{clock: still(now)}
	row := Row{State: Live, Phase: Free, Gen: 3, AccessTTL: 5 * time.Minute, RefreshTTL: 15 * time.Minute, Age: time.Hour,
		Refresh: secret.New("r")}
	s := m.describe(row, nil, nil, nil)
	if s.State != "none" || !s.Access.ExpiresAt.Equal(now.Add(-55*time.Minute)) ||
		!s.Refresh.ExpiresAt.Equal(now.Add(-45*time.Minute)) || !s.NextRotation.IsZero() {
		t.Errorf("over: %s, access until %s, refresh until %s, next %s", s.State, s.Access.ExpiresAt, s.Refresh.ExpiresAt,
			s.NextRotation)
	}
	row.Age, row.RefreshLeft = 10*time.Minute, 5*time.Minute
	s = m.describe(row, nil, nil, nil)
	if s.State != "live" || !s.Access.ExpiresAt.Equal(now.Add(-5*time.Minute)) ||
		!s.Refresh.ExpiresAt.Equal(now.Add(5*time.Minute)) || !s.NextRotation.Equal(now) {
		t.Errorf("to be refreshed: %s, %+v", s.State, s)
	}
	row.Age, row.RefreshLeft, row.AccessLeft = 0, 15*time.Minute, 5*time.Minute
	if s = m.describe(row, nil, nil, nil); s.State != "live" || !s.Access.ExpiresAt.Equal(now.Add(5*time.Minute)) {
		t.Errorf("fresh: %s, %+v", s.State, s)
	}
}
