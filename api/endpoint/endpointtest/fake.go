// Package endpointtest has a fake of the service for tests of callers.
package endpointtest

import (
	"context"
	"fmt"
	"sync"

	"opdeck/api"
	"opdeck/api/endpoint"
)

// Fake is a Caller made of functions: On declares the answer of a call. An undeclared call goes to Next, or panics if
// Next is nil. The zero value is ready to use.
type Fake struct {
	Next endpoint.Caller

	mu      sync.Mutex
	answers map[api.ActKind]func(ctx context.Context, in any) (any, error) // guarded by mu
	calls   map[api.ActKind]int                                            // guarded by mu
}

// On makes answer answer the calls of e; it replaces an earlier one.
func On[In, Out any](f *Fake, e endpoint.Endpoint[In, Out], answer func(ctx context.Context, in In) (Out, error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.answers == nil {
		f.answers = map[api.ActKind]func(context.Context, any) (any, error){}
	}
	f.answers[e.Kind] = func(ctx context.Context, in any) (any, error) { return answer(ctx, in.(In)) }
}

// Call implements endpoint.Caller.
func (f *Fake) Call(ctx context.Context, r endpoint.Request) (any, error) {
	f.mu.Lock()
	if f.calls == nil {
		f.calls = map[api.ActKind]int{}
	}
	f.calls[r.Kind]++
	answer := f.answers[r.Kind]
	f.mu.Unlock()
	switch {
	case answer != nil:
		return answer(ctx, r.In)
	case f.Next != nil:
		return f.Next.Call(ctx, r)
	}
	panic(fmt.Sprintf("endpointtest: nothing answers %s; declare it with On", r.Kind))
}

// Calls counts the calls of a kind; "" counts all.
func (f *Fake) Calls(kind api.ActKind) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, count := range f.calls {
		if kind == "" || kind == k {
			n += count
		}
	}
	return n
}
