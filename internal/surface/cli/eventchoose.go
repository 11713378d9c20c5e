package cli

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api/hook"
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

// chosen is what the flags choose: by columns of the inbox, and by the filter.
type chosen struct {
	query receiver.Filter
	expr  eventfilter.Expr
	now   func() time.Time
}

// match reports whether s is chosen.
func (c chosen) match(s receiver.Stored) bool { return c.query.Match(s) && c.expr.Match(s, c.now()) }

// list reads the newest chosen events, newest first: what the inbox cannot choose
// by is looked for page by page.
func (c chosen) list(ctx context.Context, inbox receiver.Inbox, before int64, limit int) ([]receiver.Stored, error) {
	var out []receiver.Stored
	for {
		q := narrowed(c.query, eventfilter.Narrow(c.expr, c.now()))
		q.Before, q.Limit = before, limit
		if !c.expr.Empty() {
			q.Limit = 1000
		}
		page, err := inbox.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, s := range page {
			if !c.match(s) {
				continue
			}
			if out = append(out, s); len(out) == limit {
				return out, nil
			}
		}
		if len(page) < q.Limit {
			return out, nil
		}
		before = page[len(page)-1].Seq
	}
}

// narrowed is q with what it leaves open from more.
func narrowed(q, more receiver.Filter) receiver.Filter {
	if q.Types == nil {
		q.Types = more.Types
	}
	if q.Statuses == nil {
		q.Statuses = more.Statuses
	}
	q.Since, q.Until, q.ObjectID = cmp.Or(q.Since, more.Since), cmp.Or(q.Until, more.Until), cmp.Or(q.ObjectID, more.ObjectID)
	q.Waiting = q.Waiting || more.Waiting
	return q
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

// follower gives what comes from now on, after the last events that are asked for.
// Other contexts' events have numbers between them.
func (f *eventFilter) follower(ctx context.Context, a *app.App) (*receiver.Follower, error) {
	if f.last > 1000 {
		return nil, usage("--last must be at most 1000")
	}
	seq, err := a.Inbox().LastSeq(ctx)
	if err == nil && f.last > 0 {
		var events []receiver.Stored
		if events, err = a.Inbox().List(ctx, receiver.Filter{Limit: f.last}); len(events) > 0 {
			seq = events[len(events)-1].Seq - 1
		}
	}
	return receiver.Follow(a.Inbox(), seq, lookEvery, nil), err
}

func (f *eventFilter) times(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&f.since, "from", "", "received at or after (2026-01-31, or 2h for two hours ago)")
	cmd.Flags().StringVar(&f.until, "until", "", "received before")
	return cmd
}

// choose reads the flags for the person of ctx.
func (f *eventFilter) choose(ctx context.Context, a *app.App) (chosen, error) {
	query, err := f.filter(a.Now())
	if err != nil {
		return chosen{}, err
	}
	e, err := eventfilter.Parse(f.expr)
	if err != nil {
		return chosen{}, usage("--%s", err)
	}
	return chosen{query, e.For(ctx), a.Now}, nil
}

func (f *eventFilter) filter(now time.Time) (receiver.Filter, error) {
	out := receiver.Filter{Waiting: f.waiting}
	for _, s := range f.types {
		t, ok := hook.ParseType(s)
		if !ok {
			return out, usage("--type: there is no type %q", s)
		}
		out.Types = append(out.Types, t)
	}
	for _, s := range f.statuses {
		if !slices.Contains(eventfilter.Statuses(), s) {
			return out, usage("--status must be one of %s, not %q", strings.Join(eventfilter.Statuses(), ", "), s)
		}
		out.Statuses = append(out.Statuses, receiver.Status(s))
	}
	if f.operation != "" {
		out.Object, out.ObjectID = hook.ObjectOperation, f.operation
	}
	var err error
	if out.Since, err = when(f.since, now); err != nil {
		return out, err
	}
	out.Until, err = when(f.until, now)
	return out, err
}
