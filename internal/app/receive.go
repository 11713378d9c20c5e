package app

import (
	"context"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/sandbox"
)

// receiverActor is who merges events: no person, with no role.
var receiverActor = api.Actor{Name: "receiver", Via: "service"}

const (
	inboxEvery = 5 * time.Second  // how often the inbox is read where webhooks are received
	inboxIdle  = 30 * time.Second // where none are: for what other processes left
)

// ApplyEvents merges what rec stores, and what other processes store, into the
// index until ctx ends, and tries again what could not be merged. rec is nil
// where nothing is received. The place is kept beside the index, so that events
// which were acknowledged before a crash are merged after it; merging one twice
// changes nothing. A living built-in service changes meanwhile.
func (a *App) ApplyEvents(ctx context.Context, rec *receiver.Receiver) {
	ctx = api.WithActor(ctx, receiverActor) // the person in ctx may see less than is merged
	received := make(chan struct{}, 1)
	every := inboxIdle
	if rec != nil {
		defer rec.Notify(received)()
		every = inboxEvery
	}
	if a.Living {
		defer a.live(ctx, received)()
	}
	reads := newEventReads(api.WithActor(ctx, api.Actor{Name: "receiver", Role: api.Viewer, Via: "service"}), a)
	defer reads.stop()
	m := a.merger()
	m.Passed = func(ctx context.Context, s receiver.Stored) {
		a.auditAlarm(ctx, s)
		a.Follow.ObjectChanged(ctx, string(s.ObjectID))
		if s.Object == hook.ObjectOperation {
			reads.add(string(s.ObjectID))
		}
	}
	m.Run(ctx, received, every)
}

// live lets the built-in service change until stop is called, and puts its webhooks
// into the inbox without an address; received is notified of each.
func (a *App) live(ctx context.Context, received chan<- struct{}) (stop func()) {
	rec, err := a.inProcessReceiver()
	if err != nil {
		a.Log.Error("the built-in service does not change: no receiver", "err", err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stopNotify := rec.Notify(received)
	a.Sandbox.Receive(rec)
	var lives sync.WaitGroup
	lives.Go(func() { a.Sandbox.Live(ctx) })
	return func() {
		a.Sandbox.Receive(nil)
		cancel()
		lives.Wait()
		stopNotify()
		_ = rec.Close(context.WithoutCancel(ctx))
	}
}

// learntFor is how long the learnt meaning of codes is used before it is read again.
const learntFor = 5 * time.Second

// merger brings the events of this account into its index.
func (a *App) merger() *receiver.Merger {
	var known hook.Meanings
	var at time.Time // when they were read
	take := func(ctx context.Context, s receiver.Stored) error {
		if time.Since(at) > learntFor {
			l, err := a.Meanings(ctx)
			if err != nil {
				return err
			}
			known, at = l, time.Now()
		}
		return a.takeEvent(ctx, s, known)
	}
	return &receiver.Merger{Inbox: a.Inbox(), Ledger: a.ledger, Take: take, Now: a.Now, Log: a.Log}
}

// MergeEvent merges one event now, while the caller waits. An event that cannot be
// merged is tried again later, by whichever process runs; the error says so.
func (a *App) MergeEvent(ctx context.Context, s receiver.Stored) error {
	if err := a.merger().Merge(ctx, s); err != nil {
		return &api.Error{Op: "merge event", Kind: api.Unavailable,
			Public: "The event is kept, and the index could not take it yet: " + err.Error() + ".",
			Remedy: api.Remedy{Kind: api.WaitingEvents}, Err: err}
	}
	return nil
}

// HookTrouble returns what waits to be merged and what was not accepted, over all
// processes.
func (a *App) HookTrouble(ctx context.Context) (t receiver.Trouble, err error) {
	if t.Backlog, err = a.ledger.Backlog(ctx); err != nil {
		return t, err
	}
	t.Rejected, err = a.Inbox().RejectCounts(ctx)
	return t, err
}

// auditAlarm records events that a person should check.
func (a *App) auditAlarm(ctx context.Context, e receiver.Stored) {
	if !e.Alarming() {
		return
	}
	who := receiverActor
	who.From = string(e.Source)
	note := api.Event{Name: audit.EventQuarantine, Object: "event", ID: e.Key,
		Detail: string(e.Status) + ": " + string(e.Reason)}
	if err := a.Audit.Note(ctx, who, note); err != nil {
		a.Log.Error("audit", "err", err)
	}
}

// StartHooks receives webhooks at the configured address, if there is one, and
// merges them until stop is called; addr is "" when nothing is received here. An
// address that is taken is not an error: another instance receives for all. Either
// way what others received, or left unmerged, is merged.
func (a *App) StartHooks(ctx context.Context, env func(string) string) (addr string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	rec, srv, err := a.openHooks(ctx, env)
	if err != nil {
		cancel()
		return "", nil, err
	}
	var parts sync.WaitGroup
	if srv != nil {
		addr = srv.Addr().String()
		parts.Go(func() { _ = srv.Serve(ctx) })
	}
	parts.Go(func() { a.ApplyEvents(ctx, rec) })
	return addr, func() {
		cancel()
		parts.Wait()
		if rec != nil {
			_ = rec.Close(context.WithoutCancel(ctx))
		}
	}, nil
}

// HooksAt is where webhooks are received, in words; "" where none are.
func (a *App) HooksAt() string {
	switch {
	case a.Config.Webhooks.Listen != "":
		return a.Config.Webhooks.Listen + a.Config.Webhooks.Path
	case a.Living:
		return "no port: the built-in service hands them over in this process"
	}
	return ""
}

// inProcessReceiver takes what the living built-in service sends.
func (a *App) inProcessReceiver() (*receiver.Receiver, error) {
	verifier, err := hook.NewVerifier(hook.VerifyJWT, "Authorization", hook.ParseSecrets(sandbox.DefaultHookSecret))
	if err != nil {
		return nil, err
	}
	return receiver.New(receiver.Options{Inbox: a.Inbox(), Rejects: a.Inbox(), Verifier: verifier, Log: a.Log, Now: a.Now})
}

// openHooks opens the configured address; both are nil where nothing is received.
func (a *App) openHooks(ctx context.Context, env func(string) string) (*receiver.Receiver, *receiver.Server, error) {
	if a.Config.Webhooks.Listen == "" {
		return nil, nil, nil
	}
	rec, err := a.Receiver(env, true)
	if err != nil {
		return nil, nil, err
	}
	srv, err := a.HookServer(ctx, rec)
	if err == nil {
		return rec, srv, nil
	}
	closeErr := rec.Close(context.WithoutCancel(ctx))
	if api.KindOf(err) == api.Unavailable && closeErr == nil {
		a.Log.Info("webhooks are received by another process", "err", err)
		return nil, nil, nil
	}
	return nil, nil, err
}
