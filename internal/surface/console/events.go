package console

import (
	"context"
	"errors"
	"os"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/receiver"
)

// deliveries are the webhooks for the screen of events.
type deliveries struct{ app *app.App }

// Next waits for events after seq, from any process on the store.
func (d deliveries) Next(ctx context.Context, seq int64) ([]receiver.Stored, error) {
	return receiver.Follow(d.app.Hooks().Inbox(), seq, time.Second, nil).Next(ctx)
}

// Codes returns the learnt meanings of numeric codes.
func (d deliveries) Codes(ctx context.Context) ([]hook.Meaning, error) {
	return d.app.Hooks().Meanings(ctx)
}

// Trouble returns the unmerged and the rejected deliveries.
func (d deliveries) Trouble(ctx context.Context) (receiver.Trouble, error) {
	return d.app.Hooks().Trouble(ctx)
}

// Rejected returns the last rejected deliveries, newest first.
func (d deliveries) Rejected(ctx context.Context) ([]receiver.Rejection, error) {
	return d.app.Hooks().Inbox().Rejected(ctx, receiver.MaxRejected)
}

// Replay passes a stored event to the receiver again, or sends it to a URL, signed as configured.
func (d deliveries) Replay(ctx context.Context, key, target string) (receiver.Attempt, error) {
	if err := api.Need(ctx, "replay event", api.MayHooks); err != nil {
		return receiver.Attempt{}, err
	}
	if target == "" {
		return d.replayHere(ctx, key)
	}
	signer, err := d.app.Hooks().Signer(os.Getenv)
	if err != nil {
		return receiver.Attempt{}, err
	}
	f, err := receiver.NewForwarder(d.app.Hooks().Inbox(), target, signer)
	if err != nil {
		return receiver.Attempt{}, &api.Error{Op: "replay event", Kind: api.Usage, Public: err.Error(), Err: err}
	}
	defer f.Close()
	if ctx, err = mask.Reveal(ctx, d.app.Audit, api.Event{Name: audit.EventReplay, Object: "event", ID: key,
		Detail: "to another address"}); err != nil {
		return receiver.Attempt{}, err
	}
	return f.Replay(ctx, key)
}

func (d deliveries) replayHere(ctx context.Context, key string) (receiver.Attempt, error) {
	rec, err := d.app.Hooks().Receiver(os.Getenv, false)
	if err != nil {
		return receiver.Attempt{}, err
	}
	defer func() { _ = rec.Close(context.WithoutCancel(ctx)) }()
	try := receiver.Attempt{Act: "local", Target: "receiver", Status: 200}
	stored, err := rec.Replay(ctx, key)
	var bad *hook.Malformed
	switch {
	case errors.As(err, &bad):
		try.Error = bad.Error()
		return try, nil
	case err != nil:
		return try, err
	}
	return try, d.app.Hooks().Merge(ctx, stored)
}
