package cli

import (
	"bytes"
	"strings"
	"testing"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/domain/audit"
	"opdeck/internal/surface/server/roletest"
)

// TestOneRuleOfReveal: a command prints an account number only with --reveal, in any form; one record precedes it, for
// each object, and without a record nothing is printed.
func TestOneRuleOfReveal(t *testing.T) {
	w, a := roletest.Open(t)
	words := w.Objects(roletest.Row{})
	admin := api.Actor{Name: "root", Role: api.Admin, Via: "command"}
	run := func(who api.Actor, in, line string) (out string, code int) {
		var b, errs bytes.Buffer
		code = Run(t.Context(), Env{Args: strings.Fields(words.Fill(line)), In: strings.NewReader(in), Out: &b, Err: &errs, App: a,
			Getenv: func(string) string { return "" }, Actor: who, Version: "test"})
		return b.String(), code
	}
	recorded := func() []audit.Entry {
		found, err := a.Audit.Reader.Find(api.WithActor(t.Context(), admin), audit.Query{Event: audit.EventReveal, Limit: 100})
		if err != nil {
			t.Fatal(err)
		}
		return found.Entries
	}
	whole, _ := run(admin, "", "operation get {op} --reveal -o json")
	number := between(whole, `"number": "`, `"`)
	if len(number) < 8 || strings.Contains(number, "•") || len(recorded()) != 1 || recorded()[0].ID != words["op"] ||
		recorded()[0].Object != "operation" || recorded()[0].Via != "command" {
		t.Fatalf("%q, %+v", number, recorded())
	}
	for _, line := range []string{"operation get {op}", "operation get -", "operation list", "operation list --live", "operation tree {op}",
		"account list", "operation export -", "document list {op}", "operation history {op}"} {
		for _, form := range []string{"table", "json", "jsonl", "csv"} {
			if out, _ := run(admin, words["op"]+"\n", line+" -o "+form); strings.Contains(out, number) {
				t.Errorf("%s -o %s prints %s", line, form, number)
			}
		}
	}
	if n := len(recorded()); n != 1 {
		t.Errorf("%d records for what was masked", n)
	}
	if out, _ := run(admin, words["op"]+"\n", "operation get - --reveal -o jsonl"); !strings.Contains(out, number) || len(recorded()) != 2 {
		t.Errorf("by standard input: %s, %d records", out, len(recorded()))
	}
	viewer := api.Actor{Name: "vi", Role: api.Viewer, Via: "command"}
	if out, code := run(viewer, "", "operation get {op} --reveal"); code != api.Refused.Exit() || out != "" {
		t.Errorf("a viewer gets %d, %q", code, out)
	}
	a.Config.UI.Mask = false // the config reveals, and that is recorded too
	if out, _ := run(admin, "", "operation get {op}"); !strings.Contains(out, number) || len(recorded()) != 3 {
		t.Errorf("[ui] mask = false: %s, %d records", out, len(recorded()))
	}
	if out, _ := run(viewer, "", "operation get {op}"); strings.Contains(out, number) {
		t.Error("[ui] mask = false shows a viewer the number")
	}
}

// TestCommandsThatPrintRecordsReveal: every command of a row that reveals has the flag, and no other has.
func TestCommandsThatPrintRecordsReveal(t *testing.T) {
	r := &root{env: Env{Getenv: func(string) string { return "" }}}
	top := r.command()
	for _, row := range act.All() {
		if row.Without[act.Command] != "" {
			continue
		}
		cmd, _, err := top.Find(strings.Fields(row.Path()))
		if err != nil {
			t.Fatal(err)
		}
		lends := row == act.SessionProxy // it has one of its own
		if has := cmd.LocalNonPersistentFlags().Lookup("reveal") != nil; has != (row.Reveals || lends) {
			t.Errorf("%s has --reveal: %v", row.Path(), has)
		}
	}
}

func between(s, from, to string) string {
	_, s, _ = strings.Cut(s, from)
	s, _, _ = strings.Cut(s, to)
	return s
}
