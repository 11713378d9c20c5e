package accounts_test

import (
	"context"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/storetest"
)

// overtaken is a clock after whose next reading something else happens.
type overtaken struct {
	store.Clock
	by func() // nil: nothing
}

func (c *overtaken) Time(ctx context.Context, q store.Querier) (time.Duration, error) {
	at, err := c.Clock.Time(ctx, q)
	if by := c.by; by != nil {
		c.by = nil
		by()
	}
	return at, err
}

// TestCallDuringTheRead: a call that is made while the budgets are read does not look like one that waits for its slot,
// as if the budget were used up.
func TestCallDuringTheRead(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		shift := new(storetest.Shift)
		clock := &overtaken{Clock: shift.Clock(st.Core, "")}
		s, err := accounts.New(st.Core, accounts.Options{Key: testKey(t), Clock: clock})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		key := limit.Key(key1)
		clock.by = func() {
			shift.Add(time.Second) // while the read waits
			g, err := s.Take(t.Context(), key, limit.Request{Class: limit.Billing, Rule: apiRule, Ticket: "a", MaxWait: time.Minute})
			if err != nil || !g.Taken || g.Wait != 0 {
				t.Errorf("%+v, %v", g, err)
			}
		}
		state, err := s.State(t.Context(), key)
		if err != nil {
			t.Fatal(err)
		}
		u := limit.Summarise(limit.Billing, apiRule, state[limit.Billing])
		if u.Used != 1 || u.Room != apiRule.N-1 || u.Waiting != 0 || u.NextSlot != 0 {
			t.Errorf("%+v", u)
		}
	})
}
