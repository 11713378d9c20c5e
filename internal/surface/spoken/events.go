package spoken

import (
	"context"

	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/receiver"
	"opdeck/ui/draw"
	"opdeck/ui/plain"
)

const pageEvents = 10

// inbox is the list of webhooks.
type inbox struct {
	*console
	filter receiver.Filter
	before []int64 // Filter.Before of the pages before this one
	items  []receiver.Stored
}

// events lists and reads what webhooks brought.
func (c *console) events(ctx context.Context) error {
	b := &inbox{console: c}
	return c.talk.Menu(ctx, plain.Menu{Name: "Events", Numbers: "says that event", Intro: b.read,
		Pick: func(_ context.Context, n int) error {
			if n < 1 || n > len(b.items) {
				c.talk.Say("There is no event of that number on this page.")
				return nil
			}
			c.sayEvent(b.items[n-1])
			return nil
		},
		Commands: []plain.Command{
			{Name: "next", Alias: []string{"n"}, Help: "says older events.", Do: func(ctx context.Context, _ string) error {
				if len(b.items) < pageEvents {
					c.talk.Say("There are no older events.")
					return nil
				}
				b.before = append(b.before, b.filter.Before)
				b.filter.Before = b.items[len(b.items)-1].Seq
				return b.read(ctx)
			}},
			{Name: "previous", Alias: []string{"p"}, Help: "says newer events.", Do: func(ctx context.Context, _ string) error {
				if len(b.before) == 0 {
					c.talk.Say("These are the newest events.")
					return nil
				}
				b.filter.Before = b.before[len(b.before)-1]
				b.before = b.before[:len(b.before)-1]
				return b.read(ctx)
			}},
			{Name: "about", Args: "[ID]", Help: "lists only events about an object; about alone lists all.", Do: func(ctx context.Context, id string) error {
				b.filter, b.before = receiver.Filter{ObjectID: id}, nil
				return b.read(ctx)
			}},
			{Name: "alarming", Help: "lists what was set aside or contradicts an event that was known.", Do: func(ctx context.Context, _ string) error {
				b.filter, b.before = receiver.Filter{Statuses: []receiver.Status{receiver.Quarantined, receiver.Conflict}}, nil
				return b.read(ctx)
			}},
			{Name: "waiting", Help: "lists only events that could not be merged into the index yet.", Do: func(ctx context.Context, _ string) error {
				b.filter, b.before = receiver.Filter{Waiting: true}, nil
				return b.read(ctx)
			}},
			{Name: "rejected", Help: "says which deliveries were not accepted, and why.", Do: func(ctx context.Context, _ string) error {
				return b.rejected(ctx)
			}},
			{Name: "newest", Alias: []string{"reload", "r"}, Help: "lists the newest events of all kinds.", Do: func(ctx context.Context, _ string) error {
				b.filter, b.before = receiver.Filter{}, nil
				return b.read(ctx)
			}},
		}})
}

func (b *inbox) read(ctx context.Context) error {
	b.filter.Limit = pageEvents
	list, err := b.app.Inbox().List(ctx, b.filter)
	if err != nil {
		return b.failed(ctx, "The events", err)
	}
	b.items = list
	if err := b.trouble(ctx); err != nil {
		return err
	}
	if len(list) == 0 {
		b.talk.Say("No events. They come by webhooks, where a receiver listens.")
		return nil
	}
	b.talk.Say(plural(len(list), "event", "events") + ", newest first.")
	for i, s := range list {
		b.talk.Say(numbered(i+1, plain.Ago(s.ReceivedAt, b.app.Now())+", "+eventLine(s)))
	}
	return nil
}

// trouble says what was rejected and what waits.
func (b *inbox) trouble(ctx context.Context) error {
	t, err := b.app.HookTrouble(ctx)
	if err != nil {
		return b.failed(ctx, "The state of the feed", err)
	}
	if n, last := t.Refusals(); n > 0 {
		b.talk.Say("Attention. " + plural(int(n), "delivery was", "deliveries were") + " rejected, the last " + plain.Ago(last.Last, b.app.Now()) + ". rejected says more.")
	}
	if n := t.Backlog.Waiting; n > 0 {
		b.talk.Say("Attention. " + plural(int(n), "event", "events") + " could not be merged into the index yet. waiting lists them.")
	}
	return nil
}

// rejected says how many deliveries were not accepted by reason, with what to do,
// and the last ones.
func (b *inbox) rejected(ctx context.Context) error {
	t, err := b.app.HookTrouble(ctx)
	if err != nil {
		return b.failed(ctx, "The rejected deliveries", err)
	}
	if len(t.Rejected) == 0 {
		b.talk.Say("No delivery was rejected.")
		return nil
	}
	for _, c := range t.Rejected {
		b.talk.Say(plural(int(c.N), "time", "times") + ", " + fromOutside(c.Reason).Line(40) + ", last " + plain.Ago(c.Last, b.app.Now()) + " from " +
			fromOutside(string(c.Source)).Line(64) + ". " + fromOutside(c.Detail).Line(400))
	}
	list, err := b.app.Inbox().Rejected(ctx, pageEvents)
	if err != nil {
		return b.failed(ctx, "The rejected deliveries", err)
	}
	b.talk.Say("The last " + plural(len(list), "one", "ones") + ", newest first.")
	for i, x := range list {
		b.talk.Say(numbered(i+1, plain.Ago(x.At, b.app.Now())+", from "+fromOutside(string(x.Source)).Line(64)+", "+fromOutside(x.Reason).Line(40)+", "+fromOutside(x.Request).Line(200)+"."))
	}
	return nil
}

// eventLine is one delivery in a sentence.
func eventLine(s receiver.Stored) string {
	line := objectName(s.Object) + " " + safe(s.ObjectID, 128)
	if e, err := s.Event(); err == nil {
		line += ", status " + hook.StatusText(s.Object, e.Status)
	}
	switch s.Status {
	case receiver.Quarantined:
		line += ", SET ASIDE: " + fromOutside(s.Detail).Line(200)
	case receiver.Conflict:
		line += ", CONFLICT: another body came under a known id"
	case receiver.Unverified:
		line += ", not authenticated"
	}
	return line + "."
}

func objectName(o hook.Object) string {
	if o == "" {
		return "unknown object"
	}
	return untrusted.Text(o).Line(40)
}

func (c *console) sayEvent(s receiver.Stored) {
	c.talk.Say("Event "+fromOutside(s.Key).Line(200)+".", "Received: "+c.moment(s.ReceivedAt)+", "+plain.Ago(s.ReceivedAt, c.app.Now()),
		"From: "+fromOutside(string(s.Source)).Line(100)+", "+string(s.Status), "About: "+eventLine(s))
	if s.Deliveries > 1 {
		c.talk.Say("It came " + count(s.Deliveries) + " times, last " + plain.Ago(s.LastAt, c.app.Now()) + ".")
	}
	if e, err := s.Event(); err == nil {
		c.talk.Say(amount("Source amount", e.SourceAmount.Sum)...)
		c.talk.Say(amount("Destination amount", e.DestinationAmount.Sum)...)
		for _, i := range e.Issues {
			c.talk.Say("Attention. " + sentence(fromOutside(i.Path+": "+i.Why).Line(300)))
		}
	}
	lines, all := draw.JSON(s.Raw, rawLines)
	c.talk.Say("As it came, " + plural(len(lines), "line", "lines") + ".")
	c.talk.Say(lines...)
	if !all {
		c.talk.Say("It is longer than that; the rest is not said.")
	}
}
