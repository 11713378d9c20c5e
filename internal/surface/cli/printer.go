package cli

import (
	"context"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/internal/app"
)

// printed describes the JSON that a command prints: values of these types; nil for a format that it lacks.
type printed struct {
	when        string // the required flag; empty: none
	json, jsonl reflect.Type
	many        bool // several values, one after the other
}

// one prints values of T, which opdeck schema describes. A command can only print JSON with the printers that it was
// made with.
type one[T any] struct {
	r *root
	w io.Writer // nil: standard output
}

// many prints lists: W is the JSON of a whole list, T that of an item.
type many[W, T any] struct{ r *root }

// listOf prints plain lists of items.
type listOf[T any] = many[[]T, T]

// also gives cmd a printer of T, used if the flag when is given; "" is always.
func also[T any](r *root, cmd *cobra.Command, when string) one[T] {
	t := reflect.TypeFor[T]()
	r.printed[cmd] = append(r.printed[cmd], printed{when: when, json: t, jsonl: t})
	return one[T]{r: r}
}

// alsoLists is also for lists.
func alsoLists[W, T any](r *root, cmd *cobra.Command, when string) many[W, T] {
	r.printed[lists(cmd)] = append(r.printed[cmd], printed{when: when, json: reflect.TypeFor[W](),
		jsonl: reflect.TypeFor[T]()})
	return many[W, T]{r}
}

// prints makes a command with body that prints values of T.
func prints[T any](r *root, cmd *cobra.Command, body func(context.Context, *app.App, []string,
	one[T]) error) *cobra.Command {
	out := also[T](r, cmd, "")
	cmd.RunE = r.do(func(ctx context.Context, a *app.App, args []string) error { return body(ctx, a, args, out) })
	return cmd
}

// alone is prints for a command that opens neither config nor store.
func alone[T any](r *root, cmd *cobra.Command, body func(context.Context, []string, one[T]) error) *cobra.Command {
	out := also[T](r, cmd, "")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return body(cmd.Context(), args, out) }
	return cmd
}

// printsList makes a command with body that prints a list.
func printsList[W, T any](r *root, cmd *cobra.Command, body func(context.Context, *app.App, []string,
	many[W, T]) error) *cobra.Command {
	out := alsoLists[W, T](r, cmd, "")
	cmd.RunE = r.do(func(ctx context.Context, a *app.App, args []string) error { return body(ctx, a, args, out) })
	return cmd
}

// streams is prints for a command that prints values one after the other.
func streams[T any](r *root, cmd *cobra.Command, body func(context.Context, *app.App, []string,
	one[T]) error) *cobra.Command {
	prints(r, forms(cmd, "jsonl"), body)
	r.printed[cmd][0].many = true
	return cmd
}

// writes is prints for a command with a confirmation, see asks.
func writes[T any](r *root, cmd *cobra.Command, prepare func(context.Context, *app.App, []string, one[T]) (asked,
	error)) *cobra.Command {
	out := also[T](r, cmd, "")
	cmd.RunE = r.asks(func(ctx context.Context, a *app.App, args []string) (asked,
		error) {
		return prepare(ctx, a, args, out)
	})
	return cmd
}

// to returns a printer to w instead of standard output.
func (o one[T]) to(w io.Writer) one[T] { return one[T]{o.r, w} }

func (o one[T]) out() io.Writer {
	if o.w == nil {
		return o.r.env.Out
	}
	return o.w
}

// json prints v for programs.
func (o one[T]) json(v T) error {
	if o.r.output == "jsonl" {
		return o.line(v)
	}
	return o.r.encode(o.out(), v, true)
}

// line prints v as one line of JSON.
func (o one[T]) line(v T) error { return o.r.encode(o.out(), v, false) }

// card prints v as JSON for programs, and as a card for people.
func (o one[T]) card(v T, c *table) error {
	if o.r.output != "table" {
		return o.json(v)
	}
	return o.r.table(o.out(), c)
}

// report prints v as JSON for programs, and a sentence for people.
func (o one[T]) report(v T, format string, args ...any) error {
	if o.r.output != "table" {
		return o.json(v)
	}
	o.r.say(format, args...)
	return nil
}

// data prints v as JSON for programs, and a line of data for people.
func (o one[T]) data(v T, line string) error { return o.text(v, oneLine(line)+"\n") }

// text is data with several safe lines.
func (o one[T]) text(v T, lines string) error {
	if o.r.output != "table" {
		return o.json(v)
	}
	_, err := io.WriteString(o.out(), lines)
	return err
}

// each is data for a stream: its JSON is one line too.
func (o one[T]) each(v T, line string) error {
	if o.r.output != "table" {
		return o.line(v)
	}
	return o.data(v, line)
}

// print prints a list in the chosen format; t is for people and spreadsheets.
func (o many[W, T]) print(whole W, items []T, t *table) error {
	r := o.r
	switch r.output {
	case "json":
		return r.encode(r.env.Out, whole, true)
	case "jsonl":
		for _, v := range items {
			if err := r.encode(r.env.Out, v, false); err != nil {
				return err
			}
		}
		return nil
	case "csv":
		return t.csv(r.env.Out)
	}
	if len(t.rows) == 0 {
		r.say("%s", t.empty)
		return nil
	}
	return r.table(r.env.Out, t)
}

// outputs are the values of --output.
var outputs = []string{"table", "json", "jsonl", "csv"}

// formsKey annotates a command with its formats besides table and json.
const formsKey = "opdeck.forms"

// lists marks a command that prints a list: it also has jsonl and csv.
func lists(cmd *cobra.Command) *cobra.Command { return forms(cmd, "jsonl", "csv") }

// forms marks a command that has these formats besides table and json.
func forms(cmd *cobra.Command, names ...string) *cobra.Command {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[formsKey] = strings.Join(names, " ")
	return cmd
}

// checkOutput returns an error for a format that does not exist or that the command lacks.
func (r *root) checkOutput(cmd *cobra.Command) error {
	want := r.output
	if !slices.Contains(outputs, want) {
		r.output = "table"
		return usage("--output must be table, json, jsonl or csv, not %q", want)
	}
	if want == "table" || want == "json" || slices.Contains(strings.Fields(cmd.Annotations[formsKey]), want) {
		return nil
	}
	if want == "csv" {
		r.output = "table"
	}
	return usage("%s has no %s; --output can be table or json here", path(cmd), want)
}

// wanted finds --output before the command line is parsed, so that its errors too have the requested format.
func wanted(args []string) string {
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.ParseErrorsAllowlist.UnknownFlags = true
	f.StringP("context", "c", "", "") // its value may begin with o
	f.BoolP("help", "h", false, "")
	output := f.StringP("output", "o", "table", "")
	_ = f.Parse(args) // if parsing fails, use what came before
	if slices.Contains(outputs, *output) {
		return *output
	}
	return "table"
}

// helpCommand is opdeck help COMMAND; cobra's own does not report an unknown command as an error.
func helpCommand() *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND]", Short: "Help about any command",
		RunE: func(c *cobra.Command, args []string) error {
			cmd, err := found(c.Root(), args)
			if err != nil {
				return err
			}
			return cmd.Help()
		}}
}

// found is the command with this path.
func found(top *cobra.Command, words []string) (*cobra.Command, error) {
	cmd := top
	for _, word := range words {
		i := slices.IndexFunc(cmd.Commands(), func(c *cobra.Command) bool { return c.Name() == word || c.HasAlias(word) })
		if i < 0 {
			return nil, unknown(cmd, fmt.Sprintf("there is no command %q", strings.Join(words, " ")), word, available(cmd))
		}
		cmd = cmd.Commands()[i]
	}
	return cmd, nil
}
