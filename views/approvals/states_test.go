package approvals

import (
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/golden"

	"opdeck/api"
	"opdeck/api/apitest"
	"opdeck/internal/domain/approval"
	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// mute is a screen whose first load is never answered.
type mute struct{ *Screen }

func (mute) Init() tea.Cmd { return nil }

// TestEveryState keeps each state of the list and of one request, at both sizes.
func TestEveryState(t *testing.T) {
	broken := &api.Error{Kind: api.Unavailable, Public: "The shared store does not answer.",
		Hint: "opdeck doctor checks the store."}
	hostile := request("rhostile0000", "bob"+apitest.Hostile, approval.Open, time.Minute)
	hostile.Act.Name, hostile.Act.Summary, hostile.Act.Reason = "a"+apitest.Hostile, "b"+apitest.Hostile,
		"c"+apitest.Hostile
	one := func(rs ...approval.Request) func() ([]approval.Request, error) {
		return func() ([]approval.Request, error) { return rs, nil }
	}
	for name, c := range map[string]struct {
		list func() ([]approval.Request, error)
		opts []shelltest.Option
		mute bool
		keys []string
		err  error // from the first read on
	}{
		"loading":    {list: one(), mute: true},
		"empty":      {list: one()},
		"error":      {list: func() ([]approval.Request, error) { return nil, broken }},
		"stale":      {list: one(sample()...), keys: []string{"r"}, err: broken},
		"hostile":    {list: one(hostile)},
		"page":       {list: one(hostile), keys: []string{"."}},
		"own":        {list: one(request("rown00000000", "Ana", approval.Open, time.Minute)), keys: []string{"."}},
		"denied":     {list: one(sample()[0]), keys: []string{"."}},
		"spent":      {list: one(sample()[3]), keys: []string{".", "end"}},
		"viewer":     {list: one(sample()...), opts: []shelltest.Option{as("vic", api.Viewer)}, keys: []string{"+"}},
		"readonly":   {list: one(sample()...), opts: []shelltest.Option{shelltest.ReadOnly}, keys: []string{"+"}},
		"question":   {list: one(sample()...), keys: []string{"+"}},
		"production": {list: one(sample()...), opts: []shelltest.Option{shelltest.Production}, keys: []string{"+"}},
	} {
		for size, wh := range shelltest.Drawn(name, "page") {
			t.Run(name+"-"+size, func(t *testing.T) {
				backend := &fakeBackend{list: c.list}
				factory := func(env *ui.Env, p ui.Place) ui.Screen {
					s := New(env, backend, p.ID)
					if c.mute {
						return mute{s}
					}
					return s
				}
				r := shelltest.Open(t, uitest.NewClock(), factory, place, append([]shelltest.Option{as("ana", api.Operator)},
					c.opts...)...)
				r.Send(uitest.Size(wh[0], wh[1]))
				if c.err != nil {
					backend.list = func() ([]approval.Request, error) { return nil, c.err }
				}
				for _, k := range c.keys {
					r.Send(uitest.Key(k))
				}
				golden.RequireEqual(t, []byte(r.View()))
			})
		}
	}
}
