package spoken

import (
	"context"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/internal/domain/journey"
	"opdeck/ui/plain"
)

const pageCustomers = 10

// directory is the list of customers, a page of the service at a time.
type directory struct {
	*console
	name  string
	page  int
	items []api.Customer
	total string
}

// customers lists customers and what of their verification is begun.
func (c *console) customers(ctx context.Context) error {
	d := &directory{console: c}
	return c.talk.Menu(ctx, plain.Menu{Name: "Compliance", Numbers: "opens that customer's verification", Intro: d.read,
		Pick: func(ctx context.Context, n int) error {
			if n <= d.page*pageCustomers || n > d.page*pageCustomers+len(d.items) {
				c.talk.Say("There is no customer of that number on this page.")
				return nil
			}
			return c.customer(ctx, string(d.items[n-1-d.page*pageCustomers].CUID))
		},
		Commands: []plain.Command{
			{Name: "next", Alias: []string{"n"}, Help: "reads the next page; costs one customer call.", Do: d.turn(1)},
			{Name: "previous", Alias: []string{"p"}, Help: "reads the page before; costs one customer call.", Do: d.turn(-1)},
			{Name: "find", Args: "NAME", Help: "lists customers whose name holds a text; find alone lists all.", Do: func(ctx context.Context, arg string) error {
				d.name, d.page = arg, 0
				return d.read(ctx)
			}},
			{Name: "customer", Args: "ID", Help: "opens a customer's verification by the customer id.", Do: func(ctx context.Context, id string) error {
				if id == "" {
					var err error
					if id, err = c.askID(ctx, "customer id"); err != nil {
						return err
					}
				}
				return c.customer(ctx, id)
			}},
			{Name: "unfinished", Help: "says which verifications are begun and not finalised.", Do: func(ctx context.Context, _ string) error { return d.unfinished(ctx) }},
		}})
}

func (d *directory) turn(by int) func(context.Context, string) error {
	return func(ctx context.Context, _ string) error {
		switch {
		case d.page+by < 0:
			d.talk.Say("This is the first page.")
			return nil
		case by > 0 && len(d.items) < pageCustomers:
			d.talk.Say("There is no further page.")
			return nil
		}
		d.page += by
		return d.read(ctx)
	}
}

func (d *directory) read(ctx context.Context) error {
	var page api.Page[api.Customer]
	err := d.talk.Work(ctx, "reading the customers", func(ctx context.Context) (err error) {
		page, err = d.app.Client.Customers(ctx, api.CustomerQuery{Name: d.name, Page: d.page, Size: pageCustomers})
		return err
	})
	if err != nil {
		return d.failed(ctx, "The customers", err)
	}
	d.items, d.total = slices.DeleteFunc(page.Items, func(cu api.Customer) bool { return cu.CUID == "" }), string(page.Total)
	open := map[string]journey.Record{}
	if list, err := d.app.Journeys.Store.UnfinishedJourneys(ctx); err == nil {
		for _, r := range list {
			open[r.CUID] = r
		}
	}
	first := d.page * pageCustomers
	s := "No customers"
	if len(d.items) > 0 {
		s = "Customers " + count(first+1) + " to " + count(first+len(d.items))
	}
	if d.total != "" {
		s += " of " + safe(fromOutside(d.total), 20)
	}
	if d.name != "" {
		s += ", name holds " + fromOutside(d.name).Line(100)
	}
	d.talk.Say(s + ".")
	if page.Unusable > 0 {
		d.talk.Say("Attention. " + plural(page.Unusable, "record", "records") + " in the service's answer without an id are left out.")
	}
	for i, cu := range d.items {
		line := safe(cu.FullName(), 200) + ", " + strings.ToLower(safe(cu.Type, 30)) + ", status " + safe(cu.Status, 30)
		if r, ok := open[string(cu.CUID)]; ok {
			line += ", verification " + begun(r)
		}
		d.talk.Say(numbered(first+i+1, line+"."))
	}
	return nil
}

func (d *directory) unfinished(ctx context.Context) error {
	list, err := d.app.Journeys.Store.UnfinishedJourneys(ctx)
	if err != nil {
		return d.failed(ctx, "The unfinished verifications", err)
	}
	d.talk.Say(plural(len(list), "verification is", "verifications are") + " begun and not finalised.")
	for _, r := range list {
		d.talk.Say("Customer " + r.CUID + ": " + begun(r) + ", last by " + orNone(fromOutside(r.By).Line(60)) + ", " + plain.Ago(r.Updated, d.app.Now()) + ".")
	}
	return nil
}

// begun says where an unfinished journey stands.
func begun(r journey.Record) string {
	switch {
	case r.Unclear:
		return "the outcome of the share is not known"
	case r.FinalizeUnclear:
		return "the outcome of finalize is not known"
	case r.Applied && len(r.Outstanding) > 0:
		return "document sets outstanding"
	case r.Applied && r.Outstanding == nil:
		return "what is outstanding is not known"
	case r.Applied:
		return "to be finalised"
	}
	return "link made"
}
