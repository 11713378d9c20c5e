package spoken

import (
	"context"
	"strconv"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/ui/plain"
)

const keepsCalls = 20

// calls are the last calls of this process; its methods may be called from many
// goroutines.
type calls struct {
	mu   sync.Mutex
	last []api.Call // guarded by mu: newest last, each in its newest phase
}

func (l *calls) take(call api.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.last {
		if l.last[i].ID == call.ID {
			l.last[i] = call
			return
		}
	}
	if l.last = append(l.last, call); len(l.last) > keepsCalls {
		l.last = l.last[1:]
	}
}

// why says what the newest call waits for.
func (l *calls) why() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := len(l.last) - 1; i >= 0; i-- {
		switch call := l.last[i]; call.Phase {
		case api.CallWaits:
			return "It waits for room among the " + string(call.Class) + " calls, or for the session."
		case api.CallRuns:
			return "The service has not answered yet."
		}
	}
	return ""
}

func (l *calls) list() []api.Call {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]api.Call(nil), l.last...)
}

func (c *console) sayCalls(context.Context, string) error {
	list := c.calls.list()
	if len(list) == 0 {
		c.talk.Say("Nothing was asked of the service yet.")
		return nil
	}
	c.talk.Say("The last " + plural(len(list), "call", "calls") + " of this process, newest first.")
	for i := len(list) - 1; i >= 0; i-- {
		c.talk.Say(callLine(list[i], c.app.Now()))
	}
	return nil
}

func callLine(call api.Call, now time.Time) string {
	s := call.Op + ", " + string(call.Class) + " class, " + plain.Ago(call.At, now) + ": "
	switch {
	case call.Phase == api.CallWaits:
		return s + "waits for room or for the session."
	case call.Phase == api.CallRuns:
		return s + "was sent, no answer yet."
	case call.Kind == "":
		return s + "done, status " + strconv.Itoa(call.Status) + "."
	case call.Write && call.Status == 0:
		return s + "sent or not, no answer came."
	}
	return s + "failed. " + sentence(call.Error)
}
