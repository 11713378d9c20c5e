package limit

import (
	"context"
	"fmt"
	"math/rand/v2"
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
