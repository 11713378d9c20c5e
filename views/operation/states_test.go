package operation

import (
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// mute is a screen whose first load is never answered.
type mute struct{ *Screen }

func (mute) Init() tea.Cmd { return nil }

// TestStates keeps the screens around the operation itself: before it is read,
// without one, after a failed read, with its children, with nothing to write.
func TestStates(t *testing.T) {
	gone := &api.Error{Kind: api.Unavailable, Public: "The service did not answer within 15 s.", Hint: "r tries again."}
	op := apitest.Operation(map[string]any{"isParent": true})
	child := apitest.Operation(map[string]any{"opid": "77777777-0000-4000-8000-000000000001", "type": "TRANSFER", "status": "SUCCESS"})
	bare := apitest.Operation(map[string]any{"documents": []any{}, "source": nil, "destination": nil, "comment": "", "reference": ""})
	for name, c := range map[string]struct {
		f    fake
		opts []shelltest.Option
		wrap func(*Screen) ui.Screen
		keys []string
		fail bool // from the first read on
	}{
		"loading":  {f: fake{op: op}, wrap: func(s *Screen) ui.Screen { return mute{s} }},
		"nothing":  {},
		"error":    {f: fake{op: op, err: gone}},
		"stale":    {f: fake{op: op}, keys: []string{"r"}, fail: true},
		"children": {f: fake{op: op, tree: api.OperationTree{Parent: op, Children: []api.Child{{Operation: child, Depth: 1}, {Operation: child, Depth: 2}}}}, keys: []string{"H", "end"}},
		"child": {f: fake{op: child, tree: api.OperationTree{Parent: child, Ancestors: []api.Operation{op, apitest.Operation(map[string]any{"opid": "77777777-0000-4000-8000-000000000002"})}}},
			keys: []string{"H"}},
		"childerr": {f: fake{op: op}, keys: []string{"H", "end"}, fail: true},
		"bare":     {f: fake{op: bare}},
		"readonly": {f: fake{op: op}, opts: []shelltest.Option{shelltest.ReadOnly}},
	} {
		for size, wh := range shelltest.Drawn(name, "children") {
			t.Run(name+"-"+size, func(t *testing.T) {
				f := c.f
				factory := func(env *ui.Env, p ui.Place) ui.Screen {
					s := f.screen(env, p.ID)
					if c.wrap != nil {
						return c.wrap(s)
					}
					return s
				}
				r := shelltest.Open(t, uitest.NewClock(), factory, ui.Place{Kind: ui.KindOperation, ID: string(f.op.OPID)}, c.opts...)
				r.Send(uitest.Size(wh[0], wh[1]))
				if c.fail {
					f.err = gone
				}
				for _, k := range c.keys {
					r.Send(uitest.Key(k))
				}
				golden.RequireEqual(t, r.View())
			})
		}
	}
}
