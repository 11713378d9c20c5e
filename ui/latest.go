package ui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/format"
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

// Layered is a screen that can cover its own content, as a list does with the page of a record. Layer returns the
// cover; nil: there is none.
type Layered interface{ Layer() *Layer }

// Layer covers a screen; each has its own address.
type Layer struct{ Crumb string } // its name, short

func layerOf(s Screen) *Layer {
	if l, ok := s.(Layered); ok {
		return l.Layer()
	}
	return nil
}

// stayed reports whether the person is still on the screen of t: it is on top with the
// same layer, no dialog is open, and the person is not typing.
func (s *router) stayed(st *openScreen, t Ticket) bool {
	return st == s.stack.top() && len(s.dialogs.overlays) == 0 && !st.screen.Editing() && layerOf(st.screen) == t.layer
}

// late returns the effect of an answer for a person who has gone on in the meantime: it names
// the dialog in a notice and opens nothing, but still explains the outcome of a write.
// read: the answer is that of a read.
func late(a Action, read bool) Action {
	title := ""
	switch a := a.(type) {
	case Many:
		out := make(Many, len(a))
		for i, one := range a {
			out[i] = late(one, read)
		}
		return out
	case Explain:
		if !read {
			return a
		}
		if a.failed() && len(a.Lines) > 0 {
			return Notify{Level: Error, Text: a.Title + ": " + a.Lines[0]}
		}
		title = a.Title
	case Confirm:
		title = a.Title
	case Ask:
		title = a.Title
	case Fill:
		title = a.Form.form().ask.Title
	case Choose:
		title = a.Title
	case Raw:
		title = a.Title
	case Open:
		title = a.Place.Kind
	default:
		return a
	}
	return Notify{Level: Warning, Text: "“" + untrusted.Text(title).Line(80) +
		"” was not opened because you moved on. Nothing was sent; start again from there."}
}

// screenID numbers the screens of one shell; zero is no one.
type screenID uint64

// Ticket identifies the screen and the read of an answer. Embed it in the
// message with the answer:
//
//	type loadedMsg struct { ui.Ticket; op api.Operation; err error }
//
// The shell passes such a message to that screen, wherever it is in the stack, and drops it
// if the screen is closed.
type Ticket struct {
	screen screenID
	from   *Requests // compared, never read: commands run elsewhere
	n      uint64
	layer  *Layer // Layered.Layer at the time of the read; only compared
}

// Asker makes every message that embeds a Ticket an Answer.
func (t Ticket) Asker() Ticket { return t }

// Answer is a message for the screen that asked.
type Answer interface{ Asker() Ticket }

// Requests numbers the reads of one pane: a new read cancels the previous one and
// makes its answer stale. Get one from Env.Requests for each separate kind of
// read, and do not copy it. It belongs to the update loop. The zero value numbers the queries of a dialog.
type Requests struct {
	env    *Env
	n      uint64
	busy   bool
	cancel context.CancelFunc
}

// Start begins a new read: a ticket for its answer and a context derived from
// ctx (the screen's Env.Ctx) that ends when the next read begins. Start cancels the
// previous read.
func (l *Requests) Start(ctx context.Context) (Ticket, context.Context) {
	l.Stop()
	ctx, l.cancel = context.WithCancel(ctx)
	l.busy = true
	t := Ticket{from: l, n: l.n}
	if l.env != nil {
		t.screen, t.layer = l.env.id, layerOf(l.env.screen)
	}
	return t, ctx
}

// Accept reports whether t belongs to the newest read, and marks the read as
// answered. The caller must drop a stale answer.
func (l *Requests) Accept(t Ticket) bool {
	if t.from != l || t.n != l.n {
		return false
	}
	l.end()
	return true
}

// AcceptPart is Accept for one of several answers to a read, without ending the read.
func (l *Requests) AcceptPart(t Ticket) bool { return t.from == l && t.n == l.n }

// Stop cancels the running read and makes its answer stale. Also call it after
// the screen itself changed data that the answer would overwrite.
func (l *Requests) Stop() {
	l.n++
	l.end()
}

func (l *Requests) end() {
	if l.busy = false; l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}

// Busy reports whether a read is running.
func (l *Requests) Busy() bool { return l.busy }

// goes returns when a call that waits for its budget will be sent; zero if that is not known,
// as for a call that waits for the session.
func (s *topLine) goes(c CallFacts) time.Time {
	b := s.budgets[c.Class]
	if now := s.win.now(); b.Goes.After(now) {
		return b.Goes
	} else if b.Room == 0 && b.NextSlot.After(now) {
		return b.NextSlot
	}
	return time.Time{}
}

// since returns how long ago a time was, in whole seconds; "" in the first second and if the time
// is not known.
func since(at, now time.Time) (ago string, next time.Time) {
	n := now.Sub(at) / time.Second
	if at.IsZero() || n < 0 {
		return "", time.Time{}
	}
	next = at.Add((n + 1) * time.Second)
	if n == 0 {
		return "", next
	}
	ago, _ = format.Until(now.Add(n*time.Second), now)
	return ago, next
}

// moved returns the progress of a large body in words: "sent 3.1 MB of 8.0 MB", or "so far" if its
// length is not known; "" at its end or if nothing is known.
func (c CallFacts) moved() string {
	if c.Moved <= 0 || c.Size > 0 && c.Moved >= c.Size {
		return ""
	}
	word := "received "
	if c.Write {
		word = "sent "
	}
	if c.Size <= 0 {
		return word + format.Size(c.Moved)
	}
	return word + format.Size(c.Moved) + " of " + format.Size(c.Size)
}

// runs says how far a running call is: what of a large body was transferred, or that there is no answer, and for how
// long; "" in the first second. next is the time of the next change.
func (c CallFacts) runs(now time.Time) (what string, next time.Time) {
	ago, next := since(c.At, now)
	went := c.moved()
	switch {
	case ago == "":
		return "", next
	case went == "" && c.Write && c.Moved > 0:
		went = "all " + format.Size(c.Size) + " sent, no answer yet"
	case went == "":
		return "no answer for " + ago + "…", next
	}
	return went + ", " + ago + "…", next
}

// moving returns the progress of a running transfer, for the title of a screen that reads
// nothing itself.
func (s *topLine) moving(now time.Time) (what string, next time.Time) {
	for _, c := range slices.Backward(s.activity.calls) {
		if c.Phase == CallRuns && !c.Background && c.Moved > 0 && (c.Write || c.moved() != "") {
			return c.runs(now)
		}
	}
	return "", time.Time{}
}

// pending returns the newest unfinished call for a person, preferably of the class in
// use.
func (s *topLine) pending(class string) (call CallFacts, ok bool) {
	for i := len(s.activity.calls) - 1; i >= 0; i-- {
		c := s.activity.calls[i]
		switch {
		case c.Background || !c.open():
		case c.Class == class:
			return c, true
		case !ok:
			call, ok = c, true
		}
	}
	return call, ok
}

// loads is the loading screen and the start of its load.
type loads struct {
	screen screenID
	since  time.Time
}

// noteLoading records since when the screen on top has been loading.
func (s *topLine) noteLoading() {
	top := s.stack.top()
	switch {
	case top == nil || !top.screen.Source().Loading:
		s.loads = loads{}
	case s.loads.screen != top.id || s.loads.since.IsZero():
		s.loads = loads{top.id, s.win.now()}
	}
}

// brief is the same as loading in a few cells, for a narrow window: "45s…"; "" in the
// first second.
func (s *topLine) brief(now time.Time) string {
	from := s.loads.since
	if c, ok := s.pending(s.stack.class()); ok && c.Phase == CallRuns {
		from = c.At
	} else if ok && !s.goes(c).IsZero() {
		left, _ := format.Until(s.goes(c), now)
		return s.win.th.Signs.Wait + strings.ReplaceAll(left, " ", "")
	}
	if ago, _ := since(from, now); ago != "" {
		return strings.ReplaceAll(ago, " ", "") + "…"
	}
	return ""
}

// loading says what the screen on top waits for, and for how long; next is the time when this text
// changes next.
func (s *topLine) loading(now time.Time) (what string, next time.Time) {
	c, ok := s.pending(s.stack.class())
	switch {
	case ok && c.Phase == CallRuns:
		what, next = c.runs(now)
		return cmp.Or(what, "loading…"), next
	case ok && !s.goes(c).IsZero():
		left, next := format.Until(s.goes(c), now)
		return "waits for the budget of " + safe(c.Class) + ", " + left, next
	case ok && s.session.State == "rotating":
		what = "waits for the session"
	default:
		what = "loading"
	}
	ago, next := since(s.loads.since, now)
	if ago != "" {
		what += " for " + ago
	}
	return what + "…", next
}
