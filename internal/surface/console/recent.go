package console

import (
	"context"
	"sync"
	"time"

	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/app"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store"
)

// sharedFor is how old a reading may be that another console made. A store without versions may have changed since.
const sharedFor = pollEvery / 2

// readings are what every console of a server reads of the store by itself when it has changed. It is the same for all
// of them: with 200 consoles these reads were most of what an idle server did.
type readings struct {
	status  recent[session.Status]
	usage   recent[[]limit.Usage]
	sync    recent[*string] // the line about the background sync; nil while idle
	verdict recent[verdict.Verdict]
}

// newReadings returns readings that are shared for a time; for 0 every console makes its own.
func newReadings(keep time.Duration) *readings {
	return &readings{status: recent[session.Status]{keep: keep}, usage: recent[[]limit.Usage]{keep: keep},
		sync: recent[*string]{keep: keep}, verdict: recent[verdict.Verdict]{keep: keep}}
}

// recent is the last reading of a value, which is not changed afterwards.
type recent[T any] struct {
	keep  time.Duration
	mu    sync.Mutex    // held while one console reads; the others wait for its answer
	at    time.Time     // guarded by mu: of the reading; zero: none
	stamp store.Version // guarded by mu: of the store before it
	value T             // guarded by mu
}

// read returns the last reading if the store has not changed since, and when it was made; else it reads. A reading that
// failed is not kept.
func (r *recent[T]) read(a *app.App, fresh func() (T, error)) (value T, at time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	stamp, _ := a.Store.Version(context.Background())
	now := a.Now()
	if age := now.Sub(r.at); !r.at.IsZero() && stamp == r.stamp && age >= 0 && age < r.keep {
		return r.value, r.at, nil
	}
	if value, err = fresh(); err != nil {
		return value, now, err
	}
	r.at, r.stamp, r.value = now, stamp, value
	return value, now, nil
}
