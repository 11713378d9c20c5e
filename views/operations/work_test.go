package operations

import (
	"context"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/ui"
)

// TestLongWorkIsStopped: esc stops an export and nothing else; what was stopped is
// reported at its end, and meanwhile nothing else of the kind begins.
func TestLongWorkIsStopped(t *testing.T) {
	d := open(t, &fake{n: 40})
	d.keys(" ", " ")
	reported, end := make(chan bool), make(chan tea.Msg)
	work := d.list.jobs.work("exporting", func(ctx context.Context, report func(string)) ended {
		report("exporting 1 of 40")
		reported <- true
		<-ctx.Done()
		return ended{notice: failed("The export", &api.Error{Kind: api.Interrupted, Public: "The export was stopped; its file was removed."})}
	})
	go func() { end <- work() }()
	<-reported
	d.Send(ui.Tick{})
	if at := d.list.NextChange(d.clock.Now()); at.IsZero() {
		t.Error("nothing shows how far it is")
	}
	for _, k := range []string{"e", "r"} {
		d.keys(k)
		d.Has("Wait: exporting 1 of 40. esc stops it.", "exporting 1 of 40", "esc stop")
	}
	d.keys("v", "esc") // views are counted beside it
	d.Has("exporting 1 of 40")
	d.keys("esc")
	lacks(t, d, "exporting 1 of 40")
	d.Has("Stopping …")
	d.Has("2 marked") // the next esc is theirs
	d.Send(<-end)
	d.Has("The export was stopped; its file was removed.", "2 marked")
	d.keys("esc")
	lacks(t, d, "marked")
}

func lacks(t *testing.T, d *listed, what string) {
	t.Helper()
	if strings.Contains(d.View(), what) {
		t.Errorf("%q is on screen\n%s", what, d.View())
	}
}

// TestReadingManyIsStopped between two calls, and says what was not requested.
func TestReadingManyIsStopped(t *testing.T) {
	f := &fake{n: 40}
	ctx, stop := context.WithCancel(context.Background())
	var steps []string
	said := reread(ctx, f.caller(), []string{id(0), id(1), id(2)}, func(s string) {
		if steps = append(steps, s); len(steps) == 2 {
			stop()
		}
	})
	if want := "Stopped: 2 operations reloaded. 1 was not requested."; said != want || len(f.reads) != 2 || steps[1] != "reloading 2 of 3" {
		t.Errorf("%s; read %v, steps %q", said, f.reads, steps)
	}
}
