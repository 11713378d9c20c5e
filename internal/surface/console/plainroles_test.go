package console_test

import (
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/surface/console"
	"opdeck/internal/surface/server/roletest"
)

// attempt does what the row's keys do on a screen, in plain mode: a key is typed at a
// place's prompt, a text where one is asked for. begin is called when the place is open;
// what follows a refusal is not typed. It returns all that was said since the first key.
func attempt(t *testing.T, a *app.App, who api.Actor, r roletest.Row, words roletest.Words, begin func(), refused func(said string) bool) string {
	t.Helper()
	secret := ""
	if r.Name == "compliance.share" {
		secret = words["token"]
	}
	p, _ := startPlain(t, a, who, func(o *console.PlainOptions) { o.Secret = func(string) (string, error) { return secret, nil } })
	heard := p.say(strings.TrimSpace(r.Place + " " + words.Fill(r.ID)))
	begin()
	before := len(p.transcript())
	said := func() string { return p.transcript()[before:] }
	typed := false // the text of this field was given already
	for _, key := range r.Keys {
		line := ""
		switch at := heard[len(heard)-1]; {
		case strings.HasSuffix(at, "for help:"):
			line = words.Fill(key)
			if key == "~" || key == "y" || strings.HasPrefix(key, "'") {
				continue // the act ended, or its secret was taken unseen
			}
		case strings.HasSuffix(at, "anything else is No:"):
			if line = "yes"; key != "y" {
				continue
			}
		case strings.HasPrefix(key, "'"):
			line, typed = words.Fill(key[1:]), true
		case key != "enter":
			continue
		case typed:
			typed = false
			continue
		case strings.HasSuffix(at, "A number, or back:"):
			line = "1"
		}
		if heard = p.say(line); refused(said()) {
			break
		}
	}
	out := said()
	p.say("menu")
	if err := p.leave(); err != nil {
		t.Errorf("%s: %v", r.Name, err)
	}
	return out
}

// TestRolesInPlainMode: in plain mode a person who
// may not do an act reads so and which role may, nothing is sent, and the attempt is recorded.
// Each role has a world of its own, so that they need not wait for each other.
func TestRolesInPlainMode(t *testing.T) {
	racedetector.Skip(t)
	t.Parallel()
	for _, role := range roletest.SmokeRoles {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			w, a := roletest.Open(t)
			for _, r := range roletest.Smoke() {
				if len(r.Keys) == 0 {
					continue
				}
				w.Later()
				words := w.Objects(r)
				who := roletest.Known(api.Actor{Name: "s-" + string(role), Role: role, Via: "console", From: "here"})
				var m roletest.Mark
				refused := func(said string) bool {
					return strings.Contains(said, "may not "+string(r.Need)) && strings.Contains(said, api.WhoMay(r.Need))
				}
				said := attempt(t, a, who, r, words, func() { m = w.Mark() }, func(said string) bool {
					_, _, denied := w.Became(m, r, who.Name) // a place may show its people before a key is typed
					return refused(said) && denied > 0
				})
				w.Check(m, r, "in plain mode", role, who.Name, said, refused(said))
			}
		})
	}
}

// TestReadOnlyInPlainMode: a read-only context refuses in plain mode what it refuses
// by key and by command, and nothing of it is left behind but a record of the attempt.
func TestReadOnlyInPlainMode(t *testing.T) {
	racedetector.Skip(t)
	t.Parallel()
	w, a := roletest.Open(t)
	for _, r := range roletest.Table {
		if len(r.Keys) == 0 {
			continue
		}
		words := w.Objects(r)
		w.Later()
		var m roletest.Mark
		a.ReadOnly = true
		reported := func(said string) bool {
			return strings.Contains(said, "cannot be used now") && strings.Contains(said, "read-only")
		}
		said := attempt(t, a, roletest.Known(api.Actor{Name: "s-admin", Role: api.Admin, Via: "console", From: "here"}), r, words, func() { m = w.Mark() }, reported)
		a.ReadOnly = false
		barred := act.Find(r.Name).Barred()
		if reported(said) != barred {
			t.Errorf("%s: a read-only context bars it: %v; reported: %q", r.Name, barred, said)
		}
		if calls, done, denied := w.Became(m, r, "s-admin"); barred && (calls != 0 || done && r.Event != "" || denied != 1) {
			t.Errorf("%s is refused, %d changes were sent, it is recorded as done: %v, %d times as refused", r.Name, calls, done, denied)
		}
		if jobs, err := a.Jobs.Store.Unfinished(t.Context()); err != nil || len(jobs) > 0 {
			t.Errorf("%s leaves %d jobs: %v", r.Name, len(jobs), err)
		}
	}
}
