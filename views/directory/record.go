package directory

import (
	"context"
	"encoding/json"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/mask"
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
	env   *ui.Env
	spec  RecordSpec[T]
	loads *ui.Requests

	record *T // nil: not read yet
	at     time.Time
	err    *api.Error
}

// NewRecord makes the screen of one record.
func NewRecord[T any](env *ui.Env, spec RecordSpec[T]) *Record[T] {
	s := &Record[T]{env: env, spec: spec, loads: env.Requests()}
	s.Page = ui.NewPage(env, s.lines)
	return s
}

type recordMsg[T any] struct {
	ui.Ticket
	record T
	at     time.Time
	err    error
}

// Init implements ui.Screen.
func (s *Record[T]) Init() tea.Cmd {
	t, ctx := s.loads.Start(s.env.Ctx)
	read, now := s.spec.Read, s.env.Now
	return func() tea.Msg {
		r, err := read(ctx)
		return recordMsg[T]{t, r, now(), err}
	}
}

// Update implements ui.Screen.
func (s *Record[T]) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	defer s.Layout()
	switch msg := msg.(type) {
	case recordMsg[T]:
		if s.loads.Accept(msg.Ticket) {
			if s.err = api.AsError(msg.err); s.err == nil {
				s.record, s.at = &msg.record, msg.at
			}
		}
	case keymap.Press:
		return s.Key(msg, s.key)
	}
	return nil, nil
}

func (s *Record[T]) key(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	switch {
	case k.Global.Reload.Match(p):
		return nil, s.Init(), true
	case k.Item.CopyID.Match(p):
		return ui.Copy{Text: s.spec.Place.ID, What: "the " + s.spec.One + " id"}, nil, true
	case s.record == nil:
	case k.Item.CopyJSON.Match(p):
		return ui.Copy{Text: string(s.spec.Raw(s.shown())), What: "the " + s.spec.One + " as JSON"}, nil, true
	case k.Item.Raw.Match(p):
		return ui.Raw{Title: s.spec.Title + " " + draw.ID(s.spec.Place.ID, 40), JSON: s.spec.Raw(s.shown())}, nil, true
	case k.Operation.Customer.Match(p):
		return openCustomer(s.spec.CUID(*s.record)), nil, true
	}
	return nil, nil, false
}

// shown is the record as it may be shown now.
func (s *Record[T]) shown() T {
	if s.env.Masked() {
		return mask.Value(*s.record)
	}
	return *s.record
}

func (s *Record[T]) lines() []string {
	th := s.env.Theme
	switch {
	case s.record == nil && s.err != nil:
		return s.Failed(s.err)
	case s.record == nil:
		return []string{th.Dim.Render("Reading the " + s.spec.One + " " + draw.ID(s.spec.Place.ID, 40) + " …")}
	}
	r := s.shown()
	var out []string
	if s.err != nil {
		out = append(out, th.Warn.Render(th.Signs.Warn+" Not read again: "+s.err.Public), "")
	}
	out = append(out, th.Strong.Render(s.spec.Head(r)), "")
	return append(out, widget.Pairs(th, s.spec.Facts(r), s.W)...)
}

// Content implements ui.Contenter.
func (s *Record[T]) Content() ui.Content {
	switch {
	case s.record == nil && s.err != nil:
		return ui.Content{Lines: []string{s.err.Public, remedy.Plain(s.err)}}
	case s.record == nil:
		return ui.Content{Lines: s.lines()}
	}
	r := s.shown()
	c := ui.Content{Lines: []string{s.spec.Head(r) + "."}, Sections: ui.Sections(s.spec.Facts(r))}
	if s.err != nil {
		c.Lines = append([]string{"Attention: not read again. " + s.err.Public}, c.Lines...)
	}
	return c
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
	return s.PageKeys(true, append([]keymap.Key{s.env.Keys.Operation.Customer}, keymap.All(s.env.Keys.Item)...)...)
}

// Title implements ui.Screen.
func (s *Record[T]) Title() string { return s.spec.Title + " " + draw.ID(s.spec.Place.ID, 13) }

// Place implements ui.Screen.
func (s *Record[T]) Place() ui.Place { return s.spec.Place }

// Source implements ui.Screen.
func (s *Record[T]) Source() ui.Source {
	return ui.Source{Origin: "service", At: s.at, Class: s.spec.Class, Loading: s.loads.Busy(), Problem: ui.Problem(s.err)}
}

// Subject implements ui.SubjectOf.
func (s *Record[T]) Subject(kind string) string {
	if s.record != nil && kind == ui.KindCompliance {
		return s.spec.CUID(*s.record)
	}
	return ""
}
