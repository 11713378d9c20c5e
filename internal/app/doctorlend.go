package app

import (
	"context"
	"fmt"

	"opdeck/api"
)

// lend reports whether scripts can borrow the session, and lists those that do.
func (d *doctor) lend(ctx context.Context, a *App) {
	c := a.Config.Lend
	s, err := a.SharedSession().Status(ctx)
	running, calls := 0, 0
	for _, b := range s.Borrowers {
		if b.Running {
			running++
			calls += b.LastMinute
		}
	}
	const how = "A script does not need to log in: start it with opdeck session exec, or run opdeck session proxy."
	switch _, keyErr := a.BorrowerKeys(d.opt.Getenv); {
	case err != nil:
		d.add("lend", Failed, "The use of the session by scripts cannot be read: "+api.AsError(err).Public, "")
	case running > 0:
		d.add("lend", Healthy, fmt.Sprintf("%s the session, %s in the last minute",
			plural(int64(running), "script borrows", "scripts borrow"), plural(int64(calls), "call", "calls")), "")
	case c.Socket == "" && c.Listen == "":
		d.add("lend", Skipped, "the session is not lent to scripts ([lend] is empty)", how)
	case keyErr != nil:
		d.add("lend", Warned, api.AsError(keyErr).Public, "Set the key where opdeck serve or opdeck session proxy runs.")
	default:
		d.add("lend", Healthy, "no script borrows the session now", how)
	}
}
