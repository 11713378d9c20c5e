//go:build unix

package console

import (
	"os"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/verdict"
	"opdeck/ui"
	"opdeck/views/limits"
	"opdeck/views/sessions"
)

// TestDeletedStoreIsShown: header, session, budgets and doctor say that the store's file was deleted and what to do, as
// soon as the feed looks, and no part is good.
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
	f := newFeed(ctx, a, newPeople(a, who), nil)
	t.Cleanup(f.close)
	f.poll()
	f.take()
	file := a.Store.Core.Path()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	f.poll()
	gone := func(what, text, want string) {
		t.Helper()
		if !strings.Contains(text, file+" was deleted") || !strings.Contains(text, want) {
			t.Errorf("%s: %q", what, text)
		}
	}
	shown := 0
	for _, msg := range f.take() {
		shown++
		switch m := msg.(type) {
		case ui.VerdictFacts:
			gone("verdict", m.Verdict.Headline(), "")
			for _, p := range verdict.Parts() {
				if m.Verdict.Of(p) == verdict.Good {
					t.Errorf("%s is good", p)
				}
			}
		case sessions.News:
			gone("session", m.Err.Public, "")
		case limits.News:
			gone("budgets", m.Err.Error(), "")
		default:
			shown--
		}
	}
	if shown != 3 {
		t.Errorf("%d of 3 places say it", shown)
	}
	failed := f.polled // each failure is news; the next one waits
	if f.next(); f.polled.Sub(failed) < pollEvery {
		t.Errorf("a store that cannot be read was read again after %v", f.polled.Sub(failed))
	}
	found := false
	app.Doctor(ctx, opt, a, false, func(x app.Finding) {
		if x.Name == "store" && x.Health == app.Failed {
			found = true
			gone("doctor", x.Text+" "+x.Hint, "costs one login")
		}
	})
	if !found {
		t.Error("the doctor finds the store well")
	}
}
