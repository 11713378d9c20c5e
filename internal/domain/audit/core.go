package audit

import (
	"context"
	"crypto/ed25519"
)

// core is the state shared by the parts of a Log.
type core struct {
	opt  Options
	boot string // id of this process: a UUID made at its start
}

// Unrecorded is why this process records nothing, nil if it does. Every method that adds a record returns it.
func (c *core) Unrecorded() error { return c.opt.Unrecorded }

// signs reports whether this process signs checkpoints.
func (c *core) signs() bool { return c.opt.Key != nil && c.opt.Checkpoints != "" }

// fingerprint is the fingerprint of this process's signing key.
func (c *core) fingerprint() string { return Fingerprint(c.opt.Key.Public()) }

// knownKeys are the keys whose checkpoints are accepted: our own and those of other hosts.
func (c *core) knownKeys() []ed25519.PublicKey {
	var keys []ed25519.PublicKey
	if c.signs() {
		keys = append(keys, c.opt.Key.Public())
	}
	for _, t := range c.opt.Trusted {
		keys = append(keys, t.Key)
	}
	return keys
}

// processGone reports whether the process of an intent is known to have ended.
func (c *core) processGone(e Entry) bool {
	return c.opt.Alive != nil && e.Marked && !e.Damaged && c.opt.Alive.Gone(e.Boot)
}

// Process is what is known of a process with a running act.
type Process int

// What is known.
const (
	Unmarked Process = iota + 1 // it is not known whether it still runs
	Running
)

// process reports what is known of the process of an intent.
func (c *core) process(e Entry) Process {
	if c.opt.Alive != nil && e.Marked && !e.Damaged && c.opt.Alive.Lives(e.Boot) {
		return Running
	}
	return Unmarked
}

// alarm calls Options.Alarm.
func (c *core) alarm(err error) {
	if c.opt.Alarm != nil {
		c.opt.Alarm(err)
	}
}

// eachStored calls fn for the rows in the store in order.
func (c *core) eachStored(ctx context.Context, from, to int64, fn func(Row) error) error {
	for from <= to {
		rows, err := c.opt.Store.Rows(ctx, from, 500)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return nil
		}
		for _, r := range rows {
			if r.Seq > to {
				return nil
			}
			if err := fn(r); err != nil {
				return err
			}
		}
		from = rows[len(rows)-1].Seq + 1
	}
	return nil
}
