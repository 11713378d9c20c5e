package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
)

func indexStatusCommand(r *root) *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, _ []string) (record[app.IndexStatus], error) {
		return indexStatus(r, ctx, a)
	})
}

func indexStatus(r *root, ctx context.Context, a *app.App) (record[app.IndexStatus], error) {
	s, err := a.Mirror().Status(ctx)
	return card(s, present.Section{Facts: indexFacts(r.options(ctx, a), s)}), err
}

func indexFacts(o present.Options, s app.IndexStatus) (out []present.Fact) {
	fact := func(label, value string) {
		if value != "" {
			out = append(out, present.Fact{Label: label, Value: value})
		}
	}
	aged := func(label string, t time.Time) {
		if t.IsZero() {
			fact(label, "not known")
		} else {
			fact(label, format.TimeAgo(t, o.Now, o.Zone))
		}
	}
	if !s.Enabled {
		fact("index", "switched off ([index] enabled)")
	}
	fact("index", s.Says)
	aged("as of", s.AsOf)
	aged("oldest row seen", s.Oldest)
	aged("newest row seen", s.Newest)
	aged("last checked for new", s.News)
	fact("gone at the service", format.Count(int(s.Gone)))
	if s.Unseen > 0 {
		fact("known from webhooks only", format.Count(int(s.Unseen)))
	}
	fact("order of the list", s.Order)
	fact("page size", fmt.Sprint(s.PageSize))
	pass := "waits"
	switch {
	case !s.Pass.Running && s.Pass.Page > 0:
		pass = fmt.Sprintf("stopped after page %d of %d: no console, opdeck serve or index sync is running",
			s.Pass.Page, s.Pass.Pages)
	case s.Pass.Running:
		pass = fmt.Sprintf("page %d of %d", s.Pass.Page, s.Pass.Pages)
		if s.Pass.Verified > 0 {
			pass += fmt.Sprintf(", %s read one by one", format.Plural(s.Pass.Verified, "operation", "operations"))
		}
	}
	fact("pass", pass)
	aged("last pass ended", s.Pass.Finished)
	takes := time.Duration(s.Pass.Seconds * float64(time.Second)).Round(time.Second)
	fact("every row is read", fmt.Sprintf("within about %s at the current rate, %s", takes,
		format.Plural(s.Pass.Pages, "page", "pages")))
	fact("pending reads", fmt.Sprint(s.Owed))
	fact("sync paused", s.Trouble)
	fact("note", s.Note)
	return out
}

func indexSyncCommand(r *root) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{Long: "Fetches new operations and continues an unfinished pass, with at most 20 billing " +
		"calls. With --wait it continues until it has read every page again and the counts agree. It uses spare calls " +
		"only and shows its progress. If a console or server is already syncing, that one does the work."}
	prints(r, cmd, func(ctx context.Context, a *app.App, _ []string) (out record[app.IndexStatus], err error) {
		if err := a.Mirror().Sync(ctx, wait, syncProgress(r)); err != nil {
			return out, err
		}
		return indexStatus(r, ctx, a)
	})
	cmd.Flags().BoolVar(&wait, "wait", false, "wait for a full pass")
	return cmd
}

// syncProgress prints the progress of the sync when it has changed.
func syncProgress(r *root) func(index.Freshness) {
	last := ""
	return func(f index.Freshness) {
		p := f.Progress.Pass
		line := fmt.Sprintf("%s indexed, page %d", format.Plural(int(f.Rows), "operation", "operations"), p.Page)
		if f.Total >= 0 {
			line = fmt.Sprintf("%s of %s indexed, page %d", format.Count(int(f.Rows)),
				format.Plural(int(f.Total), "operation", "operations"), p.Page)
		}
		if p.Listed {
			line += fmt.Sprintf(", %s read one by one", format.Count(p.Asked))
		}
		if f.Progress.Trouble != "" {
			line += ", paused: " + f.Progress.Trouble
		}
		if line != last {
			last = line
			r.say("%s", line)
		}
	}
}

// verifiedJSON compares the index with the service.
type verifiedJSON struct {
	Differs bool `json:"differs"`
	index.Comparison
}

// difference is an operation that differs at the service.
type difference struct{ what, opid string }

var differenceColumns = []present.Column[difference]{
	{Name: "difference", Cell: func(_ present.Options, d difference) present.Cell { return present.Cell{Text: d.what} }},
	{Name: "operation", Layout: field.Layout{ID: true}, Cell: func(_ present.Options, d difference) present.Cell {
		return present.Cell{Text: oneLine(d.opid)}
	}},
}

func indexVerifyCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Reads the whole list from the service and compares it with the index page by page " +
		"before merging it; operations on no page are read one by one. It uses spare calls only. It reports and repairs " +
		"every difference. A console or server that syncs at the same time may repair some first. Exit 1 when anything " +
		"differed, or when the list could not be read to its end."}
	return prints(r, cmd, func(ctx context.Context, a *app.App, _ []string) (out record[verifiedJSON], err error) {
		progress := r.progress()
		c, err := a.Mirror().Verify(ctx, func(done, total int64) { progress(int(done), int(total)) })
		out = value(verifiedJSON{c.Differs(), c})
		var all []difference
		for _, d := range []struct {
			what string
			ids  []string
		}{{"missing in the index", c.Missing}, {"other content", c.Different}, {"not at the service", c.Phantom},
			{"on no page of the list", c.Unlisted}} {
			all = append(all, mapped(d.ids, func(id string) difference { return difference{d.what, id} })...)
		}
		if len(all) > 0 {
			out.table = listed(r.options(ctx, a), differenceColumns, all)
		}
		repaired := ""
		if len(c.Missing)+len(c.Different)+len(c.Phantom) > 0 {
			repaired = " The index is repaired."
		}
		out = out.says("%s compared: %d were missing, %d had other content, %d are no longer at the service.%s",
			format.Plural(int(c.Compared), "operation", "operations"), len(c.Missing), len(c.Different), len(c.Phantom),
			repaired)
		switch {
		case c.Total >= 0 && c.Compared != c.Total:
			out = out.says("The service reports a total of %d, but its pages show %d.", c.Total, c.Compared)
		case c.Note != "":
			out = out.says("%s", c.Note)
		case !c.Whole:
			out = out.says("opdeck cannot show that these are all of the service's operations.")
		}
		if c.Differs() || !c.Whole {
			out.exit = exitError(1)
		}
		return out, err
	})
}

func indexRebuildCommand(r *root) *cobra.Command {
	return &cobra.Command{Long: "Removes all operations of this account from the index. Nothing changes at the " +
		"service. The sync reads everything again, which costs calls and time. The history of operations stays.",
		RunE: r.asks(func(_ context.Context, a *app.App, _ []string) (asked, func(context.Context) error, error) {
			return asked{}, func(ctx context.Context) error {
				if err := a.Mirror().Rebuild(ctx); err != nil {
					return err
				}
				r.say("The index is empty. The console, opdeck serve or opdeck index sync --wait fill it.")
				return nil
			}, nil
		})}
}
