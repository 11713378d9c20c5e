package ui

import (
	"slices"
	"strings"
	"time"

	"opdeck/internal/format"
)

// goes is when a call that waits for its budget goes; zero when that is not known,
// as of a call that waits for the session.
func (s *topLine) goes(c CallFacts) time.Time {
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
	ago, _ = format.Until(now.Add(n*time.Second), now)
	return ago, next
}

// moved says how much of a large body went, in words: "sent 3.1 MB of 8.0 MB", or so far
// where its length was not told; "" where that is all, or nothing is known of it.
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

// moving says how much of a large body went that is on its way, beside the title of a
// screen that reads nothing itself; "" in the first second.
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

// pending is the newest call for a person that is not over, of the class in use
// rather than of another one.
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

// loads is the screen that loads something, and since when.
type loads struct {
	screen screenID
	since  time.Time
}

// noteLoading remembers since when the screen on top loads.
func (s *topLine) noteLoading() {
	top := s.top()
	switch {
	case top == nil || !top.screen.Source().Loading:
		s.loads = loads{}
	case s.loads.screen != top.id || s.loads.since.IsZero():
		s.loads = loads{top.id, s.now()}
	}
}

// brief is the same as loading in a few cells, for a narrow window: "45s…"; "" in the
// first second.
func (s *topLine) brief(now time.Time) string {
	from := s.loads.since
	if c, ok := s.pending(s.class()); ok && c.Phase == CallRuns {
		from = c.At
	} else if ok && !s.goes(c).IsZero() {
		left, _ := format.Until(s.goes(c), now)
		return s.th.Signs.Wait + strings.ReplaceAll(left, " ", "")
	}
	if ago, _ := since(from, now); ago != "" {
		return strings.ReplaceAll(ago, " ", "") + "…"
	}
	return ""
}

// loading says what the screen on top waits for, and for how long; next is when that
// changes by time alone.
func (s *topLine) loading(now time.Time) (what string, next time.Time) {
	c, ok := s.pending(s.class())
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

// CallWaits says why an answer takes long, in a sentence; "" when nothing is asked.
func (s *topLine) CallWaits() string {
	c, ok := s.pending(s.class())
	now := s.now()
	switch {
	case !ok:
		return ""
	case c.Phase == CallRuns && c.moved() != "":
		went := c.moved()
		return strings.ToUpper(went[:1]) + went[1:] + "."
	case c.Phase == CallRuns:
		if ago, _ := unanswered(c, now); ago != "" {
			return "The service has not answered for " + ago + "."
		}
		return "The service has not answered yet."
	case !s.goes(c).IsZero():
		left, _ := format.Until(s.goes(c), now)
		return "Waiting for room in the " + safe(c.Class) + " budget; next call in " + left + "."
	}
	return "Waiting for room in the " + safe(c.Class) + " budget, or for the session."
}
