package cli

import (
	"context"
	"encoding/json"
	"io"
	"os"
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

func (r *root) customerList() *cobra.Command {
	var q api.CustomerQuery
	cmd := lists(&cobra.Command{RunE: r.do(func(ctx context.Context, a *app.App, _ []string) error {
		p, err := a.Client.Customers(ctx, q)
		if err != nil {
			return err
		}
		r.sayUnusable(p.Unusable)
		return r.list(fieldTable(field.Customers, p.Items, "cuid", "name", "type", "status"), map[string]any{"page": p.Page, "total": p.Total, "items": p.Items}, toAny(p.Items))
	})})
	cmd.Flags().StringVar(&q.Name, "name", "", "part of the name")
	cmd.Flags().IntVar(&q.Page, "page", 0, "page, from 0")
	cmd.Flags().IntVar(&q.Size, "limit", 0, "customers a page")
	return cmd
}

func (r *root) customerGet() *cobra.Command {
	return &cobra.Command{Use: "get", RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
		c, err := a.Client.Customer(ctx, args[0])
		if err != nil {
			return err
		}
		if r.output != "table" {
			return r.printJSON(c)
		}
		t := &table{head: []string{"FIELD", "VALUE"}}
		t.add("name", c.FullName().Line(100))
		t.add("type", c.Type.Line(30))
		t.add("status", c.Status.Line(30))
		t.details(c.Details(), mask.Needed(ctx))
		return t.write(r.env.Out)
	})}
}

// oddMark says behind a value that it is not what its field ought to hold.
func oddMark(odd bool) string {
	if odd {
		return " (cannot be read)"
	}
	return ""
}

func (r *root) customerApplication() *cobra.Command {
	return &cobra.Command{Use: "application", RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
		app, err := a.Client.Application(ctx, args[0])
		if err != nil {
			return err
		}
		return r.printJSON(app.Raw)
	})}
}

func (r *root) customerFiles() *cobra.Command {
	var page int
	cmd := lists(&cobra.Command{Use: "files", RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
		p, err := a.Client.CustomerFiles(ctx, args[0], page)
		if err != nil {
			return err
		}
		t := &table{head: []string{"ID", "NAME", "TYPE", "SIZE", "STATUS"}}
		raws := make([]json.RawMessage, 0, len(p.Items))
		r.sayUnusable(p.Unusable)
		for _, f := range p.Items {
			name := f.FileName
			if name == "" {
				name = f.Name
			}
			t.add(f.ID.Line(64), name.Line(60), f.Type.Line(30), sizeText(f.Size), f.Status.Line(20))
			raws = append(raws, f.Raw)
		}
		return r.list(t, map[string]any{"page": p.Page, "total": p.Total, "items": raws}, toAny(raws))
	})})
	cmd.Flags().IntVar(&page, "page", 0, "page, from 0")
	return cmd
}

// sizeText is a size in bytes, ? for one that cannot be read.
func sizeText(n int64) string {
	if n < 0 {
		return "?"
	}
	return strconv.FormatInt(n, 10)
}

// sayUnusable says that a list holds records that nothing can be done with.
func (r *root) sayUnusable(n int) {
	if n > 0 {
		r.say("%s in the service's answer without an identifier.", draw.Plural(n, "record is", "records are"))
	}
}

// maxApplication bounds an application that is read, in bytes.
const maxApplication = 1 << 20

// readApplication reads the file that an argument names, or standard input for -.
func (r *root) readApplication(arg string) ([]byte, error) {
	in := r.env.In
	if arg != "-" {
		f, err := os.Open(arg)
		if err != nil {
			return nil, &api.Error{Kind: api.Usage, Public: "The file cannot be read.", Err: err}
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, maxApplication+1))
	switch {
	case err != nil:
		return nil, &api.Error{Kind: api.Usage, Public: "The file cannot be read.", Err: err}
	case len(b) > maxApplication:
		return nil, &api.Error{Kind: api.Usage, Public: "The application is larger than 1 MB; nothing was sent."}
	}
	return b, nil
}

func (r *root) customerSetApplication() *cobra.Command {
	return &cobra.Command{RunE: r.asks(func(_ context.Context, a *app.App, args []string) (asked, error) {
		body, err := r.readApplication(args[1])
		if err != nil {
			return asked{}, err
		}
		return onCustomer(args[0], func(ctx context.Context) error {
			res, err := a.Client.SetApplication(ctx, args[0], body)
			if err != nil {
				return err
			}
			r.say("Set. %s The service announces this call as soon to be deprecated; compliance link takes its place.", res.Message.Line(200))
			return nil
		}), nil
	})}
}
