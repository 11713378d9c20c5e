package audit

import (
	"context"
	"crypto/ed25519"
	"io"

	"opdeck/api"
)

// Verify is VerifyLog with its input as arguments.
func Verify(log io.Reader, checkpoints []io.Reader, keys ...ed25519.PublicKey) (Report, error) {
	return VerifyLog(log, VerifyInput{Checkpoints: checkpoints, Keys: keys})
}

// Unsettled is the first answer of OpenIntents.
func (l *Log) Unsettled(ctx context.Context) ([]Entry, error) {
	out, _, err := l.Intents.OpenIntents(ctx)
	return out, err
}

// Settle concludes the unsettled act with that reference.
func (l *Log) Settle(ctx context.Context, who api.Actor, ref, note string) error {
	open, err := l.Unsettled(ctx)
	if err != nil {
		return err
	}
	for _, e := range open {
		if e.UID == ref {
			return l.Intents.Conclude(ctx, who, e, note)
		}
	}
	return &api.Error{Kind: api.NotFound}
}

// SignOnly stores a checkpoint of the end of the trail and does not publish it.
func (sg *Signer) SignOnly(ctx context.Context) (Signed, error) {
	head, err := sg.edge(ctx)
	if err != nil {
		return Signed{}, err
	}
	s, err := sg.signAt(head, sg.opt.Now())
	if err != nil {
		return Signed{}, err
	}
	return s, sg.opt.Store.PutCheckpoint(ctx, *sg.toStore(s))
}

// Publish writes a checkpoint to the checkpoint file unless one there covers it.
func (sg *Signer) Publish(ctx context.Context, s Signed) error { return sg.publish(ctx, s) }
