//go:build unix

package console

import (
	"os"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/ui"
	"opdeck/views/limits"
	"opdeck/views/sessions"
)

// TestDeletedStoreIsShown: header, notice, session, budgets and doctor say that the
// store's file was deleted and what to do, as soon as the feed looks.
func TestDeletedStoreIsShown(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"HOME": dir, "OPDECK_STATE": dir}
	opt := app.Options{Getenv: func(k string) string { return env[k] }}
	a, err := app.Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	who := api.Actor{Name: "ana", Role: api.Admin, Via: "console"}
	ctx := api.WithActor(t.Context(), who)
	f := newFeed(ctx, a, newPeople(a, who))
	t.Cleanup(f.close)
	f.poll()
	f.take()
	file := a.Store.Core.Path()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	f.poll()
	const remedy = "costs one login"
	gone := func(what, text, want string) {
		t.Helper()
		if !strings.Contains(text, file+" was deleted") || !strings.Contains(text, want) {
			t.Errorf("%s: %q", what, text)
		}
	}
	shown := 0
	for _, msg := range f.take() {
		shown++
		switch m := tea.Msg(msg).(type) {
		case ui.SessionFacts:
			gone("header", m.Note, "")
		case ui.Toast:
			gone("notice", m.Text, remedy)
		case sessions.News:
			gone("session", m.Err.Public, "")
		case limits.News:
			gone("budgets", m.Err.Error(), "")
		default:
			shown--
		}
	}
	if shown != 4 {
		t.Errorf("%d of 4 places say it", shown)
	}
	found := false
	app.Doctor(ctx, opt, a, app.Shallow, func(x app.Finding) {
		if x.Name == "store" && x.Health == app.Failed {
			found = true
			gone("doctor", x.Text+" "+x.Hint, remedy)
		}
	})
	if !found {
		t.Error("the doctor finds the store well")
	}
	if f.poll(); len(f.take()) > 4 {
		t.Error("it is announced again")
	}
}
