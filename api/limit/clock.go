package limit

import "time"

// Clock tells the time. The two readings are kept apart on purpose: the wall
// clock can be set, and the steady one says nothing to people.
type Clock interface {
	// Wall is the host's idea of the time of day, without Go's monotonic reading.
	Wall() time.Time
	// Steady counts on evenly, through suspend where the system can tell (rule
	// G1); only differences mean anything.
	Steady() time.Duration
}
