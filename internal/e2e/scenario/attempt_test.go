//go:build unix

package scenario

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// attempts is how often a scenario of the short run may try. Its lifetimes are a fiftieth of the real ones, so that a
// machine that stalls for two seconds has the effect of a minute. A scenario that fails among others is repeated
// alone. Grave failures (see grave) are never repeated. The full run tries once.
var attempts = pick(3, 1)

// alone keeps other scenarios away from one that is tried again.
var alone sync.RWMutex

// attempt is one try at a scenario, with faults and cleaning of its own.
type attempt struct {
	testing.TB
	ctx context.Context

	mu       sync.Mutex // guards what follows
	faults   []string
	failed   bool
	skipped  string
	over     bool
	cleaning []func()
}

// try runs a scenario until it succeeds or has had its attempts.
func try(t testing.TB, run func(t testing.TB)) {
	t.Helper()
	for n := 1; ; n++ {
		var a *attempt
		if n == 1 {
			alone.RLock()
			a = once(t, run)
			alone.RUnlock()
		} else {
			alone.Lock()
			a = once(t, run)
			alone.Unlock()
		}
		switch {
		case a.skipped != "":
			t.Skip(a.skipped)
		case !a.failed:
			return
		case n == attempts || t.Failed():
			t.Errorf("attempt %d:\n%s", n, strings.Join(a.faults, "\n"))
			return
		}
		t.Logf("attempt %d, to be repeated alone:\n%s", n, strings.Join(a.faults, "\n"))
	}
}

// once makes one attempt.
func once(t testing.TB, run func(t testing.TB)) *attempt {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	a := &attempt{TB: t, ctx: ctx}
	step := func(f func()) { // FailNow ends a goroutine
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		<-done
	}
	step(func() { run(a) })
	cancel()
	for len(a.cleaning) > 0 {
		last := a.cleaning[len(a.cleaning)-1]
		a.cleaning = a.cleaning[:len(a.cleaning)-1]
		step(last)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	return a
}

// grave is a fault that nothing excuses: a refresh token shown twice, a secret in
// the open, a damaged store. It fails the scenario whatever a later attempt does.
func grave(t testing.TB, format string, args ...any) {
	t.Helper()
	if a, ok := t.(*attempt); ok {
		t = a.TB
	}
	t.Errorf(format, args...)
}

func (a *attempt) note(text string) {
	_, file, line, _ := runtime.Caller(2)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		panic("a scenario goes on after its end: " + text)
	}
	a.failed = true
	if text != "" {
		a.faults = append(a.faults, fmt.Sprintf("%s:%d: %s", file[strings.LastIndexByte(file, '/')+1:], line, strings.TrimSuffix(text, "\n")))
	}
}

func (a *attempt) Fail()                             { a.note("") }
func (a *attempt) Error(args ...any)                 { a.note(fmt.Sprintln(args...)) }
func (a *attempt) Errorf(format string, args ...any) { a.note(fmt.Sprintf(format, args...)) }

func (a *attempt) FailNow() {
	a.note("")
	runtime.Goexit()
}

func (a *attempt) Fatal(args ...any) {
	a.note(fmt.Sprintln(args...))
	runtime.Goexit()
}

func (a *attempt) Fatalf(format string, args ...any) {
	a.note(fmt.Sprintf(format, args...))
	runtime.Goexit()
}

func (a *attempt) Skip(args ...any) {
	a.mu.Lock()
	a.skipped = strings.TrimSuffix(fmt.Sprintln(args...), "\n")
	a.mu.Unlock()
	runtime.Goexit()
}

func (a *attempt) Failed() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.failed || a.TB.Failed()
}

func (a *attempt) Cleanup(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cleaning = append(a.cleaning, f)
}

func (a *attempt) Context() context.Context { return a.ctx }
