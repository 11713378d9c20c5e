package cli

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/ui/draw"
)

var customerCommands = commands{
	"customer.list": (*root).customerList, "customer.get": (*root).customerGet,
	"customer.application": (*root).customerApplication, "customer.files": (*root).customerFiles,
	"customer.set-application": (*root).customerSetApplication,
}

// pageJSON is a page of the service's list; total is "" where it does not tell.
type pageJSON[T any] struct {
	Items []T        `json:"items"`
	Page  int        `json:"page"`
	Total api.Number `json:"total"`
}

func (r *root) customerList() *cobra.Command {
	var q api.CustomerQuery
	cmd := listsPage(r, field.Customers, []string{"cuid", "name", "type", "status"}, func(ctx context.Context, c *app.Client) (api.Page[api.Customer], error) { return c.Customers(ctx, q) })
	cmd.Flags().StringVar(&q.Name, "name", "", "part of the name")
	pageFlags(cmd, &q.Page, &q.Size, "customers a page")
	return cmd
}

// listsPage prints a page of records that the service lists, with these columns.
func listsPage[T any](r *root, c *field.Catalogue[T], columns []string, read func(context.Context, *app.Client) (api.Page[T], error)) *cobra.Command {
	return printsList(r, &cobra.Command{}, func(ctx context.Context, a *app.App, _ []string, out many[pageJSON[T], T]) error {
		p, err := read(ctx, a.Client)
		if err != nil {
			return err
		}
		r.sayUnusable(p.Unusable)
		return out.print(pageJSON[T]{p.Items, p.Page, p.Total}, p.Items, fieldTable(c, p.Items, columns...))
	})
}

// pageFlags are the flags that choose a page and its size.
func pageFlags(cmd *cobra.Command, page, size *int, many string) {
	cmd.Flags().IntVar(page, "page", 0, "page, from 0")
	cmd.Flags().IntVar(size, "limit", 0, many)
}

func (r *root) customerGet() *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string, out one[api.Customer]) error {
		c, err := a.Client.Customer(ctx, args[0])
		if err != nil {
			return err
		}
		t := newCard()
		t.add("name", c.FullName().Line(100))
		t.add("type", c.Type.Line(30))
		t.add("status", c.Status.Line(30))
		t.details(c.Details(), mask.Needed(ctx))
		return out.card(c, t)
	})
}

// oddMark says behind a value that it is not what its field ought to hold.
func oddMark(odd bool) string {
	if odd {
		return " (cannot be read)"
	}
	return ""
}

func (r *root) customerApplication() *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string, out one[sent[api.Application]]) error {
		app, err := a.Client.Application(ctx, args[0])
		if err != nil {
			return err
		}
		return out.json(asSent(app.Raw, app))
	})
}

func (r *root) customerFiles() *cobra.Command {
	var page int
	type file = sent[api.CustomerFile]
	cmd := printsList(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string, out many[pageJSON[file], file]) error {
		p, err := a.Client.CustomerFiles(ctx, args[0], page)
		if err != nil {
			return err
		}
		r.sayUnusable(p.Unusable)
		items := make([]file, len(p.Items))
		for i, f := range p.Items {
			items[i] = asSent(f.Raw, f)
		}
		return out.print(pageJSON[file]{items, p.Page, p.Total}, items, rows("ID|NAME|TYPE|SIZE|STATUS", p.Items, func(f api.CustomerFile) []any {
			size := "?" // it cannot be read
			if f.Size >= 0 {
				size = strconv.FormatInt(f.Size, 10)
			}
			return []any{f.ID.Line(64), cmp.Or(f.FileName, f.Name).Line(60), f.Type.Line(30), size, f.Status.Line(20)}
		}))
	})
	cmd.Flags().IntVar(&page, "page", 0, "page, from 0")
	return cmd
}

// sayUnusable says that a list holds records that nothing can be done with.
func (r *root) sayUnusable(n int) {
	if n > 0 {
		r.say("%s in the service's answer without an identifier.", draw.Plural(n, "record is", "records are"))
	}
}

// maxApplication bounds an application that is read, in bytes.
const maxApplication = 1 << 20

func (r *root) customerSetApplication() *cobra.Command {
	return writes(r, &cobra.Command{}, func(_ context.Context, a *app.App, args []string, out one[sent[api.Result]]) (asked, error) {
		body, err := r.read(args[1], maxApplication, "The application is larger than 1 MB; nothing was sent.")
		if err != nil {
			return asked{}, err
		}
		return onCustomer(args[0], func(ctx context.Context) error {
			res, err := a.Client.SetApplication(ctx, args[0], body)
			if err != nil {
				return err
			}
			return out.told(asSent(res.Raw, res), "Set. %s The service announces this call as soon to be deprecated; compliance link takes its place.", res.Message.Line(200))
		}), nil
	})
}
