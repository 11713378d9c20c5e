package spoken

import (
	"context"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/audit"
	"opdeck/ui/draw"
	"opdeck/ui/plain"
)

// current is an operation as it is shown here.
type current struct {
	op     api.Operation
	at     time.Time
	origin string // "index" or "service"
}

// load reads an operation: what is known locally when that is young enough,
// else from the service (one billing call). fresh asks the service in any case.
func (c *console) load(ctx context.Context, opid string, fresh bool) (current, error) {
	known, at, ok := c.app.Known(ctx, opid)
	if ok && !fresh && c.app.Now().Sub(at) <= c.app.Config.Index.MaxAge.D() {
		return current{known, at, "index"}, nil
	}
	var op api.Operation
	err := c.talk.Work(ctx, "reading the operation", func(ctx context.Context) (err error) {
		op, err = c.app.Client.Operation(ctx, opid)
		return err
	})
	if err == nil {
		return current{op, c.app.Now(), "service"}, nil
	}
	if ok && ctx.Err() == nil {
		c.talk.Say("The service could not be asked. " + sentence(api.AsError(err).Public) + " What follows is from the index, read " + plain.Ago(at, c.app.Now()) + ".")
		return current{known, at, "index"}, nil
	}
	return current{}, err
}

// openAsked opens an operation by a typed id.
func (c *console) openAsked(ctx context.Context, id string) error {
	if id == "" {
		var err error
		if id, err = c.askID(ctx, "operation id"); err != nil {
			return err
		}
	}
	return c.operation(ctx, id)
}

func (c *console) documentsAsked(ctx context.Context) error {
	id, err := c.askID(ctx, "operation id")
	if err != nil {
		return err
	}
	return c.documents(ctx, id)
}

func (c *console) askID(ctx context.Context, what string) (string, error) {
	return c.talk.Ask(ctx, plain.Field{Label: "The " + what, Help: "Letters, digits, dash and underscore, up to 64 of them.",
		Check: func(s string) error { return plainly(api.CheckID(what, s)) }})
}

// operation is one operation.
func (c *console) operation(ctx context.Context, opid string) error {
	var now current
	read := func(ctx context.Context, fresh bool) error {
		got, err := c.load(ctx, opid, fresh)
		if err != nil {
			if err := c.failed(ctx, "The operation", err); err != nil {
				return err
			}
			if now.op.OPID == "" {
				return plain.ErrLeave
			}
			return nil
		}
		now = got
		c.sayOperation(now)
		return nil
	}
	defer c.enter("operation", opid)()
	defer delete(c.revealed, opid)
	about := func(f func(api.Operation) []string) func(context.Context, string) error {
		return func(context.Context, string) error { c.talk.Say(f(now.op)...); return nil }
	}
	return c.talk.Menu(ctx, plain.Menu{Name: "Operation" + ending(opid),
		Intro: func(ctx context.Context) error { return read(ctx, false) },
		Commands: []plain.Command{
			{Name: "all", Help: "says every field.", Do: about(c.allFields)},
			{Name: "amounts", Help: "says the amounts and the rate.", Do: about(amounts)},
			{Name: "parties", Help: "says customer, source and destination.", Do: about(c.parties)},
			{Name: "documents", Alias: []string{"d"}, Help: "opens the documents: remove, put back, attach, upload, replace.",
				Do: func(ctx context.Context, _ string) error {
					err := c.documents(ctx, opid)
					if got, at, ok := c.app.Known(ctx, opid); ok {
						now = current{got, at, "index"}
					}
					return err
				}},
			{Name: "children", Alias: []string{"tree"}, Help: "reads the operations that this one spawned; costs one billing call.",
				Do: func(ctx context.Context, _ string) error { return c.children(ctx, opid) }},
			{Name: "history", Help: "says what changed and when, as far as this console saw it.",
				Do: func(ctx context.Context, _ string) error { return c.history(ctx, opid) }},
			{Name: "customer", Help: "opens the customer's verification.", Do: func(ctx context.Context, _ string) error {
				if now.op.Customer.CUID == "" {
					c.talk.Say("This operation names no customer.")
					return nil
				}
				return c.customer(ctx, string(now.op.Customer.CUID))
			}},
			{Name: "reveal", Help: "says masked account numbers until you leave this operation; it is recorded.",
				Why: func() string { return c.mayNotRead(api.MayReveal) },
				Do:  func(ctx context.Context, _ string) error { return c.sayRevealed(ctx, now.op) }},
			{Name: "raw", Alias: []string{"json"}, Help: "says the record as it came, as JSON.", Do: func(context.Context, string) error {
				c.sayRaw(opid, now.op.Raw)
				return nil
			}},
			{Name: "reload", Alias: []string{"r"}, Help: "reads it from the service; costs one billing call.",
				Do: func(ctx context.Context, _ string) error { return read(ctx, true) }},
		}})
}

// ending names an id by its last four characters, as people do.
func ending(id string) string {
	r := []rune(id)
	return ", id ending in " + string(r[max(len(r)-4, 0):])
}

// plainly is an error as its sentence alone.
func plainly(err error) error {
	if err == nil {
		return nil
	}
	return errSentence(api.AsError(err).Public)
}

type errSentence string

func (e errSentence) Error() string { return string(e) }

func (c *console) sayRevealed(ctx context.Context, op api.Operation) error {
	if err := c.reveal(ctx, "operation", string(op.OPID)); err != nil {
		return c.failed(ctx, "Reveal", err)
	}
	c.talk.Say(c.parties(op)...)
	return nil
}

// reveal records that masked values are said; without a record they stay masked.
func (c *console) reveal(ctx context.Context, object, id string) error {
	if err := api.Need(ctx, "reveal", api.MayReveal); err != nil {
		return err
	}
	e := api.Event{Name: audit.EventReveal, Object: object, ID: id, Detail: "masked values said in spoken mode"}
	if err := c.app.Audit.Note(ctx, c.who, e); err != nil {
		return &api.Error{Kind: api.Refused, Rule: api.RuleAudit, Public: "The audit trail cannot be written, so nothing is revealed.", Err: err}
	}
	c.revealed[id] = true
	return nil
}

// rawLines bounds what raw says of one record.
const rawLines = 2000

func (c *console) sayRaw(opid string, raw []byte) {
	if len(raw) == 0 {
		c.talk.Say("This was not read from the service, so there is no record as it came.")
		return
	}
	if c.masked(opid) {
		c.talk.Say("Account numbers are masked, and the record holds them. reveal allows to say it, where your role may.")
		return
	}
	lines, all := draw.JSON(raw, rawLines)
	c.talk.Say("As it came, " + plural(len(lines), "line", "lines") + ".")
	c.talk.Say(lines...)
	if !all {
		c.talk.Say("It is longer than that; the rest is not said.")
	}
}

// sayOperation is the short answer to "what is it, and how does it stand".
func (c *console) sayOperation(now current) {
	op := now.op
	phase := c.app.Client.Phase(op)
	c.talk.Say("Operation " + op.OPID.Line(128) + ".")
	s := "Status " + safe(op.Status, 60) + ", which means " + meaning(phase) + ". " + safe(op.Type, 60) + " by " + safe(op.PaymentType, 60) + ", " + money(op.SourceAmount.Sum)
	if op.SourceAmount.Sum.CurrencyCode != op.DestinationAmount.Sum.CurrencyCode && !op.DestinationAmount.Sum.Empty() {
		s += ", received as " + money(op.DestinationAmount.Sum)
	}
	c.talk.Say(s+".", "Customer "+safe(op.Customer.Name, 200)+", from "+safe(op.Source.Name(), 200)+" to "+safe(op.Destination.Name(), 200)+".",
		"It has "+documentsLine(op)+".", "From the "+now.origin+", read "+plain.Ago(now.at, c.app.Now())+". all says every field.")
}

// meaning says what a status word stands for; one that is not known is not guessed.
func meaning(p api.Phase) string {
	if p == api.PhaseUnknown {
		return "unknown, the word is not known here"
	}
	return p.Word()
}

// allFields says everything about the operation, exactly.
func (c *console) allFields(op api.Operation) []string {
	var out []string
	add := func(l ...string) { out = append(out, l...) }
	add("All fields.")
	add(field("Id", op.OPID)...)
	add(field("Status", op.Status)...)
	add("Which means: " + meaning(c.app.Client.Phase(op)))
	add(field("Type", op.Type)...)
	add(field("Payment type", op.PaymentType)...)
	add(field("Reference", op.Reference)...)
	add(field("Comment", op.Comment)...)
	add(c.when("Created", op.CreatedAt), c.when("Updated", op.UpdatedAt))
	add("Parent: "+yesNo(op.IsParent, "yes, it spawned others; children reads them", "no"), "Visible to the customer: "+yesNo(op.IsVisible, "yes", "no"))
	add(c.parties(op)...)
	add(amounts(op)...)
	add(plural(len(op.Documents), "document", "documents") + ".")
	for i, d := range op.Documents {
		add(exactly(numbered(i+1, documentLine(d)), d.FileName)...)
	}
	if fields := op.Unknown(); len(fields) > 0 {
		add("Fields that this program has no name for.")
		for _, f := range fields {
			add(field(untrusted.Text(f.Path).Line(200), untrusted.Text(f.Value))...)
		}
	}
	add("End of the operation.")
	return out
}

func (c *console) parties(op api.Operation) []string {
	out := append([]string{"Customer."}, field("Customer name", op.Customer.Name)...)
	out = append(out, field("Customer id", op.Customer.CUID)...)
	out = append(out, party("Source", op.Source, c.masked(string(op.OPID)))...)
	return append(out, party("Destination", op.Destination, c.masked(string(op.OPID)))...)
}

func party(side string, p api.Party, masked bool) []string {
	out := []string{side + "."}
	add := func(l []string) { out = append(out, l...) }
	if a := p.Account; a != nil {
		add(field(side+" account", a.Name))
		add(number(side+" number", a.Number, masked))
		add(field(side+" account id", a.ID))
		add(field(side+" customer", a.Customer.Name))
		add(field(side+" customer id", a.Customer.CUID))
	}
	if a := p.CounterpartyAccount; a != nil {
		add(field(side+" account", a.Name))
		add(number(side+" number", a.Number, masked))
		add(field(side+" account id", a.ID))
		add(field(side+" counterparty", a.Counterparty.Name))
		add(field(side+" bank", a.Counterparty.BankName))
		add(field(side+" counterparty id", a.Counterparty.SUID))
	}
	if len(out) == 1 {
		return []string{side + ": not told by the service."}
	}
	return out
}

// amounts are the four amounts and the rate between source and destination.
func amounts(op api.Operation) []string {
	out := []string{"Amounts."}
	out = append(out, amount("Source amount", op.SourceAmount.Sum)...)
	out = append(out, amount("Destination amount", op.DestinationAmount.Sum)...)
	out = append(out, amount("Commission", op.CommissionAmount.Sum)...)
	out = append(out, amount("Balance", op.CurrentBalanceAmount.Sum)...)
	src, dst := op.SourceAmount.Sum, op.DestinationAmount.Sum
	if rate, exact, ok := api.Rate(src, dst); ok && src.CurrencyCode != dst.CurrencyCode {
		out = append(out, "Rate: 1 "+src.CurrencyCode.Line(12)+" is "+yesNo(exact, "", "about ")+rate.Text('f')+" "+dst.CurrencyCode.Line(12))
	}
	return out
}

func (c *console) children(ctx context.Context, opid string) error {
	var tree api.OperationTree
	err := c.talk.Work(ctx, "reading the children", func(ctx context.Context) (err error) {
		tree, err = c.app.Client.OperationTree(ctx, opid)
		return err
	})
	if err != nil {
		return c.failed(ctx, "The children", err)
	}
	c.talk.Say(yesNo(len(tree.Children) == 0, "It has no children.", plural(len(tree.Children), "child operation", "child operations")+"."))
	for i, o := range tree.Children {
		level := yesNo(o.Depth > 1, "level "+count(o.Depth)+", ", "")
		c.talk.Say(numbered(i+1, level+strings.Join([]string{o.Status.Line(40), o.Type.Line(40)}, " ")+", "+money(o.SourceAmount.Sum)+", id "+o.OPID.Line(128)+"."))
	}
	if tree.Unread > 0 {
		c.talk.Say("Attention. " + plural(tree.Unread, "child", "children") + " in the service's answer could not be read.")
	}
	if len(tree.Children) > 0 {
		c.talk.Say("open and an id opens one.")
	}
	return nil
}
