package limit

import "time"

// Clock reads the time. The two readings are separate on purpose: the wall clock can be set, and the steady one means
// nothing to people.
type Clock interface {
	// Wall is the host's time of day, without Go's monotonic reading.
	Wall() time.Time
	// Steady counts evenly, through suspend where the system supports it (rule G1); only differences have a meaning.
	Steady() time.Duration
}

// ToWall converts t from the clock of a shared store to this host's, given now by both, so that people can compare it
// with their own. A difference of less than two seconds is ignored, so that the same time is always shown the same.
func ToWall(t, storeNow, hostNow time.Time) time.Time {
	off := hostNow.Sub(storeNow).Round(time.Second)
	if t.IsZero() || off.Abs() < 2*time.Second {
		return t
	}
	return t.Add(off)
}
