package limit

import "time"

// Clock reads the time. The two readings are kept apart on purpose: the wall
// clock can be set, and the steady one says nothing to people.
type Clock interface {
	// Wall is the host's idea of the time of day, without Go's monotonic reading.
	Wall() time.Time
	// Steady counts on evenly, through suspend where the system can tell (rule
	// G1); only differences mean anything.
	Steady() time.Duration
}

// ToWall moves t, a time of a shared store's clock, to this host's time of day,
// given now by both clocks, so that people can compare it with their own. What is
// less than two seconds off stays, so that the same time is written the same way twice.
func ToWall(t, storeNow, hostNow time.Time) time.Time {
	off := hostNow.Sub(storeNow).Round(time.Second)
	if t.IsZero() || off.Abs() < 2*time.Second {
		return t
	}
	return t.Add(off)
}
