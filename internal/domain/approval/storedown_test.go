package approval_test

import (
	"context"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

func TestStoreDown(t *testing.T) {
	s := storetest.Open(t, store.SQLite)
	if err := s.Core.Exec(context.Background(), "DROP TABLE approval"); err != nil {
		t.Fatal(err)
	}
	d := approval.New(journal.NewApprovals(s.Core), &trail{}, service, account, nil)
	_, err := d.Check(as(ana), ana, act)
	if e := api.AsError(err); e.Kind != api.Unavailable || e.Hint == "" {
		t.Errorf("%v", err)
	}
	if _, err := d.List(as(ana)); api.KindOf(err) != api.Unavailable {
		t.Error(err)
	}
}
