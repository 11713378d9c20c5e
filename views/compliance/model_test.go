package compliance

import (
	"slices"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"opdeck/api"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

var _ ui.FormModel = (*ShareForm)(nil)

// TestShareFormAlone runs the form without the shell: it takes the token unseen, wants the
// question, and presents the token once.
func TestShareFormAlone(t *testing.T) {
	f := individual()
	f.now = uitest.NewClock().Now
	f.share = func() (api.ShareResult, error) {
		return api.ShareResult{Applied: true, Outstanding: []api.OutstandingSet{}}, nil
	}
	var steps []string
	p := shelltest.Alone(uitest.NewProgram(t), ui.Options{Theme: theme.New(uitest.Renderer(termenv.Ascii), theme.Mono())},
		func(env *ui.Env) ui.Model {
			return newShareForm(env, shareOf{id: cuid, customer: f.customer, journeys: f.journeys(), off: func() string { return "" },
				started: func() { steps = append(steps, "started") }, ended: func() tea.Cmd { steps = append(steps, "ended"); return nil }})
		})
	p.See("What you paste is not shown, stored or logged.")
	p.Type(token).See(strings.Repeat("•", 10)).Type("\r").See("Apply this share token to Ana Kovačević?")
	p.Type("Y").See("Applied. Finalize the application").Type("\x03").Ended()
	if !slices.Equal(f.shares, []string{token}) || !slices.Equal(steps, []string{"started", "ended"}) {
		t.Errorf("presented %q, %q", f.shares, steps)
	}
}

// TestTheConsoleRunsTheShareForm: the screen opens the model itself, a new one each time.
func TestTheConsoleRunsTheShareForm(t *testing.T) {
	f := individual()
	var s *Screen
	clock := uitest.NewClock()
	f.now = clock.Now
	r := shelltest.Open(t, clock, func(env *ui.Env, p ui.Place) ui.Screen { s = f.screen(env, p.ID); return s }, ui.Place{Kind: ui.KindCompliance, ID: cuid})
	r.Send(uitest.Key("S"), uitest.Type(token))
	first := s.form
	if first == nil || !strings.Contains(first.View(), "••••") || !strings.Contains(r.View(), "••••") {
		t.Fatalf("it does not run:\n%s", r.View())
	}
	r.Send(uitest.Key("esc"))
	r.Says("Discard the form “Apply share token”?")
	r.Send(clock.Wait(shelltest.Armed), uitest.Key("y"), uitest.Key("S"))
	if r.Says("Apply share token"); s.form == first || strings.Contains(r.View(), "••") {
		t.Errorf("what was discarded is there again:\n%s", r.View())
	}
	if len(f.shares) != 0 {
		t.Errorf("presented %q", f.shares)
	}
}

// TestShareInProduction: y is not enough there.
func TestShareInProduction(t *testing.T) {
	f := individual()
	f.share = func() (api.ShareResult, error) { return api.ShareResult{Message: "Expired."}, nil }
	r, clock := open(t, f, shelltest.Production)
	r.Send(uitest.Key("S"), uitest.Type(token), uitest.Key("enter"))
	r.Says("Type the last 4 characters of the customer id")
	r.Send(clock.Wait(shelltest.Armed), uitest.Keys("y", "enter"), clock.Wait(time.Second))
	if len(f.shares) != 0 {
		t.Fatalf("presented %q", f.shares)
	}
	r.Send(uitest.Key("esc"), uitest.Key("S"), uitest.Type(token), uitest.Key("enter"), clock.Wait(shelltest.Armed),
		uitest.Type(cuid[len(cuid)-4:]), clock.Wait(time.Second))
	r.Says("[ Apply ]")
	r.Send(uitest.Key("enter"))
	if r.Says("Expired."); len(f.shares) != 1 {
		t.Errorf("presented %d times", len(f.shares))
	}
}
