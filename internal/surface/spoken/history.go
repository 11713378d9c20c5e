package spoken

import (
	"context"
	"slices"
	"time"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/receiver"
)

// moment is one entry of an operation's timeline.
type moment struct {
	at    time.Time
	lines []string
}

// history merges what this store's consoles read of an operation with the
// webhooks about it, oldest first.
func (c *console) history(ctx context.Context, opid string) error {
	states, err := c.app.Index.History(ctx, opid)
	if err != nil {
		return c.failed(ctx, "The history", err)
	}
	events, err := c.app.Inbox().List(ctx, receiver.Filter{ObjectID: opid})
	if err != nil {
		return c.failed(ctx, "The events of the history", err)
	}
	var all []moment
	for i, s := range states {
		all = append(all, c.state(states, i, s))
	}
	for _, e := range events {
		all = append(all, moment{e.ReceivedAt, []string{c.moment(e.ReceivedAt) + ", a webhook came, " + string(e.Status) + ": " + eventLine(e)}})
	}
	slices.SortStableFunc(all, func(a, b moment) int { return a.at.Compare(b.at) })
	c.talk.Say("History, " + plural(len(all), "entry", "entries") + ", oldest first.")
	for _, m := range all {
		c.talk.Say(m.lines...)
	}
	return nil
}

func (c *console) state(states []index.State, i int, s index.State) moment {
	m := moment{at: s.At}
	head := c.moment(s.At) + ", from a " + s.Origin.String() + ": "
	if s.Gone {
		m.lines = []string{c.moment(s.At) + ", gone: the service does not have it any more."}
		return m
	}
	if i == 0 {
		m.lines = []string{head + "first seen here, status " + safe(s.Op.Status, 60) + ", " + money(s.Op.SourceAmount.Sum) + ", " + documentsLine(s.Op) + "."}
		return m
	}
	changes := index.Diff(states[i-1].Op, s.Op)
	m.lines = []string{head + plural(len(changes), "change", "changes") + "."}
	for _, ch := range changes {
		line := untrusted.Text(ch.Path).Line(200) + ": from " + orNothing(ch.Before) + " to " + orNothing(ch.After)
		m.lines = append(m.lines, exactly(line, ch.Before+ch.After)...)
	}
	return m
}

func orNothing(u untrusted.Text) string {
	if u == "" {
		return "nothing"
	}
	return u.Line(400)
}
