package ui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
)

// Known has the local data of operations, which cost no call.
type Known struct {
	Get func(ctx context.Context, opid string) (op api.Operation, seenAt time.Time, ok bool) // the newest state
	// an older state is read again
	MaxAge time.Duration
	// the phase of its status word
	Phase func(api.Operation) api.Phase
}

// Latest is the newest state of one operation on a screen. It shows the local data
// first, and reads from the service if that is too old.
type Latest struct {
	ID     string // of the operation; "": none is open
	Op     *api.Operation
	At     time.Time // when Op was true
	Origin string
	Err    *api.Error // of the last read

	// OnShow is called after Op changed; before is nil the first time. May be nil.
	OnShow func(before *api.Operation) Action
	// Beside reads the other data of the screen, in the command of each read; first: it is
	// the read that opens the screen. May be nil.
	Beside func(ctx context.Context, first bool) Then
	// Hold ignores changes of the index while a write is in progress.
	Hold func() bool

	env    *Env
	caller endpoint.Caller
	known  Known
	loads  *Requests
	missed bool // the index changed during the read from the service
}

// NewLatest returns the state of an operation; it reads nothing before Init.
func NewLatest(env *Env, caller endpoint.Caller, known Known, opid string) *Latest {
	return &Latest{ID: opid, env: env, caller: caller, known: known, loads: env.Requests()}
}

// Init reads the local data, and from the service if that is too old.
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

// Peek reads the local data without a call, and shows it if it is newer.
func (l *Latest) Peek() tea.Cmd {
	return l.look(nil, func(op api.Operation, at time.Time, ok bool) (Action, tea.Cmd) {
		if ok && l.newer(op, at) && (l.Hold == nil || !l.Hold()) {
			return l.Show(op, at, "index"), nil
		}
		return nil, nil
	})
}

// newer reports whether a state of time at comes after the one that is shown.
func (l *Latest) newer(op api.Operation, at time.Time) bool {
	if by := l.changed(op); by != 0 {
		return by > 0
	}
	return at.After(l.At)
}

// changed compares a state with the one that is shown by the service's updatedAt, as the index does, because an answer
// that was under way during a change arrives after the webhook of that change: 1 for a later one, -1 for an earlier
// one, 0 if they do not say.
func (l *Latest) changed(op api.Operation) int {
	if l.Op == nil || op.UpdatedAt.IsZero() || l.Op.UpdatedAt.IsZero() {
		return 0
	}
	return op.UpdatedAt.Compare(l.Op.UpdatedAt.Time)
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
			var next tea.Cmd
			if l.missed {
				l.missed, next = false, l.Peek()
			}
			if err != nil {
				l.Err = api.AsError(err)
				return nil, next
			}
			if l.Err = nil; l.changed(op) < 0 {
				return nil, next
			}
			return l.Show(op, at, "service"), next
		}
	})
}

// Stop drops the answer to a running read.
func (l *Latest) Stop() { l.loads.Stop() }

// Busy reports whether the operation is being read.
func (l *Latest) Busy() bool { return l.loads.Busy() }

// OnNews handles a broadcast: a change of the index, or of the operation.
func (l *Latest) OnNews(msg Changed) (Action, tea.Cmd) {
	if msg.Kind == KindOperations && l.ID != "" {
		if l.missed = l.loads.Busy(); l.missed { // the answer may be older than the change
			return nil, nil
		}
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
