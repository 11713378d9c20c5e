package cli

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/surface/server/roletest"
)

// unmarked are the acts whose command is not run with the marked service, with the reason.
var unmarked = map[string]string{
	"sandbox": "is a service", "serve": "serves until interrupted", "session.keep": "runs until interrupted", "session.proxy": "TestMarkedRecordLent",
	"session.exec": "TestMarkedRecordLent", "config.init": "asks", "config.check": "reads a file of the host",
	"config.show": "reads the config", "config.path": "reads the config", "completion": "reads nothing of the service", "man": "reads nothing of the service",
	"schema": "reads nothing of the service", "version": "reads nothing of the service", "index.rebuild": "prints a sentence", "audit.settle": "needs a write in doubt",
	"document.download": "its content cannot be masked; it is recorded", "operation.report": "its content cannot be masked; it is recorded",
	"event.replay":     "prints what event list prints",
	"compliance.share": "needs the built-in service", "compliance.finalize": "needs the built-in service",
	"backup": "seals what it writes", "restore": "reads a sealed file", "migrate": "prints versions",
}

// printForms are the values of -o.
var printForms = []string{"table", "json", "jsonl", "csv"}

// TestMarkedRecord: no command prints a marked value or the session's token while nothing is revealed, for any role, in
// any form of output, whatever form the service's answer has; neither do the log and the trail.
//
// Each command runs as each role and in each form, and each role prints in each form; not every command as every role in
// every form, because values are masked before a form is chosen: app.Client masks the answer by the context alone, and
// what prints it does not know the role.
func TestMarkedRecord(t *testing.T) {
	racedetector.Skip(t)
	t.Parallel()
	m := roletest.OpenMarked(t)
	rows := slices.Concat(roletest.Table, tried)
	for _, a := range act.All() {
		has := slices.ContainsFunc(rows, func(r roletest.Row) bool { return r.Name == a.Name && r.Command != "" })
		if a.Without[act.Command] == "" && !has && unmarked[a.Name] == "" {
			t.Errorf("%s is not run: add a row to tried, or a reason to unmarked", a.Name)
		}
	}
	for i, key := range m.Events {
		rows = append(rows, roletest.Row{Name: "event.show", Command: "event show " + key})
		if i == 0 {
			rows = append(rows, roletest.Row{Name: "event.list", Command: "event list --filter 40817810099910004312"})
		}
	}
	printed := 0
	run := func(row roletest.Row, role api.Role, form string) {
		words := roletest.Words{}
		if strings.Contains(row.Command+row.In, "{") {
			words = m.Objects(row)
		}
		out := runMarked(t, m, words.Fill(row.Command), words.Fill(row.In), role, form)
		printed += len(out)
		if leak := m.Leaks(out); leak != "" {
			t.Errorf("%s -o %s as %s: %s", row.Command, form, role, leak)
		}
	}
	pairs := map[string]bool{}
	for i, row := range rows {
		if row.Command == "" || unmarked[row.Name] != "" || row.Kind != "" {
			continue
		}
		each := 2 // of five roles, the others at the next rows
		if os.Getenv("OPDECK_TEST_LONG") == "1" {
			each = len(api.Roles)
		}
		for k := range each {
			j := i*2 + k
			role, form := api.Roles[j%len(api.Roles)], printForms[j/len(api.Roles)%len(printForms)]
			if strings.Contains(row.Command, "-o ") {
				form = "table" // the command has its own
			}
			pairs[string(role)+" "+form] = true
			run(row, role, form)
		}
	}
	if len(pairs) != len(api.Roles)*len(printForms) {
		t.Errorf("only %d pairs of role and form: %v", len(pairs), pairs)
	}
	ids := m.Objects(roletest.Row{})
	for _, form := range roletest.Forms {
		m.Form.Store(form)
		for _, command := range []string{"operation get ", "operation tree ", "customer get ", "customer application ", "account get "} {
			id := map[string]string{"op": "op", "cu": "cuid", "ac": "account"}[command[:2]]
			run(roletest.Row{Command: command + ids[id]}, api.Admin, "json")
			run(roletest.Row{Command: command + ids[id] + " --verbose"}, api.Viewer, "table")
		}
	}
	m.Form.Store("")
	log, err := os.ReadFile(m.Log)
	if leak := m.Leaks(string(log)); err != nil || leak != "" {
		t.Errorf("log: %s, %v", leak, err)
	}
	if printed < 100_000 {
		t.Errorf("%d bytes: too few to judge", printed)
	}
	if out := runMarked(t, m, "operation get "+ids["op"]+" --reveal", "", api.Admin, "json"); m.Leaks(out) == "" {
		t.Error("a reveal shows no mark: the test cannot judge")
	}
}

// runMarked runs a command and returns all that it wrote.
func runMarked(t *testing.T, m *roletest.Marked, command, in string, role api.Role, form string) string {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var out, errs bytes.Buffer
	w := &firstLine{end: func() {}}
	args := strings.Fields(command)
	if !slices.Contains(args, "-o") {
		args = append([]string{"-o", form}, args...)
	}
	if strings.Contains(command, "--follow") {
		w.end = cancel
	}
	Run(ctx, Env{Args: args, In: strings.NewReader(in), Out: w, Err: &errs, App: m.App, Getenv: func(string) string { return "" },
		Actor: roletest.Known(api.Actor{Name: "reader", Role: role, Via: "command", From: "here"}), Version: "test"})
	return out.String() + string(w.out) + errs.String()
}
