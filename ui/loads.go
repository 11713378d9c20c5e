package ui

import "context"

// screenID numbers the screens of one shell; zero is nobody.
type screenID uint64

// Ticket says which screen asked, and which question it was. Embed it in the
// message that carries the answer:
//
//	type loadedMsg struct { ui.Ticket; op api.Operation; err error }
//
// The shell takes such a message to the screen that asked, wherever it is now;
// when that screen is closed nobody gets it.
type Ticket struct {
	screen screenID
	from   *Requests // compared, never read: commands run elsewhere
	n      uint64
	layer  any // of the screen when it asked, compared only
}

// Asker makes every message that embeds a Ticket an Answer.
func (t Ticket) Asker() Ticket { return t }

// Answer is a message for the screen that asked.
type Answer interface{ Asker() Ticket }

// Requests numbers the reads of one pane: asking again cancels the read before and
// makes its answer stale. Get one from Env.Loads, one for each thing that is
// loaded on its own, and do not copy it. It belongs to the update loop.
type Requests struct {
	env    *Env
	n      uint64
	busy   bool
	cancel context.CancelFunc
}

// Start begins a new read: a ticket for its answer and a context derived from
// ctx (the screen's Env.Ctx) that ends when the next read begins. The read
// before is cancelled.
func (l *Requests) Start(ctx context.Context) (Ticket, context.Context) {
	l.Stop()
	ctx, l.cancel = context.WithCancel(ctx)
	l.busy = true
	t := l.env.Ticket()
	t.from, t.n = l, l.n
	return t, ctx
}

// Accept reports whether t belongs to the newest read, and notes that it was
// answered. A stale answer must be dropped.
func (l *Requests) Accept(t Ticket) bool {
	if t.from != l || t.n != l.n {
		return false
	}
	l.end()
	return true
}

// Partly is Current for one of several answers to a read: the read goes on.
func (l *Requests) AcceptPart(t Ticket) bool { return t.from == l && t.n == l.n }

// Stop cancels the read under way and makes its answer stale. Call it too when
// the screen itself changed what the answer would overwrite.
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

// Busy reports whether a read is under way.
func (l *Requests) Busy() bool { return l.busy }
