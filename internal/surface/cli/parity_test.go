package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/internal/act"
	"opdeck/internal/domain/audit"
	"opdeck/ui/keymap"
)

var update = flag.Bool("update", false, "write golden files and the table of commands")

// cells are an act on each surface; "" where it is not there.
func cells(r *root, keys map[string]keymap.Key, s schema, row *act.Act) map[string]string {
	out := map[string]string{"command": "", "screen": "", "ssh": "", "role": "", "audit": "", "schema": ""}
	reason := func(on act.Surface, have bool, what string) string {
		why := row.Without[on]
		switch {
		case have && why == "":
			return what
		case !have && why != "":
			return "no: " + why
		}
		return ""
	}
	out["command"] = reason(act.Command, makers[row] != nil, row.Path())
	key, has := keys[row.Name]
	out["screen"] = reason(act.Screen, has || row.Place != "", row.Place+" "+key.Binding.Help().Key)
	if has != (row.Key.Press != "") {
		out["screen"] = ""
	}
	out["ssh"] = reason(act.Remote, row.Without[act.Remote] == "", "offered")
	out["role"] = string(row.Need)
	if row.Need == "" && row.Effect != act.Write && row.Effect != act.Session {
		out["role"] = "everybody"
	}
	switch event := row.AuditEvent(); {
	case event == "":
		out["audit"] = "no record"
	case audit.Code(event) != "":
		out["audit"] = event + " " + audit.Code(event)
	}
	for _, c := range s.Commands {
		if c.Name == row.Name {
			out["schema"] = c.Usage
		}
	}
	if row.Without[act.Command] != "" {
		out["schema"] = "no: " + row.Without[act.Command]
	}
	return out
}

// TestEveryActOnEverySurface holds that no act is missing on a surface without a
// reason that is in the table.
func TestEveryActOnEverySurface(t *testing.T) {
	r := &root{env: Env{Getenv: func(string) string { return "" }}}
	top := r.command()
	keys := map[string]keymap.Key{}
	for _, k := range keymap.New().Everything() {
		keys[k.Name] = k
	}
	s := schemaOf(r, top)
	for _, row := range act.All() {
		line := row.Name
		for _, surface := range []string{"command", "screen", "ssh", "role", "audit", "schema"} {
			cell := cells(r, keys, s, row)[surface]
			line += " | " + cell
			if cell == "" {
				t.Errorf("%s has no %s, and the table gives no reason", row.Name, surface)
			}
		}
		t.Log(line)
	}
	for a := range makers {
		if act.Find(a.Name) != a {
			t.Errorf("the command %s is no act", a.Name)
		}
	}
}

// TestSchemaIsTheContract holds the schema against its golden file: a change of it is
// a change of what scripts rely on.
func TestSchemaIsTheContract(t *testing.T) {
	var out bytes.Buffer
	r := &root{env: Env{Getenv: func(string) string { return "" }}}
	if err := r.encode(&out, schemaOf(r, r.command()), true); err != nil {
		t.Fatal(err)
	}
	const file = "testdata/schema.json"
	if *update {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, out.Bytes()) {
		t.Error("opdeck schema is not what testdata/schema.json says; go test ./internal/surface/cli -update writes it")
	}
}

// TestCommandsTable holds docs/commands.md against the table of acts.
func TestCommandsTable(t *testing.T) {
	const file, from, to = "../../../docs/commands.md",
		"<!-- commands: written by `go test ./internal/surface/cli -update` -->\n", "<!-- /commands -->"
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(b), from)
	_, tail, ok2 := strings.Cut(rest, to)
	if !ok || !ok2 {
		t.Fatal("docs/commands.md has no place for the table")
	}
	var table strings.Builder
	table.WriteString("\n| Command | Does | Needs | Asks | Key | Audit |\n|---|---|---|---|---|---|\n")
	for _, row := range act.All() {
		if row.Without[act.Command] != "" {
			continue
		}
		usage := strings.TrimSpace(strings.TrimSuffix(row.Path(), row.Use()[:len(firstWord(row.Use()))]) + row.Use())
		key := ""
		if row.Key.Press != "" {
			key = "`" + row.Key.Press + "` in " + row.Place
		}
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s | %s | %s |\n", usage, row.Short, row.Need, row.Ask, key,
			strings.TrimSpace(row.AuditEvent()))
	}
	want := head + from + table.String() + "\n" + to + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(b) {
		t.Error("docs/commands.md is not today's; go test ./internal/surface/cli -update writes it")
	}
}

func firstWord(s string) string { w, _, _ := strings.Cut(s, " "); return w }

// TestNoFlagHidesAnother: a flag of one command has another name than those of every command.
func TestNoFlagHidesAnother(t *testing.T) {
	top := (&root{env: Env{Getenv: func(string) string { return "" }}}).command()
	var visit func(*cobra.Command)
	visit = func(cmd *cobra.Command) {
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if top.PersistentFlags().Lookup(f.Name) != nil {
				t.Errorf("%s has a --%s of its own", cmd.CommandPath(), f.Name)
			}
		})
		for _, below := range cmd.Commands() {
			visit(below)
		}
	}
	for _, cmd := range top.Commands() {
		visit(cmd)
	}
}
