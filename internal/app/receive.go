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

// receiverActor merges events: not a person, without a role.
var receiverActor = api.Actor{Name: "receiver", Via: "service"}

const (
	inboxEvery = 5 * time.Second  // how often the inbox is read with webhooks configured
	inboxIdle  = 30 * time.Second // the same without: for deliveries of other processes
)

// Apply merges the deliveries of rec, and of other processes, into the index until ctx ends, and retries those that
// failed. rec is nil without a receiver. The position is stored with the index, so that events acknowledged before a
// crash are merged after it; merging is idempotent. A living built-in service changes meanwhile.
func (h Hooks) Apply(ctx context.Context, rec *receiver.Receiver) {
	ctx = api.WithActor(ctx, receiverActor) // the person in ctx may see less than is merged
	received := make(chan struct{}, 1)
	every := inboxIdle
	if rec != nil {
		defer rec.Notify(received)()
		every = inboxEvery
	}
	if h.app.Living {
		defer h.live(ctx, received)()
	}
	reads := newEventReads(api.WithActor(ctx, api.Actor{Name: "receiver", Role: api.Viewer, Via: "service"}), h.app)
	defer reads.stop()
	m := h.merger()
	m.Passed = func(ctx context.Context, s receiver.Stored) {
		h.auditAlarm(ctx, s)
		h.app.Follow.ObjectChanged(ctx, string(s.ObjectID))
		if s.Object == hook.ObjectOperation {
			reads.add(string(s.ObjectID))
		}
	}
	m.Run(ctx, received, every)
}

// live lets the built-in service change until stop is called and puts its webhooks directly into the inbox; received
// is notified of each.
func (h Hooks) live(ctx context.Context, received chan<- struct{}) (stop func()) {
	rec, err := h.inProcess()
	if err != nil {
		h.app.Log.Error("the built-in service does not change: no receiver", "err", err)
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stopNotify := rec.Notify(received)
	h.app.Sandbox.Receive(rec)
	var lives sync.WaitGroup
	lives.Go(func() { h.app.Sandbox.Live(ctx) })
	return func() {
		h.app.Sandbox.Receive(nil)
		cancel()
		lives.Wait()
		stopNotify()
		_ = rec.Close(context.WithoutCancel(ctx))
	}
}

// learntFor is how long learnt codes are cached.
const learntFor = 5 * time.Second

// merger merges the events of this account into its index.
func (h Hooks) merger() *receiver.Merger {
	var known hook.Meanings
	var at time.Time // when they were read
	take := func(ctx context.Context, s receiver.Stored) error {
		if time.Since(at) > learntFor {
			l, err := h.Meanings(ctx)
			if err != nil {
				return err
			}
			known, at = l, time.Now()
		}
		return h.take(ctx, s, known)
	}
	return &receiver.Merger{Inbox: h.Inbox(), Ledger: h.app.ledger, Take: take, Now: h.app.Now, Log: h.app.Log}
}

// Merge merges one event now. If it fails, the error says so, and any running process retries later.
func (h Hooks) Merge(ctx context.Context, s receiver.Stored) error {
	if err := h.merger().Merge(ctx, s); err != nil {
		return &api.Error{Op: "merge event", Kind: api.Unavailable,
			Public: "The event is stored, but the index could not apply it yet: " + err.Error() + ".",
			Remedy: api.Remedy{Kind: api.WaitingEvents}, Err: err}
	}
	return nil
}

// Trouble returns the unmerged and the rejected deliveries of all processes.
func (h Hooks) Trouble(ctx context.Context) (t receiver.Trouble, err error) {
	if t.Backlog, err = h.app.ledger.Backlog(ctx); err != nil {
		return t, err
	}
	t.Rejected, err = h.Inbox().RejectCounts(ctx)
	return t, err
}

// auditAlarm records events that a person should check.
func (h Hooks) auditAlarm(ctx context.Context, e receiver.Stored) {
	if !e.Alarming() {
		return
	}
	who := receiverActor
	who.From = string(e.Source)
	note := api.Event{Name: audit.EventQuarantine, Object: "event", ID: e.Key,
		Detail: string(e.Status) + ": " + string(e.Reason)}
	if err := h.app.Audit.Note(ctx, who, note); err != nil {
		h.app.Log.Error("audit", "err", err)
	}
}

// Start receives webhooks at the configured address, if any, and merges them until stop is called; addr is "" if
// nothing is received here. A busy address is not an error: another instance receives for all. In any case the
// unmerged deliveries of others are merged.
func (h Hooks) Start(ctx context.Context, env func(string) string) (addr string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	rec, srv, err := h.open(ctx, env)
	if err != nil {
		cancel()
		return "", nil, err
	}
	var parts sync.WaitGroup
	if srv != nil {
		addr = srv.Addr().String()
		parts.Go(func() { _ = srv.Serve(ctx) })
	}
	parts.Go(func() { h.Apply(ctx, rec) })
	return addr, func() {
		cancel()
		parts.Wait()
		if rec != nil {
			_ = rec.Close(context.WithoutCancel(ctx))
		}
	}, nil
}

// At says where webhooks are received; "" for nowhere.
func (h Hooks) At() string {
	switch {
	case h.app.Config.Webhooks.Listen != "":
		return h.app.Config.Webhooks.Listen + h.app.Config.Webhooks.Path
	case h.app.Living:
		return "no port: the built-in service hands them over in this process"
	}
	return ""
}

// inProcess is the receiver for the living built-in service.
func (h Hooks) inProcess() (*receiver.Receiver, error) {
	verifier, err := hook.NewVerifier(hook.VerifyJWT, "Authorization", hook.ParseSecrets(sandbox.DefaultHookSecret))
	if err != nil {
		return nil, err
	}
	return receiver.New(receiver.Options{Inbox: h.Inbox(), Rejects: h.Inbox(), Verifier: verifier, Log: h.app.Log,
		Now: h.app.Now})
}

// open opens the configured address; both results are nil without one.
func (h Hooks) open(ctx context.Context, env func(string) string) (*receiver.Receiver, *receiver.Server, error) {
	if h.app.Config.Webhooks.Listen == "" {
		return nil, nil, nil
	}
	rec, err := h.Receiver(env, true)
	if err != nil {
		return nil, nil, err
	}
	srv, err := h.Server(ctx, rec)
	if err == nil {
		return rec, srv, nil
	}
	closeErr := rec.Close(context.WithoutCancel(ctx))
	if api.KindOf(err) == api.Unavailable && closeErr == nil {
		h.app.Log.Info("webhooks are received by another process", "err", err)
		return nil, nil, nil
	}
	return nil, nil, err
}
