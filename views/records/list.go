// Package records has the screens of what the service lists in pages and reads one by one: customers' accounts with
// balances, holds and requisites; counterparties, which customers pay, where a status shows whether the service has
// accepted an account and a withdrawal may wait for this; payment limits and commissions; and a customer's files, which
// it opens, saves and permanently deletes. A Spec is what they differ in.
package records

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Spec has the parts in which the screens of records T differ.
type Spec[T any] struct {
	Kind      string // of the place; with an ID it is one record
	Title     string
	One, Many string // "account", "accounts"
	Class     string // budget class of a page
	Catalogue *field.Catalogue[T]
	Columns   []string // names in the catalogue
	Language  *filter.Table[T]
	Example   string
	ID        func(T) string
	CUID      func(T) string // of the record's customer
	Raw       func(T) json.RawMessage
	// Read reads a page; asked is the result of Ask.
	Read func(ctx context.Context, at api.PageAt, asked string) (api.Page[T], error)
	Ask  func(filter.Expr[T]) string // the part of a filter that the service can apply; nil: none
	// Added returns further columns after each read, for all records read so far; nil: none.
	Added func(all []T) []Column[T]
	First func(T) bool // records that come first in an unsorted list; nil: none
	Warn  func(T) bool // records whose row has a warning sign; nil: none
	Warns string       // the meaning of that sign
	// Rowless is what enter does in a list without rows; "": nothing.
	Rowless string
	// Of is the id of the object that the records belong to, the ID of the place; "": none.
	Of string
	// Own handles a key for the record under the cursor before the list does, and OwnKeys
	// returns these keys, for the list and for a page above it; nil: the list has none.
	Own     func(msg keymap.Press, r T) (ui.Action, tea.Cmd, bool)
	OwnKeys func(onPage bool) []keymap.Key
	// Card returns the facts of a record, for its screen and the preview; Page: the list shows them on a page above its
	// rows, because the record has no screen. Get reads the record by its id, and Head returns the line about its state;
	// both are nil if this package does not make that screen. Card and Head get the record with the current masking.
	Card func(present.Options, T) []present.Section
	Page bool
	Get  func(ctx context.Context, id string) (T, error)
	Head func(T) string
}

// newScreen returns the screen of one record, or the list if id is ""; start is the list's filter.
func newScreen[T any](env *ui.Env, spec Spec[T], id, start string) ui.Screen {
	if id != "" {
		return newRecord(env, spec, id)
	}
	return newList(env, spec, start)
}

// List is a list of records that the service returns in pages; it implements
// ui.Screen. It reads the next page when the cursor reaches the last row.
type List[T any] struct {
	*list.List[T]
	env     *ui.Env
	spec    Spec[T]
	screen  list.Screen
	rows    *list.Rows[T]
	columns []present.Column[T]
	asked   string // of the service, for the present rows
	read    list.Pages[T]
}

// Column is a column of a list.
type Column[T any] struct {
	present.Column[T]
	Before string // the column that it is before; "" or none of that name: the last
}

// newList returns the list; start is its first filter.
func newList[T any](env *ui.Env, spec Spec[T], start string) *List[T] {
	return NewListIn(env, nil, spec, start)
}

// NewListIn returns the list for a screen that embeds it and has methods of its own.
func NewListIn[T any](env *ui.Env, screen list.Screen, spec Spec[T], start string) *List[T] {
	s := &List[T]{env: env, spec: spec, screen: screen, read: list.Pages[T]{ID: spec.ID}}
	if screen == nil {
		s.screen = s
	}
	s.rows = list.NewRows(spec.ID, s.row)
	s.List = list.New(env, s.screen, s.rows, list.Spec[T]{Title: spec.Title, Place: ui.Place{Kind: spec.Kind,
		ID: spec.Of}, Origin: "service", Class: spec.Class,
		Reading: "Reading the " + spec.Many + " …", None: "No " + spec.One + " matches the filter.", Further: "No " +
			spec.One + " matches among those read so far.",
		Language: spec.Language, Signs: spec.signs(), Example: spec.Example, Start: start, Sort: spec.Catalogue,
		Preview: s.card, Rowless: spec.Rowless})
	s.List.Filtered(true)
	s.setColumns()
	return s
}

// signs are those of a row, for the help.
func (spec Spec[T]) signs() []list.Sign {
	var out []list.Sign
	if spec.Warn != nil {
		out = append(out, list.Warning(spec.Warns))
	}
	if slices.Contains(spec.Columns, "lock") {
		out = append(out, list.Locked("locked: it cannot be deleted"),
			list.LockUnknown())
	}
	if slices.Contains(spec.Columns, "status") {
		out = append(out, statusSigns()...)
	}
	return out
}

// card draws the facts of a record, as its own screen does.
func (s *List[T]) card(r T, w int) []string {
	return widget.Pairs(s.env.Theme, s.env.Headed(s.spec.Card(s.env.Present(), shown(s.env, r))), w)
}

// setColumns gives the table its columns: those of the spec, and those that were added.
// One that no record fills takes no room.
func (s *List[T]) setColumns() {
	s.columns = present.Columns(s.spec.Catalogue, s.spec.Columns...)
	if s.spec.Added != nil {
		for _, c := range s.spec.Added(s.rows.All()) {
			at := slices.IndexFunc(s.columns, func(o present.Column[T]) bool { return o.Title == c.Before })
			if at < 0 {
				at = len(s.columns)
			}
			s.columns = slices.Insert(s.columns, at, c.Column)
		}
	}
	if all, o := s.rows.All(), s.env.Present(); len(all) > 0 {
		s.columns = slices.DeleteFunc(s.columns, func(c present.Column[T]) bool {
			return !slices.ContainsFunc(all, func(r T) bool { return c.Cell(o, r).Text != "" })
		})
	}
	s.Table.SetColumns(list.ColumnsOf(s.columns)...)
	s.Sort.Show()
}

// ColumnOf is the column of a field of a catalogue.
func ColumnOf[T any](of *field.Catalogue[T], name string) Column[T] {
	return Column[T]{Column: present.ColumnOf(of, name)}
}

// Init implements ui.Screen.
func (s *List[T]) Init() tea.Cmd {
	s.asked = s.spec.ask(s.Filter.Applied)
	return s.screen.Reload()
}

// Reload implements list.Screen: it begins at the first page.
func (s *List[T]) Reload() tea.Cmd { return s.readPage(api.PageAt{}) }

// ask is what the service can look for of the filter that was confirmed.
func (spec Spec[T]) ask(applied filter.Expr[T]) string {
	if spec.Ask == nil {
		return ""
	}
	return spec.Ask(applied)
}

// Filtered implements list.Screen: each key filters the records that were read. If these are
// not all, it asks the service after the filter is confirmed,
// which costs a call.
func (s *List[T]) Filtered(live bool) tea.Cmd {
	s.List.Filtered(live)
	all := s.asked == "" && s.read.Whole()
	if live || all || s.spec.ask(s.Filter.Applied) == s.asked {
		return nil
	}
	s.asked = s.spec.ask(s.Filter.Applied)
	return s.screen.Reload()
}

// ReadOn implements list.Screen: it reads the next page when the cursor is on
// the last row.
func (s *List[T]) ReadOn() tea.Cmd {
	if s.read.Done() || s.Loads.Busy() || s.Table.Cursor.At() < s.rows.Len()-1 {
		return nil
	}
	return s.readPage(s.read.Next())
}

func (s *List[T]) readPage(at api.PageAt) tea.Cmd {
	read, asked := s.spec.Read, s.asked
	get := func(ctx context.Context) (api.Page[T], error) { return read(ctx, at, asked) }
	return ui.Reading(s.env, s.Loads, get, func(got api.Page[T], when time.Time, err error) {
		if !s.Failed(err) {
			s.At, s.read = when, s.read.With(at, got)
			s.Arrange(slices.Clone(s.read.All))
		}
	})
}

// Arrange shows these records. A screen calls it with All after a change of First, Warn or
// Added.
func (s *List[T]) Arrange(all []T) {
	if first := s.spec.First; first != nil {
		slices.SortStableFunc(all, func(a, b T) int {
			switch {
			case first(a) == first(b):
				return 0
			case first(a):
				return -1
			}
			return 1
		})
	}
	s.rows.Set(all)
	s.rows.Partial = !s.read.Done()
	s.setColumns()
	s.Changed()
}

// All lists the records that were read, the filtered ones included.
func (s *List[T]) All() []T { return slices.Clone(s.rows.All()) }

// OwnKey implements list.Screen.
func (s *List[T]) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	id := s.Table.Cursor.SelectedID()
	if r, ok := s.rows.Find(id); ok && s.spec.Own != nil {
		if action, cmd, own := s.spec.Own(msg, r); own {
			return action, cmd, true
		}
	}
	switch {
	case id == "", s.Page != nil:
		return nil, nil, false
	case k.List.Open.Match(msg) && s.spec.Page:
		r, _ := s.rows.Find(id)
		s.Open(id, s.spec.named(id), func(w int) []string { return s.card(r, w) })
		return nil, nil, true
	case k.List.Open.Match(msg):
		return ui.Open{Place: ui.Place{Kind: s.spec.Kind, ID: id}}, nil, true
	case k.Related.Customer.Match(msg):
		return openCustomer(s.Subject(ui.KindCompliance)), nil, true
	}
	return nil, nil, false
}

// Item implements list.Screen.
func (s *List[T]) Item() ui.Item {
	r, ok := s.rows.Find(s.Table.Cursor.SelectedID())
	if !ok {
		return ui.Item{}
	}
	return item(s.spec.One, s.spec.ID(r), s.spec.Raw(shown(s.env, r)))
}

// item is what the keys for the id and the JSON of a record are about.
func item(one, id string, raw json.RawMessage) ui.Item {
	return ui.Item{ID: id, IDWhat: "the " + one + " id", JSON: raw, JSONWhat: "the " + one + " as JSON", Title: one +
		" " + draw.ID(id, 40)}
}

// shown is a record as it may be shown now.
func shown[T any](env *ui.Env, r T) T {
	if env.Masked() {
		return mask.Value(r)
	}
	return r
}

const noCustomer = "The service's record names no customer."

// openCustomer opens a customer; "" is one that the record does not name.
func openCustomer(cuid string) ui.Action {
	if cuid == "" {
		return ui.Notify{Level: ui.Denied, Text: noCustomer}
	}
	return ui.Open{Place: ui.Place{Kind: ui.KindCompliance, ID: cuid}}
}

// Empty implements list.Screen.
func (s *List[T]) Empty() widget.Notice {
	return s.None(widget.Notice{Text: "There are no " + s.spec.Many + "."})
}

// None says why there are no rows; none is the text if the service has none.
func (s *List[T]) None(none widget.Notice) widget.Notice {
	on := ""
	if !s.read.Done() {
		on = s.env.Keys.Nav.Bottom.Help().Key
	}
	return s.NoRows(none, on)
}

// row draws one record.
func (s *List[T]) row(r T) widget.Row {
	out := list.RowOf(s.env.Present(), s.spec.ID(r), s.columns, r)
	if s.spec.Warn != nil && s.spec.Warn(r) {
		out.Sign, out.Tone = s.env.Theme.Signs.Warn, theme.Warn
	}
	return out
}

// HeadLines implements list.Screen.
func (s *List[T]) HeadLines() []string {
	th, count, head := s.env.Theme, "", ""
	if !s.At.IsZero() {
		count = format.Plural(s.rows.Len(), s.spec.One, s.spec.Many)
		if !s.Filter.Shown.Empty() {
			head += " of " + format.Count(len(s.rows.All())) + " read"
		}
	}
	switch {
	case !s.read.Done():
		head += s.read.Of() + ", " + s.env.Keys.Nav.Bottom.Help().Key + " reads more"
	case s.read.Next().Page > 0 && !s.read.Whole():
		head += s.read.Of() + ", the service lists no others"
	case s.read.Next().Page > 1:
		head += ", all read"
	}
	if s.asked != "" {
		head += ", searched at the service for “" + untrusted.Text(s.asked).Line(40) + "”"
	}
	if s.read.Odd > 0 {
		head += "  " + th.Signs.Warn + " " + format.Plural(s.read.Odd, "record has", "records have") +
			" no id and cannot be shown"
	}
	return s.Head(th.Strong.Render(count)+th.Dim.Render(draw.Cut(head, max(s.W-draw.Width(count), 0))), "")
}

// HelpKeys implements list.Screen.
func (s *List[T]) HelpKeys() []keymap.Key {
	k := s.env.Keys
	own := []keymap.Key{k.List.Open}
	if s.Page != nil {
		own = nil
	}
	if s.spec.OwnKeys != nil {
		own = s.spec.OwnKeys(s.Page != nil)
	}
	if s.Page != nil {
		return own
	}
	customer := k.Related.Customer
	if s.Table.Cursor.SelectedID() != "" && s.Subject(ui.KindCompliance) == "" {
		customer.Set(noCustomer)
	}
	return append(own, k.List.Filter, k.List.Sort, customer, k.Item.CopyID)
}

// Place implements ui.Screen.
func (s *List[T]) Place() ui.Place {
	return ui.Place{Kind: s.spec.Kind, ID: s.spec.Of, Arg: s.Filter.Text}
}

// Subject implements ui.SubjectOf.
func (s *List[T]) Subject(kind string) string {
	if r, ok := s.rows.Find(s.Table.Cursor.SelectedID()); ok && kind == ui.KindCompliance {
		return s.spec.CUID(r)
	}
	return ""
}

// statusSigns are the signs of Standing.
func statusSigns() []list.Sign {
	var out []list.Sign
	for _, s := range []struct{ word, says string }{{"NEW", "not reviewed yet"}, {"VERIFY",
		"the service has no result yet"}, {"ACCEPT", "accepted"}, {"REJECT", "rejected or banned"}} {
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { return th.Status(s.word).Sign },
			Says: "status: " + s.says})
	}
	return append(out, list.Sign{Sign: func(th *theme.Theme) string { return th.Signs.Unknown },
		Says: "unknown status"})
}

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
