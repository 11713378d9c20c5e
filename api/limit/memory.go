package limit

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Memory is a Store in memory, for tests, for the built-in service, and for calls while the shared store is
// unavailable.
type Memory struct {
	clock Clock
	mu    sync.Mutex // guards rings
	rings map[ringKey]*memoryRing
}

type ringKey struct {
	key   Key
	class Class
}

type memoryRing struct {
	slots     []memorySlot // ascending by at
	notBefore time.Duration
	throttled []time.Duration
}

type memorySlot struct {
	ticket           string
	at               time.Duration
	background, over bool
	who              string
}

// NewMemory returns an empty store that uses clock's Steady time.
func NewMemory(clock Clock) *Memory {
	return &Memory{clock: clock, rings: map[ringKey]*memoryRing{}}
}

// Take implements Store.
func (m *Memory) Take(_ context.Context, key Key, req Request) (Grant, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Steady()
	r := m.ring(key, req.Class, now)
	own, others := r.split(req.Ticket)
	d := Decide(now, Ring{Slots: others, NotBefore: r.notBefore}, req, own)
	if own != nil && (!d.Take || d.Fresh) {
		r.remove(req.Ticket)
	}
	if !d.Take {
		return Grant{Wait: d.Wait}, nil
	}
	ticket := req.Ticket
	if own == nil {
		ticket = cmp.Or(req.As, rand.Text())
	}
	if d.Fresh {
		r.insert(memorySlot{ticket: ticket, at: d.At, background: req.Background, over: d.Over, who: req.Who})
	}
	return Grant{Taken: true, Ticket: ticket, Wait: d.Wait, Over: d.Over}, nil
}

// GiveBack implements Store.
func (m *Memory) GiveBack(_ context.Context, key Key, class Class, ticket string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Steady()
	r := m.ring(key, class, now)
	if own, _ := r.split(ticket); own != nil && *own > now {
		r.remove(ticket)
	}
	return nil
}

// Throttle implements Store.
func (m *Memory) Throttle(_ context.Context, key Key, class Class, wait time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Steady()
	r := m.ring(key, class, now)
	r.notBefore = max(r.notBefore, now+min(max(0, wait), MaxNotBefore))
	r.throttled = append(r.throttled, now)
	return nil
}

// State implements Store.
func (m *Memory) State(_ context.Context, key Key) (map[Class]State, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Steady()
	out := map[Class]State{}
	for k := range m.rings {
		if k.key != key {
			continue
		}
		r := m.ring(key, k.class, now)
		st := State{At: now, NotBefore: max(0, r.notBefore-now)}
		for _, s := range r.slots {
			st.Slots = append(st.Slots, Slot{Ago: now - s.at, Background: s.background, Over: s.over,
				Who: s.who})
		}
		for _, at := range r.throttled {
			st.Throttled = append(st.Throttled, max(0, now-at))
		}
		out[k.class] = st
	}
	return out, nil
}

// ring returns the ring without slots that are too old, or implausibly far ahead.
func (m *Memory) ring(key Key, class Class, now time.Duration) *memoryRing {
	k := ringKey{key, class}
	r := m.rings[k]
	if r == nil {
		r = &memoryRing{notBefore: math.MinInt64 / 2}
		m.rings[k] = r
	}
	r.slots = slices.DeleteFunc(r.slots, func(s memorySlot) bool { return s.at <= now-Retention || s.at > now+MaxAhead })
	r.throttled = slices.DeleteFunc(r.throttled, func(at time.Duration) bool {
		return at <= now-ThrottleRetention || at > now+MaxAhead
	})
	r.notBefore = min(r.notBefore, now+MaxNotBefore)
	return r
}

// split separates the slot of ticket from the times of all others.
func (r *memoryRing) split(ticket string) (own *time.Duration, others []time.Duration) {
	for _, s := range r.slots {
		if ticket != "" && s.ticket == ticket {
			own = &s.at
			continue
		}
		others = append(others, s.at)
	}
	return own, others
}

func (r *memoryRing) remove(ticket string) {
	r.slots = slices.DeleteFunc(r.slots, func(s memorySlot) bool { return s.ticket == ticket })
}

func (r *memoryRing) insert(s memorySlot) {
	i, _ := slices.BinarySearchFunc(r.slots, s.at, func(have memorySlot, at time.Duration) int {
		return int(have.at - at)
	})
	r.slots = slices.Insert(r.slots, i, s)
}

// Drop deletes a slot although its time has come: its call was not sent.
func (m *Memory) Drop(key Key, class Class, ticket string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ring(key, class, m.clock.Steady()).remove(ticket)
}

// Key identifies a set of budgets: one machine account at one service. Both parts are normalised (session protocol
// rule A2; session.NormalKey does it).
type Key struct {
	BaseURL string
	Account string
}

// Limits of what a store keeps and accepts.
const (
	// Retention is how long used slots are kept, for the last ten minutes' history.
	Retention = 10 * time.Minute
	// ThrottleRetention is how long 429 answers are counted.
	ThrottleRetention = time.Hour
	// MaxAhead is the furthest that a slot may be ahead. A stored slot or 429 further ahead is from a clock that was set
	// back and is deleted (rule G3). One that is less far ahead was stored after the reader read the clock.
	MaxAhead = 5 * time.Minute
	// MaxNotBefore bounds the wait that a 429 may ask for (rule D4). A stored value further ahead is cut and written
	// back (rule G3).
	MaxNotBefore = 5 * time.Minute
	// Late is how much later than its slot a waiter may confirm it. The window's two spare seconds cover it.
	Late = 500 * time.Millisecond
)

// Rule is the budget of a class.
type Rule struct {
	N       int           // calls in a window, ≥ 1
	Window  time.Duration // 62 s for API classes, 65 s for auth (rule F1)
	Reserve int           // slots that background work leaves free, 0 … N-1
}

// Request is a request to send one call.
type Request struct {
	Class Class
	Rule  Rule
	// Ticket is "" for a new call, else the ticket of the Grant that made the caller wait: the slot is confirmed, or
	// moved if the caller is too late or a 429 arrived in between.
	Ticket string
	// Who makes the call, for people: a person, a borrower or a part of a program, with the host; "" if not known.
	Who string
	// As is the ticket of a new slot; "": a random one.
	As string
	// MaxWait is the longest acceptable wait. If no slot is free by then, nothing is reserved.
	MaxWait time.Duration
	// Background work gets a slot only at once, if no one waits and Rule.Reserve further slots stay free; it is never
	// queued.
	Background bool
	// Warn sends regardless of the ring and marks the slot as over the budget (policy "warn"). A 429's not_before
	// still applies.
	Warn bool
}

// Grant is the result of a Request.
type Grant struct {
	// Taken: a slot is reserved. With Wait 0 the call can be sent now; otherwise the caller sleeps for Wait and
	// repeats the request with Ticket.
	Taken  bool
	Ticket string        // random; "" if nothing is reserved
	Wait   time.Duration // ≥ 0; if not Taken: until a retry makes sense
	Over   bool          // exceeds the budget (policy "warn")
}

// Slot is one reserved or used send time, as returned by Store.State.
type Slot struct {
	Ago        time.Duration // negative: still ahead, and a caller waits for it
	Background bool
	Over       bool
	Who        string // see Request
}

// State is what a store knows of one class.
type State struct {
	At        time.Duration   // the store's clock at the read, since any fixed instant
	Slots     []Slot          // oldest first, at most Retention old
	NotBefore time.Duration   // until a 429's not_before; 0 for none
	Throttled []time.Duration // ages of 429 answers within ThrottleRetention, oldest first
}

// Store keeps rings of reserved send times, shared by all processes of a key. An implementation reads the class's
// slots in a transaction that excludes others of the same key and class, calls Decide, and writes its decision; it
// decides nothing itself. All times are the store's own (rule G1): only durations cross this interface, and
// State.At, which makes instants of them that are the same for every process.
type Store interface {
	// Take reserves, confirms or moves a slot. After an error the slot may be lost, but is never reserved twice.
	Take(ctx context.Context, key Key, req Request) (Grant, error)
	// GiveBack deletes the slot of ticket if it is still ahead. An unknown, used or expired ticket is not an error.
	GiveBack(ctx context.Context, key Key, class Class, ticket string) error
	// Throttle records a 429: no call of this class is sent before wait is over (cut to MaxNotBefore; an earlier,
	// longer wait stays).
	Throttle(ctx context.Context, key Key, class Class, wait time.Duration) error
	// State reads all classes that have slots or 429s.
	State(ctx context.Context, key Key) (map[Class]State, error)
}

// Usage is one line of `opdeck limits`, for all instances together.
type Usage struct {
	Class       Class   `json:"class"`
	Recommended int     `json:"recommended_per_minute"`
	Used        int     `json:"used_last_minute"`
	Room        int     `json:"room"`                 // calls that can be sent now, one after the other
	NextSlot    float64 `json:"next_slot_in_seconds"` // until one more person's call can be sent; 0: now
	Throttled   int     `json:"throttled"`            // 429 answers in the last hour
	Waiting     int     `json:"waiting"`              // calls that wait for a reserved slot

	At      time.Duration `json:"-"` // the store's clock (State.At); what is left and ages are from then on
	Reserve int           `json:"-"` // slots that background work leaves free
	Over    int           `json:"-"` // calls that exceeded the budget in the last minute (policy "warn")
	Warns   bool          `json:"-"` // such calls are sent at once, and marked (policy "warn")
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
	// Ahead are the times until one person's next calls could be sent, one after the other (0: now); AheadCalls of them.
	Ahead []time.Duration `json:"-"`
	// Full is how long no slot has been free, apart from those that waiting calls took at once; 0: one is free.
	Full time.Duration `json:"-"`
	// Refused is the age of the newest 429; 0: none in the last hour.
	Refused time.Duration `json:"-"`
}

// AheadCalls is how far Usage.Ahead looks: no act makes more calls of one class.
const AheadCalls = 6

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
		u := Summarise(c, b.Rule(c), state[c])
		u.Warns = b.warn
		out = append(out, u)
	}
	return out, nil
}

// ClassUsage is Usage for one class.
func (b *Budgets) ClassUsage(ctx context.Context, c Class) (Usage, error) {
	state, err := b.store.State(ctx, b.key)
	if err != nil {
		return Usage{}, err
	}
	u := Summarise(c, b.Rule(c), state[c])
	u.Warns = b.warn
	return u, nil
}

// Summarise converts a store's state of a class to a line for people.
func Summarise(c Class, rule Rule, st State) Usage {
	u := Usage{At: st.At, Class: c, Recommended: rule.N, Reserve: rule.Reserve, Window: rule.Window,
		Throttled: len(st.Throttled), Blocked: st.NotBefore}
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
	taken := slices.Clip(within(times, 0, rule.Window))
	at := tail(taken, max(0, st.NotBefore), rule)
	for next := at; len(u.Ahead) < AheadCalls; next = tail(taken, next, rule) {
		u.Ahead, taken = append(u.Ahead, next), append(taken, next)
	}
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
