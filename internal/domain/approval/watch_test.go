package approval_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/internal/store"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/storetest"
)

// counter is a store of which only the version is asked.
type counter struct {
	approval.Store
	mu    sync.Mutex
	n     int64
	asked int
	fail  error
}

func (c *counter) Version(context.Context) (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	return c.n, c.fail
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &counter{n: 7}
		d := approval.New(c, &trail{}, service, account, nil)
		if v, err := d.Watch(context.Background(), 3); err != nil || v != 7 || c.asked != 1 {
			t.Errorf("%d, %v after %d looks", v, err, c.asked)
		}
		go func() {
			time.Sleep(time.Minute)
			c.mu.Lock()
			c.fail = errors.New("away")
			c.mu.Unlock()
			time.Sleep(10 * time.Second)
			c.mu.Lock()
			c.n, c.fail = 8, nil
			c.mu.Unlock()
		}()
		if v, err := d.Watch(context.Background(), 7); err != nil || v != 8 || c.asked > 40 {
			t.Errorf("%d, %v after %d looks in 70 seconds", v, err, c.asked)
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if v, err := d.Watch(ctx, 8); !errors.Is(err, context.DeadlineExceeded) || v != 8 {
			t.Errorf("%d, %v", v, err)
		}
	})
}

func TestStoreDown(t *testing.T) {
	s := storetest.Open(t, store.SQLite)
	if _, err := s.Core.Exec(context.Background(), "DROP TABLE approval"); err != nil {
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
