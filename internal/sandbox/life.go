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
	keptEvents = 200  // kept of those delivered or given up
)

// Receive passes the webhooks for InProcessHook to h; nil ends it. Their sender is a loopback address.
func (s *Service) Receive(h http.Handler) {
	if h == nil {
		s.courier.inbox.Store(nil)
		return
	}
	s.courier.inbox.Store(&http.Client{Timeout: deliveryTimeout, Transport: inProcess(h)})
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
		return moveOne(c, tx)
	})
}

// addNow adds an operation that was created now.
func addNow(c *call, tx *sql.Tx) error {
	_, err := insertOne(c, tx, newWorld(c.st.Seed, baseTime, 0), newcomer{created: c.at.UnixNano()})
	return err
}

// catchUp adds operations for the time since the newest one, at the rate of the sample data, so that there are some
// today.
func (s *store) catchUp(ctx context.Context) error {
	const usual = int64(livingSpan / DefaultOperations)
	newest, err := count(ctx, s.db, `SELECT ifnull(max(created), 0) FROM operation`)
	if err != nil || s.clock().UnixNano()-newest < usual {
		return err
	}
	return s.change(ctx, func(c *call, tx *sql.Tx) error {
		newest, err := count(c.ctx, tx, `SELECT ifnull(max(created), 0) FROM operation`)
		if err != nil {
			return err
		}
		gap := c.at.UnixNano() - newest
		n := min(gap/usual, caughtUp)
		w := newWorld(c.st.Seed, baseTime, 0)
		for i := range n {
			if _, err := insertOne(c, tx, w, newcomer{created: newest + (i+1)*(gap/n), quiet: true, settled: true}); err != nil {
				return err
			}
		}
		return nil
	})
}

// repeat calls do after first and then after every, until ctx ends.
func repeat(ctx context.Context, first, every time.Duration, do func()) {
	t := time.NewTimer(first)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			do()
			t.Reset(every)
		}
	}
}

// moveOne changes the operation unchanged longest among the newest open ones, or reopens the newest ended one.
func moveOne(c *call, tx *sql.Tx) error {
	ops, err := queryOperations(c.ctx, tx, `WHERE o.n = (SELECT n FROM
		(SELECT n, updated FROM operation WHERE status IN (1, 2) AND n > 0 ORDER BY created DESC LIMIT ?)
		ORDER BY updated, n LIMIT 1)`, inPlay)
	if err == nil && len(ops) == 0 {
		ops, err = queryOperations(c.ctx, tx, `WHERE o.n > 0 ORDER BY o.created DESC LIMIT 1`)
	}
	if err != nil || len(ops) == 0 {
		return err
	}
	return moveOperation(c, tx, &ops[0], nextStatus(ops[0]))
}

func nextStatus(o operationRow) int {
	switch o.status {
	case statusPending:
		return statusProcessing
	case statusProcessing:
		return []int{statusSuccess, statusSuccess, statusCompleted, statusFailed, statusCanceled}[o.n%5]
	}
	return statusPending
}

// moveOperation sets the status and raises the event.
func moveOperation(c *call, tx *sql.Tx, o *operationRow, status int) error {
	o.status, o.updated = status, max(c.at.UnixNano(), o.updated+1)
	if err := execute(c.ctx, tx, `UPDATE operation SET status = ?, updated = ? WHERE n = ?`, o.status, o.updated,
		o.n); err != nil {
		return err
	}
	return raiseOperation(c, tx, *o)
}
