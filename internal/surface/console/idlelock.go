package console

import (
	"time"

	"opdeck/internal/app"
)

// idleLock is the time without a key after which the console is blanked, for the process's own terminal only. A
// remote session ends instead.
func idleLock(a *app.App, opt Options) time.Duration {
	if !opt.Local {
		return 0
	}
	return a.Config.UI.IdleVeil.D()
}
