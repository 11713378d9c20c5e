package ui

import (
	"slices"
	"strings"
	"time"

	"opdeck/internal/format"
)

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

// unanswered returns for how long the service has not answered a running call, in whole
// seconds; "" in the first second. next is the time of the next change.
func unanswered(c CallFacts, now time.Time) (ago string, next time.Time) {
	return since(c.At, now)
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

// moving returns the progress of a running transfer, for the title of a screen that reads
// nothing itself; "" in the first second.
func (s *topLine) moving(now time.Time) (what string, next time.Time) {
	for _, c := range slices.Backward(s.activity.calls) {
		if c.Phase != CallRuns || c.Background || c.Moved == 0 {
			continue
		}
		ago, next := unanswered(c, now)
		switch went := c.moved(); {
		case ago == "":
			return "", next
		case went != "":
			return went + ", " + ago + "…", next
		case c.Write:
			return "all " + format.Size(c.Size) + " sent, no answer yet, " + ago + "…", next
		}
		return "", next
	}
	return "", time.Time{}
}

// pending returns the newest unfinished call for a person, preferably of the class in
// use.
func (s *topLine) pending(class string) (call CallFacts, ok bool) {
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
	case !ok:
	case c.Phase == CallRuns:
		ago, next := unanswered(c, now)
		switch went := c.moved(); {
		case ago == "":
			return "loading…", next
		case went != "":
			return went + ", " + ago + "…", next
		}
		return "no answer for " + ago + "…", next
	case !s.goes(c).IsZero():
		left, next := format.Until(s.goes(c), now)
		return "waits for the budget of " + safe(c.Class) + ", " + left, next
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
