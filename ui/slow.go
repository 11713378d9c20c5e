package ui

import (
	"time"

	"opdeck/ui/draw"
)

// goes is when a call that waits for its budget goes; zero when that is not known,
// as of a call that waits for the session.
func (s *Shell) goes(c CallFacts) time.Time {
	b := s.budgets[c.Class]
	if now := s.now(); b.Goes.After(now) {
		return b.Goes
	} else if b.Room == 0 && b.NextSlot.After(now) {
		return b.NextSlot
	}
	return time.Time{}
}

// unanswered is for how long the service has not answered a call that runs, in whole
// seconds; "" in the first one. next is when that changes.
func unanswered(c CallFacts, now time.Time) (ago string, next time.Time) {
	return since(c.At, now)
}

// since is how long ago a time was, in whole seconds; "" in the first one and when it is
// not known.
func since(at, now time.Time) (ago string, next time.Time) {
	n := now.Sub(at) / time.Second
	if at.IsZero() || n < 0 {
		return "", time.Time{}
	}
	next = at.Add((n + 1) * time.Second)
	if n == 0 {
		return "", next
	}
	ago, _ = draw.Until(now.Add(n*time.Second), now)
	return ago, next
}

// pending is the newest call for a person that is not over, of the class in use
// rather than of another one.
func (s *Shell) pending(class string) (call CallFacts, ok bool) {
	for i := len(s.activity.calls) - 1; i >= 0; i-- {
		c := s.activity.calls[i]
		switch {
		case c.Background || c.Phase != CallWaits && c.Phase != CallRuns:
		case c.Class == class:
			return c, true
		case !ok:
			call, ok = c, true
		}
	}
	return call, ok
}

// loads is the screen that loads something, and since when.
type loads struct {
	screen screenID
	since  time.Time
}

// noteLoading remembers since when the screen on top loads.
func (s *Shell) noteLoading() {
	top := s.top()
	switch {
	case top == nil || !top.screen.Source().Loading:
		s.loads = loads{}
	case s.loads.screen != top.id || s.loads.since.IsZero():
		s.loads = loads{top.id, s.now()}
	}
}

// loading says what the screen on top waits for, and for how long; next is when that
// changes by time alone.
func (s *Shell) loading(now time.Time) (what string, next time.Time) {
	c, ok := s.pending(s.class())
	switch {
	case !ok:
	case c.Phase == CallRuns:
		ago, next := unanswered(c, now)
		if ago != "" {
			return "no answer for " + ago + "…", next
		}
		return "loading…", next
	case !s.goes(c).IsZero():
		left, next := draw.Until(s.goes(c), now)
		return "waits for room in " + safe(c.Class) + ", " + left, next
	}
	what = "loading"
	if ok && s.session.State == "rotating" {
		what = "waits for the session"
	}
	ago, next := since(s.loads.since, now)
	if ago != "" {
		what += " for " + ago
	}
	return what + "…", next
}

// CallWaits tells why an answer takes long, in a sentence; "" when nothing is asked.
func (s *Shell) CallWaits() string {
	c, ok := s.pending(s.class())
	now := s.now()
	switch {
	case !ok:
		return ""
	case c.Phase == CallRuns:
		if ago, _ := unanswered(c, now); ago != "" {
			return "The service has not answered for " + ago + "."
		}
		return "The service has not answered yet."
	case !s.goes(c).IsZero():
		left, _ := draw.Until(s.goes(c), now)
		return "It waits for room among the " + safe(c.Class) + " calls; the next one goes in " + left + "."
	}
	return "It waits for room among the " + safe(c.Class) + " calls, or for the session."
}
