package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/hook"
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

func eventListenCommand(r *root) *cobra.Command {
	var addr, verify string
	cmd := &cobra.Command{Long: "Receives webhooks as configured in [webhooks], stores them in the inbox, updates the " +
		"index\n" +
		"and prints one line per webhook. --addr sets another address; --verify none is for tests on\n" +
		"a loopback address. It runs until interrupted (exit 0)."}
	streams(r, cmd, func(ctx context.Context, a *app.App, _ []string, out one[eventJSON]) error {
		w := &a.Config.Webhooks
		w.Listen, w.Verify = cmp.Or(addr, w.Listen), cmp.Or(verify, w.Verify)
		if w.Listen == "" {
			return &api.Error{Kind: api.BadConfig, Public: "No address to listen on.",
				Hint: "Use --addr 127.0.0.1:8788, or set listen in [webhooks]."}
		}
		return listenForEvents(r, ctx, a, out)
	})
	cmd.Flags().StringVar(&addr, "addr", "", "address to listen on (default: listen of [webhooks])")
	cmd.Flags().StringVar(&verify, "verify", "", "jwt, header, standard_webhooks or none (default: verify of [webhooks])")
	return cmd
}

func listenForEvents(r *root, ctx context.Context, a *app.App, out one[eventJSON]) error {
	rec, err := a.Hooks().Receiver(r.env.Getenv, true)
	if err != nil {
		return err
	}
	defer func() { _ = rec.Close(context.WithoutCancel(ctx)) }()
	srv, err := a.Hooks().Server(ctx, rec)
	if err != nil {
		return err
	}
	seq, err := a.Hooks().Inbox().LastSeq(ctx)
	if err != nil {
		return err
	}
	r.say("Receiving webhooks at %s%s (%s); ctrl+c ends it.", srv.Addr(), a.Config.Webhooks.Path, a.Config.Webhooks.Verify)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, applied := make(chan error, 1), make(chan struct{})
	go func() { done <- srv.Serve(ctx); cancel() }()
	go func() { a.Hooks().Apply(ctx, rec); close(applied) }()
	stored := make(chan struct{}, 1)
	defer rec.Notify(stored)()
	err = follow(ctx, a.Context.Name, receiver.Follow(a.Hooks().Inbox(), seq, lookEvery, stored),
		func(receiver.Stored) bool { return true }, out)
	cancel()
	<-applied
	if served := <-done; err == nil && served != nil {
		err = &api.Error{Kind: api.Unavailable, Public: "Receiving ended: " + served.Error() + ".", Err: served}
	}
	return err
}

// follow prints the new events that choose accepts, until ctx ends.
func follow(ctx context.Context, whose string, f *receiver.Follower, choose func(receiver.Stored) bool,
	out one[eventJSON]) error {
	return f.Each(ctx, choose, func(s receiver.Stored) error {
		line := fmt.Sprintf("%s  %-25s  %-11s  %s  %s  %s", format.Clock(s.ReceivedAt, out.r.zone), s.Type, s.Status,
			s.ObjectID.Line(64), s.Key, present.SetAside(s))
		return out.each(jsonOf(s, whose, true), strings.TrimRight(line, " "))
	})
}

func eventTailCommand(r *root) *cobra.Command {
	var f eventFilter
	return streams(r, f.following(&cobra.Command{}), func(ctx context.Context, a *app.App, _ []string,
		out one[eventJSON]) error {
		follower, match, err := f.follower(ctx, a)
		if err != nil {
			return err
		}
		return follow(ctx, a.Context.Name, follower, match, out)
	})
}

// eventSender returns a forwarder; sending events elsewhere is an export, and recorded.
func eventSender(r *root, ctx context.Context, a *app.App, target, act string, sign bool) (*receiver.Forwarder, error) {
	var signer hook.Signer
	var err error
	if sign {
		if signer, err = a.Hooks().Signer(r.env.Getenv); err != nil {
			return nil, err
		}
	}
	f, err := receiver.NewForwarder(a.Hooks().Inbox(), target, signer)
	if err != nil {
		return nil, usage("--to: %s", err)
	}
	if err := a.Audit.Note(ctx, api.ActorOf(ctx), api.Event{Name: "event." + act, Object: "events",
		Detail: "to another address"}); err != nil {
		return nil, api.NotRecorded("", "nothing was sent", err)
	}
	return f, nil
}

func eventReplayCommand(r *root) *cobra.Command {
	var to string
	var sign bool
	cmd := &cobra.Command{
		Long: "Sends the stored body, byte for byte, to --to (https, or http to this host). Without --to it goes\n" +
			"through opdeck's own receiver and the index once more. --sign signs it as [webhooks] says."}
	elsewhere := also[attemptJSON](r, cmd, "--to")
	writes(r, cmd, func(ctx context.Context, a *app.App, args []string, out one[eventJSON]) (asked, error) {
		var facts []present.Fact
		if !r.yes && !r.dryRun {
			s, err := a.Hooks().Inbox().Get(ctx, args[0])
			if err != nil {
				return asked{}, inboxError(err)
			}
			facts = present.AskedReplay(present.Options{}, present.EventOf(s), to)
		}
		return asked{object: act.Object{ID: args[0], Kind: "event"},
			facts: facts, send: func(ctx context.Context) error {
				if to == "" {
					return replayHere(r, ctx, a, args[0], out)
				}
				f, err := eventSender(r, ctx, a, to, "replay", sign)
				if err != nil {
					return err
				}
				defer f.Close()
				try, err := f.Replay(mask.ByCaller(ctx), args[0]) // byte for byte: eventSender recorded it
				if err != nil {
					return inboxError(err)
				}
				return printAttempt(r, try, elsewhere)
			}}, nil
	})
	cmd.Flags().StringVar(&to, "to", "", "address; empty: opdeck's own receiver")
	cmd.Flags().BoolVar(&sign, "sign", false, "sign with the secret of [webhooks]")
	return cmd
}

func replayHere(r *root, ctx context.Context, a *app.App, key string, out one[eventJSON]) error {
	// with an empty --to the act has another permission
	if err := api.Need(ctx, "replay event", api.MayHooks); err != nil {
		return err
	}
	return withReceiver(r, ctx, a, func(rec *receiver.Receiver) error {
		s, err := rec.Replay(mask.ByCaller(ctx), key)
		if err != nil {
			return inboxError(err)
		}
		if err := a.Hooks().Merge(ctx, s); err != nil {
			return err
		}
		return out.report(jsonOf(mask.For(ctx, s), a.Context.Name, false), "Replayed through opdeck's own receiver.")
	})
}

// printAttempt prints a target's answer; an unaccepted delivery is a failure.
func printAttempt(r *root, a receiver.Attempt, out one[attemptJSON]) error {
	if a.OK() || r.output != "table" {
		if err := out.report(attemptOf(a), "Taken: %d in %s.", a.Status, a.Latency.Round(time.Millisecond)); err != nil ||
			a.OK() {
			return err
		}
	}
	what := fmt.Sprintf("The target answered %d.", a.Status)
	if a.Error != "" {
		what = "Not sent: " + a.Error + "."
	}
	return &api.Error{Kind: api.Unavailable, Public: what, Hint: "The event is kept; it can be replayed again."}
}

// forwardedJSON is a forwarded event with the result.
type forwardedJSON struct {
	Event   eventJSON   `json:"event"`
	Attempt attemptJSON `json:"attempt"`
}

func eventForwardCommand(r *root) *cobra.Command {
	var f eventFilter
	var to string
	var sign bool
	cmd := streams(r, f.following(&cobra.Command{}), func(ctx context.Context, a *app.App, _ []string,
		out one[forwardedJSON]) error {
		if to == "" {
			return usage("--to is required: the address to forward to")
		}
		follower, match, err := f.follower(ctx, a)
		if err != nil {
			return err
		}
		fw, err := eventSender(r, ctx, a, to, "forward", sign)
		if err != nil {
			return err
		}
		defer fw.Close()
		r.say("Forwarding new events; ctrl+c ends it.")
		whole, cancel := context.WithCancel(mask.ByCaller(ctx)) // eventSender recorded it
		defer cancel()
		var failed error
		err = fw.Run(whole, follower, match, func(s receiver.Stored, try receiver.Attempt) {
			if failed = out.each(forwardedJSON{jsonOf(mask.For(ctx, s), a.Context.Name, false), attemptOf(try)},
				s.Key+"  "+attemptLine(r, try)); failed != nil {
				cancel()
			}
		})
		return cmp.Or(failed, err)
	})
	cmd.Flags().StringVar(&to, "to", "", "address: https, or http to this host")
	cmd.Flags().BoolVar(&sign, "sign", false, "sign with the secret of [webhooks]")
	return cmd
}

// eventFilter holds the flags that select events.
type eventFilter struct {
	types, statuses []string
	operation       string
	since, until    string
	expr            string
	waiting         bool
	last            int
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

// following adds the flag of commands that follow the inbox.
func (f *eventFilter) following(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().IntVar(&f.last, "last", 0, "start with this many past events")
	return f.flags(cmd)
}

// follower returns a follower of new events, starting with the last ones that the flags ask for, and the filter for
// them. Events of other contexts have seq numbers in between.
func (f *eventFilter) follower(ctx context.Context, a *app.App) (_ *receiver.Follower, match func(receiver.Stored) bool,
	err error) {
	choose, err := f.choose(ctx, a)
	switch {
	case err != nil:
		return nil, nil, err
	case f.last > 1000:
		return nil, nil, usage("--last must be at most 1000")
	}
	seq, err := a.Hooks().Inbox().LastSeq(ctx)
	if err == nil && f.last > 0 {
		var events []receiver.Stored
		if events, err = a.Hooks().Inbox().List(ctx, receiver.Filter{Limit: f.last}); len(events) > 0 {
			seq = events[len(events)-1].Seq - 1
		}
	}
	return receiver.Follow(a.Hooks().Inbox(), seq, lookEvery, nil),
		func(s receiver.Stored) bool { return choose.Match(s, a.Now()) }, err
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
