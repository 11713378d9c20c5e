package cli

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/internal/app"
	"opdeck/internal/domain/eventfilter"
	"opdeck/internal/domain/receiver"
)

// eventFilter is the flags that choose events.
type eventFilter struct {
	types, statuses []string
	operation       string
	since, until    string
	expr            string
	waiting         bool
	last            int
}

// any reports whether anything is chosen.
func (f *eventFilter) any() bool {
	return len(f.types)+len(f.statuses) > 0 || f.operation+f.since+f.until+f.expr != "" || f.waiting
}

// list reads the newest events that e chooses, newest first: what the inbox cannot
// choose by is looked for page by page.
func list(ctx context.Context, inbox receiver.Inbox, e eventfilter.Expr, now time.Time, before int64, limit int) ([]receiver.Stored, error) {
	var out []receiver.Stored
	q := eventfilter.Narrow(e, now)
	q.Before, q.Limit = before, limit
	if !e.Empty() {
		q.Limit = 1000
	}
	for {
		page, err := inbox.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			if !e.Match(s, now) {
				continue
			}
			if out = append(out, s); len(out) == limit {
				return out, nil
			}
		}
		if len(page) < q.Limit {
			return out, nil
		}
		q.Before = page[len(page)-1].Seq
	}
}

func (f *eventFilter) flags(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringSliceVar(&f.types, "type", nil, "OPERATION, DEPOSIT_ACCOUNT, CLIENT, COUNTERPARTY, DEPOSIT_ACCOUNT_REQUISITE, or 1 to 5")
	cmd.Flags().StringSliceVar(&f.statuses, "status", nil, "verified, unverified, quarantined, conflict")
	cmd.Flags().StringVar(&f.operation, "operation", "", "of this operation")
	cmd.Flags().BoolVar(&f.waiting, "waiting", false, "that could not be merged into the index yet")
	cmd.Flags().StringVar(&f.expr, "filter", "", `for example 'type:operation status:quarantined received<2h -has:bound "text"'`)
	cmd.Long = strings.TrimLeft(cmd.Long+"\n\nThe language of --filter:\n\n", "\n") + eventfilter.Table().Help()
	return cmd
}

// following adds the flag of commands that follow the inbox.
func (f *eventFilter) following(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().IntVar(&f.last, "last", 0, "begin with that many events of the past")
	return f.flags(cmd)
}

// follower gives what comes from now on, after the last events that are asked for, and
// match what is chosen of it. Other contexts' events have numbers between them.
func (f *eventFilter) follower(ctx context.Context, a *app.App) (_ *receiver.Follower, match func(receiver.Stored) bool, err error) {
	choose, err := f.choose(ctx, a)
	switch {
	case err != nil:
		return nil, nil, err
	case f.last > 1000:
		return nil, nil, usage("--last must be at most 1000")
	}
	seq, err := a.Inbox().LastSeq(ctx)
	if err == nil && f.last > 0 {
		var events []receiver.Stored
		if events, err = a.Inbox().List(ctx, receiver.Filter{Limit: f.last}); len(events) > 0 {
			seq = events[len(events)-1].Seq - 1
		}
	}
	return receiver.Follow(a.Inbox(), seq, lookEvery, nil), func(s receiver.Stored) bool { return choose.Match(s, a.Now()) }, err
}

func (f *eventFilter) times(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.since, "from", "", "received at or after (2026-01-31, or 2h for two hours ago)")
	cmd.Flags().StringVar(&f.until, "until", "", "received before")
	return cmd
}

// choose reads the flags for the person of ctx: each is a term of the filter.
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
