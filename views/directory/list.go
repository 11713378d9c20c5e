// Package directory has the two screens that records of the service share which are
// listed page by page and read one by one: the list, and one record. Accounts and
// counterparties are made of them.
package directory

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/mask"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/widget"
)

// ListSpec is what lists of records T differ in.
type ListSpec[T any] struct {
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
	Read      func(ctx context.Context, page int) (api.Page[T], error)
	// Facts are all of a record that cannot be read by itself: the list shows them over
	// its rows. nil: another screen shows a record.
	Facts func(T) []widget.Pair
	// Card are the facts of a record that has a screen of its own, for the preview.
	Card func(T) []widget.Pair
}

// List is a list of records that the service gives page by page; it implements
// ui.Screen. The end of what was read reads on.
type List[T any] struct {
	*list.List[T]
	env   *ui.Env
	spec  ListSpec[T]
	rows  *list.Rows[T]
	page  int    // the last one that was read, from 0
	total string // as told; "" when it was not
	odd   int    // records of the service without an identifier
}

// NewList makes the list; start is a filter to begin with.
func NewList[T any](env *ui.Env, spec ListSpec[T], start string) *List[T] {
	s := &List[T]{env: env, spec: spec}
	s.rows = list.NewRows(spec.ID, s.row)
	s.List = list.New(env, s, s.rows, list.Spec[T]{Title: spec.Title, Place: ui.Place{Kind: spec.Kind}, Origin: "service", Class: spec.Class,
		Reading: "Reading the " + spec.Many + " …", None: "No " + spec.One + " matches the filter.", Further: "No " + spec.One + " matches among those read so far.",
		Columns: func(int) []widget.Column { return s.columns() }, Language: spec.Language, Example: spec.Example, Start: start, Sort: spec.Catalogue, Beside: s.beside})
	s.Filtered(true)
	return s
}

// beside draws the facts of the record under the cursor, as its own screen does.
func (s *List[T]) beside(w int) []string {
	facts := s.spec.Facts
	if facts == nil {
		facts = s.spec.Card
	}
	r, on := s.rows.Find(s.Table.SelectedID())
	if !on || facts == nil {
		return nil
	}
	return widget.Pairs(s.env.Theme, facts(shown(s.env, r)), w)
}

func (s *List[T]) columns() []widget.Column {
	var out []widget.Column
	for _, name := range s.spec.Columns {
		f := s.spec.Catalogue.Get(name)
		c := f.Column
		col := widget.Column{Title: f.Name, Min: c.Min, Max: c.Max, Flex: c.Flex, HidePriority: c.HidePriority, CutMiddle: c.CutMiddle}
		switch f.Kind {
		case field.Money:
			col.Align, col.MaxNumberWidth = widget.Decimal, numberWidth
		case field.Count:
			col.Align = widget.Right
		}
		out = append(out, col)
	}
	return out
}

// numberWidth is how wide a column of amounts grows, in cells.
const numberWidth = 24

// Init implements ui.Screen.
func (s *List[T]) Init() tea.Cmd { return s.Reload() }

// Reload implements list.Screen: it begins at the first page.
func (s *List[T]) Reload() tea.Cmd { return s.read(0) }

// ReadOn implements list.Screen: it reads the next page when the cursor stands on
// the last row.
func (s *List[T]) ReadOn() tea.Cmd {
	if s.whole() || s.Loads.Busy() || s.Table.Cursor() < s.rows.Len()-1 {
		return nil
	}
	return s.read(s.page + 1)
}

// whole reports that nothing is left to read.
func (s *List[T]) whole() bool {
	n, err := strconv.Atoi(s.total)
	return err != nil || len(s.rows.All()) >= n || len(s.rows.All()) == 0
}

func (s *List[T]) read(page int) tea.Cmd {
	read, now := s.spec.Read, s.env.Now
	return s.Read(s.Loads, func(ctx context.Context) ui.Then {
		got, err := read(ctx, page)
		at := now()
		return func() (ui.Action, tea.Cmd) {
			if !s.Failed(err) {
				s.At, s.page = at, page
				s.onPage(got)
			}
			return nil, nil
		}
	})
}

// onPage keeps the page that was read: the first one begins anew, others are added.
func (s *List[T]) onPage(page api.Page[T]) {
	all := slices.Clone(s.rows.All())
	if s.page == 0 {
		all, s.odd = nil, 0
	}
	s.odd += page.Unusable
	known := map[string]bool{"": true}
	for _, r := range all {
		known[s.spec.ID(r)] = true
	}
	for _, r := range page.Items {
		if id := s.spec.ID(r); !known[id] { // pages shift when records come
			known[id] = true
			all = append(all, r)
		}
	}
	if s.total = string(page.Total); len(page.Items) == 0 {
		s.total = strconv.Itoa(len(all))
	}
	s.rows.Set(all)
	s.rows.Partial = !s.whole()
	s.Changed()
}

// OwnKey implements list.Screen.
func (s *List[T]) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	id := s.Table.SelectedID()
	switch {
	case id == "":
		return nil, nil, false
	case s.Page != nil:
		return nil, nil, false
	case k.List.Open.Match(msg) && s.spec.Facts != nil:
		r, _ := s.rows.Find(id)
		s.Open(id, func(w int) []string { return widget.Pairs(s.env.Theme, s.spec.Facts(shown(s.env, r)), w) })
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
	r, ok := s.rows.Find(s.Table.SelectedID())
	if !ok {
		return ui.Item{}
	}
	return item(s.spec.One, s.spec.ID(r), s.spec.Raw(shown(s.env, r)))
}

// item is what the keys for the id and the JSON of a record are about.
func item(one, id string, raw json.RawMessage) ui.Item {
	return ui.Item{ID: id, IDWhat: "the " + one + " id", JSON: raw, JSONWhat: "the " + one + " as JSON", Title: one + " " + draw.ID(id, 40)}
}

// shown is a record as it may be shown now.
func shown[T any](env *ui.Env, r T) T {
	if env.Masked() {
		return mask.Value(r)
	}
	return r
}

// openCustomer opens a customer; "" is one that the record does not name.
func openCustomer(cuid string) ui.Action {
	if cuid == "" {
		return ui.Notify{Level: ui.Denied, Text: "The service's record names no customer."}
	}
	return ui.Open{Place: ui.Place{Kind: ui.KindCompliance, ID: cuid}}
}

// Empty implements list.Screen.
func (s *List[T]) Empty() widget.Notice {
	on := ""
	if !s.whole() {
		on = s.env.Keys.Nav.Bottom.Help().Key
	}
	return s.NoRows(widget.Notice{Text: "There are no " + s.spec.Many + "."}, on)
}

// row draws one record.
func (s *List[T]) row(r T) widget.Row {
	out := widget.Row{ID: s.spec.ID(r)}
	for _, name := range s.spec.Columns {
		text, tone := cell(s.env, s.spec.Catalogue.Get(name), r)
		out.Cells, out.Tones = append(out.Cells, text), append(out.Tones, tone)
	}
	return out
}

// Above implements list.Screen.
func (s *List[T]) Above() []string {
	th, head := s.env.Theme, ""
	if !s.At.IsZero() {
		head = draw.Plural(s.rows.Len(), s.spec.One, s.spec.Many)
	}
	if !s.whole() {
		head += " of " + s.total + ", " + s.env.Keys.Nav.Bottom.Help().Key + " reads more"
	}
	if s.odd > 0 {
		head += "  " + th.Signs.Warn + " " + draw.Plural(s.odd, "record has", "records have") + " no id and cannot be shown"
	}
	w, _ := s.Size()
	return append([]string{s.Head(th.Dim.Render(draw.Cut(head, w)))}, s.NotReread()...)
}

// HelpKeys implements list.Screen.
func (s *List[T]) HelpKeys() []keymap.Key {
	k := s.env.Keys
	if s.Page != nil {
		return append([]keymap.Key{k.Viewer.Search, k.Viewer.Next, k.Viewer.Prev}, keymap.Join(k.Item, k.Nav)...)
	}
	return append([]keymap.Key{k.List.Open, k.List.Filter, k.List.Sort, k.Related.Customer, k.Item.CopyID, k.Global.Reload, k.Item.CopyJSON, k.Item.Raw}, keymap.All(k.Nav)...)
}

// Place implements ui.Screen.
func (s *List[T]) Place() ui.Place { return ui.Place{Kind: s.spec.Kind, Arg: s.Text} }

// Subject implements ui.SubjectOf.
func (s *List[T]) Subject(kind string) string {
	if r, ok := s.rows.Find(s.Table.SelectedID()); ok && kind == ui.KindCompliance {
		return s.spec.CUID(r)
	}
	return ""
}
