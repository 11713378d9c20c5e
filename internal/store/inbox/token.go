package inbox

import (
	"bytes"
	"context"
	"time"

	"opdeck/internal/domain/receiver"
	"opdeck/internal/store"
)

// tokenSpare is how much longer than needed a token is remembered, because hosts' clocks differ.
const tokenSpare = 24 * time.Hour

// checkTokens records the first body of each token that does not cover it, and returns which records are refused:
// late ones with another body than the token's first, or with another body under a known key. A stored delivery may
// always be repeated.
func (b *Inbox) checkTokens(ctx context.Context, tx *store.Tx, scope int64,
	records []receiver.Record) (refused map[int]bool, err error) {
	for i := range records {
		r := &records[i]
		if r.Token == nil {
			continue
		}
		ok, err := b.tokenFits(ctx, tx, scope, r)
		if err != nil {
			return nil, err
		}
		for j := 0; ok && r.Token.Late && j < i; j++ {
			ok = refused[j] || records[j].Key != r.Key || records[j].Hash == r.Hash
		}
		if ok {
			continue
		}
		if refused == nil {
			refused = map[int]bool{}
		}
		refused[i] = true
	}
	return refused, nil
}

func (b *Inbox) tokenFits(ctx context.Context, tx *store.Tx, scope int64, r *receiver.Record) (bool, error) {
	first, known, err := store.Find[[]byte](ctx, tx, "SELECT body_sha256 FROM hook_token WHERE scope = ? AND token = ?",
		scope, r.Token.ID[:])
	if err != nil {
		return false, err
	}
	if known && (!r.Token.Late || bytes.Equal(first, r.Hash[:])) {
		return true, nil
	}
	if r.Token.Late {
		body, stored, err := store.Find[[]byte](ctx, tx, "SELECT body_sha256 FROM hook WHERE scope = ? AND hook_key = ?",
			scope, r.Key)
		switch {
		case err != nil:
			return false, err
		case stored:
			return bytes.Equal(body, r.Hash[:]), nil // a duplicate changes nothing, whatever its token
		case known:
			return false, nil
		}
	}
	if err := tx.Exec(ctx, "DELETE FROM hook_token WHERE until_us < ?",
		micros(r.ReceivedAt.Add(-tokenSpare))); err != nil {
		return false, err
	}
	err = tx.Exec(ctx, "INSERT INTO hook_token (scope, token, body_sha256, until_us) VALUES (?, ?, ?, ?) ON CONFLICT "+
		"(scope, token) DO NOTHING", scope, r.Token.ID[:], r.Hash[:], micros(r.Token.Until))
	return true, err
}
