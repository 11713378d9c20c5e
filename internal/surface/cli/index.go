package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/format"
	"opdeck/internal/present"
)

var indexCommands = commands{
	act.IndexStatus: indexStatusCommand, act.IndexSync: indexSyncCommand, act.IndexVerify: indexVerifyCommand,
	act.IndexRebuild: indexRebuildCommand,
}

func indexStatusCommand(r *root) *cobra.Command {
	return prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, _ []string, out one[app.IndexStatus]) error {
		return printIndex(ctx, a, out)
	})
}

func printIndex(ctx context.Context, a *app.App, out one[app.IndexStatus]) error {
	s, err := a.Mirror().Status(ctx)
	if err != nil {
		return err
	}
	return out.card(s, indexCard(out.r.options(ctx, a), s))
}

func indexCard(o present.Options, s app.IndexStatus) *table {
	aged := func(t time.Time) string {
		if t.IsZero() {
			return "not known"
		}
		return format.TimeAgo(t, o.Now, o.Zone)
	}
	t := newCard()
	if !s.Enabled {
		t.fact("index", "switched off ([index] enabled)")
	}
	t.fact("index", s.Says)
	t.fact("as of", aged(s.AsOf))
	t.fact("oldest row seen", aged(s.Oldest))
	t.fact("newest row seen", aged(s.Newest))
	t.fact("last checked for new", aged(s.News))
	t.fact("gone at the service", format.Count(int(s.Gone)))
	if s.Unseen > 0 {
		t.fact("known from webhooks only", format.Count(int(s.Unseen)))
	}
	t.fact("order of the list", s.Order)
	t.fact("page size", s.PageSize)
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
	t.fact("pass", pass)
	t.fact("last pass ended", aged(s.Pass.Finished))
	takes := time.Duration(s.Pass.Seconds * float64(time.Second)).Round(time.Second)
	t.fact("every row is read", fmt.Sprintf("within about %s at the current rate, %s", takes,
		format.Plural(s.Pass.Pages, "page", "pages")))
	t.fact("pending reads", s.Owed)
	t.fact("sync paused", s.Trouble)
	t.fact("note", s.Note)
	return t
}

func indexSyncCommand(r *root) *cobra.Command {
	var wait bool
	cmd := &cobra.Command{Long: "Fetches new operations and continues an unfinished pass, with at most 20 billing " +
		"calls. With\n" +
		"--wait it continues until it has read every page again and the counts agree. It uses spare\n" +
		"calls only and shows its progress. If a console or server is already syncing, that one does\n" +
		"the work."}
	prints(r, cmd, func(ctx context.Context, a *app.App, _ []string, out one[app.IndexStatus]) error {
		if err := a.Mirror().Sync(ctx, wait, syncProgress(r)); err != nil {
			return err
		}
		return printIndex(ctx, a, out)
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

func indexVerifyCommand(r *root) *cobra.Command {
	return prints(r, &cobra.Command{Long: "Reads the whole list from the service and compares it with the index page " +
		"by page before\n" +
		"merging it; operations on no page are read one by one. It uses spare calls only. It reports\n" +
		"and repairs every difference. A console or server that syncs at the same time may repair\n" +
		"some first. Exit 1 when anything differed, or when the list could not be read to its end."},
		func(ctx context.Context, a *app.App, _ []string, out one[verifiedJSON]) error {
			progress := r.progress()
			c, err := a.Mirror().Verify(ctx, func(done, total int64) { progress(int(done), int(total)) })
			if err != nil {
				return err
			}
			t := tabled("DIFFERENCE|OPERATION")
			t.key = 1
			for _, d := range []struct {
				what string
				ids  *[]string
			}{{"missing in the index", &c.Missing}, {"other content", &c.Different}, {"not at the service", &c.Phantom},
				{"on no page of the list", &c.Unlisted}} {
				*d.ids = append([]string{}, *d.ids...)
				for _, id := range *d.ids {
					t.add(d.what, id)
				}
			}
			if r.output != "table" || len(t.rows) > 0 {
				if err := out.card(verifiedJSON{c.Differs(), c}, t); err != nil {
					return err
				}
			}
			sayComparison(r, c)
			if c.Differs() || !c.Whole {
				return exitError(1)
			}
			return nil
		})
}

// sayComparison summarises a comparison for people.
func sayComparison(r *root, c index.Comparison) {
	if r.output != "table" {
		return
	}
	repaired := ""
	if len(c.Missing)+len(c.Different)+len(c.Phantom) > 0 {
		repaired = " The index is repaired."
	}
	r.say("%s compared: %d were missing, %d had other content, %d are no longer at the service.%s",
		format.Plural(int(c.Compared), "operation", "operations"), len(c.Missing), len(c.Different), len(c.Phantom), repaired)
	switch {
	case c.Total >= 0 && c.Compared != c.Total:
		r.say("The service reports a total of %d, but its pages show %d.", c.Total, c.Compared)
	case c.Note != "":
		r.say("%s", c.Note)
	case !c.Whole:
		r.say("opdeck cannot show that these are all of the service's operations.")
	}
}

func indexRebuildCommand(r *root) *cobra.Command {
	return &cobra.Command{Long: "Removes all operations of this account from the index. Nothing changes at the " +
		"service. The\n" +
		"sync reads everything again, which costs calls and time. The history of operations stays.",
		RunE: r.asks(func(_ context.Context, a *app.App, _ []string) (asked, error) {
			return asked{send: func(ctx context.Context) error {
				if err := a.Mirror().Rebuild(ctx); err != nil {
					return err
				}
				r.say("The index is empty. The console, opdeck serve or opdeck index sync --wait fill it.")
				return nil
			}}, nil
		})}
}
