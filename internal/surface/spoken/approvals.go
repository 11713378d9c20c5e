package spoken

import (
	"context"
	"strings"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/approval"
	"opdeck/ui/plain"
)

// requests is the list of requests for a second person.
type requests struct {
	*console
	all   bool
	items []approval.Request
}

// approvals lists writes that wait for a second person.
func (c *console) approvals(ctx context.Context) error {
	r := &requests{console: c}
	return c.talk.Menu(ctx, plain.Menu{Name: "Approvals", Numbers: "opens that request", Intro: r.read,
		Pick: func(ctx context.Context, n int) error {
			if n < 1 || n > len(r.items) {
				c.talk.Say("There is no request of that number.")
				return nil
			}
			return c.request(ctx, r.items[n-1].ID)
		},
		Commands: []plain.Command{
			{Name: "all", Help: "lists the decided and lapsed ones too.", Do: func(ctx context.Context, _ string) error { r.all = true; return r.read(ctx) }},
			{Name: "waiting", Help: "lists only those that wait.", Do: func(ctx context.Context, _ string) error { r.all = false; return r.read(ctx) }},
			{Name: "request", Args: "ID", Help: "opens a request by its id.", Do: func(ctx context.Context, id string) error { return c.request(ctx, id) }},
		}})
}

func (r *requests) read(ctx context.Context) error {
	states := []approval.State{approval.Open}
	if r.all {
		states = nil
	}
	list, err := r.app.Approvals.List(ctx, states...)
	if err != nil {
		return r.failed(ctx, "The requests", err)
	}
	r.items = list
	what := plural(len(list), "request waits", "requests wait") + " for a second person."
	if r.all {
		what = plural(len(list), "request", "requests") + ", newest first."
	}
	r.talk.Say(what)
	for i, q := range list {
		r.talk.Say(numbered(i+1, string(q.State)+", asked by "+fromOutside(q.Requester.Name).Line(60)+", "+sentence(fromOutside(q.Act.Summary).Line(300))))
	}
	return nil
}

// request is one request: what would be sent, by whom, until when.
func (c *console) request(ctx context.Context, id string) error {
	var q approval.Request
	read := func(ctx context.Context) error {
		got, err := c.app.Approvals.Show(ctx, id)
		if err != nil {
			if err := c.failed(ctx, "The request", err); err != nil {
				return err
			}
			return plain.ErrLeave
		}
		q = got
		c.sayRequest(ctx, q)
		return nil
	}
	why := func() string {
		if err := c.app.Approvals.MayDecide(ctx, q); err != nil {
			e := api.AsError(err)
			return strings.TrimSpace(sentence(e.Public) + " " + remedy.Spoken(e))
		}
		return ""
	}
	return c.talk.Menu(ctx, plain.Menu{Name: "Request " + fromOutside(id).Line(40), Intro: read, Commands: []plain.Command{
		{Name: "approve", Help: "lets the requester do it, once, after a question.", Why: why, Do: func(ctx context.Context, _ string) error {
			return c.decide(ctx, q, "Approve", false, c.app.Approvals.Approve)
		}},
		{Name: "deny", Help: "refuses it, with the reason, after a question.", Why: why, Do: func(ctx context.Context, _ string) error {
			return c.decide(ctx, q, "Deny", true, c.app.Approvals.Deny)
		}},
		{Name: "look", Help: "opens what it is about.", Do: func(ctx context.Context, _ string) error {
			if q.Act.Object == "customer" {
				return c.customer(ctx, q.Act.ID)
			}
			return c.operation(ctx, q.Act.ID)
		}},
		{Name: "reload", Alias: []string{"r"}, Help: "says how it stands now.", Do: func(ctx context.Context, _ string) error { return read(ctx) }},
	}})
}

func (c *console) sayRequest(ctx context.Context, q approval.Request) {
	for _, p := range c.requestFacts(q) {
		c.talk.Say(p.Label + ": " + p.Value)
	}
	if q.Decider != nil {
		c.talk.Say("Decided by: "+fromOutside(q.Decider.Name).Line(60)+", "+plain.Ago(q.Decided, c.app.Now()), "Comment: "+orNone(fromOutside(q.Comment).Line(500)))
	}
	if s := c.seenStill(ctx, q); s != "" {
		c.talk.Say(s)
	}
}

func (c *console) requestFacts(q approval.Request) []plain.Pair {
	out := []plain.Pair{{Label: "Request", Value: q.ID + ", " + string(q.State)}, {Label: "What", Value: fromOutside(q.Act.Summary).Line(400)},
		{Label: "Would be sent", Value: fromOutside(strings.TrimSpace(q.Act.Method + " " + q.Act.Path)).Line(400)}}
	if len(q.Act.Body) > 0 {
		out = append(out, plain.Pair{Label: "With the body", Value: fromOutside(string(q.Act.Body)).Line(2000)})
	}
	if q.Act.Item != "" {
		out = append(out, plain.Pair{Label: "Item", Value: strings.TrimSpace(fromOutside(q.Act.Item).Line(64) + " " + fromOutside(q.Act.Name).Line(100))})
	}
	if q.Act.Reason != "" {
		out = append(out, plain.Pair{Label: "Reason", Value: fromOutside(q.Act.Reason).Line(400)})
	}
	return append(out, plain.Pair{Label: "Asked by", Value: asker(q) + ", role " + string(q.Requester.Role) + ", " + plain.Ago(q.Created, c.app.Now())},
		plain.Pair{Label: "Good until", Value: c.clock(q.Expires)})
}

// asker is who asked, with what a local name rests on.
func asker(q approval.Request) string {
	s := fromOutside(q.Requester.Name).Line(60)
	if claim := q.Requester.Claim(); claim != "" {
		s += " (" + fromOutside(claim).Line(200) + ")"
	}
	return s
}

// seenStill says whether the object is what the requester saw, as far as is known
// without a call.
func (c *console) seenStill(ctx context.Context, q approval.Request) string {
	if q.Act.Kind != api.ActRemoveDocument || q.Act.Seen == "" {
		return ""
	}
	op, at, ok := c.app.Known(ctx, q.Act.ID)
	switch {
	case !ok:
		return "The operation is not known here yet; look opens it."
	case api.SeenDigest(op, q.Act.Item) == q.Act.Seen:
		return "The document and the operation's status are as the requester saw them, read " + plain.Ago(at, c.app.Now()) + "."
	}
	return "Attention. The document or the operation's status differs from what the requester saw, read " + plain.Ago(at, c.app.Now()) + "."
}

func (c *console) decide(ctx context.Context, q approval.Request, verb string, needsReason bool,
	do func(context.Context, string, string, string) (approval.Request, error)) error {
	comment, err := c.talk.Ask(ctx, plain.Field{Label: "Comment", Help: "The requester hears it.", Optional: !needsReason})
	if err != nil {
		return err
	}
	facts := c.requestFacts(q)
	if comment != "" {
		facts = append(facts, plain.Pair{Label: "Your comment", Value: fromOutside(comment).Line(500)})
	}
	done, err := c.write(ctx, plain.Question{Ask: verb + " request " + q.ID + " of " + fromOutside(q.Requester.Name).Line(60) + "?", Facts: facts,
		Deed: strings.ToLower(verb), ID: q.ID, IDLabel: "request id"}, verb, "deciding", func(ctx context.Context) error {
		_, err := do(ctx, q.ID, q.Digest, comment)
		return err
	})
	if err != nil || !done {
		return err
	}
	c.talk.Say(map[string]string{"Approve": "Done. Approved. The requester now does it again as it is.", "Deny": "Done. Denied."}[verb])
	return plain.ErrLeave
}
