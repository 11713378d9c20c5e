package sandbox

import (
	"context"
	"database/sql"
	"net/http"
	"time"
)

// InProcessHook is where a living service sends its webhooks: no address of the
// network, but the Receiver of a process that has the file open.
const InProcessHook = "https://in-process.invalid/hooks"

const (
	livingSpan = 60 * 24 * time.Hour // that sample operations are spread over
	youngest   = time.Minute         // age of the newest sample operation of a new file
	heartbeat  = 6 * time.Second     // between two changes
	// before the first one, so that a list that is opened at the start does not change at once
	firstBeat  = 3 * time.Second
	inPlay     = 12   // open operations that Live moves: the newest ones
	caughtUp   = 60   // most operations that are added for the time nobody was here
	mostBorn   = 2000 // operations that are added in all; afterwards ended ones open again
	keptEvents = 200  // of those delivered or given up: what GET /sandbox/outbox shows
)

// Receive hands the webhooks that go to InProcessHook to h, until it is called
// with nil. The deliveries come from a loopback address.
func (s *Service) Receive(h http.Handler) {
	if h == nil {
		s.courier.inbox.Store(nil)
		return
	}
	s.courier.inbox.Store(&http.Client{Timeout: deliveryTimeout, Transport: inProcess{h, "127.0.0.1:1"}})
	s.notifyDeliverer()
}

// Live makes a change every six seconds until ctx ends: most times one of the
// newest open operations moves on, every fourth time a new one appears. Several
// processes each do so.
func (s *Service) Live(ctx context.Context) {
	repeat(ctx, firstBeat, heartbeat, func() { _ = s.beat(ctx) }) // a busy file only costs this one change
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
		if k%4 == 0 && born < mostBorn {
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
	_, err := insertOne(c, tx, newWorld(c.st.Seed), newcomer{created: c.at.UnixNano()})
	return err
}

// catchUp adds operations for the time since the newest one, as many as sample
// data have in such a time, so that there is a today whenever the file is opened.
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
		w := newWorld(c.st.Seed)
		for i := range n {
			if _, err := insertOne(c, tx, w, newcomer{created: newest + (i+1)*(gap/n), quiet: true, settled: true}); err != nil {
				return err
			}
		}
		return nil
	})
}
