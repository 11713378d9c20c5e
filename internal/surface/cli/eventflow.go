package cli

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/format"
	"opdeck/internal/present"
)

// lookEvery is how often the inbox is polled for events of other processes.
const lookEvery = time.Second

// follow prints the new events that the flags ask for, after the last ones, until ctx ends. Events of other contexts
// have seq numbers in between.
func follow(ctx context.Context, a *app.App, f *eventFilter, last int, out one[eventJSON]) error {
	choose, err := f.choose(ctx, a)
	if err != nil {
		return err
	}
	seq, err := a.Hooks().Inbox().LastSeq(ctx)
	if err == nil && last > 0 {
		var events []receiver.Stored
		if events, err = a.Hooks().Inbox().List(ctx, receiver.Filter{Limit: last}); len(events) > 0 {
			seq = events[len(events)-1].Seq - 1
		}
	}
	if err != nil {
		return err
	}
	return receiver.Follow(a.Hooks().Inbox(), seq, lookEvery, nil).Each(ctx,
		func(s receiver.Stored) bool { return choose.Match(s, a.Now()) }, func(s receiver.Stored) error {
			line := fmt.Sprintf("%s  %-25s  %-11s  %s  %s  %s", format.Clock(s.ReceivedAt, out.r.zone), s.Type, s.Status,
				s.ObjectID.Line(64), s.Key, present.SetAside(s))
			return out.each(jsonOf(s, a.Context.Name, true), strings.TrimRight(line, " "))
		})
}

func eventReplayCommand(r *root) *cobra.Command {
	return writes(r, &cobra.Command{
		Long: "Sends the stored event through opdeck's own receiver and the index once more. It adds no row."},
		func(ctx context.Context, a *app.App, args []string, out one[eventJSON]) (asked, error) {
			var facts []present.Fact
			if !r.yes && !r.dryRun {
				s, err := a.Hooks().Inbox().Get(ctx, args[0])
				if err != nil {
					return asked{}, inboxError(err)
				}
				facts = present.AskedReplay(present.Options{}, present.EventOf(s))
			}
			return asked{object: act.Object{ID: args[0], Kind: "event"}, facts: facts,
				send: func(ctx context.Context) error { return replay(r, ctx, a, args[0], out) }}, nil
		})
}

func replay(r *root, ctx context.Context, a *app.App, key string, out one[eventJSON]) error {
	rec, err := a.Hooks().Receiver(r.env.Getenv, false)
	if err != nil {
		return err
	}
	defer func() { _ = rec.Close(context.WithoutCancel(ctx)) }()
	s, err := rec.Replay(mask.ByCaller(ctx), key)
	if err != nil {
		return inboxError(err)
	}
	if err := a.Hooks().Merge(ctx, s); err != nil {
		return err
	}
	return out.report(jsonOf(mask.For(ctx, s), a.Context.Name, false), "Replayed through opdeck's own receiver.")
}

// eventFilter holds the flags that select events.
type eventFilter struct {
	types, statuses []string
	operation       string
	since, until    string
	expr            string
	waiting         bool
}

// any reports whether a flag selects events.
func (f *eventFilter) any() bool {
	return len(f.types)+len(f.statuses) > 0 || f.operation+f.since+f.until+f.expr != "" || f.waiting
}

func (f *eventFilter) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringSliceVar(&f.types, "type", nil,
		"OPERATION, DEPOSIT_ACCOUNT, CLIENT, COUNTERPARTY, DEPOSIT_ACCOUNT_REQUISITE, or 1 to 5")
	cmd.Flags().StringSliceVar(&f.statuses, "status", nil, "verified, unverified, quarantined, conflict")
	cmd.Flags().StringVar(&f.operation, "operation", "", "of this operation; the beginning of an id is enough")
	cmd.Flags().BoolVar(&f.waiting, "waiting", false, "that could not be merged into the index yet")
	cmd.Flags().StringVar(&f.expr, "filter", "",
		`for example 'type:operation status:quarantined received<2h -has:bound "text"'`)
	cmd.Long = strings.TrimLeft(cmd.Long+"\n\nThe language of --filter:\n\n", "\n") + eventfilter.Table().Help()
	return cmd
}

func (f *eventFilter) times(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.since, "from", "", "received at or after (2026-01-31, or 2h for two hours ago)")
	cmd.Flags().StringVar(&f.until, "until", "", "received before")
	return cmd
}

// choose builds the filter from the flags, for the person of ctx.
func (f *eventFilter) choose(ctx context.Context, a *app.App) (eventfilter.Expr, error) {
	var terms []string
	for _, flag := range []struct {
		name         string
		given, known []string
	}{{"type", f.types, eventfilter.Types()}, {"status", f.statuses, eventfilter.Statuses()}} {
		for _, v := range flag.given {
			if !slices.Contains(flag.known, strings.ToLower(v)) {
				return eventfilter.Expr{}, usage("--%s must be one of %s, not %q", flag.name, strings.Join(flag.known, ", "), v)
			}
		}
		if len(flag.given) > 0 {
			terms = append(terms, flag.name+":"+strings.Join(flag.given, ","))
		}
	}
	if f.operation != "" {
		terms = append(terms, "type:operation id:"+strconv.Quote(f.operation))
	}
	if f.waiting {
		terms = append(terms, "has:waiting")
	}
	for _, end := range []struct{ given, term string }{{f.since, "received>="}, {f.until, "received<"}} {
		t, err := when(end.given, a.Now())
		if err != nil {
			return eventfilter.Expr{}, err
		}
		if !t.IsZero() {
			terms = append(terms, end.term+t.UTC().Format(time.RFC3339Nano))
		}
	}
	e, err := eventfilter.Parse(f.expr)
	if err != nil {
		return e, usage("--%s", err)
	}
	if !e.Empty() {
		terms = append(terms, "("+f.expr+")")
	}
	e, err = eventfilter.Parse(strings.Join(terms, " "))
	return e.For(ctx), err
}
