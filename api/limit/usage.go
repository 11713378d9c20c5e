package limit

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// Usage is one line of `opdeck limits`, for all instances together.
type Usage struct {
	Class       Class   `json:"class"`
	Recommended int     `json:"recommended_per_minute"`
	Used        int     `json:"used_last_minute"`
	Room        int     `json:"room"`                 // calls that can be sent now, one after the other
	NextSlot    float64 `json:"next_slot_in_seconds"` // until one more person's call can be sent; 0: now
	Throttled   int     `json:"throttled"`            // 429 answers in the last hour
	Waiting     int     `json:"waiting"`              // calls that wait for a reserved slot

	Reserve int           `json:"-"` // slots that background work leaves free
	Over    int           `json:"-"` // calls that exceeded the budget in the last minute (policy "warn")
	Blocked time.Duration `json:"-"` // left of a 429's not_before
	Changes time.Duration `json:"-"` // until the line changes without further calls; 0: it does not
	// Goes is the time until the first waiting call is sent; 0: none waits.
	Goes time.Duration `json:"-"`
	// Held counts calls older than a minute whose slots are not free yet: a window is some seconds longer than a
	// minute, so that the service never counts more than it recommends.
	Held    int           `json:"-"`
	Window  time.Duration `json:"-"` // how long a call occupies its slot
	History History       `json:"-"`
	Users   []User        `json:"-"` // who holds the slots of the window, most calls first
	// Full is how long no slot has been free, apart from those that waiting calls took at once; 0: one is free.
	Full time.Duration `json:"-"`
	// Refused is the age of the newest 429; 0: none in the last hour.
	Refused time.Duration `json:"-"`
}

// User is someone who made calls.
type User struct {
	Who   string
	Calls int
}

func (u *Usage) usedBy(who string) {
	if who == "" {
		return
	}
	i := slices.IndexFunc(u.Users, func(one User) bool { return one.Who == who })
	if i < 0 {
		i, u.Users = len(u.Users), append(u.Users, User{Who: who})
	}
	u.Users[i].Calls++
}

// Sum explains why used, room and waiting do not add up to the recommended number; "" if they do, or if a 429 or
// calls over the budget have left no room.
func (u Usage) Sum() string {
	if u.Held == 0 || u.Over > 0 || u.Blocked > 0 || u.Used+u.Room+u.Waiting >= u.Recommended {
		return ""
	}
	calls := "1 call that is older than a minute still counts"
	if u.Held > 1 {
		calls = fmt.Sprintf("%d calls that are older than a minute still count", u.Held)
	}
	return fmt.Sprintf("%s: %s: opdeck counts each call for %s, so that the service never counts more than %d.", u.Class,
		calls, u.Window,
		u.Recommended)
}

// History counts the calls of the last ten minutes in steps of ten seconds, oldest first; the last step is not over.
type History [60]int

// HistoryStep is the length of one step of a History.
const HistoryStep = Retention / time.Duration(len(History{}))

// Usage reads the state of all classes, in the order of Classes.
func (b *Budgets) Usage(ctx context.Context) ([]Usage, error) {
	state, err := b.store.State(ctx, b.key)
	if err != nil {
		return nil, err
	}
	out := make([]Usage, 0, len(Classes))
	for _, c := range Classes {
		out = append(out, Summarise(c, b.Rule(c), state[c]))
	}
	return out, nil
}

// ClassUsage is Usage for one class.
func (b *Budgets) ClassUsage(ctx context.Context, c Class) (Usage, error) {
	state, err := b.store.State(ctx, b.key)
	if err != nil {
		return Usage{}, err
	}
	return Summarise(c, b.Rule(c), state[c]), nil
}

// Summarise converts a store's state of a class to a line for people.
func Summarise(c Class, rule Rule, st State) Usage {
	u := Usage{Class: c, Recommended: rule.N, Reserve: rule.Reserve, Window: rule.Window, Throttled: len(st.Throttled),
		Blocked: st.NotBefore}
	if n := len(st.Throttled); n > 0 {
		u.Refused = st.Throttled[n-1]
	}
	inWindow := 0
	times := make([]time.Duration, 0, len(st.Slots)) // relative to now
	for _, s := range st.Slots {
		times = append(times, -s.Ago)
		u.changesIn(-s.Ago, time.Minute-s.Ago, rule.Window-s.Ago)
		switch {
		case s.Ago < -Soon:
			u.Waiting++
			if u.Goes == 0 || -s.Ago < u.Goes {
				u.Goes = -s.Ago
			}
			continue
		case s.Ago < Retention:
			u.History[len(u.History)-1-int(max(0, s.Ago)/HistoryStep)]++
		}
		if s.Ago < time.Minute {
			u.Used++
			if s.Over {
				u.Over++
			}
		}
		if s.Ago < rule.Window {
			inWindow++
			u.usedBy(s.Who)
		}
	}
	slices.SortStableFunc(u.Users, func(a, b User) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls), cmp.Compare(a.Who, b.Who))
	})
	u.Held = inWindow - u.Used
	at := tail(within(times, 0, rule.Window), max(0, st.NotBefore), rule)
	if at > Soon {
		u.NextSlot = at.Seconds()
	}
	if u.NextSlot > 0 || u.Blocked > 0 { // a countdown in seconds
		u.changesIn(time.Second)
	}
	if u.NextSlot == 0 {
		u.Room = max(0, rule.N-inWindow-u.Waiting)
	}
	if inWindow >= max(1, rule.N) {
		u.Full = fullFor(times[:len(times)-u.Waiting], rule)
	}
	return u
}

// fullFor is how long the sent calls have left no slot free, of which the last N hold one now. A call that was sent as
// soon as the one N before it left the window leaves no gap.
func fullFor(sent []time.Duration, rule Rule) time.Duration {
	i, n := len(sent)-1, max(1, rule.N)
	for i-n >= 0 && sent[i]-sent[i-n] <= rule.Window+Late {
		i--
	}
	return max(-sent[i], tick)
}

// changesIn records times at which the line changes; past ones are ignored.
func (u *Usage) changesIn(moments ...time.Duration) {
	for _, m := range moments {
		if m > 0 && (u.Changes == 0 || m < u.Changes) {
			u.Changes = m
		}
	}
}
