package spoken

import (
	"context"
	"strconv"
	"strings"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/ui/plain"
)

const pageRecords = 10

// trail is the audit list.
type trail struct {
	*console
	q         audit.Query
	page      audit.Page
	open      []audit.Entry // unsettled, when those were listed last
	unsettled bool
}

// audit lists the trail and what of it has no known outcome.
func (c *console) audit(ctx context.Context) error {
	if why := c.mayNotRead(api.MayAudit); why != "" {
		c.talk.Say("The audit trail cannot be read. " + why)
		return nil
	}
	t := &trail{console: c}
	narrow := func(change func(*audit.Query, string)) func(context.Context, string) error {
		return func(ctx context.Context, arg string) error {
			t.q = audit.Query{}
			change(&t.q, arg)
			return t.read(ctx)
		}
	}
	return c.talk.Menu(ctx, plain.Menu{Name: "Audit", Numbers: "says that record in full", Intro: t.read, Pick: t.pick,
		Commands: []plain.Command{
			{Name: "next", Alias: []string{"n"}, Help: "says older records.", Do: func(ctx context.Context, _ string) error {
				if t.page.Next == 0 || t.unsettled {
					c.talk.Say("There are no older records.")
					return nil
				}
				t.q.Before = t.page.Next
				return t.read(ctx)
			}},
			{Name: "newest", Alias: []string{"reload", "r"}, Help: "says the newest records, without a filter.", Do: narrow(func(*audit.Query, string) {})},
			{Name: "operation", Args: "ID", Help: "lists only records about an operation.", Do: narrow(func(q *audit.Query, id string) { q.Object, q.ID = "operation", id })},
			{Name: "customer", Args: "ID", Help: "lists only records about a customer.", Do: narrow(func(q *audit.Query, id string) { q.Object, q.ID = "customer", id })},
			{Name: "person", Args: "NAME", Help: "lists only records of a person.", Do: narrow(func(q *audit.Query, name string) { q.Actor = name })},
			{Name: "event", Args: "NAME", Help: "lists only events of that name; with a star at its end the beginning of names.", Do: narrow(func(q *audit.Query, name string) { q.Event = name })},
			{Name: "unsettled", Help: "lists writes of which nobody knows what became.", Do: func(ctx context.Context, _ string) error { return t.listUnsettled(ctx) }},
			{Name: "settle", Args: "NUMBER", Help: "closes one of the unsettled writes with a note of what you found.", Do: t.settle},
			{Name: "approvals", Help: "opens the writes that wait for a second person.", Do: func(ctx context.Context, _ string) error { return c.approvals(ctx) }},
		}})
}

func (t *trail) read(ctx context.Context) error {
	t.q.Limit, t.unsettled = pageRecords, false
	page, err := t.app.Audit.Find(ctx, t.q)
	if err != nil {
		return t.failed(ctx, "The audit trail", err)
	}
	t.page = page
	t.health(t.app.Audit.Health())
	t.talk.Say(plural(len(page.Entries), "record", "records") + ", newest first.")
	for i, e := range page.Entries {
		t.talk.Say(numbered(i+1, t.record(e)))
	}
	if page.Next != 0 {
		t.talk.Say("next says older ones.")
	}
	return nil
}

// health says what is wrong with the trail.
func (t *trail) health(h audit.Health) {
	switch bad := h.Tampered(); {
	case bad != nil:
		t.talk.Say("Attention: " + sentence(bad.Error()))
	case h.Checkpoint != nil:
		t.talk.Say("Attention. The last checkpoint could not be written: a cut end of the trail would not be noticed.")
	}
	if h.Err != nil {
		t.talk.Say("Attention. The audit trail cannot be written at present, so writes are refused.")
	}
}

// said is a text of a record as one safe line.
func said(s string, max int) string { return audit.Reading(s).Line(max) }

// record is one record in a sentence.
func (t *trail) record(e audit.Entry) string {
	damaged := ""
	if e.Damaged {
		damaged = "Record " + strconv.FormatInt(e.Seq, 10) + " is DAMAGED: " + e.Why + "."
		if !e.Genuine() {
			return damaged
		}
		damaged += " It says: "
	}
	s := damaged + t.moment(e.At) + ", " + orNone(said(e.Actor.Name, 60)) + ": " + said(e.Event, 60) + ", " + string(e.Phase)
	if e.Outcome != "" {
		s += ", outcome " + string(e.Outcome)
	}
	if e.ID != "" {
		s += ", " + said(e.Object, 40) + " " + said(e.ID, 128)
	}
	for _, more := range []string{e.Summary, e.Reason, e.Error, e.Detail} {
		if more != "" {
			s += ", " + said(more, 200)
		}
	}
	return sentence(s)
}

func (t *trail) pick(_ context.Context, n int) error {
	list := t.page.Entries
	if t.unsettled {
		list = t.open
	}
	if n < 1 || n > len(list) {
		t.talk.Say("There is no record of that number on this page.")
		return nil
	}
	e := list[n-1]
	t.talk.Say("Record "+strconv.FormatInt(e.Seq, 10)+".", t.record(e))
	if e.Damaged {
		return nil
	}
	for _, f := range []struct{ label, value string }{
		{"Code", e.Code}, {"Reference", e.UID}, {"Role", e.Actor.Role}, {"Key", e.Actor.Key}, {"Via", e.Via}, {"From", e.From},
		{"Item", e.Item}, {"Name", e.Name}, {"Request", strings.TrimSpace(e.Method + " " + e.Path)}, {"Rule", e.Rule}, {"Request id", e.Req},
		{"Outcome of", e.Ref}, {"Digest of the act", e.Act}, {"Hash", e.Hash},
	} {
		if f.value != "" {
			t.talk.Say(f.label + ": " + said(f.value, 400))
		}
	}
	if e.Status != 0 {
		t.talk.Say("Status: " + strconv.Itoa(e.Status))
	}
	return nil
}

func (t *trail) listUnsettled(ctx context.Context) error {
	open, err := t.app.Trail().Unsettled(ctx)
	if err != nil {
		return t.failed(ctx, "The unsettled writes", err)
	}
	t.open, t.unsettled = open, true
	t.talk.Say(plural(len(open), "write has", "writes have") + " no known outcome.")
	for i, e := range open {
		t.talk.Say(numbered(i+1, t.record(e)))
	}
	if len(open) > 0 {
		t.talk.Say("Look at the object of each, then settle and its number.")
	}
	return nil
}

func (t *trail) settle(ctx context.Context, arg string) error {
	n, err := strconv.Atoi(arg)
	if !t.unsettled || err != nil || n < 1 || n > len(t.open) {
		t.talk.Say("Type unsettled first, then settle and a number of that list.")
		return nil
	}
	e := t.open[n-1]
	note, err := t.talk.Ask(ctx, plain.Field{Label: "What did you find", Help: "A sentence; it is kept in the trail."})
	if err != nil {
		return err
	}
	yes, err := t.talk.Confirm(ctx, plain.Question{Lead: t.ground(), Ask: "Settle record " + strconv.FormatInt(e.Seq, 10) + "?", Deed: "settle it",
		Facts: []plain.Pair{{Label: "Record", Value: t.record(e)}, {Label: "Your note", Value: fromOutside(note).Line(400)}},
		Risk:  "Its outcome stays unknown in the trail, with your note."})
	if err != nil || !yes {
		return err
	}
	if err := t.app.Trail().Settle(ctx, t.who, e.UID, note); err != nil {
		return t.failed(ctx, "Settling", err)
	}
	t.talk.Say("Done. Settled.")
	return t.listUnsettled(ctx)
}
