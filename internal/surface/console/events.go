package console

import (
	"context"
	"errors"
	"os"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/app"
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

// Replay passes a stored event to the receiver again.
func (d deliveries) Replay(ctx context.Context, key string) (receiver.Attempt, error) {
	if err := api.Need(ctx, "replay event", api.MayHooks); err != nil {
		return receiver.Attempt{}, err
	}
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
