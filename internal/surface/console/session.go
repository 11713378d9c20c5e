package console

import (
	"context"
	"slices"
	"strings"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app"
	"opdeck/internal/domain/presence"
	"opdeck/ui/theme"
	"opdeck/views/sessions"
)

// sharedSession is the session for its screen, with the doctor.
type sharedSession struct {
	app.SharedSession
	app     *app.App
	console string // this one; "" if it has no presence
}

// session is the session for a screen of this console.
func (d *backend) session() sharedSession {
	s := sharedSession{SharedSession: d.SharedSession(), app: d.App}
	if d.feed != nil {
		s.console = d.feed.people.board.Console()
	}
	return s
}

// Connected lists the other open consoles.
func (s sharedSession) Connected(ctx context.Context) ([]presence.Place, error) {
	all, err := s.SharedSession.Connected(ctx)
	return slices.DeleteFunc(all, func(p presence.Place) bool { return p.Console == s.console }), err
}

// Doctor checks every step between this program and its service.
func (s sharedSession) Doctor(ctx context.Context) []sessions.Finding {
	if err := api.Need(ctx, "doctor", api.MaySession); err != nil {
		e := api.AsError(err)
		return []sessions.Finding{{Tone: theme.Bad, Name: "doctor", Text: e.Public + " " + remedy.Screen(e)}}
	}
	tones := map[app.Health]theme.Tone{app.Healthy: theme.Good, app.Warned: theme.Warn, app.Failed: theme.Bad,
		app.Skipped: theme.Dim}
	words := map[app.Health]string{app.Healthy: "ok", app.Warned: "look", app.Failed: "failed", app.Skipped: "skipped"}
	var out []sessions.Finding
	app.Doctor(ctx, app.Options{Version: s.app.Version, Now: s.app.Now}, s.app, false, func(f app.Finding) {
		text := words[f.Health] + ": " + f.Text
		if f.Hint != "" {
			text = strings.TrimRight(text, ".") + ". " + f.Hint
		}
		out = append(out, sessions.Finding{Tone: tones[f.Health], Name: f.Name, Text: untrusted.Text(text).Line(400)})
	})
	return out
}
