package backup_test

import (
	"context"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/backup"
	"opdeck/internal/store/seal"
	"opdeck/internal/store/storetest"
)

// TestTokensAreDropped: a copy that may be restored has no token of the store, sealed or not, and its row is another
// session: what the running processes hold does not fit it, and its first call logs in.
func TestTokensAreDropped(t *testing.T) {
	ctx := t.Context()
	st := storetest.Open(t, store.SQLite)
	sealKey, err := seal.OpenKey(context.Background(), "", st.Core)
	if err != nil {
		t.Fatal(err)
	}
	sessions, err := accounts.New(st.Core, accounts.Options{Key: sealKey})
	if err != nil {
		t.Fatal(err)
	}
	key := session.Key{BaseURL: "https://one.example", Account: "machine"}
	row, err := sessions.Load(ctx, key)
	if err != nil {
		t.Fatal(err)
	}
	owner := session.Owner{ID: "a"}
	row, _, err = sessions.Acquire(ctx, key, session.Claim{Incarnation: row.Incarnation, Fence: row.Fence, Owner: owner,
		For: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sessions.Mark(ctx, key, session.Mark{Incarnation: row.Incarnation, Fence: row.Fence, Owner: owner.ID,
		Kind: session.ByLogin, For: time.Minute, Rule: limit.Rule{N: 5, Window: limit.Window}}); err != nil {
		t.Fatal(err)
	}
	was, err := sessions.Install(ctx, key, session.Install{Incarnation: row.Incarnation, Fence: row.Fence,
		Kind: session.ByLogin, Access: secret.New("access"), Refresh: secret.New("refresh"), AccessTTL: time.Hour,
		RefreshTTL: time.Hour, By: owner})
	if err != nil || was.State != session.Live {
		t.Fatal(was.State, err)
	}
	if err := backup.DropTokens(ctx, st); err != nil {
		t.Fatal(err)
	}
	var kept int
	if err := st.Core.QueryRow(ctx, "SELECT COUNT(*) FROM session WHERE sealed_access IS NOT NULL OR sealed_refresh IS NOT "+
		"NULL").Scan(&kept); err != nil || kept != 0 {
		t.Errorf("%d rows still have a token, %v", kept, err)
	}
	now, err := sessions.Load(ctx, key)
	if err != nil || now.State != session.None || now.Phase != session.Free || now.Incarnation == was.Incarnation ||
		now.Fence <= was.Fence {
		t.Errorf("state %s, phase %s, the same session: %v, fence %d after %d, %v", now.State, now.Phase,
			now.Incarnation == was.Incarnation, now.Fence, was.Fence, err)
	}
}
