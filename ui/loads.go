package ui

import "context"

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
// read, and do not copy it. It belongs to the update loop.
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
	t := l.env.Ticket()
	t.from, t.n = l, l.n
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
