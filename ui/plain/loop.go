package plain

import (
	"context"
	"reflect"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	// grace is how long commands are waited for while no screen says that it waits:
	// the one that still runs then waits for events, not for an answer.
	grace = 300 * time.Millisecond
	// leaveIn is how long a store that hangs may hold up what is said before a prompt.
	leaveIn = 2 * time.Second
)

// progressAt has the times at which a long wait is reported, at growing intervals.
var progressAt = [...]time.Duration{3 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute}

// queued is what a command came to; id is the command that ended, 0: it continues.
type queued struct {
	msg tea.Msg
	id  uint64
}

// loop runs the commands of a shell. Its queue is filled by many goroutines, the
// rest belongs to the one of the conversation.
type loop struct {
	mu    sync.Mutex
	queue []queued // guarded by mu

	more    chan struct{} // holds one token: something is queued
	last    uint64
	running map[uint64]bool // by command: true when no one waits for it any more
	quit    bool
}

func newLoop() *loop {
	return &loop{more: make(chan struct{}, 1), running: map[uint64]bool{}}
}

func (l *loop) post(q queued) {
	l.mu.Lock()
	l.queue = append(l.queue, q)
	l.mu.Unlock()
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// start runs a command away from the conversation.
func (l *loop) start(cmd tea.Cmd, unawaited bool) {
	if cmd == nil {
		return
	}
	l.last++
	id := l.last
	l.running[id] = unawaited
	go func() {
		msg := cmd()
		if list, ok := sequence(msg); ok {
			for _, c := range list {
				l.inTurn(c)
			}
			msg = nil
		}
		l.post(queued{msg, id})
	}()
}

// inTurn runs one command of a sequence with all that it comes to.
func (l *loop) inTurn(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	msg := cmd()
	list, ok := sequence(msg)
	if batch, is := msg.(tea.BatchMsg); is {
		list, ok = batch, true
	}
	if !ok {
		l.post(queued{msg: msg})
		return
	}
	for _, c := range list {
		l.inTurn(c)
	}
}

// sequence is the list of a tea.Sequence, whose type the framework keeps to itself.
func sequence(msg tea.Msg) ([]tea.Cmd, bool) {
	if _, batch := msg.(tea.BatchMsg); batch || msg == nil {
		return nil, false
	}
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Slice || !v.Type().ConvertibleTo(reflect.TypeFor[[]tea.Cmd]()) {
		return nil, false
	}
	return v.Convert(reflect.TypeFor[[]tea.Cmd]()).Interface().([]tea.Cmd), true
}

// take hands what is queued to update, which returns what is to be run next.
func (l *loop) take(update func(tea.Msg) tea.Cmd) {
	for {
		l.mu.Lock()
		list := l.queue
		l.queue = nil
		l.mu.Unlock()
		if len(list) == 0 {
			return
		}
		for _, q := range list {
			unawaited := l.running[q.id]
			delete(l.running, q.id)
			switch msg := q.msg.(type) {
			case nil:
			case tea.QuitMsg:
				l.quit = true
			case tea.BatchMsg:
				for _, c := range msg {
					l.start(c, unawaited)
				}
			default:
				l.start(update(msg), unawaited)
			}
		}
	}
}

// idle reports whether nothing runs that someone waits for.
func (l *loop) idle() bool {
	for _, unawaited := range l.running {
		if !unawaited {
			return false
		}
	}
	return true
}

// release stops waiting for what runs.
func (l *loop) release() {
	for id := range l.running {
		l.running[id] = true
	}
}

// settle waits until the screens have what they asked for and says now and then
// that it continues. When ctx ends, what was not sent is dropped and what was sent is
// awaited.
func (h *Host) settle(ctx context.Context) error {
	began, still, calm := time.Now(), 0, time.Time{}
	done := ctx.Done()
	for {
		h.loop.take(h.update)
		doing, busy := h.busy()
		switch now := time.Now(); {
		case h.loop.quit && ctx.Err() != nil:
			return ErrInterrupted
		case h.loop.quit:
			return ErrQuit
		case h.loop.idle():
			return nil
		case busy:
			calm = time.Time{}
		case calm.IsZero():
			calm = now
		case now.Sub(calm) >= grace:
			h.loop.release()
			return nil
		}
		next := began.Add(stillAt(still))
		if soon := calm.Add(grace); !calm.IsZero() && soon.Before(next) {
			next = soon
		}
		timer := time.NewTimer(time.Until(next))
		select {
		case <-h.loop.more:
		case <-done:
			done = nil
			h.loop.start(h.sh.Leave(), false)
		case <-timer.C:
			if at := stillAt(still); time.Since(began) >= at {
				still++
				h.still(ctx, doing, at)
			}
		}
		timer.Stop()
	}
}

// stillAt is when the i-th "still" is due.
func stillAt(i int) time.Duration {
	at := progressAt[min(i, len(progressAt)-1)]
	return at + time.Duration(max(i-len(progressAt)+1, 0))*time.Minute
}

func (h *Host) still(ctx context.Context, doing string, at time.Duration) {
	for _, m := range h.opt.News(ctx, false) {
		h.loop.start(h.update(m), true)
	}
	if doing == "" {
		doing = "working"
	}
	said := "Still " + doing + ", " + span(at) + " so far."
	if why := h.sh.CallWaits(); why != "" {
		said += " " + why
	}
	h.talk.Say(said)
}

// busy reports whether a screen or a write waits for an answer, and what for.
func (h *reader) busy() (doing string, yes bool) {
	if sent := h.sh.Waiting(); len(sent) > 0 {
		return "waiting for the answer to: " + List(sent), true
	}
	if h.sh.Searching() {
		return "searching the index", true
	}
	top := h.sh.Top()
	if top == nil {
		return "", false
	}
	c := h.content()
	switch {
	case c.Doing != "":
		return c.Doing, true
	case top.Source().Loading:
		return "reading " + top.Title(), true
	case c.Table != nil:
		from, to := c.Table.Visible()
		for i := from; i < to; i++ {
			if c.Table.Row(i).ID == "" { // not read yet
				return "reading rows", true
			}
		}
	}
	return "", false
}
