package console

import (
	"context"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/app"
	"opdeck/internal/domain/receiver"
	"opdeck/ui"
)

const (
	rhythmSize        = 500                // deliveries used for the rhythm, as on the events screen
	firstCheck        = 2 * time.Second    // so that the first check does not delay the first frames
	firstCheckBuiltIn = 10 * time.Second   // the same for a built-in service, which sends only while something uses it
	recheckStalled    = 15 * time.Second   // whether events arrive again
	recheckUnknown    = readEvery          // whether a rhythm is known by now
	recheckMargin     = time.Second        // after the time when silence becomes unusual
	feedExpiry        = 7 * 24 * time.Hour // a feed without a local listener counts as over after this silence
	recheckTrouble    = 15 * time.Second   // for rejected or unmerged deliveries
	rejectedShown     = time.Hour          // how long the header reports a rejected delivery
)

// feedMonitor reports to the header whether webhooks still arrive. It sleeps until silence becomes unusual.
type feedMonitor struct {
	ctx     context.Context
	now     func() time.Time
	times   func(ctx context.Context, n int) ([]time.Time, error) // of the newest deliveries
	trouble func(ctx context.Context) (receiver.Trouble, error)   // nil: not known
	// this program, or one with its config, receives webhooks
	listens  bool
	wait     func(ctx context.Context, d time.Duration) bool // false: stop
	first    time.Duration                                   // before the first check
	sent     ui.FeedFacts
	sentOnce bool
}

func newFeedMonitor(ctx context.Context, a *app.App, wait func(context.Context, time.Duration) bool) *feedMonitor {
	times := a.Hooks().Inbox().Times
	if a.Sandbox != nil && a.Hooks().At() == "" { // such a built-in service sends nothing
		times = func(context.Context, int) ([]time.Time, error) { return nil, nil }
	}
	first := firstCheck
	if a.Living {
		first = firstCheckBuiltIn
	}
	return &feedMonitor{ctx: ctx, first: first, now: a.Now, times: times, trouble: a.Hooks().Trouble,
		listens: a.Hooks().At() != "", wait: wait}
}

// start is next for a new console; it is one of the shell's feeds.
func (m *feedMonitor) start() tea.Msg { return m.after(m.first)() }

// next waits for a change.
func (m *feedMonitor) next() tea.Msg {
	for {
		facts, rhythm, again := m.judge()
		if m.trouble != nil {
			m.addTrouble(&facts)
			again = min(again, recheckTrouble)
		}
		if !m.sentOnce || facts.State != m.sent.State || facts.Rejected != m.sent.Rejected ||
			facts.Waiting != m.sent.Waiting {
			was := m.sent.State
			m.sent, m.sentOnce = facts, true
			return ui.StreamMsg{Msg: news(facts, was, rhythm), Next: m.after(again)}
		}
		if !m.wait(m.ctx, again) {
			return nil
		}
	}
}

// after is next after a pause.
func (m *feedMonitor) after(d time.Duration) tea.Cmd {
	return func() tea.Msg {
		if !m.wait(m.ctx, d) {
			return nil
		}
		return m.next()
	}
}

// news is the message for the header, with a notice if the feed stalled or recovered.
func news(facts ui.FeedFacts, was string, r receiver.Rhythm) ui.BatchMsg {
	out := ui.BatchMsg{facts}
	switch {
	case facts.State == "stalled" && was != "stalled":
		out = append(out, ui.Toast{Level: ui.Warning,
			Text: "The webhook feed may be stalled: " + r.String() + ". What is shown may be out of date; 7 opens Events."})
	case was == "stalled" && facts.State == "live":
		out = append(out, ui.Toast{Level: ui.Success, Text: "Webhook events arrive again."})
	}
	return out
}

// addTrouble adds recently rejected and unmerged deliveries.
func (m *feedMonitor) addTrouble(facts *ui.FeedFacts) {
	t, err := m.trouble(m.ctx)
	if err != nil { // reported elsewhere; keep the last values
		facts.Rejected, facts.Waiting = m.sent.Rejected, m.sent.Waiting
		return
	}
	n, last := t.Refusals()
	if n > 0 && m.now().Sub(last.Last) < rejectedShown {
		facts.Rejected = n
	}
	facts.Waiting = t.Backlog.Waiting
}

// judge evaluates the silence and returns when to check again.
func (m *feedMonitor) judge() (facts ui.FeedFacts, r receiver.Rhythm, again time.Duration) {
	times, err := m.times(m.ctx, rhythmSize)
	now := m.now()
	if err != nil { // reported elsewhere; keep the last values
		return m.sent, r, recheckUnknown
	}
	r = receiver.RhythmOf(times, now)
	facts = ui.FeedFacts{State: "off"}
	switch {
	case r.Last.IsZero(), !m.listens && r.Quiet > feedExpiry:
		return facts, r, recheckUnknown
	case r.Stalled:
		facts.State = "stalled"
		return facts, r, recheckStalled
	}
	facts.State = "live"
	if !r.Known {
		return facts, r, recheckUnknown
	}
	return facts, r, max(r.Limit-r.Quiet, 0) + recheckMargin
}

// sleep waits; false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
