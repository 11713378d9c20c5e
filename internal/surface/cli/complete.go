package cli

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/internal/app"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/format"
)

// addCompletion registers the completion of arguments and flags. It makes no call: values come from the config, the
// index or the inbox.
func addCompletion(r *root, top *cobra.Command) error {
	words := func(list []string) cobra.CompletionFunc {
		return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	by := func(find func(*root, *cobra.Command, []string, string) ([]string,
		cobra.ShellCompDirective)) cobra.CompletionFunc {
		return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
			return find(r, cmd, args, typed)
		}
	}
	var orders []string
	for _, f := range index.SortFields {
		orders = append(orders, f, "-"+f)
	}
	flags := map[string]map[string]cobra.CompletionFunc{
		"operation": {"filter": by(operationTerms), "sort": words(orders),
			"view": completes(func() ([]string, error) { return viewNames(r) })},
		"event": {"filter": eventTerms, "type": words(eventfilter.Types()), "status": words(eventfilter.Statuses())},
	}
	errs := []error{top.RegisterFlagCompletionFunc("context", completes(r.contextNames)),
		top.RegisterFlagCompletionFunc("output", words(outputs))}
	for _, group := range top.Commands() {
		for _, cmd := range group.Commands() {
			for name, fn := range flags[group.Name()] {
				if cmd.Flags().Lookup(name) != nil {
					errs = append(errs, cmd.RegisterFlagCompletionFunc(name, fn))
				}
			}
			switch takes, _, _ := strings.Cut(strings.TrimPrefix(cmd.Use, cmd.Name()+" "), " "); takes {
			case "OPID", "OPID...":
				cmd.ValidArgsFunction = by(operationIDs)
			case "HOOKID":
				cmd.ValidArgsFunction = by(eventKeys)
			}
		}
	}
	return errors.Join(errs...)
}

// completes returns a completion from a list.
func completes(read func() ([]string, error)) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		list, err := read()
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeFrom completes from the index or the inbox of the context.
func completeFrom(r *root, cmd *cobra.Command, read func(context.Context, *app.App) ([]string, error)) ([]string,
	cobra.ShellCompDirective) {
	return completes(func() (found []string, err error) {
		err = r.with(cmd.Context(), "completion", func(ctx context.Context, a *app.App) error {
			found, err = read(ctx, a)
			return err
		})
		return found, err
	})(cmd, nil, "")
}

func (r *root) contextNames() ([]string, error) {
	cfg, err := r.loadConfig()
	names := append(slices.Collect(maps.Keys(cfg.Contexts)), "sandbox")
	slices.Sort(names)
	return slices.Compact(names), err
}

func viewNames(r *root) (out []string, err error) {
	cfg, err := r.loadConfig()
	for _, name := range slices.Sorted(maps.Keys(cfg.Views)) {
		out = append(out, name+"\t"+oneLine(cfg.Views[name].Filter))
	}
	return out, err
}

// operationIDs completes an opid from the index.
func operationIDs(r *root, cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && cmd.Name() != "get" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return completeFrom(r, cmd, func(ctx context.Context, a *app.App) (found []string, err error) {
		expr := ""
		if typed != "" {
			expr = "id:" + typed
		}
		f, err := filter.Parse(expr)
		if err != nil {
			return nil, err
		}
		w, err := a.Index.Window(ctx, index.Query{Filter: f, After: 20}, a.Now())
		for _, row := range w.Rows {
			found = append(found, row.Op.OPID.Line(64)+"\t"+row.Op.Status.Line(20)+" "+format.Money(row.Op.SourceAmount.Sum))
		}
		return found, err
	})
}

// eventKeys completes an event's id with the newest ones of the inbox.
func eventKeys(r *root, cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return completeFrom(r, cmd, func(ctx context.Context, a *app.App) (out []string, err error) {
		events, err := a.Hooks().Inbox().List(ctx, receiver.Filter{Limit: 100})
		for _, s := range events {
			if strings.HasPrefix(s.Key, typed) && len(out) < 20 {
				out = append(out, oneLine(s.Key)+"\t"+s.Type.String()+" "+s.ObjectID.Line(64)+", "+string(s.Status))
			}
		}
		return out, err
	})
}

// continued returns the suggestions that extend typed at its end.
func continued(typed string, ways []filter.Suggestion) []string {
	var out []string
	for _, w := range ways {
		one := typed[:w.From] + w.Text
		if w.Help != "" {
			one += "\t" + w.Help
		}
		out = append(out, one)
	}
	return out
}

func operationTerms(r *root, cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	out, d := completeFrom(r, cmd, func(ctx context.Context, a *app.App) ([]string, error) {
		return continued(typed, a.Index.Suggest(ctx, typed, len(typed))), nil
	})
	return out, d | cobra.ShellCompDirectiveNoSpace
}

func eventTerms(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	return continued(typed, eventfilter.Table().Complete(typed, len(typed), nil)),
		cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}
