package session

import (
	"slices"
	"time"
)

// statusClock returns the time of the read by the clock that a Status uses, how far that clock is ahead of this
// host's, and the offset to add to the store's times.
func (m *Manager) statusClock(row Row) (now time.Time, ahead, by time.Duration) {
	host := m.clock.Wall()
	if now = row.At; now.IsZero() {
		now = host
	}
	if m.cfg.StatusClock != nil {
		shown := m.cfg.StatusClock()
		return shown, 0, shown.Sub(now)
	}
	return now, now.Sub(host), 0
}

// moved returns copies whose store times are offset by by; the service's times stay.
func moved(events []Event, instances []Instance, by time.Duration) ([]Event, []Instance) {
	if by == 0 {
		return events, instances
	}
	events, instances = slices.Clone(events), slices.Clone(instances)
	for i := range events {
		events[i].At = events[i].At.Add(by)
	}
	for i := range instances {
		instances[i].Started, instances[i].SeenAt = instances[i].Started.Add(by), instances[i].SeenAt.Add(by)
	}
	return events, instances
}
