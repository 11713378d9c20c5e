package ui

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/domain/mask"
	"opdeck/ui/keymap"
)

// Then processes an answer, in the update loop of the screen that asked.
type Then func() (Action, tea.Cmd)

type readMsg struct {
	Ticket
	loads *Requests
	then  Then
}

// Read runs a read in a command. The command owns copies of its data and returns the function
// that processes the answer. Answers to older reads of the same loads are dropped; with nil loads
// none is.
func (e *Env) Read(loads *Requests, read func(ctx context.Context) Then) tea.Cmd {
	t, ctx := e.Ticket(), e.Ctx
	if loads != nil {
		t, ctx = loads.Start(ctx)
	}
	return func() tea.Msg { return readMsg{t, loads, read(ctx)} }
}

// Reading is Read of one value; got receives the value and the time when it was read.
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
	notice Notify // shown instead if the screen was closed in the meantime
}

// Write sends a write in a command, with a context that outlives the screen. send returns the
// function that processes the answer, which is never stale, and the notice for the case that
// the screen was closed in the meantime.
func (e *Env) Write(send func(ctx context.Context) (Then, Notify)) tea.Cmd {
	t, ctx := e.Ticket(), e.Root
	return func() tea.Msg {
		then, notice := send(ctx)
		return writeMsg{t, then, notice}
	}
}

// Answered processes an answer of Read or Write; false if msg is not such an
// answer. Page and list.List call it for the screens that embed them.
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

// Item is the object for the keys that copy an id and show JSON.
type Item struct {
	ID, IDWhat string // "the operation id"
	JSON       []byte
	JSONWhat   string // "the operation as JSON"
	Title      string // of the JSON in the viewer
	NoJSON     string // why there is no JSON now
}

// TakeItem handles the keys for the item, with the current masking of its JSON; false if p
// is no such key or there is no item. It calls item only for such a key.
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
