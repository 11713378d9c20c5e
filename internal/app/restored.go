package app

import (
	"context"
	"strconv"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

// RecordRestore records a restore that the trail shows. It passes the gate: a second person approves it where the
// context asks for one.
func (a *App) RecordRestore(ctx context.Context, notes []audit.KeptNote) (audit.Restore, error) {
	found, err := a.Audit.Prover.Restorable(ctx, notes)
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
		found, err = a.Audit.Prover.AcceptRestore(ctx, notes, reason, second)
		return err
	})
	return found, err
}
