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
	rhythmOf  = 500                // deliveries that the rhythm is learnt from, as on the events screen
	deafFirst = 2 * time.Second    // the first look does not hold up the first frames
	deafBuilt = 10 * time.Second   // the same where the built-in service sends only while a console is open
	deafCheck = 15 * time.Second   // whether events came again
	deafLearn = lookAnyway         // whether there is a rhythm by now
	deafAfter = time.Second        // behind the moment at which silence becomes unusual
	forgotten = 7 * 24 * time.Hour // a feed that nobody here listens to is over after this silence
	troubled  = 15 * time.Second   // whether deliveries were rejected or could not be merged
	rejected  = time.Hour          // for so long the header tells of a delivery that was rejected
)

// ear tells the header whether webhooks still arrive. It sleeps until the moment
// at which silence would be out of the usual.
type ear struct {
	ctx      context.Context
	now      func() time.Time
	times    func(ctx context.Context, n int) ([]time.Time, error) // of the newest deliveries
	trouble  func(ctx context.Context) (receiver.Trouble, error)   // nil: nobody knows of any
	listens  bool                                                  // this program, or one with its config, receives webhooks
	wait     func(ctx context.Context, d time.Duration) bool       // false: it is over
	first    time.Duration                                         // before the first look
	told     ui.FeedFacts
	toldOnce bool
}

func newEar(ctx context.Context, a *app.App, wait func(context.Context, time.Duration) bool) *ear {
	times := a.Inbox().Times
	if a.Sandbox != nil && a.HooksAt() == "" { // a built-in service that stands still is silent, not deaf
		times = func(context.Context, int) ([]time.Time, error) { return nil, nil }
	}
	first := deafFirst
	if a.Living {
		first = deafBuilt
	}
	return &ear{ctx: ctx, first: first, now: a.Now, times: times, trouble: a.HookTrouble, listens: a.HooksAt() != "", wait: wait}
}

// start is next for a console that opens; it is one of the shell's feeds.
func (e *ear) start() tea.Msg { return e.later(e.first)() }

// next waits for a change.
func (e *ear) next() tea.Msg {
	for {
		facts, rhythm, again := e.listen()
		if e.trouble != nil {
			e.troubles(&facts)
			again = min(again, troubled)
		}
		if !e.toldOnce || facts.State != e.told.State || facts.Rejected != e.told.Rejected || facts.Waiting != e.told.Waiting {
			was := e.told.State
			e.told, e.toldOnce = facts, true
			return ui.StreamMsg{Msg: news(facts, was, rhythm), Next: e.later(again)}
		}
		if !e.wait(e.ctx, again) {
			return nil
		}
	}
}

// later is next after a pause.
func (e *ear) later(d time.Duration) tea.Cmd {
	return func() tea.Msg {
		if !e.wait(e.ctx, d) {
			return nil
		}
		return e.next()
	}
}

// news is what the header gets, and a notice when the feed went deaf or came back.
func news(facts ui.FeedFacts, was string, r receiver.Rhythm) ui.BatchMsg {
	out := ui.BatchMsg{facts}
	switch {
	case facts.State == "deaf" && was != "deaf":
		out = append(out, ui.Toast{Level: ui.Warning, Text: "The webhook feed may be deaf: " + r.String() + ". What is shown may be out of date; 7 opens Events."})
	case was == "deaf" && facts.State == "live":
		out = append(out, ui.Toast{Level: ui.Success, Text: "Webhook events arrive again."})
	}
	return out
}

// troubles adds what was rejected lately and what waits to be merged.
func (e *ear) troubles(facts *ui.FeedFacts) {
	t, err := e.trouble(e.ctx)
	if err != nil { // the store says so elsewhere; what was known stays
		facts.Rejected, facts.Waiting = e.told.Rejected, e.told.Waiting
		return
	}
	n, last := t.Refusals()
	if n > 0 && e.now().Sub(last.Last) < rejected {
		facts.Rejected = n
	}
	facts.Waiting = t.Backlog.Waiting
}

// listen judges the silence, and says when to look again.
func (e *ear) listen() (facts ui.FeedFacts, r receiver.Rhythm, again time.Duration) {
	times, err := e.times(e.ctx, rhythmOf)
	now := e.now()
	if err != nil { // the store says so elsewhere; what was known stays
		return e.told, r, deafLearn
	}
	r = receiver.Judge(times, now)
	facts = ui.FeedFacts{State: "off", Last: r.Last}
	switch {
	case r.Last.IsZero(), !e.listens && r.Quiet > forgotten:
		return facts, r, deafLearn
	case r.Stalled:
		facts.State = "deaf"
		return facts, r, deafCheck
	}
	facts.State = "live"
	if !r.Known {
		return facts, r, deafLearn
	}
	return facts, r, max(r.Limit-r.Quiet, 0) + deafAfter
}

// sleep waits; false when ctx ended first.
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
