package app

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strconv"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

// Restorable says which restore the trail shows, see audit.Prover.
func Restorable(ctx context.Context, a *App, notes []audit.KeptNote) (audit.Restore, error) {
	from, err := placed(a)
	if err != nil {
		return audit.Restore{}, err
	}
	return a.Audit.Prover.Restorable(ctx, notes, from)
}

// RecordRestore records a restore that the trail shows, or that opdeck restore has made. It passes the gate: a second
// person approves it where the context asks for one.
func (a *App) RecordRestore(ctx context.Context, notes []audit.KeptNote) (audit.Restore, error) {
	from, err := placed(a)
	if err != nil {
		return audit.Restore{}, err
	}
	found, err := a.Audit.Prover.Restorable(ctx, notes, from)
	if err != nil {
		return found, err
	}
	chain, err := a.Audit.Signer.Chain(ctx)
	if err != nil {
		return found, err
	}
	reason := api.ConsentOf(ctx).Reason
	act := api.Act{Kind: api.ActAuditRestored, Object: "audit", ID: chain, Summary: "Record that " + found.Sentence(),
		Reason: reason, Seen: api.HashHex([]byte(strconv.FormatInt(found.To, 10) + " " + found.Head))}
	err = a.Gate.Own(ctx, api.MayAuditOut, act, func(approval string) (err error) {
		second := ""
		if approval != "" {
			q, err := a.Approvals.Show(ctx, approval)
			if err == nil && q.Decider != nil {
				second = q.Decider.String()
			}
		}
		found, err = a.Audit.Prover.AcceptRestore(ctx, notes, from, reason, second)
		return err
	})
	if err == nil && from != nil {
		err = os.Remove(placesOf(a.Config, a.State).restoredFile())
	}
	return found, err
}

// placed is the snapshot that opdeck restore put in place and that no record names yet; nil for none.
func placed(a *App) (*audit.FromBackup, error) {
	if a.Store.Core.Path() == "" {
		return nil, nil
	}
	text, err := os.ReadFile(placesOf(a.Config, a.State).restoredFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	from := &audit.FromBackup{}
	if err == nil {
		err = json.Unmarshal(text, from)
	}
	if err != nil {
		return nil, &api.Error{Kind: api.Unavailable, Err: err,
			Public: "The note about the restored snapshot cannot be read: " + err.Error() + "."}
	}
	return from, nil
}
