package journal_test

import (
	"context"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// TestDurable: what a write relies on is on the disk before it is sent: its record in the trail, its row of writes in
// doubt, and the state of its approval.
func TestDurable(t *testing.T) {
	for name, do := range map[string]func(context.Context, *store.DB) error{
		"record of the trail": func(ctx context.Context, db *store.DB) error {
			return journal.NewAudit(db).Append(ctx, func(h audit.Head) ([]audit.Row, error) {
				return []audit.Row{{Seq: h.N + 1, UID: "u1", Bytes: []byte("{}"), Hash: "h"}}, nil
			})
		},
		"write in doubt": func(ctx context.Context, db *store.DB) error {
			_, err := journal.NewUnsettled(db, "a").Add(ctx, followup.Row{Ref: "r1", State: followup.Sending, Sent: time.Now(),
				Write: followup.Write{Kind: api.ActUploadDocument}}, nil)
			return err
		},
		"approval": func(ctx context.Context, db *store.DB) error {
			return journal.NewApprovals(db).Update(ctx, "scope", "ana", "op-1",
				func(now time.Time, _ []approval.Request) ([]approval.Request, error) {
					return []approval.Request{{ID: "r1", Scope: "scope", State: approval.Open, Created: now, Expires: now.Add(time.Hour)}}, nil
				})
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := storetest.Open(t, store.SQLite).Core
			storetest.Synced(t, db, func() error { return do(t.Context(), db) })
		})
	}
}
