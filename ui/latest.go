package ui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
)

// Known is what is known of operations without a call.
type Known struct {
	Get func(ctx context.Context, opid string) (op api.Operation, seenAt time.Time, ok bool) // the newest state
	// a state that is older is read again
	MaxAge time.Duration
	// what its status word means
	Phase func(api.Operation) api.Phase
}

// Latest is the newest state of one operation that a screen has: what is known locally
// is shown first, and the service is asked when that is too old.
type Latest struct {
	ID     string // of the operation; empty: none is open
	Op     *api.Operation
	At     time.Time // when Op was true
	Origin string
	Err    *api.Error // of the last read

	// OnShow is called after Op changed; before is nil the first time. nil: nothing is done.
	OnShow func(before *api.Operation) Action
	// Beside reads, in the command of each read, what else the screen shows; first: it is
	// the read that opens it. nil: nothing.
	Beside func(ctx context.Context, first bool) Then
	// Hold keeps what the index reports on from being shown: a write is under way.
	Hold func() bool

	env    *Env
	caller endpoint.Caller
	known  Known
	loads  *Requests
}

// NewLatest makes the state of an operation; nothing is read before Init.
func NewLatest(env *Env, caller endpoint.Caller, known Known, opid string) *Latest {
	return &Latest{ID: opid, env: env, caller: caller, known: known, loads: env.Requests()}
}

// Init reads what is known locally, and from the service when that is too old.
func (l *Latest) Init() tea.Cmd {
	if l.ID == "" {
		return nil
	}
	return l.look(l.loads, func(op api.Operation, at time.Time, ok bool) (Action, tea.Cmd) {
		var a Action
		if ok {
			a = l.Show(op, at, "index")
		}
		if !ok || l.env.Now().Sub(at) > l.known.MaxAge {
			return a, l.Load()
		}
		return a, nil
	})
}

// Peek looks at what is known locally, and shows it when it is newer: no call.
func (l *Latest) Peek() tea.Cmd {
	return l.look(nil, func(op api.Operation, at time.Time, ok bool) (Action, tea.Cmd) {
		if ok && at.After(l.At) && (l.Hold == nil || !l.Hold()) {
			return l.Show(op, at, "index"), nil
		}
		return nil, nil
	})
}

func (l *Latest) look(loads *Requests, then func(api.Operation, time.Time, bool) (Action, tea.Cmd)) tea.Cmd {
	get, id, beside := l.known.Get, l.ID, l.beside(loads != nil)
	return l.env.Read(loads, func(ctx context.Context) Then {
		also := beside(ctx)
		op, at, ok := get(ctx, id)
		return func() (Action, tea.Cmd) {
			also()
			return then(op, at, ok)
		}
	})
}

// beside is Beside with something to call in any case.
func (l *Latest) beside(first bool) func(context.Context) Then {
	read := l.Beside
	return func(ctx context.Context) Then {
		if read == nil {
			return func() (Action, tea.Cmd) { return nil, nil }
		}
		return read(ctx, first)
	}
}

// Load reads the operation from the service: one billing call.
func (l *Latest) Load() tea.Cmd {
	if l.ID == "" {
		return nil
	}
	caller, id, now, beside := l.caller, l.ID, l.env.Now, l.beside(false)
	return l.env.Read(l.loads, func(ctx context.Context) Then {
		op, err := endpoint.Do(ctx, caller, endpoint.GetOperation, id)
		at, also := now(), beside(ctx)
		return func() (Action, tea.Cmd) {
			also()
			if err != nil {
				l.Err = api.AsError(err)
				return nil, nil
			}
			return l.Show(op, at, "service"), nil
		}
	})
}

// Stop drops the answer to a read that is under way.
func (l *Latest) Stop() { l.loads.Stop() }

// Busy reports whether the operation is being read.
func (l *Latest) Busy() bool { return l.loads.Busy() }

// OnNews takes what is told to every screen: a change of the index, or of the operation.
func (l *Latest) OnNews(msg Changed) (Action, tea.Cmd) {
	if msg.Kind == KindOperations && l.ID != "" && !l.loads.Busy() {
		return nil, l.Peek()
	}
	if op, ok := msg.Object.(api.Operation); ok && msg.Kind == KindOperation && msg.ID == l.ID {
		return l.Show(op, l.env.Now(), msg.Origin), nil
	}
	return nil, nil
}

// Show takes a new state of the operation.
func (l *Latest) Show(op api.Operation, at time.Time, origin string) Action {
	before := l.Op
	l.Op, l.At, l.Origin, l.Err = &op, at, origin, nil
	if l.OnShow == nil {
		return nil
	}
	return l.OnShow(before)
}

// Source is the screen's Source.
func (l *Latest) Source() Source {
	return Source{Origin: l.Origin, At: l.At, Class: "billing", Loading: l.loads.Busy(), Problem: Problem(l.Err)}
}

// Subject is the operation, and its customer.
func (l *Latest) Subject(kind string) string {
	switch {
	case kind == KindOperation || kind == KindDocuments:
		return l.ID
	case kind == KindCompliance && l.Op != nil:
		return string(l.Op.Customer.CUID)
	}
	return ""
}
