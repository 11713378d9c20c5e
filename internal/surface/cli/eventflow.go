package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/receiver"
)

// lookEvery is how often the inbox is looked at for events of other processes.
const lookEvery = time.Second

func (r *root) eventListen() *cobra.Command {
	var addr, verify string
	cmd := forms(&cobra.Command{Use: "listen", Long: "Receives webhooks as [webhooks] of the config says, keeps them in the inbox, freshens the index\n" +
		"and prints one line each. --addr listens elsewhere; --verify none is for trials on a loopback\n" +
		"address. It ends when it is interrupted (exit 0).",
		RunE: r.do(func(ctx context.Context, a *app.App, _ []string) error {
			if addr != "" {
				a.Config.Webhooks.Listen = addr
			}
			if verify != "" {
				a.Config.Webhooks.Verify = verify
			}
			if a.Config.Webhooks.Listen == "" {
				return &api.Error{Kind: api.BadConfig, Public: "There is no address to listen at.", Hint: "Give --addr 127.0.0.1:8788, or set listen of [webhooks]."}
			}
			return r.listen(ctx, a)
		})}, "jsonl")
	cmd.Flags().StringVar(&addr, "addr", "", "address to listen at (default: listen of [webhooks])")
	cmd.Flags().StringVar(&verify, "verify", "", "jwt, header, standard_webhooks or none (default: verify of [webhooks])")
	return cmd
}

func (r *root) listen(ctx context.Context, a *app.App) error {
	rec, err := a.Receiver(r.env.Getenv, true)
	if err != nil {
		return err
	}
	defer func() { _ = rec.Close(context.WithoutCancel(ctx)) }()
	srv, err := a.HookServer(ctx, rec)
	if err != nil {
		return err
	}
	seq, err := a.Inbox().LastSeq(ctx)
	if err != nil {
		return err
	}
	r.say("Receiving webhooks at %s%s (%s); ctrl+c ends it.", srv.Addr(), a.Config.Webhooks.Path, a.Config.Webhooks.Verify)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done, applied := make(chan error, 1), make(chan struct{})
	go func() { done <- srv.Serve(ctx); cancel() }()
	go func() { a.ApplyEvents(ctx, rec); close(applied) }()
	sub := rec.Subscribe(256)
	defer sub.Close()
	err = r.follow(ctx, a.Context.Name, receiver.Follow(a.Inbox(), seq, lookEvery, sub.C), func(receiver.Stored) bool { return true })
	cancel()
	<-applied
	if served := <-done; err == nil && served != nil {
		err = &api.Error{Kind: api.Unavailable, Public: "Receiving ended: " + served.Error() + ".", Err: served}
	}
	return err
}

// follow prints what is chosen of all that comes, until ctx ends.
func (r *root) follow(ctx context.Context, whose string, f *receiver.Follower, choose func(receiver.Stored) bool) error {
	for {
		events, err := f.Next(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, s := range events {
			if !choose(s) {
				continue
			}
			if err := r.eventLine(s, whose); err != nil {
				return err
			}
		}
	}
}

func (r *root) eventLine(s receiver.Stored, whose string) error {
	if r.output != "table" {
		return r.printLine(jsonOf(s, whose, true))
	}
	line := fmt.Sprintf("%s  %-25s  %-11s  %s  %s", s.ReceivedAt.UTC().Format("15:04:05"), s.Type, s.Status, s.ObjectID.Line(64), s.Key)
	if s.Reason != "" {
		line += "  " + string(s.Reason) + ": " + s.Detail
	}
	_, err := fmt.Fprintln(r.env.Out, oneLine(line))
	return err
}

// startSeq is the number behind which a follower begins: before the last events
// that are asked for. Other contexts' events have numbers between them.
func (r *root) startSeq(ctx context.Context, a *app.App, last int) (int64, error) {
	if last > 1000 {
		return 0, usage("--last must be at most 1000")
	}
	if last > 0 {
		events, err := a.Inbox().List(ctx, receiver.Filter{Limit: last})
		if err != nil || len(events) == 0 {
			return 0, err
		}
		return events[len(events)-1].Seq - 1, nil
	}
	return a.Inbox().LastSeq(ctx)
}

func (r *root) eventTail() *cobra.Command {
	var f eventFilter
	var last int
	cmd := forms(f.flags(&cobra.Command{Use: "tail", RunE: r.do(func(ctx context.Context, a *app.App, _ []string) error {
		choose, err := f.choose(ctx, a)
		if err != nil {
			return err
		}
		seq, err := r.startSeq(ctx, a, last)
		if err != nil {
			return err
		}
		return r.follow(ctx, a.Context.Name, receiver.Follow(a.Inbox(), seq, lookEvery, nil), choose.match)
	})}), "jsonl")
	cmd.Flags().IntVar(&last, "last", 0, "begin with that many events of the past")
	return cmd
}

// sender makes a forwarder; taking events elsewhere is an export, and recorded.
func (r *root) sender(ctx context.Context, a *app.App, target, act string, sign bool) (*receiver.Forwarder, error) {
	if err := api.Need(ctx, act+" events", api.MayExport); err != nil {
		return nil, err
	}
	var signer hook.Signer
	var err error
	if sign {
		if signer, err = a.HookSigner(r.env.Getenv); err != nil {
			return nil, err
		}
	}
	f, err := receiver.NewForwarder(a.Inbox(), target, signer)
	if err != nil {
		return nil, usage("--to: %s", err)
	}
	if err := a.Audit.Note(ctx, api.ActorOf(ctx), api.Event{Name: "event." + act, Object: "events", Detail: "to another address"}); err != nil {
		return nil, &api.Error{Kind: api.Refused, Rule: api.RuleAudit, Public: "The audit trail cannot be written, so nothing was sent.", Err: err}
	}
	return f, nil
}

func (r *root) eventReplay() *cobra.Command {
	var to string
	var sign bool
	cmd := &cobra.Command{
		Long: "Sends the stored body, byte for byte, to --to (https, or http to this host). Without --to it goes\n" +
			"through our own receiver and the index once more. --sign signs it as [webhooks] says.",
		RunE: r.asks(func(_ context.Context, a *app.App, args []string) (asked, error) {
			where := "our own receiver"
			if to != "" {
				where = to
			}
			return asked{object: act.Object{ID: args[0], Kind: "event"}, facts: [][2]string{{"to", where}}, send: func(ctx context.Context) error {
				return r.replay(ctx, a, args[0], to, sign)
			}}, nil
		})}
	cmd.Flags().StringVar(&to, "to", "", "address; empty: our own receiver")
	cmd.Flags().BoolVar(&sign, "sign", false, "sign with the secret of [webhooks]")
	return cmd
}

func (r *root) replay(ctx context.Context, a *app.App, key, to string, sign bool) error {
	if to == "" {
		return r.replayHere(ctx, a, key)
	}
	f, err := r.sender(ctx, a, to, "replay", sign)
	if err != nil {
		return err
	}
	defer f.Close()
	try, err := f.Replay(ctx, key)
	if err != nil {
		return inboxError(err)
	}
	return r.printAttempt(try)
}

func (r *root) replayHere(ctx context.Context, a *app.App, key string) error {
	if err := api.Need(ctx, "replay event", api.MayHooks); err != nil {
		return err
	}
	return r.withReceiver(ctx, a, func(rec *receiver.Receiver) error {
		s, err := rec.Replay(ctx, key)
		if err != nil {
			return inboxError(err)
		}
		if err := a.MergeEvent(ctx, s); err != nil {
			return err
		}
		if r.output != "table" {
			return r.printJSON(jsonOf(s, a.Context.Name, false))
		}
		r.say("Replayed through our own receiver.")
		return nil
	})
}

// printAttempt tells how a target answered; one that did not take it is a failure.
func (r *root) printAttempt(a receiver.Attempt) error {
	if r.output != "table" {
		if err := r.printJSON(attemptOf(a)); err != nil {
			return err
		}
	}
	if !a.OK() {
		what := fmt.Sprintf("The target answered %d.", a.Status)
		if a.Error != "" {
			what = "Not sent: " + a.Error + "."
		}
		return &api.Error{Kind: api.Unavailable, Public: what}
	}
	if r.output == "table" {
		r.say("Taken: %d in %s.", a.Status, a.Latency.Round(time.Millisecond))
	}
	return nil
}

func (r *root) eventForward() *cobra.Command {
	var f eventFilter
	var to string
	var last int
	var sign bool
	cmd := forms(f.flags(&cobra.Command{Use: "forward", RunE: r.do(func(ctx context.Context, a *app.App, _ []string) error {
		if to == "" {
			return usage("--to is needed: where to?")
		}
		choose, err := f.choose(ctx, a)
		if err != nil {
			return err
		}
		seq, err := r.startSeq(ctx, a, last)
		if err != nil {
			return err
		}
		fw, err := r.sender(ctx, a, to, "forward", sign)
		if err != nil {
			return err
		}
		defer fw.Close()
		r.say("Forwarding new events; ctrl+c ends it.")
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var failed error
		err = fw.Run(ctx, receiver.Follow(a.Inbox(), seq, lookEvery, nil), choose.match, func(s receiver.Stored, try receiver.Attempt) {
			if failed = r.forwardLine(s, a.Context.Name, try); failed != nil {
				cancel()
			}
		})
		if failed != nil {
			return failed
		}
		return err
	})}), "jsonl")
	cmd.Flags().StringVar(&to, "to", "", "address: https, or http to this host")
	cmd.Flags().IntVar(&last, "last", 0, "begin with that many events of the past")
	cmd.Flags().BoolVar(&sign, "sign", false, "sign with the secret of [webhooks]")
	return cmd
}

func (r *root) forwardLine(s receiver.Stored, whose string, a receiver.Attempt) error {
	if r.output != "table" {
		return r.printLine(map[string]any{"event": jsonOf(s, whose, false), "attempt": attemptOf(a)})
	}
	_, err := fmt.Fprintln(r.env.Out, oneLine(s.Key+"  "+attemptLine(a)))
	return err
}
