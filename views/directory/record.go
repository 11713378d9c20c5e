package directory

import (
	"context"
	"encoding/json"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// RecordSpec is what screens of one record T differ in.
type RecordSpec[T any] struct {
	Place ui.Place
	One   string // "account"
	Title string // "Account"
	Class string // budget class of the read
	Read  func(ctx context.Context) (T, error)
	Raw   func(T) json.RawMessage
	CUID  func(T) string // of the record's customer
	// Head is the line that answers how it stands; Facts are all of it. Both get the
	// record as it may be shown, masked where masking is on.
	Head  func(T) string
	Facts func(T) []widget.Pair
}

// Record is one record of the service, read when it is opened; it implements
// ui.Screen.
type Record[T any] struct {
	ui.Page
	env    *ui.Env
	spec   RecordSpec[T]
	record *T // nil: not read yet
}

// NewRecord makes the screen of one record.
func NewRecord[T any](env *ui.Env, spec RecordSpec[T]) *Record[T] {
	s := &Record[T]{env: env, spec: spec}
	s.Page = ui.NewPage(env, s, "service", spec.Class)
	return s
}

// Reload implements ui.PageScreen.
func (s *Record[T]) Reload() tea.Cmd {
	read, now := s.spec.Read, s.env.Now
	return s.env.Read(s.Loads, func(ctx context.Context) ui.Then {
		r, err := read(ctx)
		at := now()
		return func() (ui.Action, tea.Cmd) {
			if s.Err = api.AsError(err); s.Err == nil {
				s.record, s.At = &r, at
			}
			return nil, nil
		}
	})
}

// OwnKey implements ui.PageScreen.
func (s *Record[T]) OwnKey(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	if s.record != nil && s.env.Keys.Related.Customer.Match(p) {
		return openCustomer(s.spec.CUID(*s.record)), nil, true
	}
	return nil, nil, false
}

// Item implements ui.PageScreen.
func (s *Record[T]) Item() ui.Item {
	if s.record == nil {
		return item(s.spec.One, s.spec.Place.ID, nil)
	}
	return item(s.spec.One, s.spec.Place.ID, s.spec.Raw(shown(s.env, *s.record)))
}

// Content implements ui.PageScreen.
func (s *Record[T]) Content() ui.Content {
	th := s.env.Theme
	switch {
	case s.record == nil && s.Err != nil:
		return ui.Content{Lines: s.Failed(s.Err)}
	case s.record == nil:
		return ui.Content{Lines: []string{th.Dim.Render("Reading the " + s.spec.One + " " + draw.ID(s.spec.Place.ID, 40) + " …")}}
	}
	r := shown(s.env, *s.record)
	return ui.Content{Lines: append(s.NotReread(), th.Strong.Render(s.spec.Head(r))), Sections: ui.Sections(s.spec.Facts(r))}
}

// NextTick implements ui.Ticker: ages are told to the minute.
func (s *Record[T]) NextTick(now time.Time) time.Time {
	if s.record == nil {
		return time.Time{}
	}
	return now.Truncate(time.Minute).Add(time.Minute)
}

// Keys implements ui.Screen.
func (s *Record[T]) Keys() []keymap.Key {
	return s.PageKeys(true, append([]keymap.Key{s.env.Keys.Related.Customer}, keymap.All(s.env.Keys.Item)...)...)
}

// Title implements ui.Screen.
func (s *Record[T]) Title() string { return s.spec.Title + " " + draw.ID(s.spec.Place.ID, 13) }

// Place implements ui.Screen.
func (s *Record[T]) Place() ui.Place { return s.spec.Place }

// Subject implements ui.SubjectOf.
func (s *Record[T]) Subject(kind string) string {
	if s.record != nil && kind == ui.KindCompliance {
		return s.spec.CUID(*s.record)
	}
	return ""
}
