package console

import (
	"testing"

	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/ui/draw"
)

func TestGreeting(t *testing.T) {
	first := greeting(&app.App{Context: config.SandboxContext()})
	if w := draw.Width(first); first == "" || w > 74 || len(draw.Wrap(first, 34)) > 2 {
		t.Errorf("%q has %d cells", first, w)
	}
	configured := &app.App{Context: config.SandboxContext()}
	configured.Config.Path = "/etc/opdeck/config.toml"
	real := &app.App{}
	for _, a := range []*app.App{configured, real} {
		if line := greeting(a); line != "" {
			t.Errorf("%q", line)
		}
	}
}
