package console

import (
	"context"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/mask"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/surface/server/roletest"
	"opdeck/ui"
	"opdeck/ui/uitest"
)

// seat is the console of a person without its feeds. A command that waits for
// something to happen is not waited for.
type seat struct {
	*ui.Shell
	patience time.Duration
}

func (d seat) Init() tea.Cmd { return d.soon(d.Shell.Init()) }
func (d seat) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := d.Shell.Update(msg)
	return d, d.soon(cmd)
}

func (d seat) soon(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() tea.Msg {
		done := make(chan tea.Msg, 1)
		go func() { done <- cmd() }()
		select {
		case msg := <-done:
			if batch, is := msg.(tea.BatchMsg); is {
				for i := range batch {
					batch[i] = d.soon(batch[i])
				}
			}
			return msg
		case <-time.After(d.patience):
			return nil
		}
	}
}

// TestRolesByKey: on the real screens a key that
// the role may not press says so and says who has it, nothing is sent, and the
// attempt is recorded; who may gets as far as the service. Each role has a world of its
// own, so that they need not wait for each other.
func TestRolesByKey(t *testing.T) {
	t.Parallel()
	for _, role := range roletest.SmokeRoles {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			w, a := roletest.Open(t)
			for _, r := range roletest.Smoke() {
				if len(r.Keys) > 0 {
					w.Later()
					triesKeys(t, w, a, r, role)
				}
			}
		})
	}
}

// triesKeys presses the keys of a row as a role.
func triesKeys(t *testing.T, w *roletest.World, a *app.App, r roletest.Row, role api.Role) {
	t.Helper()
	words := w.Objects(r)
	who := roletest.Known(api.Actor{Name: "c-" + string(role), Role: role, Via: "console", From: "here"})
	run, clock, leave := sitDown(t, a, who, ui.Place{Kind: r.Place, ID: words.Fill(r.ID)})
	m := w.Mark()
	said := ""
	for _, k := range r.Keys {
		push(run, clock, words.Fill(k))
		if frame := ansi.Strip(run.View()); strings.Contains(frame, "may not") && said == "" {
			said = strings.Join(strings.Fields(frame), " ")
		}
		if said == "" {
			continue
		}
		if _, _, denied := w.Became(m, r, who.Name); denied > 0 {
			break // what follows would be other keys
		}
	}
	refused := strings.Contains(said, "may not "+string(r.Need)) && strings.Contains(said, api.WhoMay(r.Need))
	if said == "" {
		said = strings.Join(strings.Fields(ansi.Strip(run.View())), " ")
	}
	leave()
	w.Check(m, r, "on screen", role, who.Name, said, refused)
}

// TestReadOnlyOnEveryScreen: a read-only context bars the key of each act that changes
// something, says so, and nothing of it is left behind but a record
// of the attempt.
func TestReadOnlyOnEveryScreen(t *testing.T) {
	racedetector.Skip(t)
	t.Parallel()
	w, a := roletest.Open(t)
	for _, r := range roletest.Table {
		if len(r.Keys) == 0 {
			continue
		}
		words := w.Objects(r)
		w.Later()
		a.ReadOnly = true
		run, clock, leave := sitDown(t, a, roletest.Known(api.Actor{Name: "c-admin", Role: api.Admin, Via: "console", From: "here"}), ui.Place{Kind: r.Place, ID: words.Fill(r.ID)})
		m, said := w.Mark(), ""
		for _, k := range r.Keys {
			push(run, clock, words.Fill(k))
			if said = strings.Join(strings.Fields(ansi.Strip(run.View())), " "); strings.Contains(said, "This context is read-only") {
				if _, _, denied := w.Became(m, r, "c-admin"); denied > 0 { // a screen may say so before a key is pressed
					break
				}
			}
		}
		a.ReadOnly = false
		leave()
		barred := act.Find(r.Name).Barred()
		if reported := strings.Contains(said, "This context is read-only"); reported != barred {
			t.Errorf("%s: a read-only context bars it: %v; reported: %q", r.Name, barred, said)
		}
		if calls, done, denied := w.Became(m, r, "c-admin"); barred && (calls != 0 || done && r.Event != "" || denied != 1) {
			t.Errorf("%s is refused, %d changes were sent, it is recorded as done: %v, %d times as refused", r.Name, calls, done, denied)
		}
	}
}

// sitDown opens a person's console on a place, in a window of 140x40.
func sitDown(t *testing.T, a *app.App, who api.Actor, at ui.Place) (run *uitest.Run, clock *uitest.Clock, leave func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(api.WithTrail(mask.ByCaller(api.WithActor(t.Context(), who)), a.Audit))
	f := newFeed(ctx, a, newPeople(a, who), nil)
	clock = uitest.NewClock()
	opt := shellOptions(ctx, a, who, Options{Getenv: func(string) string { return "" }}, f, nil)
	opt.Feeds, opt.Start, opt.Now, opt.Tick = nil, at, clock.Now, clock.Tick
	d := seat{ui.New(opt), 5 * time.Second}
	if at.Kind == ui.KindEvents { // it waits for the next one
		d.patience = 200 * time.Millisecond
	}
	run = uitest.Drive(t, d, uitest.Size(140, 40))
	return run, clock, func() { cancel(); f.close(); f.people.leave() }
}

// push pushes one key of the table.
func push(run *uitest.Run, clock *uitest.Clock, k string) {
	switch {
	case k == "~":
		run.Send(clock.Wait(500 * time.Millisecond))
	case strings.HasPrefix(k, "'"):
		for _, c := range k[1:] {
			run.Send(uitest.Key(string(c)))
		}
		run.Send(clock.Wait(200 * time.Millisecond))
	default:
		run.Send(uitest.Key(k))
	}
}
