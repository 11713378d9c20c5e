package console

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/surface/server/roletest"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/views/approvals"
	"opdeck/views/history"
	"opdeck/views/records"
)

// placesOf are places of every kind of screen.
func placesOf(words roletest.Words) []ui.Place {
	return []ui.Place{{Kind: ui.KindOperations}, {Kind: ui.KindOperation, ID: words["op"]}, {Kind: ui.KindDocuments, ID: words["op"]},
		{Kind: ui.KindCompliance}, {Kind: ui.KindCompliance, ID: words["cuid"]}, {Kind: ui.KindLimits}, {Kind: ui.KindSession},
		{Kind: ui.KindEvents}, {Kind: ui.KindAudit}, {Kind: ui.KindOnCall}, {Kind: history.Kind, ID: words["op"]}, {Kind: approvals.Kind},
		{Kind: records.KindAccounts}, {Kind: records.KindAccounts, ID: words["account"]}, {Kind: records.KindCounterparties},
		{Kind: records.KindCounterparties, ID: words["payee"]}, {Kind: records.KindFiles, ID: words["cuid"]}, {Kind: records.KindLimits},
		{Kind: records.KindCommissions}}
}

// TestMarkedRecordOnScreens: no screen draws, says in plain mode or copies a marked value or the session's token while
// nothing is revealed, for any role: not of a record, not raw, not in the palette, not beside the rows.
func TestMarkedRecordOnScreens(t *testing.T) {
	racedetector.Skip(t)
	t.Parallel()
	m := roletest.OpenMarked(t)
	words := m.Objects(roletest.Row{})
	words["account"], words["payee"] = m.Objects(roletest.Row{})["account"], m.Objects(roletest.Row{})["payee"]
	seen := map[string]bool{"everywhere": true}
	drawn := 0
	each := 2 // roles look at each place, the others at the next places
	if os.Getenv("OPDECK_TEST_LONG") == "1" {
		each = len(roletest.Roles())
	}
	for r, role := range roletest.Roles() {
		for n, at := range placesOf(words) {
			if (n*2+r)%len(roletest.Roles()) >= each {
				continue
			}
			who := roletest.Known(api.Actor{Name: "c-" + string(role), Role: role, Via: "console", From: "here"})
			run, _, leave := sitDown(t, m.App, who, at)
			run.Send(uitest.Size(200, 60))
			look := func(key string) {
				top := run.Model.(seat).Shell.Top()
				seen[top.Place().Kind] = true
				if at.Kind == ui.KindEvents && key == "W" {
					seen["hooks"] = true // the settings have no place of their own
				}
				plain := ""
				if c, is := top.(ui.Contenter); is {
					plain = fmt.Sprintf("%+v", c.Content())
				}
				frame := ansi.Strip(run.View())
				drawn += len(frame)
				for how, out := range map[string]string{"draws": frame, "says": plain} {
					if leak := m.Leaks(strings.ReplaceAll(out, "\n", " ")); leak != "" {
						t.Errorf("%v as %s after %q %s %s", at, role, key, how, leak)
					}
				}
			}
			look("")
			for _, key := range []string{"W", "esc", "J", "esc", "Y", "p", "esc", "enter", "J"} {
				run.Send(uitest.Key(key))
				look(key)
			}
			leave()
		}
	}
	for _, a := range act.All() {
		if a.Place != "" && !seen[a.Place] {
			t.Errorf("no screen %q was looked at", a.Place)
		}
	}
	if drawn < 100_000*each {
		t.Errorf("%d bytes: too few to judge", drawn)
	}
}
