package console

import (
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/app"
)

// TestWhyNothingOpens: over SSH and in plain mode nothing is opened, whatever this computer has.
func TestWhyNothingOpens(t *testing.T) {
	a := &app.App{State: "/state"}
	for _, c := range []struct {
		via    string
		opener *opener
		want   string
	}{
		{"ssh", nil, "on the server"},
		{"console", nil, "This console opens no"},
		{"console", &opener{app: a, why: "There is no desktop here."}, "There is no desktop here."},
	} {
		d := hostFiles{a, c.opener, noOpener(api.Actor{Via: c.via})}
		if _, _, why := d.Opener(); !strings.Contains(why, c.want) {
			t.Errorf("%s: %q", c.via, why)
		}
		if _, err := d.OpenDocument(t.Context(), "c", "d", "n"); api.KindOf(err) != api.Refused || !strings.Contains(api.AsError(err).Public, c.want) {
			t.Errorf("%s: %v", c.via, err)
		}
	}
}
