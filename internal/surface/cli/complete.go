package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/receiver"
)

// completeFlags registers what the flags of lists can be. Nothing is asked of the
// service: values are those that the index or the inbox holds.
func (r *root) completeFlags(top *cobra.Command) error {
	words := func(list []string) cobra.CompletionFunc {
		return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	var orders []string
	for _, f := range index.SortFields {
		orders = append(orders, f, "-"+f)
	}
	flags := map[string]map[string]cobra.CompletionFunc{
		"operation": {"filter": r.operationTerms, "sort": words(orders), "view": r.viewNames},
		"event":     {"filter": eventTerms, "type": words(eventfilter.Types()), "status": words(eventfilter.Statuses())},
	}
	var errs []error
	for group, of := range flags {
		cmd, _, err := top.Find([]string{group})
		errs = append(errs, err)
		for _, sub := range cmd.Commands() {
			for name, fn := range of {
				if sub.Flags().Lookup(name) != nil {
					errs = append(errs, sub.RegisterFlagCompletionFunc(name, fn))
				}
			}
			if n := sub.Name(); group == "event" && (n == "show" || n == "replay") {
				sub.ValidArgsFunction = r.eventKeys
			}
		}
	}
	return errors.Join(errs...)
}

// continued are the ways to go on at the end of what was typed.
func continued(typed string, ways []filter.Suggestion) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, w := range ways {
		one := typed[:w.From] + w.Text
		if w.Help != "" {
			one += "\t" + w.Help
		}
		out = append(out, one)
	}
	return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

func (r *root) operationTerms(cmd *cobra.Command, _ []string, typed string) (out []string, d cobra.ShellCompDirective) {
	err := r.with(cmd.Context(), "completion", func(ctx context.Context, a *app.App) error {
		out, d = continued(typed, a.Index.Suggest(ctx, typed, len(typed)))
		return nil
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, d
}

func eventTerms(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return continued(typed, eventfilter.Table().Complete(typed, len(typed), nil))
}

func (r *root) viewNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	cfg, err := config.Load(config.Path(r.config, r.env.Getenv))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(cfg.Views)) {
		out = append(out, name+"\t"+oneLine(cfg.Views[name].Filter))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// eventKeys completes an event's id with the newest ones of the inbox.
func (r *root) eventKeys(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	err := r.with(cmd.Context(), "completion", func(ctx context.Context, a *app.App) error {
		events, err := a.Inbox().List(ctx, receiver.Filter{Limit: 100})
		for _, s := range events {
			if strings.HasPrefix(s.Key, typed) && len(out) < 20 {
				out = append(out, oneLine(s.Key)+"\t"+s.Type.String()+" "+s.ObjectID.Line(64)+", "+string(s.Status))
			}
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}
