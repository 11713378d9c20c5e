package sandbox

import (
	"context"
	"database/sql"
	"net/http"
	"time"
)

// InProcessHook is the address of a living service's webhooks: not on the network, but the Receiver of a process with
// the file open.
const InProcessHook = "https://in-process.invalid/hooks"

const (
	livingSpan = 60 * 24 * time.Hour // time span of the sample operations
	youngest   = time.Minute         // age of the newest sample operation of a new file
	heartbeat  = 6 * time.Second     // time between two changes
	// time before the first one, so that a list does not change right after the start
	firstBeat  = 3 * time.Second
	inPlay     = 12   // open operations that Live changes: the newest ones
	caughtUp   = 60   // most operations that are added for the time since the last use
	mostBorn   = 2000 // most operations that are added in all; then ended ones are reopened
	keptEvents = 200  // kept of those delivered or given up: what GET /sandbox/outbox shows
)

// Receive passes the webhooks for InProcessHook to h; nil ends it. Their sender is a loopback address.
func (s *Service) Receive(h http.Handler) {
	if h == nil {
		s.courier.inbox.Store(nil)
		return
	}
	s.courier.inbox.Store(&http.Client{Timeout: deliveryTimeout, Transport: inProcess{h, "127.0.0.1:1"}})
	s.notifyDeliverer()
}

// Live makes a change every six seconds until ctx ends: usually to one of the newest open operations, every third
// time a new one. Several processes may do so.
func (s *Service) Live(ctx context.Context) {
	repeat(ctx, firstBeat, heartbeat, func() { _ = s.beat(ctx) }) // a busy file only skips this change
}

// beat makes the next change of a living service.
func (s *store) beat(ctx context.Context) error {
	return s.change(ctx, func(c *call, tx *sql.Tx) error {
		k, err := incremented(c.ctx, tx, "beats")
		if err != nil {
			return err
		}
		born, err := count(c.ctx, tx, `SELECT ifnull((SELECT value FROM counter WHERE name = 'inserted'), 0)`)
		if err != nil {
			return err
		}
		err = execute(c.ctx, tx, `DELETE FROM outbox WHERE state <> 'waiting' AND id <= (SELECT max(id) FROM outbox) - ?`,
			keptEvents)
		if err != nil {
			return err
		}
		if k%3 == 0 && born < mostBorn {
			return addNow(c, tx)
		}
		return moveOne(c, tx, "created DESC", inPlay)
	})
}

// addNow adds an operation that was created now.
func addNow(c *call, tx *sql.Tx) error {
	if err := breakOrder(c.ctx, tx); err != nil {
		return err
	}
	_, err := insertOne(c, tx, newWorld(c.st.dataset()), newcomer{created: c.at.UnixNano()})
	return err
}

// catchUp adds operations for the time since the newest one, at the rate of the sample data, so that there are some
// today.
func (s *store) catchUp(ctx context.Context) error {
	const usual = int64(livingSpan / DefaultOperations)
	newest, err := count(ctx, s.ro, `SELECT ifnull(max(created), 0) FROM operation`)
	if err != nil || s.clock().UnixNano()-newest < usual {
		return err
	}
	return s.change(ctx, func(c *call, tx *sql.Tx) error {
		newest, err := count(c.ctx, tx, `SELECT ifnull(max(created), 0) FROM operation`)
		if err != nil {
			return err
		}
		if err := breakOrder(c.ctx, tx); err != nil {
			return err
		}
		gap := c.at.UnixNano() - newest
		n := min(gap/usual, caughtUp)
		w := newWorld(c.st.dataset())
		for i := range n {
			if _, err := insertOne(c, tx, w, newcomer{created: newest + (i+1)*(gap/n), quiet: true, settled: true}); err != nil {
				return err
			}
		}
		return nil
	})
}
