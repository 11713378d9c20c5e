package audit

import (
	"context"

	"opdeck/api"
)

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

// CheckpointFile is the path of this Log's own checkpoint file.
func (sg *Signer) CheckpointFile(ctx context.Context) (string, error) {
	chain, err := sg.Chain(ctx)
	return sg.checkpointFile(chain, sg.fingerprint()), err
}
