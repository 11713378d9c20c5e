package console

import (
	"testing"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/surface/server/roletest"
	"opdeck/ui"
	"opdeck/ui/uitest"
)

// TestEveryActIsInThePalette: an act that has a key somewhere is found by its command's name
// from the first screen.
func TestEveryActIsInThePalette(t *testing.T) {
	_, a := roletest.Open(t)
	run, clock, leave := sitDown(t, a, roletest.Known(api.Actor{Name: "ana", Role: api.Admin, Via: "console", From: "here"}), ui.Place{Kind: ui.KindOperations})
	defer leave()
	run.Send(clock.Wait(0), uitest.Size(120, 40))
	sh := run.Model.(seat).Shell
	for _, one := range act.All() {
		if one.Key.Press == "" {
			continue
		}
		if _, _, ok := (ui.Driver{Shell: sh}).Named(one.Path(), true); !ok {
			t.Errorf("%s (%s on %s) is not in the palette", one.Path(), one.Key.Press, one.Place)
		}
	}
}
