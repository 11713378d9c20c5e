package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/surface/server/roletest"
)

// tried are the commands whose JSON is held against the schema, besides those of the
// table of roles.
var tried = []roletest.Row{
	{Name: "document.remove", Command: "document remove {op} {doc} --dry-run"},
	{Name: "document.list", Command: "document list {op}"},
	{Name: "check", Command: "check --all"},
	{Name: "document.resume", Command: "document resume"},
	{Name: "customer.list", Command: "customer list"},
	{Name: "customer.get", Command: "customer get {cuid}"},
	{Name: "account.list", Command: "account list"},
	{Name: "account.get", Command: "account get {account}"},
	{Name: "counterparty.list", Command: "counterparty list"},
	{Name: "counterparty.get", Command: "counterparty get {payee}"},
	{Name: "tariff.limits", Command: "tariff limits"},
	{Name: "tariff.commissions", Command: "tariff commissions"},
	{Name: "customer.application", Command: "customer application {cuid}"},
	{Name: "customer.files", Command: "customer files {cuid}"},
	{Name: "customer.set-application", Command: "customer set-application {cuid} - --dry-run", In: `{"individual":{}}`},
	{Name: "compliance.finalize", Kind: api.ActShare, In: "{token}",
		Command: "compliance share {cuid} --yes; compliance finalize {cuid} --yes"},
	{Name: "compliance.journey", Command: "compliance journey {cuid}"},
	{Name: "operation.list", Command: "operation list --limit 20"},
	{Name: "operation.totals", Command: "operation totals --by customer,month"},
	{Name: "operation.list", Command: "operation list --live --limit 5"},
	{Name: "operation.get", Command: "operation get -", In: "{op}\nnope\n"},
	{Name: "operation.tree", Command: "operation tree {op}"},
	{Name: "operation.history", Command: "operation history {op}"},
	{Name: "session.status", Command: "session status"},
	{Name: "session.reset", Command: "session reset --dry-run"},
	{Name: "limits", Command: "limits"},
	{Name: "index.status", Command: "index status"},
	{Name: "index.sync", Command: "index sync"},
	{Name: "index.verify", Command: "index verify"},
	{Name: "event.list", Command: "event list"},
	{Name: "event.list", Command: "event list --rejected"},
	{Name: "event.replay", Command: "event replay {event} --yes"},
	{Name: "event.show", Need: api.MayHooks, Command: "event show {event}"},
	{Name: "event.list", Command: "event list --follow --limit 1"},
	{Name: "event.codes", Command: "event codes"},
	{Name: "hook.get", Command: "hook get"},
	{Name: "audit.checkpoint", Command: "audit checkpoint"},
	{Name: "audit.unsettled", Command: "audit unsettled"},
	{Name: "approval.list", Command: "approval list"},
	{Name: "note.list", Command: "note list"},
	{Name: "approval.show", Need: api.MayApprove, Command: "approval show {request}"},
	{Name: "doctor", Command: "doctor"},
	{Name: "config.check", Command: "config check"},
	{Name: "config.show", Command: "config show"},
	{Name: "config.path", Command: "config path"},
	{Name: "schema", Command: "schema"},
	{Name: "version", Command: "version"},
}

// serviceRefused is said where an act of the table of roles is let through and comes too
// early for the service.
const serviceRefused = "The service refused this"

// untried are those that print JSON and are not run here, with the reason.
var untried = map[string]string{
	"config.init":  "prints what doctor prints",
	"backup":       "needs a store in files; TestSnapshotsUnderLoad in internal/e2e decodes what it prints",
	"restore":      "replaces the store, which must not be open; TestSnapshotsUnderLoad decodes what it prints",
	"migrate":      "needs a store of an older version; TestMigration in internal/app makes one",
	"audit.settle": "needs a write whose outcome is unknown; unsettled.txtar runs it",
}

// TestCommandsPrintTheirSchema runs commands against the built-in service and holds
// what they print against opdeck schema: members that it does not describe fail, and
// so do missing ones, kinds and null where it does not allow them.
func TestCommandsPrintTheirSchema(t *testing.T) {
	racedetector.Skip(t)
	file := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(file, []byte(roletest.Config), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &roletest.World{}
	a, err := app.Open(t.Context(), app.Options{ConfigFlag: file, StateFlag: t.TempDir(), Context: "box",
		Getenv: func(string) string { return "" }, Now: w.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	w.Use(t, a)
	app.NoteServe(t.Context(), a, nil, false) // which the notices of its config need
	r := &root{env: Env{Getenv: func(string) string { return "" }}}
	s := schemaOf(r, r.command())
	seen := map[string]bool{}
	for i, row := range slices.Concat(roletest.Table, tried) {
		c := commandOfSchema(s, row.Name)
		if row.Command == "" || c == nil || len(c.Prints) == 0 {
			continue
		}
		row.Need = cmp.Or(row.Need, act.Find(row.Name).Need)
		for _, form := range []string{"json", "jsonl"} {
			if !slices.Contains(c.Outputs, form) || strings.Contains(row.Command, "-o ") && form == "json" {
				continue
			}
			if i%8 == 0 {
				w.Later()
			}
			words := w.Objects(row)
			m := w.Mark()
			var out []byte
			var err string
			for command := range strings.SplitSeq(words.Fill(row.Command), "; ") { // the last one is what is tried
				out, err = runJSON(t, a, file, command, words.Fill(row.In), form)
			}
			if i < len(roletest.Table) {
				w.Check(m, row, form, api.Admin, "reader", err, false)
			}
			// one id is wrong; the box has no feed
			if err != "" && !strings.Contains(err, serviceRefused) && row.Name != "operation.get" && row.Name != "doctor" {
				t.Errorf("%s -o %s: %s", row.Command, form, err)
			}
			seen[row.Name] = seen[row.Name] || len(out) > 0
			values := 0
			for dec := json.NewDecoder(bytes.NewReader(out)); ; values++ {
				dec.UseNumber()
				var v any
				if err := dec.Decode(&v); errors.Is(err, io.EOF) {
					break
				} else if err != nil {
					t.Fatalf("%s -o %s: %v in %s", row.Command, form, err, out)
				}
				if wrong := s.wrong(c, form, v); wrong != "" {
					t.Errorf("%s -o %s: %s", row.Command, form, wrong)
				}
			}
			if values == 0 && form == "json" && !strings.Contains(err, serviceRefused) {
				t.Errorf("%s printed no JSON", row.Command)
			}
		}
	}
	for _, c := range s.Commands {
		if len(c.Prints) > 0 && !seen[c.Name] && untried[c.Name] == "" {
			t.Errorf("%s prints JSON and is not tried: add a row to tried, or a reason to untried", c.Name)
		}
	}
}

func commandOfSchema(s schema, name string) *schemaCommand {
	i := slices.IndexFunc(s.Commands, func(c schemaCommand) bool { return c.Name == name })
	if i < 0 {
		return nil
	}
	return &s.Commands[i]
}

// firstLine ends a command that follows something with its first answer.
type firstLine struct {
	out []byte
	end func()
}

func (f *firstLine) Write(b []byte) (int, error) {
	f.out = append(f.out, b...)
	f.end()
	return len(b), nil
}

// runJSON runs a command as an administrator who has a key, and returns its output and
// what it said of an error.
func runJSON(t *testing.T, a *app.App, file, command, in, form string) (out []byte, said string) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	w := &firstLine{end: func() {}}
	if strings.Contains(command, "--follow") {
		w.end = cancel
	}
	args := strings.Fields(command)
	if !slices.Contains(args, "-o") {
		args = append([]string{"-o", form, "--config", file}, args...)
	}
	var errs bytes.Buffer
	code := Run(ctx, Env{Args: args, In: strings.NewReader(in), Out: w, Err: &errs, App: a,
		Getenv: func(string) string { return "" },
		Actor:  roletest.Known(api.Actor{Name: "reader", Role: api.Admin, Via: "command", From: "here"}), Version: "test"})
	if code != 0 {
		said = fmt.Sprintf("exit %d: %s", code, errs.String())
	}
	return w.out, said
}

// wrong says why v is nothing that c prints in this form; "" when it is.
func (s schema) wrong(c *schemaCommand, form string, v any) string {
	var all []string
	for _, p := range c.Prints {
		is := p.JSON
		if form == "jsonl" {
			is = p.JSONL
		}
		if is == nil {
			continue
		}
		bad := s.differs("", *is, v, false)
		if len(bad) == 0 {
			return ""
		}
		all = append(all, strings.Join(bad, ", "))
	}
	return strings.Join(all, " | or: ")
}

// differs lists how a value differs from its description. Of what the service sent only
// objects and lists that are ours are held.
func (s schema) differs(at string, is schemaValue, v any, sent bool) (bad []string) {
	if sent = sent || is.Sent; sent || is.Kind == "any" {
		return nil
	}
	fits := false
	switch x := v.(type) {
	case string:
		fits = is.Kind == "text"
		switch is.Kind {
		case "time":
			_, err := time.Parse(time.RFC3339Nano, x)
			fits = err == nil
		case "base64":
			_, err := base64.StdEncoding.DecodeString(x)
			fits = err == nil
		}
	case bool:
		fits = is.Kind == "boolean"
	case json.Number:
		fits = is.Kind == "number" || is.Kind == "integer" && !strings.ContainsAny(x.String(), ".eE")
	case []any:
		fits = is.Kind == "list"
		for i := 0; fits && i < len(x); i++ {
			bad = append(bad, s.differs(fmt.Sprintf("%s.%d", at, i), *is.Of, x[i], sent)...)
		}
	case map[string]any:
		fits = is.Kind == "object" || is.Kind == "map"
		if is.Kind == "object" {
			bad = s.members(at, is, x)
		}
	}
	if !fits {
		bad = append(bad, fmt.Sprintf("%s is %v and not %s", at, v, is.Kind))
	}
	return bad
}

// members lists how the members of an object differ from their description.
func (s schema) members(at string, is schemaValue, x map[string]any) (bad []string) {
	fields := is.Fields
	if is.Type != "" {
		fields = s.Types[is.Type].Fields
	}
	described := map[string]bool{}
	for _, f := range fields {
		described[f.Name] = true
		switch v, there := x[f.Name]; {
		case !there && !f.Absent:
			bad = append(bad, at+"."+f.Name+" is missing")
		case there && v == nil && !f.Null && f.Value.Kind != "any" && !f.Value.Sent:
			bad = append(bad, at+"."+f.Name+" is null")
		case there && v != nil:
			bad = append(bad, s.differs(at+"."+f.Name, f.Value, v, false)...)
		}
	}
	for name := range x {
		if !described[name] {
			bad = append(bad, at+"."+name+" is not described")
		}
	}
	return bad
}

// TestSchemaTestSeesMistakes: what a schema does not describe is seen.
func TestSchemaTestSeesMistakes(t *testing.T) {
	type inner struct {
		N int `json:"n"`
	}
	type outer struct {
		At    time.Time  `json:"at"`
		Inner *inner     `json:"inner"`
		More  []inner    `json:"more,omitempty"`
		Sent  sent[bool] `json:"sent"`
	}
	types := schemaTypes{}
	one := types.value(reflect.TypeFor[outer]())
	s := schema{Types: types}
	for in, want := range map[string]int{
		`{"at":"2026-01-01T00:00:00Z","inner":null,"sent":{"x":1}}`:                    0,
		`{"at":"2026-01-01T00:00:00Z","inner":{"n":1},"more":[{"n":2}],"sent":null}`:   0,
		`{"at":"yesterday","inner":null,"sent":1}`:                                     1,
		`{"at":"2026-01-01T00:00:00Z","inner":{"n":1.5,"m":2},"sent":1}`:               2,
		`{"at":"2026-01-01T00:00:00Z","inner":null,"more":null,"sent":1,"other":true}`: 2,
		`{"inner":null,"more":[{}]}`:                                                   3,
		`[]`:                                                                           1,
	} {
		dec := json.NewDecoder(strings.NewReader(in))
		dec.UseNumber()
		var v any
		if err := dec.Decode(&v); err != nil {
			t.Fatal(err)
		}
		if got := s.differs("", one, v, false); len(got) != want {
			t.Errorf("%s: %q, want %d", in, got, want)
		}
	}
}
