package ui

import (
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/domain/verdict"
	"opdeck/internal/present"
)

// VerdictFacts is what is wrong, as far as known. The header and the screens print it and conclude nothing by
// themselves.
type VerdictFacts struct {
	Broadcast
	Verdict verdict.Verdict
	Read    time.Time // when its facts were read, by this host's clock
}

// verdictHolds is how long after the read a verdict may show something to be good.
const verdictHolds = 5 * time.Second

// at is the verdict at a time: after verdictHolds nothing in it is good.
func (f VerdictFacts) at(now time.Time) verdict.Verdict {
	if age := now.Sub(f.Read); f.Read.IsZero() || age < -verdictHolds || age >= verdictHolds {
		return f.Verdict.Stale()
	}
	return f.Verdict
}

// Verdict returns the newest verdict; a screen that shows it reads it by ReadVerdict, and is a Ticker with VerdictEnds.
// Plain mode reads it before each line that it says.
func (e *Env) Verdict() verdict.Verdict {
	if e.Theme.Linear {
		return e.shared.found.Verdict
	}
	return e.shared.found.at(e.Now())
}

// StoreKnown reports whether what was read from the store still holds; else nothing of it may be drawn as good.
func (e *Env) StoreKnown() bool { return e.Verdict().Of(verdict.PartStore) == verdict.Good }

// VerdictEnds is when Verdict changes by time alone; zero: not before it is read again.
func (e *Env) VerdictEnds(now time.Time) time.Time {
	if end := e.shared.found.Read.Add(verdictHolds); end.After(now) {
		return end
	}
	return time.Time{}
}

// ReadVerdict reads the verdict again, for the header and all screens, unless that is under way. It makes no call to
// the service.
func (e *Env) ReadVerdict() tea.Cmd {
	read, ctx, now := e.shared.readVerdict, e.Root, e.Now
	if read == nil || e.shared.reading {
		return nil
	}
	e.shared.reading = true
	return func() tea.Msg {
		at := now()
		return VerdictFacts{Verdict: read(ctx), Read: at}
	}
}

// ReadVerdict reads the verdict for a host that says a screen.
func (d Driver) ReadVerdict() tea.Cmd {
	if st := d.Shell.stack.top(); st != nil {
		return st.env.ReadVerdict()
	}
	return nil
}

// newVerdict stores a verdict unless a newer one was read, and returns a notice if the first cause is another one. A
// critical cause has the line of notices while it lasts.
func (s *statusLine) newVerdict(f VerdictFacts) (t Toast, changed bool) {
	s.win.shown.reading = false
	if f.Read.Before(s.win.shown.found.Read) {
		return t, false
	}
	was, before := s.win.cause()
	s.win.shown.found = f
	now, after := s.win.cause()
	switch {
	case before == after && was.Cause == now.Cause && was.Part == now.Part:
		return t, false
	case after && (now.Severity < verdict.Critical || s.win.opt.Report != nil):
		return Toast{Level: Warning, Text: present.FindingLine(s.win.verdictOptions(), now).Text, About: &now},
			!s.stack.prints(now)
	case before && !after:
		return Toast{Level: Success, Text: "Ended: " + safe(was.Sentence)}, true
	}
	return t, false
}

// cause is the first cause but a budget that is used up, which the header shows by itself.
func (s *window) cause() (verdict.Finding, bool) {
	for _, f := range s.shown.found.Verdict.Findings {
		if f.Severity > verdict.Info && f.Part != verdict.PartBudget {
			return f, true
		}
	}
	return verdict.Finding{}, false
}

// prints reports whether the drawn screen on top prints a finding.
func (s *screenStack) prints(f verdict.Finding) bool {
	top := s.top()
	if top == nil || s.win.th.Linear {
		return false
	}
	switch top.screen.Place().Kind {
	case KindOnCall, KindSession:
		return true
	case KindEvents:
		return f.Part == verdict.PartFeed
	}
	return false
}

// verdictOptions present the verdict to the person at this console.
func (s *window) verdictOptions() present.Options {
	o := present.Options{Now: s.now(), Zone: s.shown.zone, Sign: s.th.SignOf}
	if !s.th.Linear {
		o.Press = pressing(s.keys, nil)
	}
	return o
}
