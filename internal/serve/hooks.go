package serve

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"opdeck/api"
	"opdeck/internal/audit"
	"opdeck/internal/receiver"
)

// lookEvery is how often the inbox is looked at for events of other processes.
const lookEvery = 5 * time.Second

// openHooks opens the port of the webhook receiver.
func (s *server) openHooks(ctx context.Context) error {
	if s.app.Config.Webhooks.Listen == "" {
		return nil
	}
	var err error
	if s.hooks, err = s.app.Receiver(s.opt.Getenv, true); err != nil {
		return err
	}
	s.hooksAt, err = s.app.HookServer(ctx, s.hooks)
	return err
}

// takeEvents brings what is stored from now on into the index. Trouble of the
// store is waited out: the inbox has the events.
func (s *server) takeEvents(ctx context.Context) error {
	sub := s.hooks.Subscribe(256)
	defer sub.Close()
	var err error
	if s.seq, err = s.app.Inbox().LastSeq(ctx); err != nil {
		return err
	}
	for {
		err := s.follow(ctx, sub)
		if ctx.Err() != nil {
			return nil
		}
		s.app.Log.Warn("events cannot be read now", "err", err)
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *server) follow(ctx context.Context, sub *receiver.Subscription) error {
	learner, err := s.app.Learner(ctx)
	if err != nil {
		return err
	}
	f := receiver.Follow(s.app.Inbox(), s.seq, lookEvery, sub.C)
	for {
		events, err := f.Next(ctx)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := s.app.TakeEvent(ctx, e, learner); err != nil {
				s.app.Log.Warn("event not merged", "key", e.Key, "err", err)
			}
			s.quarantined(ctx, e)
			s.seq = e.Seq
		}
	}
}

// quarantined records events that somebody should look at.
func (s *server) quarantined(ctx context.Context, e receiver.Stored) {
	if !e.Alarming() {
		return
	}
	who := api.Actor{Name: "receiver", Via: "service", From: string(e.Source)}
	note := api.Event{Name: audit.EventQuarantine, Object: "event", ID: e.Key, Detail: string(e.Status) + ": " + string(e.Reason)}
	if err := s.app.Audit.Note(ctx, who, note); err != nil {
		s.app.Log.Error("audit", "err", err)
	}
}

// warn prints what does not keep the server from serving.
func (s *server) warn(line string) error {
	_, err := fmt.Fprintln(s.opt.Out, "warning   "+line)
	return err
}

// onHangUp calls fn at each SIGHUP, which would otherwise end the process.
func onHangUp(fn func()) (stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-c:
				fn()
			case <-done:
				return
			}
		}
	}()
	return func() { signal.Stop(c); close(done) }
}
