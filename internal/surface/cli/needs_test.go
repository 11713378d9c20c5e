package cli

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"opdeck/internal/surface/serve/roletest"
)

// Every command says what role it asks for, and the table names no other.
func TestEveryCommandSaysItsRole(t *testing.T) {
	there := map[string]bool{"opdeck": true}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.HasSubCommands() {
			there[path(c)] = true
		}
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk((&root{}).command())
	there["help"] = true
	for name := range there {
		if needs[name] == nil {
			t.Errorf("%s does not say what role it asks for", name)
		}
	}
	for name := range needs {
		if !there[name] {
			t.Errorf("there is no command %s", name)
		}
	}
}

// The commands of the table of roles ask for what it says.
func TestCommandsAskForTheirRole(t *testing.T) {
	seen := 0
	for _, r := range roletest.Table {
		if r.Command == "" {
			continue
		}
		seen++
		top := (&root{}).command()
		cmd, rest, err := top.Find(strings.Fields(r.Command))
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.ParseFlags(rest); err != nil {
			t.Fatal(err)
		}
		if got := needOf(cmd, cmd.Flags().Args()); got != r.Need {
			t.Errorf("%s asks for %q, want %q", r.Command, got, r.Need)
		}
	}
	if seen < 20 {
		t.Errorf("%d commands", seen)
	}
}
