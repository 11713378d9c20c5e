package console

import (
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/sandbox"
	"opdeck/ui/draw"
)

// TestTourFits: what a task says stands in the two lines it has at 80 columns.
func TestTourFits(t *testing.T) {
	ways := &tour{}
	for ways.begin(1); ways.at <= len(tasks)+1; ways.begin(ways.at + 1) {
		heading, how := ways.Says()
		if n := len(draw.Wrap(how, 78)); n > 2 || heading == "" || draw.Width(heading) > 70 {
			t.Errorf("%s: %d lines: %s", heading, n, how)
		}
	}
	if ways.begin(0); ways.task() != nil {
		t.Error("a tour that ended has a task")
	}
}

// TestTourSaysWhyNot: there is one on the built-in service only, and not for who
// could not do its tasks.
func TestTourSaysWhyNot(t *testing.T) {
	admin := api.Actor{Name: "ana", Role: api.Admin, Via: "console"}
	built := &app.App{Sandbox: &sandbox.Service{}}
	for _, c := range []struct {
		a    *app.App
		who  api.Actor
		want string
	}{
		{built, admin, ""},
		{&app.App{}, admin, "built-in service only"},
		{built, api.Actor{Role: api.Admin, Via: "ssh"}, "others use this service too"},
		{built, api.Actor{Role: api.Viewer, Via: "console"}, "may not here"},
		{&app.App{Sandbox: built.Sandbox, ReadOnly: true}, admin, "may not here"},
	} {
		got := newTour(t.Context(), c.a, c.who).command()
		if !strings.Contains(got.Why, c.want) || (got.Why == "") != (c.want == "") || (got.Do == nil) != (c.want != "") {
			t.Errorf("%q, %v; want %q", got.Why, got.Do, c.want)
		}
	}
}
