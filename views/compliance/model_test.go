package compliance

import (
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"opdeck/api"
	"opdeck/internal/domain/journey"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

var _ tea.Model = ShareForm{}

// shareForm is a form that runs alone.
func shareForm(t *testing.T, ground ui.Environment, f *fake) *uitest.Program {
	t.Helper()
	p := uitest.NewProgram(t)
	o := ui.Options{About: ui.About{Context: "stage", Environment: ground}, Theme: theme.New(uitest.Renderer(termenv.Ascii), theme.Mono()), Now: p.Now}
	return p.Run(NewShareForm(o, f, f.customer))
}

// TestShareForm runs the form as a program of its own: it takes the token unseen,
// asks, and presents it once.
func TestShareForm(t *testing.T) {
	f := individual()
	f.share = func() (api.ShareResult, error) {
		return api.ShareResult{Applied: true, Outstanding: []api.OutstandingSet{}}, nil
	}
	p := shareForm(t, ui.Test, f).See("What you paste is not shown, kept or logged.")
	p.Type(token).See(strings.Repeat("•", 10)).Type("\r").See("Apply this token to Ana Kovačević?")
	p.Type("y").See("The token was applied: a customer is shared once.")
	if len(f.shares) != 1 || f.shares[0] != token {
		t.Errorf("presented %q", f.shares)
	}
	p.Type("S").See("a customer is shared once.").Type("q").See("Leave the console?").Type("y").Ended()
}

// TestShareFormInProduction: y is not enough there.
func TestShareFormInProduction(t *testing.T) {
	f := individual()
	f.share = func() (api.ShareResult, error) { return api.ShareResult{Message: "Expired."}, nil }
	p := shareForm(t, ui.Production, f).See("Token")
	p.Type(token + "\r").See("Type the last 4 characters of the id").Type("y\r")
	p.Type("S").See("Token").Type(token + "\r").See("Type the last 4").Type(cuid[len(cuid)-4:]).See("[ Share ]").Type("\r").See("Expired.")
	if len(f.shares) != 1 {
		t.Errorf("presented %d times", len(f.shares))
	}
}

// TestReadOnlyBarsEveryWrite: the link too, by key and in the palette, and the form
// that runs alone does not open.
func TestReadOnlyBarsEveryWrite(t *testing.T) {
	f := individual()
	f.rec = journey.Record{Outstanding: []string{"PROOF_OF_RESIDENCE"}}
	r, _ := open(t, f, shelltest.ReadOnly)
	for _, k := range []string{"S", "l", "f"} {
		r.Send(uitest.Key(k))
		has(t, r, "read-only")
		if strings.Contains(r.View(), "[ No ]") {
			t.Errorf("%s asks", k)
		}
	}
	clock := uitest.NewClock()
	o := shelltest.Options(clock, nil, ui.Place{}, shelltest.ReadOnly)
	alone := uitest.Drive(t, NewShareForm(o, f, f.customer), uitest.Size(80, 24), uitest.Key("S"))
	has(t, alone, "read-only", "Ana Kovačević")
}

// TestViewIsPure: whether frames are drawn makes no difference.
func TestViewIsPure(t *testing.T) {
	msgs := func(c *uitest.Clock) []tea.Msg {
		return []tea.Msg{uitest.Keys("G", "l"), c.Wait(time.Second), uitest.Key("y"), c.Wait(10 * time.Minute), uitest.Size(70, 14), uitest.Key("S"), uitest.Type(token), uitest.Key("enter"),
			c.Wait(time.Second), uitest.Key("n"), c.Wait(10 * time.Minute), uitest.Size(120, 40)}
	}
	fake := func(c *uitest.Clock) *fake {
		f := individual()
		f.now, f.link = c.Now, func() (api.Link, error) { return api.Link{URL: "https://verify.example.com/x", TTL: 900}, nil }
		return f
	}
	uitest.Pure(t, func(c *uitest.Clock) tea.Model {
		f := fake(c)
		factory := func(env *ui.Env, p ui.Place) ui.Screen { return f.screen(env, p.ID) }
		return ui.New(shelltest.Options(c, factory, ui.Place{Kind: ui.KindCompliance, ID: cuid}))
	}, msgs)
	uitest.Pure(t, func(c *uitest.Clock) tea.Model {
		f := fake(c)
		return NewShareForm(shelltest.Options(c, nil, ui.Place{}), f, f.customer)
	}, msgs)
}
