package list

import (
	"context"
	"errors"
	"slices"
	"testing"

	"opdeck/ui"
	"opdeck/ui/uitest"
	"opdeck/ui/uitest/shelltest"
)

// memory keeps filters of one person.
type memory struct {
	list []string
	err  error
}

func (m *memory) last(context.Context, string) ([]string, error) {
	return slices.Clone(m.list), m.err
}
func (m *memory) keep(_ context.Context, kind, text string) error {
	m.list = append([]string{kind + ":" + text}, m.list...)
	return m.err
}

// TestFiltersFromBefore: up and down walk them, and come back to what was typed.
func TestFiltersFromBefore(t *testing.T) {
	m := &memory{list: []string{"name:pl", "weight>50"}}
	var s *screen
	r := shelltest.Open(t, uitest.NewClock(), func(env *ui.Env, _ ui.Place) ui.Screen { s = newScreen(env, ""); return s }, ui.Place{Kind: "fruits"},
		func(o *ui.Options) { o.Filters = ui.FilterMemory{Last: m.last, Keep: m.keep} })
	r.Send(uitest.Key("/"), uitest.Type("ap"))
	for i, step := range []struct{ key, want string }{{"up", "name:pl"}, {"up", "weight>50"}, {"up", "weight>50"}, {"down", "name:pl"}, {"down", "ap"}, {"down", "ap"}, {"up", "name:pl"}} {
		r.Send(uitest.Key(step.key))
		if got := s.Filter.bar.Value(); got != step.want {
			t.Errorf("%d: %s gives %q, want %q", i, step.key, got, step.want)
		}
	}
	if s.rows.Len() != 2 {
		t.Errorf("%d rows while the line has an earlier filter", s.rows.Len())
	}
	r.Send(uitest.Key("backspace"), uitest.Key("enter"))
	if want := []string{"fruits:name:p", "name:pl", "weight>50"}; !slices.Equal(m.list, want) {
		t.Errorf("kept %q, want %q", m.list, want)
	}
	m.err = errors.New("no such folder") // what was typed here is there all the same
	r.Send(uitest.Key("esc"), uitest.Key("/"), uitest.Key("up"))
	if s.Filter.bar.Value() != "name:p" {
		t.Errorf("up gives %q", s.Filter.bar.Value())
	}
}
