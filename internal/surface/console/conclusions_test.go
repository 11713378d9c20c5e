package console_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/sandbox/faulty"
	"opdeck/internal/surface/cli"
	"opdeck/internal/surface/console"
	"opdeck/internal/surface/server/roletest"
	"opdeck/ui"
	"opdeck/ui/uitest"
)

// concluded is a way to one kind of conclusion on each surface.
type concluded struct {
	kind    evidence.Kind
	prepare func(t *testing.T, a *app.App)
	command string   // with its arguments
	place   ui.Place // of the screen
	keys    []string // that lead to the conclusion there
	typed   []string // likewise in plain mode, from the menu on
	says    string   // in the line of evidence
	stays   string   // the command that prints it after a restart; "": it is about an act or a read
}

// TestEveryConclusionOnEverySurface: for each kind there is a command whose --why, a screen whose E and a plain mode
// whose "why" print it with the read that shows it; what is concluded of a lasting state is printed after a restart, too.
func TestEveryConclusionOnEverySurface(t *testing.T) {
	racedetector.Skip(t)
	dir := t.TempDir()
	a := opened(t, dir)
	ctx := api.WithTrail(api.WithActor(t.Context(), roletest.Known(ana)), a.Audit)
	if err := a.Mirror().Sync(ctx, true, func(index.Freshness) {}); err != nil {
		t.Fatal(err)
	}
	page, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{Size: 100})
	if err != nil {
		t.Fatal(err)
	}
	var open []api.Operation
	for _, op := range page.Items {
		if string(op.Status) == "PENDING" && len(op.Documents) > 0 && !slices.ContainsFunc(op.Documents,
			func(d api.Document) bool { return d.Lock.Is() }) {
			open = append(open, op)
		}
	}
	id := func(n int) string { return string(page.Items[n].OPID) }
	gone, cuid := id(40), string(page.Items[0].Customer.CUID)
	first, second, third := string(open[0].OPID), string(open[1].OPID), string(open[2].OPID)
	table := []concluded{
		{kind: evidence.Act, command: "document remove " + first + " " + string(open[0].Documents[0].GUID) + " --yes",
			place: ui.Place{Kind: ui.KindDocuments, ID: second}, keys: []string{"x", "~", "y", "~"},
			typed: []string{"documents " + third, "remove 1", "yes"},
			says:  "removed: the service's answer at "},
		{kind: evidence.Accepted, command: "compliance journey " + cuid, place: ui.Place{Kind: ui.KindCompliance, ID: cuid},
			typed: []string{"compliance " + cuid}, says: "the customer read at "},
		{kind: evidence.Complete, command: "operation list --cached --limit 1", place: ui.Place{Kind: ui.KindOperations},
			typed: []string{"operations"}, says: "complete: the pass over ", stays: "operation list --cached --limit 1"},
		{kind: evidence.Gone, prepare: func(t *testing.T, a *app.App) {
			if err := faulty.Of(a.Sandbox).Remove(ctx, gone); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Mirror().Verify(ctx, func(int64, int64) {}); err != nil {
				t.Fatal(err)
			}
		}, command: "operation get " + gone, place: ui.Place{Kind: ui.KindOperation, ID: gone},
			typed: []string{"operation " + gone}, says: "gone: the operation read at ", stays: "operation history " + gone},
	}
	for _, kind := range evidence.Kinds() {
		if !slices.ContainsFunc(table, func(c concluded) bool { return c.kind == kind }) {
			t.Errorf("no surface prints a conclusion about %q", kind)
		}
	}
	for _, c := range table {
		t.Run(string(c.kind), func(t *testing.T) {
			if c.prepare != nil {
				c.prepare(t, a)
			}
			commandSays(t, a, c.command, c)
			drawnSays(t, a, c)
			plainSays(t, a, c)
		})
	}
	if err := a.Mirror().Sync(ctx, true, func(index.Freshness) {}); err != nil { // one operation has left since
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	again := opened(t, dir)
	defer func() { _ = again.Close() }()
	for _, c := range table {
		if c.stays != "" {
			t.Run(string(c.kind)+" after a restart", func(t *testing.T) { commandSays(t, again, c.stays, c) })
		}
	}
}

// opened is the built-in service with its state in dir; the caller closes it.
func opened(t *testing.T, dir string) *app.App {
	t.Helper()
	conf := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(conf, []byte(roletest.Config), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := app.Open(t.Context(), app.Options{Around: faulty.Odd, ConfigFlag: conf, StateFlag: filepath.Join(dir, "state"),
		Getenv: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// commandSays runs a command with --why.
func commandSays(t *testing.T, a *app.App, command string, c concluded) {
	t.Helper()
	var out, errs bytes.Buffer
	cli.Run(t.Context(), cli.Env{Args: append(strings.Fields(command), "--why", "-o", "json"), In: strings.NewReader(""),
		Out: &out, Err: &errs, Getenv: func(string) string { return "" }, Actor: ana, App: a})
	d := json.NewDecoder(&errs)
	for d.More() {
		var said struct {
			Why []struct {
				evidence.Conclusion
				Line string `json:"line"`
			} `json:"why"`
		}
		if err := d.Decode(&said); err != nil {
			break
		}
		for _, w := range said.Why {
			if w.Kind == c.kind && len(w.Rests) > 0 && strings.Contains(w.Line, c.says) && w.Rests[0].Route != "" &&
				!w.Rests[0].Seen.At.IsZero() {
				return
			}
		}
		t.Logf("%+v", said)
	}
	t.Errorf("opdeck %s --why does not say %q of %s:\n%s", command, c.says, c.kind, errs.String()+out.String())
}

// drawnSays presses E on the screen.
func drawnSays(t *testing.T, a *app.App, c concluded) {
	t.Helper()
	run, clock, leave := console.SitDown(t, a, roletest.Known(ana), c.place)
	defer leave()
	run.Send(clock.Wait(time.Second))
	for _, k := range c.keys {
		if k == "~" {
			run.Send(clock.Wait(time.Second))
		} else {
			run.Send(uitest.Key(k))
		}
	}
	run.Send(uitest.Key("E"))
	said := strings.Join(strings.Fields(strings.NewReplacer("│", " ", "┃", " ").Replace(ansi.Strip(run.View()))), " ")
	if !strings.Contains(said, strings.TrimSpace(c.says)) {
		t.Errorf("E does not say %q of %s:\n%s", c.says, c.kind, ansi.Strip(run.View()))
	}
}

// plainSays types why.
func plainSays(t *testing.T, a *app.App, c concluded) {
	t.Helper()
	p, _ := startPlain(t, a, roletest.Known(ana), nil)
	for _, line := range c.typed {
		p.say(line)
	}
	p.say("why", strings.TrimSpace(c.says))
	_ = p.leave()
}
