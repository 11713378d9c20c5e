package console

import (
	"slices"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/sandbox"
	"opdeck/ui"
	"opdeck/ui/draw"
)

// TestTourFits: what a task says is in the two lines it has at 80 columns.
func TestTourFits(t *testing.T) {
	ways := &tour{}
	for n := range tasks {
		ways.begin(n + 1)
		heading, how := ways.Says()
		if n := len(draw.Wrap(how, 78)); n > 2 || heading == "" || draw.Width(heading) > 70 {
			t.Errorf("%s: %d lines: %s", heading, n, how)
		}
	}
	if ways.begin(0); ways.task() != nil {
		t.Error("a tour that ended has a task")
	}
}

// TestTourTakesBack: who leaves the task of the lost answer leaves a service that
// answers.
func TestTourTakesBack(t *testing.T) {
	service, err := sandbox.Open(t.Context(), sandbox.Options{Operations: 5})
	if err != nil {
		t.Fatal(err)
	}
	defer service.Close()
	way := &tour{service: service, root: t.Context()}
	way.begin(slices.IndexFunc(tasks, func(k task) bool { return k.undo != nil }) + 1)
	for _, pick := range []string{"Button: " + way.task().button, "Skip this task"} {
		cmd := way.pick(pick)
		if cmd == nil {
			t.Fatalf("%s does nothing", pick)
		}
		if said, ok := cmd().(ui.Toast); !ok || said.Level != ui.Info {
			t.Errorf("%s: %+v", pick, said)
		}
	}
	if way.pick("End the tour") != nil || way.at != 0 {
		t.Error("the tour did not end")
	}
}

// TestTourExplainsItsTask: a low window has room for its name alone, and :tour says how.
func TestTourExplainsItsTask(t *testing.T) {
	way := &tour{}
	for n := range tasks {
		way.begin(n + 1)
		menu, _ := way.command().Do.(ui.Choose)
		at := slices.IndexFunc(menu.Items, func(c ui.Choice) bool { return c.Text == explained })
		if at < 0 {
			t.Fatalf("task %d: %+v", n+1, menu.Items)
		}
		heading, how := way.Says()
		did, _ := menu.Pick(at)
		if e, is := did.(ui.Explain); !is || e.Title != heading || !slices.Equal(e.Lines, []string{how}) || way.at != n+1 {
			t.Errorf("task %d: %+v, now at %d", n+1, did, way.at)
		}
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
		{built, api.Actor{Role: api.Viewer, Via: "console"}, "may not do here"},
		{&app.App{Sandbox: built.Sandbox, ReadOnly: true}, admin, "may not do here"},
	} {
		got := newTour(t.Context(), c.a, c.who).command()
		if !strings.Contains(got.Why, c.want) || (got.Why == "") != (c.want == "") || (got.Do == nil) != (c.want != "") {
			t.Errorf("%q, %v; want %q", got.Why, got.Do, c.want)
		}
	}
}
