package roletest_test

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/act"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app"
	"opdeck/internal/surface/cli"
	"opdeck/internal/surface/server/roletest"
	"opdeck/ui/keymap"
)

// untried are acts without a row, and why.
var untried = map[string]string{
	"backup":          "takes a store in files, and these are in memory; backup.txtar tries it as another role",
	"document.resume": "its steps are the gate's acts of document.replace",
}

// TestEveryActHasARow: a new act, or a new permission, is tried as each role in
// each way from the day it is there.
func TestEveryActHasARow(t *testing.T) {
	names := map[string]bool{}
	for _, r := range roletest.Table {
		if names[r.Name] || r.Name == "" {
			t.Errorf("two rows are called %q", r.Name)
		}
		names[r.Name] = true
		if r.Command == "" && len(r.Keys) == 0 {
			t.Errorf("%s can be done in no way", r.Name)
		}
	}
	for _, a := range act.All() {
		tried := slices.ContainsFunc(roletest.Table, func(r roletest.Row) bool { return r.Name == a.Name })
		if changes := a.Effect != act.Read && a.Effect != act.Local; changes && !tried && untried[a.Name] == "" {
			t.Errorf("the act %s has no row", a.Name)
		}
	}
	for _, w := range endpoint.Writes() {
		k := w.Kind
		if !slices.ContainsFunc(roletest.Table, func(r roletest.Row) bool { return r.Kind == k }) {
			t.Errorf("the act %s has no row", k)
		}
	}
	for _, p := range api.Permissions {
		if !slices.ContainsFunc(roletest.Table, func(r roletest.Row) bool { return r.Need == p }) {
			t.Errorf("nothing in the table asks for %q", p)
		}
		if !api.Admin.May(p) {
			t.Errorf("an admin may not %s, or %s is not granted to anybody", p, p)
		}
	}
	if len(api.Roles) != 5 {
		t.Errorf("there are %d roles", len(api.Roles))
	}
}

type trail struct {
	intents []api.Act
	notes   []api.Event
}

func (t *trail) Intent(_ context.Context, _ api.Actor, a api.Act) (string, error) {
	t.intents = append(t.intents, a)
	return "ref", nil
}
func (*trail) Outcome(context.Context, string, api.Outcome) error { return nil }
func (t *trail) Note(_ context.Context, _ api.Actor, e api.Event) error {
	t.notes = append(t.notes, e)
	return nil
}

// TestTheGate: who lacks the permission is refused with the roles that have it,
// once in the trail; who has it leaves an intent.
func TestTheGate(t *testing.T) {
	for _, r := range roletest.Table {
		for _, role := range append([]api.Role{"", "nonsense"}, api.Roles...) {
			tr := &trail{}
			g := api.Gate{Audit: tr, Now: time.Now}
			ctx := api.WithTrail(api.WithActor(t.Context(), api.Actor{Name: "p", Role: role}), tr)
			var err error
			if r.Kind != "" {
				_, err = g.Begin(ctx, endpoint.Rule(r.Kind), api.Act{Kind: r.Kind, Object: "operation", ID: "op-1"}, nil)
			} else {
				err = api.Need(ctx, r.Name, r.Need)
			}
			e := api.AsError(err)
			switch may := role.May(r.Need); {
			case may && (err != nil || len(tr.notes) != 0 || (r.Kind != "") != (len(tr.intents) == 1)):
				t.Errorf("%s as %q: %v, %d intents", r.Name, role, err, len(tr.intents))
			case !may && (err == nil || e.Rule != api.RuleRole || e.Kind.Exit() != 5 ||
				!strings.Contains(remedy.Command(e), api.WhoMay(r.Need)) || len(tr.intents) != 0):
				t.Errorf("%s as %q: %v", r.Name, role, err)
			case !may && (len(tr.notes) != 1 || tr.notes[0].Name != "denied" ||
				!strings.Contains(tr.notes[0].Detail, string(api.RuleRole))):
				t.Errorf("%s as %q: the trail has %+v", r.Name, role, tr.notes)
			}
		}
	}
}

// TestReadOnly: a read-only context refuses the same acts at the gate, by key and by
// command, for the same reason, and nothing of them is left behind.
func TestReadOnly(t *testing.T) {
	home := t.TempDir()
	config := home + "/opdeck.toml"
	if err := os.WriteFile(config, []byte(roletest.Config), 0o600); err != nil {
		t.Fatal(err)
	}
	w := &roletest.World{}
	a, err := app.Open(t.Context(), app.Options{ConfigFlag: config, StateFlag: home + "/state",
		Getenv: func(string) string { return "" }, Now: w.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	w.Use(t, a)
	keys := keymap.New()
	keys.ReadOnly("read-only")
	off := map[string]bool{}
	for _, k := range keys.Everything() {
		off[k.Name] = k.Why() != ""
	}
	for _, r := range roletest.Table {
		row := act.Find(r.Name)
		if row.Key.Press != "" && off[r.Name] != row.Barred() {
			t.Errorf("%s: the key is off: %v", r.Name, off[r.Name])
		}
		if r.Kind != "" {
			g := api.Gate{Audit: &trail{}, Now: time.Now, ReadOnly: true}
			_, err := g.Begin(api.WithActor(t.Context(), api.Actor{Name: "p", Role: api.Admin}),
				endpoint.Rule(r.Kind), api.Act{Kind: r.Kind, Object: "operation", ID: "op-1"}, nil)
			if api.AsError(err).Rule != api.RuleReadOnly {
				t.Errorf("%s: the gate says %v", r.Name, err)
			}
		}
		if r.Command == "" {
			continue
		}
		words := w.Objects(r)
		w.Later()
		m := w.Mark()
		a.ReadOnly = true
		var out, errs bytes.Buffer
		code := cli.Run(t.Context(), cli.Env{Args: strings.Fields(words.Fill(r.Command)),
			In: strings.NewReader(words.Fill(r.In)), Out: &out, Err: &errs, App: a,
			Getenv: func(string) string { return "" }, Actor: roletest.Known(api.Actor{Name: "l-admin", Role: api.Admin,
				Via: "command", From: "here"})})
		a.ReadOnly = false
		if refused := code == 5 && strings.Contains(errs.String(), "This context is read-only."); refused != row.Barred() {
			t.Errorf("%s: exit %d: %s", r.Name, code, errs.String())
		} else if !refused {
			continue
		}
		jobs, err := a.Jobs.Store.Unfinished(t.Context())
		calls, done, denied := w.Became(m, r, "l-admin")
		if err != nil || len(jobs) > 0 || out.Len() > 0 || calls != 0 || done || denied != 1 {
			t.Errorf("%s is refused and leaves %d jobs, %q, %d calls, %d refusals recorded", r.Name, len(jobs), out.String(),
				calls, denied)
		}
	}
}
