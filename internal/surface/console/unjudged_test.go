package console_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"opdeck/api"
	"opdeck/internal/surface/cli"
	"opdeck/internal/surface/console"
	"opdeck/internal/surface/server/roletest"
	"opdeck/ui"
	"opdeck/ui/uitest"
)

// TestWhatAFilterCannotJudgeIsSaidEverywhere: rows that do not have what a filter asks for are counted, in one sentence,
// by the list, the totals and the export as commands, on the screen and in plain mode.
func TestWhatAFilterCannotJudgeIsSaidEverywhere(t *testing.T) {
	a := world(t, "", false)
	var ops []api.Operation
	for _, raw := range []string{`{"opid":"op-1","isVisible":false,"isParent":true,"documents":[{"guid":"g","isLock":true}],` +
		`"customer":{"name":"Foo"},"source":{"account":{"name":"Foo"}},"destination":{"account":{"name":"Foo"}}}`, `{"opid":"op-2","customer":{"cuid":"D2"}}`,
		`{"opid":"op-3","documents":null,"customer":{"cuid":"D3"}}`} {
		var op api.Operation
		if err := json.Unmarshal([]byte(raw), &op); err != nil {
			t.Fatal(err)
		}
		ops = append(ops, op)
	}
	if _, err := a.Index.Page(t.Context(), ops, a.Now()); err != nil {
		t.Fatal(err)
	}
	for filter, name := range map[string]string{"documents>0": "documents", "documents<5": "documents", "has:doc": "documents",
		"is:locked": "lock", "has:visible": "visible", "has:hidden": "visible", "has:parent": "parent",
		"-has:hidden": "visible", "-documents:0": "documents", "-doc:invoice": "documents", "-has:parent": "parent",
		"customer:acme": "customer", "-customer:acme": "customer", "to:acme": "destination", "party=acme": "source or destination",
		"acme": "customer", "-acme": "customer"} {
		want := "2 operations in the index have no value for " + name + ", so it is not known whether they match."
		for _, command := range []string{"operation list --cached --filter " + filter,
			"operation totals --cached --by status --filter " + filter,
			"operation export --cached -o csv --filter " + filter + " " + filepath.Join(t.TempDir(), "x.csv"),
			"operation export --cached -o jsonl --filter " + filter + " -"} {
			var out, errs bytes.Buffer
			code := cli.Run(t.Context(), cli.Env{Args: strings.Fields(command), In: strings.NewReader(""), Out: &out, Err: &errs,
				Getenv: func(string) string { return "" }, Actor: ana, App: a})
			if code != 0 || !strings.Contains(errs.String(), want) {
				t.Errorf("opdeck %s: %d, %s", command, code, errs.String())
			}
		}
		run, clock, leave := console.SitDown(t, a, roletest.Known(ana), ui.Place{Kind: ui.KindOperations, Arg: filter})
		run.Send(clock.Wait(time.Second))
		if !strings.Contains(ansi.Strip(run.View()), want) {
			t.Errorf("%s on the screen:\n%s", filter, ansi.Strip(run.View()))
		}
		run.Send(uitest.Key("T"), clock.Wait(time.Second)) // the totals are below
		if !strings.Contains(ansi.Strip(run.View()), want) {
			t.Errorf("%s with totals on the screen:\n%s", filter, ansi.Strip(run.View()))
		}
		leave()
		p, _ := startPlain(t, a, ana, nil)
		p.say("1")
		p.say("filter "+filter, want)
		_ = p.leave()
	}
}
