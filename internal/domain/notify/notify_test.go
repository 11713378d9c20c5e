package notify_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/internal/domain/notify"
	"opdeck/internal/domain/notify/notifytest"
)

func TestMemory(t *testing.T) {
	notifytest.Run(t, func(_ *testing.T, now func() time.Time) notify.Store { return notifytest.NewMemory(now) })
}

// TestSteps is the simulation that the databases run too (internal/store/journal), on the store in memory.
func TestSteps(t *testing.T) {
	c := new(notifytest.Clock)
	m := notifytest.NewMemory(c.Now)
	notifytest.Steps(t, []notify.Store{m, m, m}, c, notifytest.NewWorld(1, c.Now(), 30, 20), 200)
}

// TestThirtyDays: three instances of opdeck serve watch and send for 30 days; 200 times one of them ends, also between
// claim and sending and between sending and record. Each notice arrives once, and again, with the same ID, only for a
// process that ended between sending and record.
func TestThirtyDays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const every = 30 * time.Second
		days, ends := 30, 200
		if raceOn { // .ci/run plays all of them without
			days, ends = 6, 40
		}
		w := notifytest.NewWorld(2, time.Now(), days, 4*days/3)
		m, rec, again := notifytest.NewMemory(nil), notifytest.NewReceiver(), new(atomic.Int64)
		r := rand.New(rand.NewPCG(3, 3))
		names := 0
		begin := func() (*notifytest.Instance, func()) {
			names++
			i := notifytest.NewInstance(m, rec, again)
			opt := i.Options(w, fmt.Sprint("p", names), time.Now)
			opt.Every = every
			ctx, cancel := context.WithCancel(t.Context())
			var run sync.WaitGroup
			run.Go(func() { notify.New(opt).Run(ctx) })
			return i, func() { cancel(); run.Wait() }
		}
		var all [3]*notifytest.Instance
		var stops [3]func()
		for k := range all {
			all[k], stops[k] = begin()
			time.Sleep(every / 3)
		}
		for range ends {
			k := r.IntN(len(all))
			all[k].Kill(notifytest.Death(r.IntN(int(notifytest.Deaths))))
			select {
			case <-all[k].Died():
			case <-time.After(time.Hour): // there is nothing to send
				all[k].Kill(notifytest.AtOnce)
			}
			stops[k]()
			time.Sleep(time.Duration(r.Int64N(int64(5 * time.Minute))))
			all[k], stops[k] = begin()
			time.Sleep(time.Duration(r.Int64N(int64(2 * time.Hour))))
		}
		if time.Now().After(w.To) {
			t.Errorf("the restarts took until %s", time.Now())
		}
		time.Sleep(time.Until(w.To))
		for _, stop := range stops {
			stop()
		}
		t.Logf("%d processes, %d of them ended between arrival and record", names, again.Load())
		rec.Check(t, w.Wanted(every), again.Load())
	})
}
