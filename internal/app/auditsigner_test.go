package app

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/domain/audit"
)

// TestVerifyNamesUnknownSigners: a host whose [audit] keys lack the key of another host proves nothing of its records,
// however few they are, and the result names the key; with its line the trail is intact.
func TestVerifyNamesUnknownSigners(t *testing.T) {
	for _, acts := range []int{1, 4} {
		dir := t.TempDir()
		conf := func(keys string) string {
			path := filepath.Join(dir, "config.toml")
			text := "[store]\nurl = \"sqlite:" + filepath.Join(dir, "store", "opdeck.db") + "\"\n[audit]\nkeys = [" + keys +
				"]\n[contexts.box]\nsandbox = true\nrole = \"admin\"\n"
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}
		on := func(host, keys string, anew bool, do func(a *App)) {
			t.Helper()
			a, err := Open(t.Context(), Options{ConfigFlag: conf(keys), StateFlag: filepath.Join(dir, host),
				NewAuditKey: anew})
			if err != nil {
				t.Fatal(err)
			}
			do(a)
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		}
		act := func(a *App) {
			for n := range acts {
				ctx := api.WithActor(t.Context(), a.LocalActor("command"))
				what := api.Act{Kind: api.ActSessionReset, Object: "session", ID: fmt.Sprint(n)}
				if err := a.Gate.Own(ctx, api.MaySession, what, func(string) error { return nil }); err != nil {
					t.Fatal(err)
				}
			}
		}
		var key, line string
		on("first", "", false, func(a *App) {
			act(a)
			own, err := audit.ReadKey(a.AuditKeyFile())
			if err != nil {
				t.Fatal(err)
			}
			chain, err := a.Audit.Signer.Chain(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			key, line = audit.Fingerprint(own.Public()), own.VerifierKey(chain)
		})
		verify := func(a *App) audit.Report {
			rep, err := a.Audit.Prover.Verify(api.WithActor(t.Context(), a.LocalActor("command")))
			if err != nil {
				t.Fatal(err)
			}
			return rep
		}
		on("second", "", true, func(a *App) {
			act(a)
			if rep := verify(a); rep.Intact() || rep.Exit() == audit.ExitIntact || !strings.Contains(rep.Summary(), key) ||
				!strings.Contains(rep.Summary(), "[audit] keys") {
				t.Errorf("%d acts: %s", acts, rep.Summary())
			}
		})
		on("second", fmt.Sprintf("%q", line), false, func(a *App) {
			if rep := verify(a); !rep.Intact() {
				t.Errorf("%d acts, with the key: %s", acts, rep.Summary())
			}
		})
	}
}
