package limit

import (
	"slices"
	"time"
)

// Ring is the input of Decide: the stored slots of one class, without the caller's own. Times are the store's, as
// durations since any fixed instant.
type Ring struct {
	Slots     []time.Duration // ascending; all that are younger than the window
	NotBefore time.Duration   // zero or past: none
}

// Decision says what a store must write.
type Decision struct {
	Take  bool          // reserve (or move) to At; otherwise reserve nothing and delete the own slot
	At    time.Duration // the slot
	Wait  time.Duration // At - now (0 when that is at most Soon), or the hint when not taken
	Over  bool          // exceeds the budget
	Fresh bool          // At differs from the own slot, so it must be written
}

// Each slot is at least tick after the one before it. A slot at most Soon ahead counts as now: no one sleeps for it.
const (
	tick = time.Microsecond
	Soon = 5 * time.Millisecond
)

// Decide applies the budget's rules (session protocol F1, F4, F5) to one request. own is the slot of a repeated
// request with a known ticket, else nil.
func Decide(now time.Duration, ring Ring, req Request, own *time.Duration) Decision {
	slots := within(ring.Slots, now, req.Rule.Window)
	earliest := max(now, ring.NotBefore)
	if req.Warn {
		return granted(now, warnAt(earliest, own), !fits(slots, earliest, req.Rule), own)
	}
	if req.Background && own == nil {
		return background(now, earliest, slots, req.Rule)
	}
	if own != nil {
		if *own >= earliest || (*own <= now && now-*own <= Late && ring.NotBefore <= now) {
			return granted(now, *own, false, own)
		}
		return bounded(now, firstFit(slots, earliest, req.Rule), req, own)
	}
	return bounded(now, tail(slots, earliest, req.Rule), req, nil)
}

func warnAt(earliest time.Duration, own *time.Duration) time.Duration {
	if own != nil {
		return max(*own, earliest)
	}
	return earliest
}

func granted(now, at time.Duration, over bool, own *time.Duration) Decision {
	wait := at - now
	if wait <= Soon {
		wait = 0
	}
	return Decision{Take: true, At: at, Wait: wait, Over: over, Fresh: own == nil || *own != at}
}

// bounded refuses a slot that is too late for the caller.
func bounded(now, at time.Duration, req Request, own *time.Duration) Decision {
	if wait := at - now; wait > req.MaxWait || wait > MaxAhead {
		return Decision{Wait: wait}
	}
	return granted(now, at, false, own)
}

// background takes a slot only now, when no one waits and the reserve stays free.
func background(now, earliest time.Duration, slots []time.Duration, rule Rule) Decision {
	if earliest > now {
		return Decision{Wait: earliest - now}
	}
	if len(slots) > 0 && slots[len(slots)-1] > now+Soon {
		return Decision{Wait: slots[len(slots)-1] - now + tick} // a person is waiting
	}
	room := rule
	room.N = max(1, rule.N-max(0, rule.Reserve))
	if at := tail(slots, now, room); at > now+Soon {
		return Decision{Wait: at - now}
	}
	return granted(now, tail(slots, now, rule), false, nil)
}

// tail is the first allowed time after all others: first come, first served.
func tail(slots []time.Duration, earliest time.Duration, rule Rule) time.Duration {
	at := earliest
	if n := len(slots); n > 0 {
		at = max(at, slots[n-1]+tick)
	}
	if i := len(slots) - max(1, rule.N); i >= 0 {
		at = max(at, slots[i]+rule.Window)
	}
	return at
}

// firstFit is the first allowed time, also between others' slots, for a caller that has already waited in the queue.
func firstFit(slots []time.Duration, earliest time.Duration, rule Rule) time.Duration {
	candidates := []time.Duration{earliest}
	for _, s := range slots {
		candidates = append(candidates, s+tick, s+rule.Window)
	}
	slices.Sort(candidates)
	for _, at := range candidates {
		if at >= earliest && fits(slots, at, rule) {
			return at
		}
	}
	return tail(slots, earliest, rule)
}

// fits reports whether a send at at keeps every window within the rule and has a slot of its own.
func fits(slots []time.Duration, at time.Duration, rule Rule) bool {
	pos, taken := slices.BinarySearch(slots, at)
	if taken {
		return false
	}
	all := slices.Insert(slices.Clone(slots), pos, at)
	n := max(1, rule.N)
	for i := max(0, pos-n); i <= pos && i+n < len(all); i++ {
		if all[i+n]-all[i] < rule.Window {
			return false
		}
	}
	return true
}

// within drops slots that are too old for any window from now on.
func within(slots []time.Duration, now, window time.Duration) []time.Duration {
	i, _ := slices.BinarySearch(slots, now-window+1)
	return slots[i:]
}
