package approval

import (
	"context"
	"time"
)

// WatchEvery is how often Watch looks at the store.
const WatchEvery = 2 * time.Second

// Version is a number that grows with each change of any request.
func (d *Desk) Version(ctx context.Context) (int64, error) { return d.store.Version(ctx) }

// Watch waits until the version is another one than seen, and returns it. It
// looks every WatchEvery at one number; trouble of the store is waited out. The
// error is ctx's. Time alone raises no version: who shows how long a request
// still lives has its end.
func (d *Desk) Watch(ctx context.Context, seen int64) (int64, error) {
	tick := time.NewTicker(WatchEvery)
	defer tick.Stop()
	for {
		if v, err := d.store.Version(ctx); err == nil && v != seen {
			return v, nil
		}
		select {
		case <-ctx.Done():
			return seen, ctx.Err()
		case <-tick.C:
		}
	}
}
