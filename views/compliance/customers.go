// Package compliance is the screen of customers and of one customer's way
// through verification: share token, outstanding sets, link, application,
// finalise.
package compliance

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/journey"
	"opdeck/internal/field"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
	"opdeck/views/directory"
)

// Directory lists customers.
type Directory interface {
	Customers(ctx context.Context, q api.CustomerQuery) (api.Page[api.Customer], error)
	UnfinishedJourneys(ctx context.Context) ([]journey.Record, error)
}

// Customers is the list; it implements ui.Screen.
type Customers struct {
	*list.List[api.Customer]
	env     *ui.Env
	client  Directory
	rows    *list.Rows[api.Customer]
	asked   string // the part of the name that the service was asked for
	page    int    // the last one that was read, from 0
	odd     int    // records of the service without an identifier
	total   string
	open    map[string]journey.Record
	columns []string // names of the present columns
}

// journeyColumn is the column that no field of a customer fills.
const journeyColumn = "journey"

// language is the filter language over customers.
var language = filter.NewTable(append(filter.Catalogued(field.Customers),
	filter.Field[api.Customer]{Kind: filter.Free, Help: "contained in the name, or the identifier", Example: `"oak & iron"`,
		Strings: func(c api.Customer) []string { return []string{string(c.FullName()), string(c.CUID)} }})...)

// NewCustomers makes the list; start is a filter to begin with.
func NewCustomers(env *ui.Env, client Directory, start string) *Customers {
	s := &Customers{env: env, client: client}
	s.rows = list.NewRows(func(c api.Customer) string { return string(c.CUID) }, s.row)
	s.List = list.New(env, s, s.rows, list.Spec[api.Customer]{Title: "Customers", Origin: "service", Class: "customer",
		Reading: "Reading the customers …", None: "No customer matches the filter.", Further: "No customer matches among those read so far.",
		Language: language, Example: "acme status:NEW type:corporate", Start: start, Sort: field.Customers})
	s.show()
	return s
}

// show gives the table its columns; where no journey is open that column gives its
// room to the names.
func (s *Customers) show() {
	s.columns = []string{"name", "type", "status", journeyColumn, "cuid", "updated"}
	if len(s.open) == 0 {
		s.columns = slices.Delete(s.columns, 3, 4)
	}
	var out []widget.Column
	for _, name := range s.columns {
		if name == journeyColumn {
			out = append(out, widget.Column{Title: name, Min: 13, HidePriority: 1})
			continue
		}
		c := field.Customers.Get(name).Column
		out = append(out, widget.Column{Title: name, Min: c.Min, Max: c.Max, Flex: c.Flex, HidePriority: c.HidePriority, CutMiddle: c.CutMiddle})
	}
	s.Table.SetColumns(out...)
	s.ShowSort()
}

// Init implements ui.Screen.
func (s *Customers) Init() tea.Cmd { return s.Reload() }

// Reload implements list.Screen: it begins at the first page.
func (s *Customers) Reload() tea.Cmd {
	s.asked = nameIn(s.Applied)
	return s.read(0)
}

// nameIn is the part of a name that the service can look for: a word of the filter
// that every customer must hold.
func nameIn(e filter.Expr[api.Customer]) string {
	for _, part := range e.Parts() {
		l, ok := part.(*filter.Leaf)
		if !ok || l.Op != filter.Has || len(l.Values) != 1 {
			continue
		}
		text := l.Values[0].Text
		if l.Field == "name" || l.Field == "" && !strings.ContainsAny(text, "0123456789_") { // else it may be an identifier
			return text
		}
	}
	return ""
}

// ReadOn implements list.Screen: it reads the next page when the cursor stands on
// the last row.
func (s *Customers) ReadOn() tea.Cmd {
	if s.whole() || s.Loads.Busy() || s.Table.Cursor() < s.rows.Len()-1 {
		return nil
	}
	return s.read(s.page + 1)
}

// whole reports that nothing is left to read.
func (s *Customers) whole() bool {
	n, err := strconv.Atoi(s.total)
	return err != nil || len(s.rows.All()) >= n || len(s.rows.All()) == 0
}

func (s *Customers) read(page int) tea.Cmd {
	client, q, now := s.client, api.CustomerQuery{Name: s.asked, Page: page}, s.env.Now
	return s.Read(s.Loads, func(ctx context.Context) ui.Then {
		page, err := client.Customers(ctx, q)
		open, storeErr := client.UnfinishedJourneys(ctx)
		at, err := now(), cmp.Or(err, storeErr)
		return func() (ui.Action, tea.Cmd) {
			if !s.Failed(err) {
				s.At, s.page = at, q.Page
				s.onPage(page, open)
			}
			return nil, nil
		}
	})
}

// Filtered implements list.Screen: those that were read are narrowed with each
// key; the service is asked for a name once it is typed. One customer call.
func (s *Customers) Filtered(live bool) tea.Cmd {
	s.List.Filtered(live)
	if live || nameIn(s.Applied) == s.asked {
		return nil
	}
	return s.Reload()
}

// Answer implements list.Screen.
func (s *Customers) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	if changed, ok := msg.(ui.Changed); ok && s.open != nil {
		if r, ok := changed.Object.(journey.Record); ok {
			delete(s.open, r.CUID)
			if r.Unfinished() {
				s.open[r.CUID] = r
			}
			s.show()
		}
	}
	return nil, nil
}

// onPage keeps the page that was read: the first one begins anew, others are added.
func (s *Customers) onPage(page api.Page[api.Customer], open []journey.Record) {
	var all []api.Customer
	if s.page > 0 {
		all = slices.Clone(s.rows.All())
	} else {
		s.odd = 0
	}
	s.odd += page.Unusable
	for _, c := range page.Items {
		same := func(o api.Customer) bool { return o.CUID == c.CUID }
		if c.CUID != "" && !slices.ContainsFunc(all, same) { // pages shift when customers come
			all = append(all, c)
		}
	}
	if s.total = string(page.Total); len(page.Items) == 0 {
		s.total = strconv.Itoa(len(all))
	}
	s.open = map[string]journey.Record{}
	for _, r := range open {
		s.open[r.CUID] = r
	}
	begun := func(c api.Customer) int { // unfinished journeys come first
		if _, open := s.open[string(c.CUID)]; open {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(all, func(a, b api.Customer) int { return begun(a) - begun(b) })
	s.rows.Set(all)
	s.rows.Partial = !s.whole()
	s.Changed()
	s.show()
}

// OwnKey implements list.Screen.
func (s *Customers) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	id := s.Table.SelectedID()
	switch {
	case k.List.Open.Match(msg) && id != "":
		return ui.Open{Place: ui.Place{Kind: ui.KindCompliance, ID: id}}, nil, true
	case k.List.Open.Match(msg):
		return s.askID(), nil, true
	case k.Compliance.Operations.Match(msg) && id != "":
		return ui.Open{Place: ui.Place{Kind: ui.KindOperations, Arg: "customer:" + id}}, nil, true
	}
	return nil, nil, false
}

// Item implements list.Screen.
func (s *Customers) Item() ui.Item {
	return ui.Item{ID: s.Table.SelectedID(), IDWhat: "the customer id"}
}

// askID opens a customer by a typed id, where there is no list to choose from.
func (s *Customers) askID() ui.Action {
	return ui.Ask{Title: "Open a customer", Verb: "Open", Intro: []string{"Share, link and finalize need no more than the customer's id."},
		Fields: []widget.Field{{Label: "Customer id", Max: 64, Check: checkCUID}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			return ui.Open{Place: ui.Place{Kind: ui.KindCompliance, ID: strings.TrimSpace(v.Text(0))}}, nil
		}}
}

// checkCUID accepts what may be a customer's id.
func checkCUID(v string) error {
	if err := api.CheckID("customer id", strings.TrimSpace(v)); err != nil {
		return &api.Error{Kind: api.Usage, Public: api.AsError(err).Public}
	}
	return nil
}

// Empty implements list.Screen.
func (s *Customers) Empty() widget.Notice {
	k := s.env.Keys
	byID := k.List.Open.Help().Key + " opens a customer by a typed id"
	if s.Err != nil {
		return widget.Notice{Tone: theme.Bad, Text: s.Err.Public, Hint: k.Global.Reload.Help().Key + " tries again, " + byID}
	}
	on := ""
	if !s.whole() {
		on = k.Nav.Bottom.Help().Key
	}
	return s.NoRows(widget.Notice{Text: "There are no customers.", Hint: byID}, on)
}

// row draws one customer.
func (s *Customers) row(c api.Customer) widget.Row {
	th := s.env.Theme
	row := widget.Row{ID: string(c.CUID)}
	unfinished, open := s.open[string(c.CUID)]
	for _, name := range s.columns {
		cell, tone := "", theme.Dim
		switch name {
		case "name":
			cell, tone = c.FullName().Line(200), theme.Plain
		case "type":
			cell = strings.ToLower(c.Type.Line(20))
		case "status":
			st := directory.Standing(th, c.Status)
			cell, tone = st.Sign+" "+c.Status.Line(20), st.Tone
		case journeyColumn:
			if tone = theme.Warn; open {
				cell = begun(unfinished, s.env.Now())
			}
		case "cuid":
			cell = c.CUID.Line(64)
		case "updated":
			cell = draw.Minute(c.UpdatedAt.Time, s.env.Zone())
		}
		row.Cells, row.Tones = append(row.Cells, cell), append(row.Tones, tone)
	}
	if open || c.FullName().Flags().Suspicious() {
		row.Sign, row.Tone = th.Signs.Warn, theme.Warn
	}
	return row
}

// begun says where an unfinished journey stands, in a word or two.
func begun(r journey.Record, now time.Time) string {
	switch {
	case r.Unclear:
		return "share not known"
	case r.FinalizeUnclear:
		return "finalize not known"
	case !r.LinkAt.IsZero() && now.Before(r.LinkUntil):
		return "link is out"
	case !r.LinkAt.IsZero():
		return "link lapsed"
	case r.Applied && (len(r.Outstanding) > 0 || r.Outstanding == nil):
		return "needs a link"
	}
	return "to finalize"
}

// Above implements list.Screen.
func (s *Customers) Above() []string {
	th, head := s.env.Theme, ""
	if !s.At.IsZero() {
		head = draw.Plural(s.rows.Len(), "customer", "customers")
	}
	if !s.whole() {
		head += " of " + s.total + ", " + s.env.Keys.Nav.Bottom.Help().Key + " reads more"
	}
	if s.odd > 0 {
		head += "  " + th.Signs.Warn + " " + draw.Plural(s.odd, "record has", "records have") + " no id and cannot be shown"
	}
	if n := len(s.open); n > 0 {
		head += "  " + th.Signs.Warn + " " + draw.Plural(n, "verification is", "verifications are") + " begun and not finalised"
	}
	w, _ := s.Size()
	return append([]string{s.Head(th.Dim.Render(draw.Cut(head, w)))}, s.NotReread()...)
}

// HelpKeys implements list.Screen.
func (s *Customers) HelpKeys() []keymap.Key {
	k := s.env.Keys
	return append([]keymap.Key{k.List.Open, k.List.Filter, k.List.Sort, k.Compliance.Operations, k.Item.CopyID, k.Global.Reload}, keymap.All(k.Nav)...)
}

// Place implements ui.Screen.
func (s *Customers) Place() ui.Place { return ui.Place{Kind: ui.KindCompliance, Arg: s.Text} }

// Commands implements ui.Commander.
func (s *Customers) Commands() []ui.Command {
	return []ui.Command{{Title: "open a customer by id", Do: s.askID()}}
}

// Subject implements ui.SubjectOf.
func (s *Customers) Subject(kind string) string {
	if kind == ui.KindCompliance {
		return s.Table.SelectedID()
	}
	return ""
}
