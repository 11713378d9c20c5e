package app

import (
	"context"
	"errors"
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
	permit, err := a.Gate.Begin(ctx, api.WriteRule{Kind: act.Kind, Need: api.MayAuditOut}, act, nil)
	if err != nil {
		return found, err
	}
	second := ""
	if id := permit.Approval(); id != "" {
		q, err := a.Approvals.Show(ctx, id)
		if err == nil && q.Decider != nil {
			second = q.Decider.String()
		}
	}
	out := api.Outcome{Verdict: api.Done}
	if found, err = a.Audit.Prover.AcceptRestore(ctx, notes, reason, second); err != nil {
		out = api.Outcome{Verdict: api.Failed, Detail: api.AsError(err).Public}
	}
	return found, errors.Join(err, a.Gate.End(ctx, permit, out))
}
