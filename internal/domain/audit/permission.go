package audit

import (
	"context"

	"opdeck/api"
)

// mustMay is api.Need that also records a refusal.
func (l *Log) mustMay(ctx context.Context, op string, p api.Permission) error {
	err := api.Need(api.WithTrail(ctx, nil), op, p)
	if err != nil {
		_ = l.Note(ctx, api.ActorOf(ctx), api.Event{Name: EventDenied, Object: "audit", Detail: op})
	}
	return err
}

// mayExport checks that the person in ctx may export, and records the export.
func (l *Log) mayExport(ctx context.Context, e api.Event) error {
	if err := l.mustMay(ctx, "export the audit trail", api.MayAuditOut); err != nil {
		return err
	}
	if err := l.Note(ctx, api.ActorOf(ctx), e); err != nil {
		return api.NotRecorded("export the audit trail", "nothing is exported from it", err)
	}
	return nil
}
