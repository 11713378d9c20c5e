// Package limit keeps the calls of all processes that share one machine
// account within the service's recommended rates.
package limit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Windows of the rings (rule F1): a minute plus the spread of network delays, and more for auth calls, whose answers
// may arrive closer together.
const (
	Window     = 62 * time.Second
	AuthWindow = 65 * time.Second
)

// Exhausted is the error that no slot is free in time.
type Exhausted struct {
	Class      Class
	RetryAfter time.Duration // until a slot is free
}

func (e *Exhausted) Error() string {
	return fmt.Sprintf("the %s budget has no call left before the deadline; try again in %s", e.Class,
		seconds(e.RetryAfter))
}

func seconds(d time.Duration) string {
	return fmt.Sprintf("%d s", int64((d+time.Second-1)/time.Second))
}

// Policy says what happens when a budget is exhausted.
type Policy string

// The policies.
const (
	Wait Policy = "wait" // hold calls to the recommended rate
	Warn Policy = "warn" // send and mark
)

// Config configures Budgets.
type Config struct {
	Store     Store
	Key       Key
	PerMinute map[Class]int // missing classes: Recommended
	// Reserve is how many slots of a class background work leaves free; missing classes: a third of the budget.
	Reserve map[Class]int
	Policy  Policy        // "": Wait
	MaxWait time.Duration // 0: 30 s; how long a person waits for a slot
	// Random returns numbers in [0,1), which spread the retries of background work of many processes. nil: math/rand.
	Random func() float64
}

// Budgets keeps the calls of one key within the recommended rates.
type Budgets struct {
	store   Store
	key     Key
	rules   map[Class]Rule
	warn    bool
	maxWait time.Duration
	random  func() float64
}

// New checks cfg and returns the budgets.
func New(cfg Config) (*Budgets, error) {
	b := &Budgets{store: cfg.Store, key: cfg.Key, rules: map[Class]Rule{}, warn: cfg.Policy == Warn, maxWait: cfg.MaxWait,
		random: cfg.Random}
	if b.random == nil {
		b.random = rand.Float64
	}
	switch cfg.Policy {
	case "", Wait, Warn:
	default:
		return nil, fmt.Errorf("limits: policy %q is neither wait nor warn", cfg.Policy)
	}
	if b.maxWait <= 0 {
		b.maxWait = 30 * time.Second
	}
	b.maxWait = min(b.maxWait, MaxAhead)
	for class, n := range Recommended() {
		if have, ok := cfg.PerMinute[class]; ok {
			n = have
		}
		if n < 1 || n > 10000 {
			return nil, fmt.Errorf("limits: per_minute of %s is %d, want 1 to 10000", class, n)
		}
		reserve, ok := cfg.Reserve[class]
		if !ok {
			reserve = n / 3
		}
		if reserve < 0 || reserve >= n {
			return nil, fmt.Errorf("limits: reserve of %s is %d, want 0 to %d", class, reserve, n-1)
		}
		b.rules[class] = Rule{N: n, Window: window(class), Reserve: reserve}
	}
	return b, nil
}

func window(c Class) time.Duration {
	if c == Login || c == Refresh {
		return AuthWindow
	}
	return Window
}

// Rule returns the rule of a class; General's for an unknown class.
func (b *Budgets) Rule(c Class) Rule {
	if r, ok := b.rules[c]; ok {
		return r
	}
	return b.rules[General]
}

// Key returns the account and service of the budgets.
func (b *Budgets) Key() Key { return b.key }

// Request returns the request of a caller with ctx: its longest wait is the smaller of max_wait and the time left of
// ctx.
func (b *Budgets) Request(ctx context.Context, c Class) Request {
	wait := b.maxWait
	if d, ok := ctx.Deadline(); ok {
		wait = min(wait, time.Until(d))
	}
	return Request{Class: c, Rule: b.Rule(c), MaxWait: max(0, wait), Background: IsBackground(ctx), Warn: b.warn,
		Who: by(ctx)}
}

// Take waits for a slot of c and returns when the call may be sent. over: it exceeds the budget (policy "warn"). The
// error is *Exhausted if no slot is free in time, the context's, or the store's.
func (b *Budgets) Take(ctx context.Context, c Class) (over bool, err error) {
	req := b.Request(ctx, c)
	for {
		g, err := b.store.Take(ctx, b.key, req)
		if err != nil {
			return false, err
		}
		if g.Taken && g.Wait == 0 {
			return g.Over, nil
		}
		if req, err = b.Hold(ctx, req, g); err != nil {
			return false, err
		}
	}
}

// Hold sleeps until a Grant is due and returns the request to repeat. For a refused Grant it returns *Exhausted,
// except to background work, which retries until its context ends. If ctx ends first, it returns the slot.
func (b *Budgets) Hold(ctx context.Context, req Request, g Grant) (Request, error) {
	if !g.Taken && !req.Background {
		return req, &Exhausted{Class: req.Class, RetryAfter: g.Wait}
	}
	req.Ticket = g.Ticket
	if req.Background && !g.Taken {
		g.Wait += time.Duration(b.random() * float64(apart))
	}
	if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) < g.Wait && req.Background {
		return req, &Exhausted{Class: req.Class, RetryAfter: g.Wait}
	}
	if err := Sleep(ctx, g.Wait); err != nil {
		b.Drop(ctx, req.Class, g.Ticket)
		return req, err
	}
	req.MaxWait = b.Request(ctx, req.Class).MaxWait
	return req, nil
}

// apart spreads background work that waits for the same time.
const apart = 250 * time.Millisecond

// Drop returns an unused slot; a failure costs one slot and is not reported.
func (b *Budgets) Drop(ctx context.Context, c Class, ticket string) {
	if ticket == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	_ = b.store.GiveBack(ctx, b.key, c, ticket)
}

// Note429 records for all processes that the service throttled calls of class c. retryAfter ≤ 0: the service gave no
// time, and a minute is assumed.
func (b *Budgets) Note429(ctx context.Context, c Class, retryAfter time.Duration) error {
	return b.store.Throttle(ctx, b.key, c, HoldFor(retryAfter))
}

// HoldFor is how long all processes wait after a 429 that asked for a wait; asked is 0 if it gave none.
func HoldFor(asked time.Duration) time.Duration {
	if asked <= 0 {
		return time.Minute
	}
	return min(asked, MaxNotBefore)
}

// Sleep waits for d, or returns ctx's error when ctx ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

type byKey struct{}

// By names who makes the calls with the returned context, for people.
func By(ctx context.Context, who string) context.Context { return context.WithValue(ctx, byKey{}, who) }

func by(ctx context.Context) string {
	who, _ := ctx.Value(byKey{}).(string)
	return who
}

type backgroundKey struct{}

// Background marks the calls with the returned context as background work, which leaves the budget to people.
func Background(ctx context.Context) context.Context {
	return context.WithValue(ctx, backgroundKey{}, true)
}

// IsBackground reports whether ctx was made by Background.
func IsBackground(ctx context.Context) bool {
	v, _ := ctx.Value(backgroundKey{}).(bool)
	return v
}

type awaitedKey struct{}

// Awaited marks background calls whose answer a person waits for. They still leave the budget to people, but fail at
// once if they cannot be made.
func Awaited(ctx context.Context) context.Context {
	return context.WithValue(Background(ctx), awaitedKey{}, true)
}

// IsAwaited reports whether a person waits for the calls of ctx: it was made by Awaited, or is not background work.
func IsAwaited(ctx context.Context) bool {
	v, _ := ctx.Value(awaitedKey{}).(bool)
	return v || !IsBackground(ctx)
}

// TakeBound is Take for a limit of the caller's own, named by class; it does not count for any class of the service.
func (b *Budgets) TakeBound(ctx context.Context, class Class, perMinute int) error {
	req := b.Request(ctx, class)
	req.Rule, req.Background = Rule{N: perMinute, Window: Window}, false
	for {
		g, err := b.store.Take(ctx, b.key, req)
		if err != nil {
			return err
		}
		if g.Taken && g.Wait == 0 {
			return nil
		}
		rule := req.Rule
		if req, err = b.Hold(ctx, req, g); err != nil {
			return err
		}
		req.Rule = rule
	}
}

// Class is a group of endpoints that share one recommended rate.
type Class string

// The classes (spec, Limits). The paths of the service's rate table carry an
// "/api" that its real paths lack; the classes go by the real ones.
const (
	Login    Class = "login"    // POST /v2/auth/login
	Refresh  Class = "refresh"  // GET /v2/auth/refresh/{token}
	Account  Class = "account"  // /v2/account
	Customer Class = "customer" // /v2/customer
	Billing  Class = "billing"  // /v2/billing, /v2/report
	General  Class = "general"  // everything else
)

// Classes lists all classes in the order in which they are shown.
var Classes = []Class{Login, Refresh, Account, Customer, Billing, General}

// Recommended returns the recommended calls per minute (spec, Limits).
func Recommended() map[Class]int {
	return map[Class]int{Login: 6, Refresh: 1, Account: 12, Customer: 12, Billing: 12, General: 20}
}

// Clock reads the time. The two readings are separate on purpose: the wall clock can be set, and the steady one means
// nothing to people.
type Clock interface {
	// Wall is the host's time of day, without Go's monotonic reading.
	Wall() time.Time
	// Steady counts evenly, through suspend where the system supports it (rule G1); only differences have a meaning.
	Steady() time.Duration
}

// Apart is how far a clock that said now is ahead of another one, which said before and after around that reading: only
// what the time between the two does not explain, so that a slow reading moves no time. Less than two seconds count as
// none, so that the same time is always shown the same.
func Apart(now, before, after time.Time) time.Duration {
	off := max(now.Sub(after), 0) + min(now.Sub(before), 0)
	if off = off.Round(time.Second); off.Abs() < 2*time.Second {
		return 0
	}
	return off
}

// Moved converts t from the clock of a shared store to this host's, which is that far behind the store's (Apart), so
// that people can compare it with their own. No time stays none.
func Moved(t time.Time, ahead time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-ahead)
}

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
