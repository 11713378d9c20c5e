package app

import (
	"context"
	"strconv"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/audit"
	"opdeck/internal/receiver"
)

// receiverActor is who merges events: no person, with no role.
var receiverActor = api.Actor{Name: "receiver", Via: "service"}

const (
	inboxEvery  = 5 * time.Second // at the inbox, for events of other processes
	appliedMark = "events"        // in the index: the last event that was merged
)

// ApplyEvents merges what rec stores, and what other processes store, into the
// index until ctx ends. The place is kept in the index, so that events which
// were acknowledged before a crash are merged after it; merging one twice
// changes nothing. Trouble of the store is waited out: the inbox has the events.
func (a *App) ApplyEvents(ctx context.Context, rec *receiver.Receiver) {
	ctx = api.WithActor(ctx, receiverActor) // whoever started it may see less than is merged
	sub := rec.Subscribe(256)
	defer sub.Close()
	for ctx.Err() == nil {
		if err := a.applyFrom(ctx, sub); err != nil && ctx.Err() == nil {
			a.Log.Warn("events cannot be read now", "err", err)
		}
		wait(ctx, inboxEvery)
	}
}

func wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (a *App) applyFrom(ctx context.Context, sub *receiver.Subscription) error {
	learner, err := a.Learner(ctx)
	if err != nil {
		return err
	}
	mark, err := a.Index.Meta(ctx, appliedMark)
	if err != nil {
		return err
	}
	seq, _ := strconv.ParseInt(mark, 10, 64) // no mark: from the first event
	prompt := newPrompt(api.WithActor(ctx, api.Actor{Name: "receiver", Role: api.Viewer, Via: "service"}), a)
	defer prompt.stop()
	f := receiver.Follow(a.Inbox(), seq, inboxEvery, sub.C)
	for {
		events, err := f.Next(ctx)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := a.TakeEvent(ctx, e, learner); err != nil {
				a.Log.Warn("event not merged", "key", e.Key, "err", err)
			}
			a.alarming(ctx, e)
			a.Follow.Stirred(ctx, string(e.ObjectID))
			if e.Object == hook.ObjectOperation {
				prompt.want(string(e.ObjectID))
			}
		}
		if err := a.Index.SetMeta(ctx, appliedMark, strconv.FormatInt(f.Seq(), 10)); err != nil {
			return err
		}
	}
}

// alarming records events that somebody should look at.
func (a *App) alarming(ctx context.Context, e receiver.Stored) {
	if !e.Alarming() {
		return
	}
	who := receiverActor
	who.From = string(e.Source)
	note := api.Event{Name: audit.EventQuarantine, Object: "event", ID: e.Key, Detail: string(e.Status) + ": " + string(e.Reason)}
	if err := a.Audit.Note(ctx, who, note); err != nil {
		a.Log.Error("audit", "err", err)
	}
}

// StartHooks receives webhooks at the configured address, if there is one, until
// stop is called; addr is "" when nothing is received here. An address that is
// taken is no error: another instance receives for all.
func (a *App) StartHooks(ctx context.Context, env func(string) string) (addr string, stop func(), err error) {
	if a.Config.Webhooks.Listen == "" {
		return "", func() {}, nil
	}
	rec, err := a.Receiver(env, true)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	srv, err := a.HookServer(ctx, rec)
	if err != nil {
		cancel()
		closeErr := rec.Close(context.WithoutCancel(ctx))
		if api.KindOf(err) == api.Unavailable && closeErr == nil {
			a.Log.Info("webhooks are received by another process", "err", err)
			return "", func() {}, nil
		}
		return "", nil, err
	}
	done := make(chan struct{}, 2)
	go func() { _ = srv.Serve(ctx); done <- struct{}{} }()
	go func() { a.ApplyEvents(ctx, rec); done <- struct{}{} }()
	return srv.Addr().String(), func() {
		cancel()
		<-done
		<-done
		_ = rec.Close(context.WithoutCancel(ctx))
	}, nil
}
