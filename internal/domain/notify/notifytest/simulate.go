package notifytest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"opdeck/internal/domain/notify"
)

// Death is how an instance ends.
type Death int

// The ways.
const (
	AtOnce    Death = iota // wherever it is
	Claimed                // after the next claim, before it sends
	Delivered              // after the next notice has arrived, before that is recorded
	Deaths
)

var errDead = errors.New("this process has ended")

// Receiver counts what arrives.
type Receiver struct {
	mu      sync.Mutex
	arrived map[string]int    // guarded by mu: by ID
	kinds   map[string]string // guarded by mu: rule and kind by ID
}

// NewReceiver returns a receiver that has nothing.
func NewReceiver() *Receiver { return &Receiver{arrived: map[string]int{}, kinds: map[string]string{}} }

func (r *Receiver) take(n notify.Notice) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.arrived[n.ID]++
	r.kinds[n.ID] = n.Name + " " + string(n.Kind)
}

// Check compares what arrived with what the world wants. again is how many processes ended after a notice had arrived
// and before that was recorded: so many arrive twice, with the same ID.
func (r *Receiver) Check(t *testing.T, wanted map[string]int, again int64) {
	t.Helper()
	got, twice := map[string]int{}, int64(0)
	for id, n := range r.arrived {
		got[r.kinds[id]]++
		twice += int64(n - 1)
	}
	if fmt.Sprint(got) != fmt.Sprint(wanted) {
		t.Errorf("arrived %v\nwanted  %v", got, wanted)
	}
	if twice != again {
		t.Errorf("%d arrived again, %d processes ended between arrival and record", twice, again)
	}
}

// Instance is one process. After its death its store answers nothing and its senders deliver nothing.
type Instance struct {
	notify.Store
	receiver *Receiver
	dead     atomic.Bool
	death    atomic.Int64  // the Death that waits, -1 for none
	Again    *atomic.Int64 // deaths with Delivered
	died     chan struct{} // closed at the death
	once     sync.Once
}

// NewInstance returns a process on a store.
func NewInstance(s notify.Store, r *Receiver, again *atomic.Int64) *Instance {
	i := &Instance{Store: s, receiver: r, Again: again, died: make(chan struct{})}
	i.death.Store(-1)
	return i
}

// Kill ends it in a way.
func (i *Instance) Kill(d Death) {
	if d == AtOnce {
		i.end()
		return
	}
	i.death.Store(int64(d))
}

// Died is closed when it has ended.
func (i *Instance) Died() <-chan struct{} { return i.died }

func (i *Instance) end() { i.dead.Store(true); i.once.Do(func() { close(i.died) }) }

// Update implements notify.Store.
func (i *Instance) Update(ctx context.Context, scope, rule string,
	change func(notify.State, bool) (notify.State, []notify.Notice, bool)) error {
	if i.dead.Load() {
		return errDead
	}
	return i.Store.Update(ctx, scope, rule, change)
}

// Claim implements notify.Store.
func (i *Instance) Claim(ctx context.Context, scope, rule, owner string) (d notify.Delivery, ok bool, err error) {
	if i.dead.Load() {
		return d, false, errDead
	}
	d, ok, err = i.Store.Claim(ctx, scope, rule, owner)
	if ok && i.death.Load() == int64(Claimed) {
		i.end()
	}
	return d, ok, err
}

// Done implements notify.Store.
func (i *Instance) Done(ctx context.Context, scope, owner, id string, o notify.Outcome) error {
	if i.dead.Load() {
		return errDead
	}
	return i.Store.Done(ctx, scope, owner, id, o)
}

// Send implements notify.Sender.
func (i *Instance) Send(_ context.Context, n notify.Notice) error {
	if i.dead.Load() {
		return errDead
	}
	i.receiver.take(n)
	if i.death.Load() == int64(Delivered) {
		i.Again.Add(1)
		i.end()
	}
	return nil
}

// Options are those of a Notifier of this instance in a world.
func (i *Instance) Options(w *World, name string, now func() time.Time) notify.Options {
	senders := map[string]notify.Sender{}
	for _, r := range Rules() {
		senders[r.Name] = i
	}
	return notify.Options{Store: i, Scope: scope, Owner: name, Rules: Rules(), Senders: senders,
		Observe: func(context.Context) notify.Observation { return w.At(now()) }}
}

// Steps runs instances on stores step by step, with a clock that jumps from change to change, through restarts. All
// stores are the same data.
func Steps(t *testing.T, stores []notify.Store, clock *Clock, w *World, restarts int) {
	r, rec, again := rand.New(rand.NewPCG(7, 7)), NewReceiver(), new(atomic.Int64)
	names := 0
	begin := func(s notify.Store) (*Instance, *notify.Notifier) {
		names++
		i := NewInstance(s, rec, again)
		return i, notify.New(i.Options(w, fmt.Sprint("p", names), clock.Now))
	}
	type process struct {
		i *Instance
		n *notify.Notifier
	}
	all := make([]process, len(stores))
	for k, s := range stores {
		all[k].i, all[k].n = begin(s)
	}
	times := w.ticks()
	dying, killed, doomed := -1, 0, 0
	for step, at := range times {
		clock.Move(at.Sub(clock.Now()))
		if dying >= 0 && all[dying].i.dead.Load() { // it is started again
			all[dying].i, all[dying].n = begin(stores[dying])
			dying = -1
		}
		if dying < 0 && killed < min(restarts, restarts*(step+1)*3/(2*len(times))+1) {
			dying = r.IntN(len(all))
			killed++
			doomed = step
			all[dying].i.Kill(Death(r.IntN(int(Deaths))))
		} else if dying >= 0 && step-doomed > 30 { // there is nothing to send
			all[dying].i.Kill(AtOnce)
		}
		for _, k := range r.Perm(len(all)) {
			all[k].n.Watch(t.Context())
			for _, rule := range Rules() {
				for all[k].n.Deliver(t.Context(), rule.Name) {
				}
			}
		}
	}
	t.Logf("%d steps, %d processes ended, %d of them between arrival and record", len(times), killed, again.Load())
	if killed < restarts*9/10 {
		t.Errorf("only %d of %d restarts", killed, restarts)
	}
	rec.Check(t, w.Wanted(stepEvery), again.Load())
}

// stepEvery is the time between steps around a change.
const stepEvery = 10 * time.Second

// ticks are steps around each change, from the change to the end of its consequences, and a few in between.
func (w *World) ticks() (out []time.Time) {
	changes := w.Changes()
	near := 0
	for at := w.From; at.Before(w.To); {
		out = append(out, at)
		for near < len(changes) && changes[near].Before(at.Add(-3*time.Minute)) {
			near++
		}
		busy := near < len(changes) && !changes[near].After(at.Add(stepEvery))
		for _, s := range w.spells {
			busy = busy || (s.flaps || s.hidden) && !at.Before(s.from) && at.Before(s.to.Add(3*time.Minute))
		}
		for _, s := range w.rows {
			busy = busy || (s.flaps || s.hidden) && !at.Before(s.from) && at.Before(s.to.Add(3*time.Minute))
		}
		switch {
		case busy || near == len(changes):
			at = at.Add(stepEvery)
		default:
			next := changes[near]
			if far := at.Add(time.Hour); next.After(far) {
				next = far
			}
			at = next
		}
		if near == len(changes) {
			at = at.Add(time.Minute)
		}
	}
	return out
}
