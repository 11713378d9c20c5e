package cli

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/internal/act"
)

// madeUp is an act that exists in this test alone.
var madeUp = act.Act{Name: "customer.made-up", Effect: act.Write, Sends: []api.ActKind{api.ActFinalize}, Ask: act.Typed,
	Need:  api.MayCompliance,
	Costs: map[limit.Class]int{limit.Customer: 3}, Args: []act.Arg{{Name: "CUID"}, {Name: "FILE", File: true}},
	Short:   "Do what nobody asked for",
	Without: map[act.Surface]string{act.Screen: "it is made up"}}

// place puts the made-up act into the table, where another one stood, and gives it a
// command that says which row was admitted and asks as every write does.
func place(t *testing.T, row act.Act) (admitted *act.Act) {
	slot := act.ConfigPath
	before := *slot
	*slot = row
	admitted = &act.Act{}
	made := makers[slot]
	makers[slot] = func(r *root) *cobra.Command {
		return &cobra.Command{RunE: func(*cobra.Command, []string) error {
			*admitted = *r.row
			return r.askable()
		}}
	}
	t.Cleanup(func() { *slot, makers[slot] = before, made })
	return admitted
}

// TestMadeUpAct holds that a row of the table and a command are all it takes: the
// command, its help, completion, manual page, schema, SSH, roles, read-only, the
// question and the audit number follow. Package keymap holds the same of the key.
func TestMadeUpAct(t *testing.T) {
	admitted := place(t, madeUp)
	run := func(args ...string) (code int, out string) {
		var b bytes.Buffer
		code = Run(t.Context(), Env{Args: args, In: strings.NewReader(""), Out: &b, Err: &b,
			Getenv: func(string) string { return "" }})
		return code, b.String()
	}
	dir := t.TempDir()
	run("man", "--dir", dir)
	page, err := os.ReadFile(dir + "/opdeck-customer-made-up.1")
	if err != nil || !strings.Contains(string(page), madeUp.Short) {
		t.Errorf("the manual page: %v", err)
	}
	for _, c := range []struct {
		args string
		code int
		want string
	}{
		{"customer --help", 0, madeUp.Short},
		{"customer made-up --help", 0, "made-up CUID FILE"},
		{"__complete customer ma", 0, "made-up\t" + madeUp.Short},
		{"__complete customer made-up --", 0, "--dry-run"},
		{"schema", 0, `"name": "customer.made-up"`},
		{"customer made-up c", 2, "needs CUID FILE"},
		{"customer made-up c a.pdf", 2, "Use --yes to confirm"},
		{"customer made-up c - ", 2, "standard input is the content"},
		{"customer made-up c a.pdf --dry-run", 0, ""},
		{"customer made-up c a.pdf --yes", 0, ""},
	} {
		if code, out := run(strings.Fields(c.args)...); code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d:\n%s", c.args, code, out)
		}
	}
	if admitted.Name != madeUp.Name || admitted.Need != api.MayCompliance {
		t.Errorf("%+v was admitted", *admitted)
	}

	r := &root{env: Env{Getenv: func(string) string { return "" }}}
	s := schemaOf(r, r.command())
	i := slices.IndexFunc(s.Commands, func(c schemaCommand) bool { return c.Name == madeUp.Name })
	if i < 0 {
		t.Fatal("the schema does not have it")
	}
	if c := s.Commands[i]; c.Asks != "typed in production" || !c.Barred || !c.Remote ||
		c.Costs[string(limit.Customer)] != 3 || c.Needs != api.MayCompliance ||
		!slices.ContainsFunc(c.Flags, func(f schemaFlag) bool { return f.Name == "yes" }) {
		t.Errorf("the schema says %+v", c)
	}
	for surface, cell := range cells(nil, nil, s, act.ConfigPath) {
		if cell == "" {
			t.Errorf("it has no %s", surface)
		}
	}

	for _, role := range api.Roles {
		row := act.Find("customer made-up")
		if err := row.Refusal(role, false); (err == nil) != role.May(api.MayCompliance) {
			t.Errorf("%s: %v", role, err)
		}
		if row.Refusal(role, true) == nil {
			t.Errorf("%s does it in a read-only context", role)
		}
	}
}

// TestMadeUpActOverSSH holds that the allow-list is made from the table too.
func TestMadeUpActOverSSH(t *testing.T) {
	own, kept := madeUp, madeUp
	own.Roles, kept.Without = []api.Role{api.Admin}, map[act.Surface]string{act.Remote: "it is made up"}
	for _, c := range []struct {
		row  act.Act
		role api.Role
		args string
		want string
	}{
		{madeUp, api.Viewer, "customer made-up c - --yes", ""},
		{madeUp, api.Admin, "customer made-up c /etc/passwd", "Over SSH the file must be -"},
		{own, api.Viewer, "customer made-up c -", "does not allow"},
		{own, api.Admin, "customer made-up c - --yes", ""},
		{kept, api.Admin, "customer made-up c -", "is not offered over SSH"},
		{madeUp, api.Viewer, "frobnicate", `there is no command "frobnicate"`},
		{madeUp, api.Viewer, "--frobnicate", "unknown flag: --frobnicate"},
	} {
		t.Run(c.args, func(t *testing.T) {
			place(t, c.row)
			r := &root{env: Env{Args: strings.Fields(c.args), Getenv: func(string) string { return "" }}}
			_, err := r.offered(c.role)
			said := ""
			if err != nil {
				said = api.AsError(err).Public
			}
			if (said == "") != (c.want == "") || !strings.Contains(said, c.want) {
				t.Errorf("as %s: %q", c.role, said)
			}
		})
	}
}

// TestFlagsOverSSH holds that each flag of a command that is offered over SSH is offered too, or is about the server's
// own files, keys or addresses; and that no other flag is listed.
func TestFlagsOverSSH(t *testing.T) {
	ofTheServer := []string{"against", "new-key", "secret-file", "token-file", "passphrase-file", "recipient", "identity"}
	r := &root{env: Env{Getenv: func(string) string { return "" }}}
	used := map[string]bool{}
	for row := range makers {
		if row.Without[act.Remote] != "" {
			continue
		}
		cmd, _, err := r.command().Find(strings.Fields(row.Path()))
		if err != nil {
			t.Fatal(err)
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			used[f.Name] = true
			listed, own := slices.Contains(remoteFlags, f.Name), slices.Contains(ofTheServer, f.Name)
			if listed == own && f.Name != "help" {
				t.Errorf("opdeck %s --%s: offered over SSH %t, the server's own %t", row.Path(), f.Name, listed, own)
			}
		})
	}
	for _, name := range remoteFlags {
		if !used[name] {
			t.Errorf("no command that is offered over SSH has --%s", name)
		}
	}
}
