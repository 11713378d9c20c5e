package console

import (
	"context"

	"opdeck/api"
	"opdeck/internal/app"
)

// greeting is shown at the start if there is no config file: what the person sees, and what to do next, with the tour
// if there is one. It fits a terminal of 80 columns.
func greeting(a *app.App, who api.Actor) string {
	if a.Config.Path != "" || !a.Context.Sandbox {
		return ""
	}
	leads := "enter opens, ? lists the keys."
	if newTour(context.Background(), a, who).off == "" {
		leads = "enter opens, ? keys, :tour guides."
	}
	return "Built-in service: nothing is real. " + leads
}
