package roletest_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/surface/serve/roletest"
)

// TestEveryActHasARow: a new act, or a new permission, is tried as each role in
// each way from the day it is there.
func TestEveryActHasARow(t *testing.T) {
	names := map[string]bool{}
	for _, r := range roletest.Table {
		if names[r.Name] || r.Name == "" {
			t.Errorf("two rows are called %q", r.Name)
		}
		names[r.Name] = true
		if r.Kind != "" && r.Need != r.Kind.Needs() {
			t.Errorf("%s asks for %q, the gate for %q", r.Name, r.Need, r.Kind.Needs())
		}
		if r.Command == "" && len(r.Keys) == 0 {
			t.Errorf("%s can be done in no way", r.Name)
		}
	}
	for _, k := range api.ActKinds() {
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
				_, err = g.Begin(ctx, api.Act{Kind: r.Kind, Object: "operation", ID: "op-1"}, nil)
			} else {
				err = api.Need(ctx, r.Name, r.Need)
			}
			e := api.AsError(err)
			switch may := role.May(r.Need); {
			case may && (err != nil || len(tr.notes) != 0 || (r.Kind != "") != (len(tr.intents) == 1)):
				t.Errorf("%s as %q: %v, %d intents", r.Name, role, err, len(tr.intents))
			case !may && (err == nil || e.Rule != api.RuleRole || e.Kind.Exit() != 5 || !strings.Contains(e.Hint, api.WhoMay(r.Need)) || len(tr.intents) != 0):
				t.Errorf("%s as %q: %v", r.Name, role, err)
			case !may && (len(tr.notes) != 1 || tr.notes[0].Name != "denied" || !strings.Contains(tr.notes[0].Detail, string(api.RuleRole))):
				t.Errorf("%s as %q: the trail has %+v", r.Name, role, tr.notes)
			}
		}
	}
}
