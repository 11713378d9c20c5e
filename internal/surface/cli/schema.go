package cli

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/api"
	"opdeck/internal/act"
)

// schemaVersion increases with changes that readers of the schema must handle.
const schemaVersion = 1

type schema struct {
	Version  int             `json:"version"`
	Exits    []schemaExit    `json:"exit_codes"`
	Error    schemaValue     `json:"error"` // printed to standard error by a failing command
	Flags    []schemaFlag    `json:"flags"` // of all commands
	Commands []schemaCommand `json:"commands"`
	Types    schemaTypes     `json:"types"`
}

type schemaExit struct {
	Code  int        `json:"code"`
	Kinds []api.Kind `json:"kinds"` // of errors; empty: none
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
	Needs   api.Permission `json:"needs"`   // "": none
	Asks    string         `json:"asks"`    // nothing, yes/no, typed in production
	Barred  bool           `json:"barred"`  // refused in a read-only context
	Remote  bool           `json:"ssh"`     // offered over SSH
	Costs   map[string]int `json:"costs"`   // least number of calls, by endpoint class
	Outputs []string       `json:"outputs"` // allowed values of --output
	Prints  []schemaPrint  `json:"prints"`  // its JSON
	Args    []schemaArg    `json:"args"`
	Flags   []schemaFlag   `json:"flags"`
}

func newSchemaCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{}
	return alone(r, cmd, func(context.Context, []string) (record[schema], error) {
		return asJSON(schemaOf(r, cmd.Root()))
	})
}

func schemaOf(r *root, top *cobra.Command) schema {
	types := schemaTypes{}
	out := schema{Version: schemaVersion, Exits: exits(), Flags: flagsOf(top.PersistentFlags()), Types: types,
		Error: types.value(reflect.TypeFor[failure]())}
	for _, row := range act.All() {
		if row.Without[act.Command] != "" {
			continue
		}
		cmd, _, err := top.Find(strings.Fields(row.Path()))
		if err != nil { // the tree is made from the same table
			panic("cli: no command of the act " + row.Name)
		}
		more := strings.Fields(cmd.Annotations[formsKey])
		c := schemaCommand{Name: row.Name, Usage: cmd.UseLine(), Help: row.Short, Effect: row.Effect.String(),
			Needs: row.Need, Asks: row.Ask.String(),
			Barred: row.Barred(), Remote: row.Without[act.Remote] == "", Costs: map[string]int{},
			Outputs: append([]string{"table", "json"}, more...),
			Prints:  []schemaPrint{}, Args: []schemaArg{}, Flags: flagsOf(cmd.LocalNonPersistentFlags())}
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

// exits lists the exit codes with their kinds of errors.
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

// schemaPrint describes JSON that a command prints with -o json and -o jsonl: with jsonl one value a line; several
// values of json follow each other.
type schemaPrint struct {
	When  string       `json:"when"` // "": always, or if no other applies
	Many  bool         `json:"many"`
	JSON  *schemaValue `json:"json,omitempty"`
	JSONL *schemaValue `json:"jsonl,omitempty"`
}

// schemaValue describes a JSON value: text, time (RFC 3339), base64, integer, number, boolean, list or map of
// something, the object of a type, an object with members of its own, or any value.
type schemaValue struct {
	Kind   string         `json:"kind"`
	Type   string         `json:"type,omitempty"` // name of an object's type in types
	Of     *schemaValue   `json:"of,omitempty"`   // element of a list or map
	Fields []schemaMember `json:"fields,omitempty"`
	// as the service sent it: listed members may be missing or different, and there may be more
	Sent bool `json:"as_sent,omitempty"`
}

// schemaMember is a member of an object.
type schemaMember struct {
	Name   string      `json:"name"`
	Absent bool        `json:"absent"` // may be missing
	Null   bool        `json:"null"`   // may be null
	Value  schemaValue `json:"value"`
}

// schemaTypes are the objects by name.
type schemaTypes map[string]schemaType

type schemaType struct {
	Fields []schemaMember `json:"fields"`

	of reflect.Type
}

// sent is JSON as the service sent it; T has its known members.
type sent[T any] struct{ json.RawMessage }

func (sent[T]) known() reflect.Type { return reflect.TypeFor[T]() }

// asSent is raw or, if it was not kept, known as JSON.
func asSent[T any](raw json.RawMessage, known T) sent[T] {
	if len(raw) == 0 {
		raw, _ = json.Marshal(known) // what was read from JSON can be written
	}
	return sent[T]{raw}
}

// value describes t as encoding/json writes it. A type with its own encoding must be text, as all of that kind here
// are, or keep the service's JSON in Raw.
func (types schemaTypes) value(t reflect.Type) schemaValue {
	if t.Kind() == reflect.Pointer {
		return types.value(t.Elem())
	}
	if kept, ok := reflect.Zero(t).Interface().(interface{ known() reflect.Type }); ok {
		v := types.value(kept.known())
		v.Sent = true
		return v
	}
	var raw reflect.StructField
	keeps := false
	if t.Kind() == reflect.Struct {
		raw, keeps = t.FieldByName("Raw")
		keeps = keeps && raw.Type == reflect.TypeFor[json.RawMessage]()
	}
	switch {
	case t == reflect.TypeFor[time.Time]():
		return schemaValue{Kind: "time"}
	case t == reflect.TypeFor[json.RawMessage](), keeps && raw.Tag.Get("json") != "-": // none of its members is known
		return schemaValue{Kind: "any"}
	case t == lock:
		return schemaValue{Kind: "boolean"}
	case t == reflect.TypeFor[json.Number]():
		return schemaValue{Kind: "number"}
	case t.Implements(reflect.TypeFor[json.Marshaler]()) && !keeps:
		return schemaValue{Kind: "text"}
	}
	switch t.Kind() {
	case reflect.Bool:
		return schemaValue{Kind: "boolean"}
	case reflect.String:
		return schemaValue{Kind: "text"}
	case reflect.Float64:
		return schemaValue{Kind: "number"}
	case reflect.Interface:
		return schemaValue{Kind: "any"}
	case reflect.Slice, reflect.Map:
		if t.Elem().Kind() == reflect.Uint8 {
			return schemaValue{Kind: "base64"}
		}
		of := types.value(t.Elem())
		return schemaValue{Kind: map[reflect.Kind]string{reflect.Slice: "list", reflect.Map: "map"}[t.Kind()], Of: &of}
	case reflect.Struct:
		return types.object(t, keeps)
	}
	return schemaValue{Kind: "integer"}
}

// lock is true, false, or null if it is not known.
var lock = reflect.TypeFor[api.Lock]()

// object describes a struct; a named one is added to the types, prefixed by its package unless that is api or this
// one.
func (types schemaTypes) object(t reflect.Type, keeps bool) schemaValue {
	name := snake(strings.TrimSuffix(t.Name(), "JSON"))
	if name == "" || strings.Contains(name, "[") {
		return schemaValue{Kind: "object", Fields: types.members(t), Sent: keeps}
	}
	if pkg := t.PkgPath()[strings.LastIndexByte(t.PkgPath(), '/')+1:]; pkg != "api" && pkg != "cli" {
		name = pkg + "." + name
	}
	switch before, known := types[name]; {
	case !known:
		types[name] = schemaType{of: t} // it may contain itself
		types[name] = schemaType{types.members(t), t}
	case before.of != t:
		panic("cli: two types are called " + name)
	}
	return schemaValue{Kind: "object", Type: name, Sent: keeps}
}

func (types schemaTypes) members(t reflect.Type) []schemaMember {
	var out []schemaMember
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			out = append(out, types.members(f.Type)...)
		case f.IsExported() && name != "-" && name != "":
			absent := strings.Contains(options, "omit")
			nilable := f.Type.Kind() == reflect.Pointer || f.Type.Kind() == reflect.Map || f.Type.Kind() == reflect.Interface ||
				f.Tag.Get("null") != "" || f.Type == lock
			out = append(out, schemaMember{name, absent, nilable && !absent, types.value(f.Type)})
		}
	}
	return out
}

// snake converts a Go name to a JSON name.
func snake(s string) string {
	var b strings.Builder
	for i, c := range s {
		if unicode.IsUpper(c) && i > 0 && unicode.IsLower(rune(s[i-1])) {
			b.WriteByte('_')
		}
		b.WriteRune(unicode.ToLower(c))
	}
	return b.String()
}
