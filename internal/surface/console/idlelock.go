package console

import (
	"time"

	"opdeck/internal/app"
)

// idleLock is how long the console stays readable without a key: at the process's own
// terminal only. A session at the other end of a connection ends instead.
func idleLock(a *app.App, opt Options) time.Duration {
	if !opt.Local {
		return 0
	}
	return a.Config.UI.IdleVeil.D()
}
