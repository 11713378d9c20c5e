package console

import "opdeck/internal/app"

// greeting is shown at the start if there is no config file: what the person sees, and what to do next. It fits a
// terminal of 80 columns.
func greeting(a *app.App) string {
	if a.Config.Path != "" || !a.Context.Sandbox {
		return ""
	}
	return "Built-in service: nothing is real. enter opens, ? lists the keys."
}
