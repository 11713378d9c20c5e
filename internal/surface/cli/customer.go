package cli

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/customerfilter"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/journey"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
)

// pageJSON is a page of the service's list; total is "" if not reported.
type pageJSON[T any] struct {
	Items []T        `json:"items"`
	Page  int        `json:"page"`
	Total api.Number `json:"total"`
}

// page is a page of a list of the service.
type page[T any] = view[pageJSON[T], T]

// pageOf is a page that prints items.
func pageOf[R, T any](p api.Page[R], items []T, t *table) page[T] {
	return list(pageJSON[T]{items, p.Page, p.Total}, items, t)
}

// customersJSON is a page of customers or, with a filter, the matching ones of all that were read; begun are their
// unfinished verifications.
type customersJSON struct {
	pageJSON[api.Customer]
	Read  int              `json:"read"` // customers that the filter was applied to
	Begun []journey.Record `json:"begun"`
}

// maxCustomerPages bounds the pages, and so the calls, for one filter.
const maxCustomerPages = 20

func customerListCommand(r *root) *cobra.Command {
	var q api.CustomerQuery
	var expr string
	cmd := &cobra.Command{Long: "Lists a page of the service's customers. With --filter it reads the pages from --page " +
		"on (one call each, at most " + strconv.Itoa(maxCustomerPages) +
		") and lists the customers that match: status:VERIFY,MODERATION shows who is waiting.\n\nThe language of " +
		"--filter:\n\n" +
		customerfilter.Table(nil).Help()}
	type customers = view[customersJSON, api.Customer]
	prints(r, lists(cmd), func(ctx context.Context, a *app.App, _ []string) (customers, error) {
		unfinished, err := a.Journeys.Store.UnfinishedJourneys(ctx)
		if err != nil {
			return customers{}, err
		}
		begun := customerfilter.BegunOf(unfinished)
		f, err := customerfilter.Table(func() customerfilter.Begun { return begun }).Parse(expr)
		if err != nil {
			return customers{}, usage("%s", err)
		}
		found, err := findCustomers(r, ctx, a, q, f.For(ctx).In(r.zone))
		for _, c := range found.Items {
			if rec, ok := begun[string(c.CUID)]; ok {
				found.Begun = append(found.Begun, rec)
			}
		}
		columns := append(present.Columns(field.Customers, "cuid", "name", "type", "status", "created"),
			present.TimeColumn("begun", field.Layout{}, time.DateTime, func(c api.Customer) time.Time {
				return begun[string(c.CUID)].Begun()
			}))
		return list(found, found.Items, listed(r.options(ctx, a), columns, found.Items)), err
	})
	cmd.Flags().StringVar(&expr, "filter", "", "only what matches this filter, for example 'status:VERIFY,MODERATION "+
		"type:corporate'")
	cmd.Flags().StringVar(&q.Name, "name", "", "part of the name; the service searches for it")
	pageFlags(cmd, &q.Page, &q.Size, "customers per page")
	return cmd
}

// listsPage is a command that prints a page of a list of the service with these columns; query returns what the flags
// select.
func listsPage[Q, T any](r *root, call endpoint.Endpoint[Q, api.Page[T]], c *field.Catalogue[T], columns []string,
	query func() (Q, error)) *cobra.Command {
	return prints(r, lists(&cobra.Command{}), func(ctx context.Context, a *app.App, _ []string) (page[T], error) {
		q, err := query()
		if err != nil {
			return page[T]{}, err
		}
		p, err := endpoint.Do(ctx, a.Client, call, q)
		sayPage(r, p)
		return pageOf(p, p.Items, fieldTable(r.options(ctx, a), c, p.Items, columns...)), err
	})
}

// pageFlags adds the flags for a page and its size.
func pageFlags(cmd *cobra.Command, page, size *int, many string) {
	cmd.Flags().IntVar(page, "page", 0, "page number; the first page is 0")
	cmd.Flags().IntVar(size, "limit", 0, many)
}

// findCustomers reads one page or, with a filter, all pages.
func findCustomers(r *root, ctx context.Context, a *app.App, q api.CustomerQuery,
	f filter.Expr[api.Customer]) (customersJSON, error) {
	out := customersJSON{Begun: []journey.Record{}}
	out.Page = q.Page
	known := map[untrusted.Text]bool{}
	for range maxCustomerPages {
		p, err := endpoint.Do(mask.ByCaller(ctx), a.Client, endpoint.ListCustomers, q)
		if err != nil {
			return out, err
		}
		if f.Empty() {
			sayPage(r, p)
		} else {
			sayUnusable(r, p.Unusable)
		}
		before := len(known)
		for _, c := range p.Items {
			if !known[c.CUID] && f.Match(c, a.Now()) { // pages shift when customers are added
				out.Items = append(out.Items, mask.For(ctx, c))
			}
			known[c.CUID] = true
		}
		out.Total, out.Read = p.Total, len(known)
		total, err := strconv.Atoi(string(p.Total))
		next, more := p.Then(api.PageAt{Page: q.Page, Next: q.Next}, len(known) > before)
		if q.Page, q.Next = next.Page, next.Next; f.Empty() || !more || err == nil && len(known) >= total {
			return out, nil
		}
	}
	r.say("%d customers of %s were read; --page %d continues.", out.Read, oneLine(string(out.Total)), q.Page)
	return out, nil
}

func customerGetCommand(r *root) *cobra.Command {
	return gets(r, endpoint.GetCustomer, present.Customer)
}

func customerApplicationCommand(r *root) *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string) (record[sent[api.Application]],
		error) {
		app, err := endpoint.Do(ctx, a.Client, endpoint.GetApplication, args[0])
		if err != nil {
			return record[sent[api.Application]]{}, err
		}
		return asJSON(asSent(app.Raw, app))
	})
}

func customerFilesCommand(r *root) *cobra.Command {
	var number int
	type file = sent[api.CustomerFile]
	cmd := prints(r, lists(&cobra.Command{}), func(ctx context.Context, a *app.App, args []string) (page[file], error) {
		p, err := endpoint.Do(ctx, a.Client, endpoint.ListFiles, endpoint.FileQuery{CUID: args[0], Page: number})
		sayPage(r, p)
		items := mapped(p.Items, func(f api.CustomerFile) file { return asSent(f.Raw, f) })
		return pageOf(p, items, fieldTable(r.options(ctx, a), field.Files, p.Items, "id", "name", "type", "media", "size",
			"lock", "created", "state", "description")), err
	})
	cmd.Flags().IntVar(&number, "page", 0, "page number; the first page is 0")
	return cmd
}

// sayPage says if a page is not the whole list by the reported total, and how many of its records are unusable.
func sayPage[T any](r *root, p api.Page[T]) {
	sayUnusable(r, p.Unusable)
	if p.Total != "" && string(p.Total) != strconv.Itoa(len(p.Items)) {
		r.say("%s came on page %d; the service reports a total of %s.", format.Plural(len(p.Items), "record", "records"),
			p.Page,
			untrusted.Text(p.Total).Line(20))
	}
}

// sayUnusable says how many records of a list are unusable.
func sayUnusable(r *root, n int) {
	if n > 0 {
		r.say("%s in the service's answer without an identifier.", format.Plural(n, "record is", "records are"))
	}
}

// maxApplication bounds an application from a file, in bytes.
const maxApplication = 1 << 20

func customerSetApplicationCommand(r *root) *cobra.Command {
	return writes(r, &cobra.Command{}, func(_ context.Context, a *app.App, args []string) (asked,
		sending[sent[api.Result]], error) {
		body, err := r.read(args[1], maxApplication, "The application is larger than 1 MB; nothing was sent.")
		w := onCustomer(args[0])
		w.risk = "The file replaces the whole application."
		return w, func(ctx context.Context) (record[sent[api.Result]], error) {
			res, err := endpoint.Do(ctx, a.Client, endpoint.SetApplication, endpoint.NewApplication{CUID: args[0], Body: body})
			return value(asSent(res.Raw, res)).says("Set. %s The service will deprecate this call; use compliance link instead.",
				res.Message.Line(200)), err
		}, err
	})
}

func customerDeleteFileCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Deletes a file and its content from a customer's store. This cannot be undone. opdeck " +
		"reads the customer's files first and never sends a locked or missing file. --force lifts its guard for a lock " +
		"that the service does not tell. The service may refuse if an operation holds the file."}
	var force bool
	writes(r, cmd, func(_ context.Context, a *app.App, args []string) (asked, sending[sent[api.Result]], error) {
		w := asked{object: act.Object{Item: "file " + args[1], ID: args[0], Kind: "customer"}, typed: args[1]}
		if force {
			w.risk = "--force sends it even if the service does not say whether the file is locked."
		}
		return w, func(ctx context.Context) (record[sent[api.Result]], error) {
			res, err := endpoint.Do(ctx, a.Client, endpoint.DeleteFile, api.DeleteFile{CUID: args[0], ID: args[1],
				Force: force})
			return value(asSent(res.Raw, res)).says("%s", strings.TrimSpace("Deleted. "+res.Message.Line(200))), err
		}, nil
	})
	cmd.Flags().BoolVar(&force, "force", false, "lift opdeck's guard for a lock that the service does not tell")
	return cmd
}
