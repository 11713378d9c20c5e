package console

import (
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/sandbox"
	"opdeck/ui/draw"
)

func TestGreeting(t *testing.T) {
	for via, leads := range map[string]bool{"console": true, "ssh": false} { // the tour is not for who shares the service
		first := greeting(&app.App{Context: config.SandboxContext(), Sandbox: &sandbox.Service{}}, api.Actor{Role: api.Admin, Via: via})
		if w := draw.Width(first); first == "" || w > 74 || len(draw.Wrap(first, 34)) > 2 {
			t.Errorf("%q has %d cells", first, w)
		}
		if strings.Contains(first, ":tour") != leads {
			t.Errorf("by %s: %q", via, first)
		}
	}
	configured := &app.App{Context: config.SandboxContext()}
	configured.Config.Path = "/etc/opdeck/config.toml"
	real := &app.App{}
	for _, a := range []*app.App{configured, real} {
		if line := greeting(a, api.Actor{}); line != "" {
			t.Errorf("%q", line)
		}
	}
}
