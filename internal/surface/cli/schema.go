package cli

import (
	"context"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/api"
	"opdeck/internal/act"
)

// schemaVersion is raised when a reader of the schema has to change.
const schemaVersion = 1

type schema struct {
	Version  int             `json:"version"`
	Exits    []schemaExit    `json:"exit_codes"`
	Error    schemaValue     `json:"error"` // of a command that fails, on standard error
	Flags    []schemaFlag    `json:"flags"` // of every command
	Commands []schemaCommand `json:"commands"`
	Types    schemaTypes     `json:"types"`
}

type schemaExit struct {
	Code  int        `json:"code"`
	Kinds []api.Kind `json:"kinds"` // of the error; empty: none
}

type schemaFlag struct {
	Name    string `json:"name"`
	Short   string `json:"short,omitempty"`
	Type    string `json:"type"`
	Default string `json:"default"`
	Help    string `json:"help"`
}

type schemaArg struct {
	Name     string `json:"name"`
	File     bool   `json:"file"`
	Optional bool   `json:"optional"`
	Many     bool   `json:"many"`
}

type schemaCommand struct {
	Name    string         `json:"name"` // of the act
	Usage   string         `json:"usage"`
	Help    string         `json:"help"`
	Effect  string         `json:"effect"`
	Needs   api.Permission `json:"needs"`   // "": nothing
	Asks    string         `json:"asks"`    // nothing, yes/no, typed in production
	Barred  bool           `json:"barred"`  // refused in a read-only context
	Remote  bool           `json:"ssh"`     // offered over SSH
	Costs   map[string]int `json:"costs"`   // calls at least, by endpoint class
	Outputs []string       `json:"outputs"` // of --output
	Prints  []schemaPrint  `json:"prints"`  // as JSON
	Args    []schemaArg    `json:"args"`
	Flags   []schemaFlag   `json:"flags"`
}

func (r *root) schema() *cobra.Command {
	cmd := &cobra.Command{}
	return alone(r, cmd, func(_ context.Context, _ []string, out one[schema]) error {
		return out.to(r.env.Out).json(r.schemaOf(cmd.Root()))
	})
}

func (r *root) schemaOf(top *cobra.Command) schema {
	types := schemaTypes{}
	out := schema{Version: schemaVersion, Exits: exits(), Flags: flagsOf(top.PersistentFlags()), Types: types, Error: types.value(reflect.TypeFor[failure]())}
	for _, row := range act.All() {
		if row.Without[act.Command] != "" {
			continue
		}
		cmd, _, err := top.Find(strings.Fields(row.Path()))
		if err != nil { // the tree is made from the same table
			panic("cli: no command of the act " + row.Name)
		}
		more := strings.Fields(cmd.Annotations[formsKey])
		c := schemaCommand{Name: row.Name, Usage: cmd.UseLine(), Help: row.Short, Effect: row.Effect.String(), Needs: row.Need, Asks: row.Ask.String(),
			Barred: row.Barred(), Remote: row.Without[act.Remote] == "", Costs: map[string]int{}, Outputs: append([]string{"table", "json"}, more...),
			Prints: []schemaPrint{}, Args: []schemaArg{}, Flags: flagsOf(cmd.LocalNonPersistentFlags())}
		for _, p := range r.printed[cmd] {
			print := schemaPrint{When: p.when, Many: p.many}
			if p.json != nil {
				whole := types.value(p.json)
				print.JSON = &whole
			}
			if slices.Contains(more, "jsonl") {
				line := types.value(p.jsonl)
				print.JSONL = &line
			}
			c.Prints = append(c.Prints, print)
		}
		for class, n := range row.Costs {
			c.Costs[string(class)] = n
		}
		for _, a := range row.Args {
			c.Args = append(c.Args, schemaArg{a.Name, a.File, a.Optional, a.Many})
		}
		out.Commands = append(out.Commands, c)
	}
	return out
}

func flagsOf(set *pflag.FlagSet) []schemaFlag {
	out := []schemaFlag{}
	set.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && f.Name != "version" {
			out = append(out, schemaFlag{f.Name, f.Shorthand, f.Value.Type(), f.DefValue, f.Usage})
		}
	})
	return out
}

// exits are the exit codes with the kinds of errors that end so.
func exits() []schemaExit {
	out := []schemaExit{{Code: 0, Kinds: []api.Kind{}}}
	for _, k := range api.Kinds() {
		i := slices.IndexFunc(out, func(e schemaExit) bool { return e.Code == k.Exit() })
		if i < 0 {
			out, i = append(out, schemaExit{Code: k.Exit()}), len(out)
		}
		out[i].Kinds = append(out[i].Kinds, k)
	}
	return out
}
