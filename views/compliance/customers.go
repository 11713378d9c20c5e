// Package compliance is the screen of customers and of one customer's way
// through verification: share token, outstanding sets, link, application,
// finalise.
package compliance

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/journey"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Directory lists customers.
type Directory interface {
	Customers(ctx context.Context, q api.CustomerQuery) (api.Page[api.Customer], error)
	UnfinishedJourneys(ctx context.Context) ([]journey.Record, error)
}

// Customers is the list; it implements ui.Screen.
type Customers struct {
	env    *ui.Env
	client Directory
	loads  *ui.Loads
	name   string // part of the name that was asked for
	page   int    // the last one that was read, from 0
	items  []api.Customer
	odd    int // records of the service without an identifier
	total  string
	open   map[string]journey.Record
	at     time.Time
	err    *api.Error
	sortBy int // 0: as the service sent them, then by column
	down   bool
	table  *widget.Table
	w, h   int
}

// NewCustomers makes the list; name narrows it to a part of the name.
func NewCustomers(env *ui.Env, client Directory, name string) *Customers {
	s := &Customers{env: env, client: client, loads: env.Loads(), name: name, table: widget.NewTable(env.Theme, env.Keys, false, customerColumns(false)...)}
	s.table.Apart()
	s.settle()
	return s
}

// customerColumns are those of the list; where no journey is open their column
// gives its room to the names.
func customerColumns(journeys bool) []widget.Column {
	out := []widget.Column{{Title: "name", Min: 16, Flex: 3}, {Title: "kind", Min: 10}, {Title: "status", Min: 12}, {Title: "journey", Min: 13, Drop: 1},
		{Title: "cuid", Min: 13, Max: 26, Flex: 1, Middle: true, Drop: 2}, {Title: "updated", Min: 16, Drop: 3}}
	if !journeys {
		out = slices.Delete(out, 3, 4)
	}
	return out
}

type customersMsg struct {
	ui.Ticket
	want int // page
	page api.Page[api.Customer]
	open []journey.Record
	at   time.Time
	err  error
}

// Init implements ui.Screen.
func (s *Customers) Init() tea.Cmd { return s.load() }

func (s *Customers) load() tea.Cmd { return s.read(0) }

// further reads the next page when the cursor stands on the last row.
func (s *Customers) further() tea.Cmd {
	if s.whole() || s.loads.Busy() || s.table.Cursor() < len(s.items)-1 {
		return nil
	}
	return s.read(s.page + 1)
}

// whole reports that nothing is left to read.
func (s *Customers) whole() bool {
	n, err := strconv.Atoi(s.total)
	return err != nil || len(s.items) >= n || len(s.items) == 0
}

func (s *Customers) read(page int) tea.Cmd {
	t, ctx := s.loads.Next(s.env.Ctx)
	client, q, now := s.client, api.CustomerQuery{Name: s.name, Page: page}, s.env.Now
	s.settle()
	return func() tea.Msg { // reading anew begins at the first page
		page, err := client.Customers(ctx, q)
		open, storeErr := client.UnfinishedJourneys(ctx)
		if err == nil {
			err = storeErr
		}
		return customersMsg{t, q.Page, page, open, now(), err}
	}
}

// Update implements ui.Screen.
func (s *Customers) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case customersMsg:
		if !s.loads.Current(msg.Ticket) {
			return nil, nil
		}
		if s.err = api.AsError(msg.err); msg.err == nil {
			s.take(msg)
			s.open = map[string]journey.Record{}
			for _, r := range msg.open {
				s.open[r.CUID] = r
			}
			s.order()
			s.table.SetColumns(customerColumns(len(s.open) > 0)...)
		}
		s.settle()
	case ui.Changed:
		if r, ok := msg.Object.(journey.Record); ok && s.open != nil {
			delete(s.open, r.CUID)
			if r.Unfinished() {
				s.open[r.CUID] = r
			}
			s.table.SetColumns(customerColumns(len(s.open) > 0)...)
			s.settle()
		}
	case ui.DisplayChanged:
		s.settle()
	case keymap.Press:
		return s.key(msg)
	}
	return nil, nil
}

// take keeps a page: the first one begins anew, others are added.
func (s *Customers) take(msg customersMsg) {
	if s.page = msg.want; msg.want == 0 {
		s.items, s.odd = nil, 0
	}
	s.odd += msg.page.Unusable
	for _, c := range msg.page.Items {
		if c.CUID != "" && !slices.ContainsFunc(s.items, func(o api.Customer) bool { return o.CUID == c.CUID }) { // pages shift when customers come
			s.items = append(s.items, c)
		}
	}
	if s.total, s.at = string(msg.page.Total), msg.at; len(msg.page.Items) == 0 {
		s.total = strconv.Itoa(len(s.items))
	}
}

func (s *Customers) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	k := s.env.Keys
	id := s.table.SelectedID()
	switch {
	case k.Global.Reload.Match(msg):
		return nil, s.load()
	case k.List.Filter.Match(msg):
		return s.askName(), nil
	case k.Global.Back.Match(msg) && s.name != "":
		s.name = ""
		return ui.Handled{}, s.load()
	case k.List.Sort.Match(msg):
		if s.down = s.sortBy > 0 && !s.down; !s.down { // up, down, then the next column
			s.sortBy = (s.sortBy + 1) % 4
		}
		s.order()
		s.settle()
		return nil, nil
	case k.List.Open.Match(msg) && id != "":
		return ui.Open{Place: ui.Place{Kind: ui.KindCompliance, ID: id}}, nil
	case k.List.Open.Match(msg):
		return s.askID(), nil
	case k.Item.CopyID.Match(msg) && id != "":
		return ui.Copy{Text: id, What: "the customer id"}, nil
	case k.Compliance.Operations.Match(msg) && id != "":
		return ui.Open{Place: ui.Place{Kind: ui.KindOperations, Arg: "customer:" + id}}, nil
	}
	if s.table.Update(msg) {
		return nil, s.further()
	}
	return nil, nil
}

func (s *Customers) askName() ui.Action {
	return ui.Ask{Title: "Find customers", Verb: "Find", Intro: []string{"Part of the name; the service searches. One customer call."},
		Fields: []widget.Field{{Label: "Name", Value: s.name, Max: 100}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			s.name = strings.TrimSpace(v.Text(0))
			return nil, s.load()
		}}
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

// order sorts what the service sent; 0 leaves its order, with unfinished
// journeys first.
func (s *Customers) order() {
	key := func(c api.Customer) string {
		switch s.sortBy {
		case 1:
			return strings.ToLower(string(c.FullName()))
		case 2:
			return string(c.Type)
		case 3:
			return string(c.Status)
		}
		if _, open := s.open[string(c.CUID)]; open {
			return "0"
		}
		return "1"
	}
	slices.SortStableFunc(s.items, func(a, b api.Customer) int {
		if s.down {
			a, b = b, a
		}
		return strings.Compare(key(a), key(b))
	})
}

func (s *Customers) settle() {
	s.table.SetSource(people{s})
	s.table.SetSort(s.sortBy-1, s.down)
	switch {
	case s.err != nil && s.at.IsZero():
		s.table.SetNotice(widget.Notice{Tone: theme.Bad, Text: s.err.Public, Hint: s.env.Keys.Global.Reload.Help().Key + " tries again, " + s.typeID()})
	case s.at.IsZero():
		s.table.SetNotice(widget.Notice{Text: "Reading the customers …"})
	case s.name != "":
		s.table.SetNotice(widget.Notice{Text: "No customer's name holds “" + s.name + "”.", Hint: s.env.Keys.Global.Back.Help().Key + " lists all"})
	default:
		s.table.SetNotice(widget.Notice{Text: "There are no customers.", Hint: s.typeID()})
	}
}

// typeID says how a customer is opened without the list.
func (s *Customers) typeID() string {
	return s.env.Keys.List.Open.Help().Key + " opens a customer by a typed id"
}

type people struct{ s *Customers }

// Len implements widget.Source.
func (p people) Len() int { return len(p.s.items) }

// IndexOf implements widget.Source.
func (p people) IndexOf(id string) int {
	for i, c := range p.s.items {
		if string(c.CUID) == id {
			return i
		}
	}
	return -1
}

// Row implements widget.Source.
func (p people) Row(i int) widget.Row {
	c, th := p.s.items[i], p.s.env.Theme
	st := look(th, string(c.Status))
	row := widget.Row{ID: string(c.CUID), Tones: []theme.Tone{theme.Plain, theme.Dim, st.Tone, theme.Dim, theme.Dim},
		Cells: []string{c.FullName().Line(200), strings.ToLower(c.Type.Line(20)), st.Sign + " " + c.Status.Line(20), c.CUID.Line(64),
			draw.Minute(c.UpdatedAt.Time, p.s.env.Zone())}}
	if len(p.s.open) > 0 {
		row.Cells, row.Tones = slices.Insert(row.Cells, 3, ""), slices.Insert(row.Tones, 3, theme.Warn)
	}
	if r, ok := p.s.open[string(c.CUID)]; ok {
		row.Cells[3] = begun(r, p.s.env.Now())
		row.Sign, row.Tone = th.Signs.Warn, theme.Warn
	}
	if c.FullName().Flags().Suspicious() {
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

// look is sign and tone of a customer's status (service's webhook page).
func look(th *theme.Theme, status string) theme.Status {
	switch strings.ToUpper(status) {
	case "ACCEPT", "ACCEPTED":
		return theme.Status{Sign: th.Signs.Good, Tone: theme.Good, End: true}
	case "REJECT", "BANNED":
		return theme.Status{Sign: th.Signs.Bad, Tone: theme.Bad, End: true}
	case "NEW":
		return theme.Status{Sign: th.Signs.Wait, Tone: theme.Warn}
	case "MODERATION", "MODERATED", "VERIFY", "PROCESSING":
		return theme.Status{Sign: th.Signs.Info, Tone: theme.Info}
	}
	return th.Status(status)
}

// head says how many customers are shown, and which.
func (s *Customers) head() string {
	th := s.env.Theme
	head := ""
	if !s.at.IsZero() {
		head = draw.Plural(len(s.items), "customer", "customers")
	}
	if !s.whole() {
		head += " of " + s.total + ", " + s.env.Keys.Nav.Bottom.Help().Key + " reads more"
	}
	if s.name != "" {
		head += ", name holds “" + s.name + "”"
	}
	if s.odd > 0 {
		head += "  " + th.Signs.Warn + " " + draw.Plural(s.odd, "record has", "records have") + " no id and cannot be shown"
	}
	if n := len(s.open); n > 0 {
		head += "  " + th.Signs.Warn + " " + draw.Plural(n, "verification is", "verifications are") + " begun and not finalised"
	}
	return head
}

// View implements ui.Screen.
func (s *Customers) View() string {
	s.table.SetSize(s.w, max(s.h-1, 1))
	lines := append([]string{s.env.Theme.Dim.Render(draw.Cut(s.head(), s.w))}, s.table.Lines()...)
	return strings.Join(draw.Lay(lines, s.w, s.h), "\n")
}

// SetSize implements ui.Screen.
func (s *Customers) SetSize(w, h int) { s.w, s.h = w, h }

// Help implements ui.Screen.
func (s *Customers) Keys() []keymap.Key {
	k := s.env.Keys
	return append([]keymap.Key{k.List.Open, k.List.Filter, k.List.Sort, k.Compliance.Operations, k.Item.CopyID, k.Global.Reload}, keymap.All(k.Nav)...)
}

// Editing implements ui.Screen.
func (s *Customers) Editing() bool { return false }

// Title implements ui.Screen.
func (s *Customers) Title() string { return "Customers" }

// Place implements ui.Screen.
func (s *Customers) Place() ui.Place { return ui.Place{Kind: ui.KindCompliance, Arg: s.name} }

// Source implements ui.Screen.
func (s *Customers) Source() ui.Source {
	src := ui.Source{Origin: "service", At: s.at, Class: "customer", Loading: s.loads.Busy()}
	if s.err != nil {
		src.Problem = s.err.Public
	}
	return src
}

// Commands implements ui.Commander.
func (s *Customers) Commands() []ui.Command {
	return []ui.Command{{Title: "open a customer by id", Do: s.askID()}}
}

// Subject implements ui.Subjecter.
func (s *Customers) Subject(kind string) string {
	if kind == ui.KindCompliance {
		return s.table.SelectedID()
	}
	return ""
}
