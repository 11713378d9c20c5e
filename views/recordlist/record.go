package recordlist

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
)

// record is one record of the service, read when it is opened; it implements
// ui.Screen.
type record[T any] struct {
	ui.Page
	env  *ui.Env
	spec Spec[T]
	id   string
	read *T // nil: not read yet
}

func newRecord[T any](env *ui.Env, spec Spec[T], id string) *record[T] {
	s := &record[T]{env: env, spec: spec, id: id}
	s.Page = ui.NewPage(env, s, "service", spec.Class)
	return s
}

// Reload implements ui.PageScreen.
func (s *record[T]) Reload() tea.Cmd {
	get, id := s.spec.Get, s.id
	read := func(ctx context.Context) (T, error) { return get(ctx, id) }
	return ui.Reading(s.env, s.Loads, read, func(r T, at time.Time, err error) {
		if s.Err = api.AsError(err); s.Err == nil {
			s.read, s.At = &r, at
		}
	})
}

// OwnKey implements ui.PageScreen.
func (s *record[T]) OwnKey(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	if s.read != nil && s.env.Keys.Related.Customer.Match(p) {
		return openCustomer(s.spec.CUID(*s.read)), nil, true
	}
	return nil, nil, false
}

// Item implements ui.PageScreen.
func (s *record[T]) Item() ui.Item {
	if s.read == nil {
		return item(s.spec.One, s.id, nil)
	}
	return item(s.spec.One, s.id, s.spec.Raw(shown(s.env, *s.read)))
}

// Content implements ui.PageScreen.
func (s *record[T]) Content() ui.Content {
	th := s.env.Theme
	switch {
	case s.read == nil && s.Err != nil:
		return s.Failed(s.Err)
	case s.read == nil:
		return ui.Content{Lines: []string{th.Dim.Render("Reading the " + s.spec.One + " " + draw.ID(s.id, 40) + " …")}}
	}
	r := shown(s.env, *s.read)
	sections := s.env.Sections(s.spec.Card(s.env.Present(), r), nil)
	return ui.Content{Problem: len(s.NotReread()), Lines: append(s.NotReread(), th.Strong.Render(s.spec.Head(r))),
		Sections: sections}
}

// NextTick implements ui.Ticker: ages change each minute.
func (s *record[T]) NextTick(now time.Time) time.Time {
	if s.read == nil {
		return time.Time{}
	}
	return now.Truncate(time.Minute).Add(time.Minute)
}

// Keys implements ui.Screen.
func (s *record[T]) Keys() []keymap.Key {
	return s.PageKeys(true, append([]keymap.Key{s.env.Keys.Related.Customer}, keymap.All(s.env.Keys.Item)...)...)
}

// named is the short name of a record.
func (spec Spec[T]) named(id string) string {
	return strings.ToUpper(spec.One[:1]) + spec.One[1:] + " " + draw.ID(id, 13)
}

// Title implements ui.Screen.
func (s *record[T]) Title() string {
	return s.spec.named(s.id)
}

// Place implements ui.Screen.
func (s *record[T]) Place() ui.Place { return ui.Place{Kind: s.spec.Kind, ID: s.id} }

// Subject implements ui.SubjectOf.
func (s *record[T]) Subject(kind string) string {
	if s.read != nil && kind == ui.KindCompliance {
		return s.spec.CUID(*s.read)
	}
	return ""
}
