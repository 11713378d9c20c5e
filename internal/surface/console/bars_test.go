package console

import (
	"context"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// TestDoctorNeedsTheRightThatTheCommandNeeds: it says where the store is and what
// it says, on the screen as over the command.
func TestDoctorNeedsTheRightThatTheCommandNeeds(t *testing.T) {
	for _, role := range api.Roles {
		why := mayPress(role)(keymap.New().Session.Doctor)
		if may := role.May(api.MaySession); may != (why == "") || !may && !strings.Contains(why, "oncall") {
			t.Errorf("%s: %q", role, why)
		}
		if role.May(api.MaySession) {
			continue
		}
		ctx := api.WithActor(context.Background(), api.Actor{Name: "eve", Role: role, Via: "ssh"})
		got := sharedSession{}.Doctor(ctx) // without an App: it would panic if it looked
		if len(got) != 1 || got[0].Tone != theme.Bad || !strings.Contains(got[0].Text, "may not") {
			t.Errorf("%s: %+v", role, got)
		}
	}
}
