package ui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/domain/mask"
	"opdeck/ui/keymap"
)

// Then is what is done with an answer, in the update loop of the screen that asked.
type Then func() (Action, tea.Cmd)

type readMsg struct {
	Ticket
	loads *Requests
	then  Then
}

// Read reads in a command, which owns copies of what it needs and returns what is
// done with the answer. An answer to an older read of the same loads is dropped; with
// nil loads none is.
func (e *Env) Read(loads *Requests, read func(ctx context.Context) Then) tea.Cmd {
	t, ctx := e.Ticket(), e.Ctx
	if loads != nil {
		t, ctx = loads.Start(ctx)
	}
	return func() tea.Msg { return readMsg{t, loads, read(ctx)} }
}

// Reading is Read of one value, which got takes with the moment when it had been read.
func Reading[T any](e *Env, loads *Requests, read func(ctx context.Context) (T, error),
	got func(v T, at time.Time, err error)) tea.Cmd {
	now := e.Now
	return e.Read(loads, func(ctx context.Context) Then {
		v, err := read(ctx)
		at := now()
		return func() (Action, tea.Cmd) {
			got(v, at, err)
			return nil, nil
		}
	})
}

type writeMsg struct {
	Ticket
	then   Then
	notice Notify // in place of then, when the screen was closed meanwhile
}

// Write sends in a command, with a context that outlives the screen. send returns
// what the screen does with the answer, which is never stale, and what is told in its
// place when the screen was closed meanwhile.
func (e *Env) Write(send func(ctx context.Context) (Then, Notify)) tea.Cmd {
	t, ctx := e.Ticket(), e.Root
	return func() tea.Msg {
		then, notice := send(ctx)
		return writeMsg{t, then, notice}
	}
}

// Answered does what Read and Write left to do with an answer; false: msg is none of
// theirs. Page and list.List call it for the screens that embed them.
func Answered(msg tea.Msg) (Action, tea.Cmd, bool) {
	switch msg := msg.(type) {
	case readMsg:
		if msg.loads != nil && !msg.loads.Accept(msg.Ticket) {
			return nil, nil, true
		}
		a, cmd := msg.then()
		return a, cmd, true
	case writeMsg:
		a, cmd := msg.then()
		return a, cmd, true
	}
	return nil, nil, false
}

// Item is what the keys for an id and for JSON are about.
type Item struct {
	ID, IDWhat string // "the operation id"
	JSON       []byte
	JSONWhat   string // "the operation as JSON"
	Title      string // of the JSON in the viewer
	NoJSON     string // why there is none now
}

// TakeItem does what a key does with the item, its JSON as it may be shown now; false: p
// is no such key, or there is nothing. item is asked only then.
func TakeItem(e *Env, p keymap.Press, item func() Item) (Action, bool) {
	k := e.Keys.Item
	id, raw := k.CopyID.Match(p), k.Raw.Match(p)
	if !id && !raw && !k.CopyJSON.Match(p) {
		return nil, false
	}
	switch i := item(); {
	case id && i.ID != "":
		return Copy{Text: i.ID, What: i.IDWhat}, true
	case id:
	case i.NoJSON != "":
		return Notify{Level: Denied, Text: i.NoJSON}, true
	case len(i.JSON) == 0:
	case raw:
		return Raw{Title: i.Title, JSON: i.JSON}, true
	default:
		return Copy{Text: string(mask.JSONIf(i.JSON, e.Masked())), What: i.JSONWhat}, true
	}
	return nil, false
}
