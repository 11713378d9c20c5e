package console

import (
	"context"
	"errors"
	"os"
	"time"

	"opdeck/api"
	"opdeck/api/hook"
	"opdeck/internal/domain/receiver"
)

// NextEvents waits for events behind seq, of any process on the store.
func (d *backend) NextEvents(ctx context.Context, seq int64) ([]receiver.Stored, error) {
	return receiver.Follow(d.Inbox(), seq, time.Second, nil).Next(ctx)
}

// EventCodes is what all processes have learnt about numeric codes.
func (d *backend) EventCodes(ctx context.Context) ([]hook.Meaning, error) {
	return d.Meanings(ctx)
}

// EventTrouble is what waits to be merged and what was not accepted.
func (d *backend) EventTrouble(ctx context.Context) (receiver.Trouble, error) {
	return d.HookTrouble(ctx)
}

// RejectedEvents are the last deliveries that were not accepted, newest first.
func (d *backend) RejectedEvents(ctx context.Context) ([]receiver.Rejection, error) {
	return d.Inbox().Rejected(ctx, receiver.MaxRejected)
}

// ReplayEvent puts a stored event through the receiver again, or sends it to a
// URL, signed as the config says.
func (d *backend) ReplayEvent(ctx context.Context, key, target string) (receiver.Attempt, error) {
	if err := api.Need(ctx, "replay event", api.MayHooks); err != nil {
		return receiver.Attempt{}, err
	}
	if target == "" {
		return d.replayHere(ctx, key)
	}
	signer, err := d.HookSigner(os.Getenv)
	if err != nil {
		return receiver.Attempt{}, err
	}
	f, err := receiver.NewForwarder(d.Inbox(), target, signer)
	if err != nil {
		return receiver.Attempt{}, &api.Error{Op: "replay event", Kind: api.Usage, Public: err.Error(), Err: err}
	}
	defer f.Close()
	return f.Replay(ctx, key)
}

func (d *backend) replayHere(ctx context.Context, key string) (receiver.Attempt, error) {
	rec, err := d.Receiver(os.Getenv, false)
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
	return try, d.MergeEvent(ctx, stored)
}
