// Package compliance has the screens of customers and of one customer's
// verification: share token, outstanding sets, link, application,
// finalise.
package compliance

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/customerfilter"
	"opdeck/internal/domain/journey"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
	"opdeck/views/records"
)

// Customers is the list; it implements ui.Screen.
type Customers struct {
	*records.List[api.Customer]
	env        *ui.Env
	unfinished func(context.Context) ([]journey.Record, error) // what was started, not finalized: no call
	begun      customerfilter.Begun
	reads      *ui.Requests // of begun
	failed     *api.Error   // of the last of these
}

// NewCustomers returns the list; start is its first filter.
func NewCustomers(env *ui.Env, caller endpoint.Caller,
	unfinished func(context.Context) ([]journey.Record, error), start string) *Customers {
	s := &Customers{env: env, unfinished: unfinished, reads: env.Requests()}
	s.List = records.NewListIn(env, s, records.Spec[api.Customer]{Kind: ui.KindCompliance, Title: "Customers",
		Rowless: "open by id",
		One:     "customer", Many: "customers", Class: "customer",
		Catalogue: field.Customers, Columns: []string{"name", "type", "status", "updated", "cuid"}, Added: s.added,
		Language: customerfilter.Table(func() customerfilter.Begun { return s.begun }),
		Example:  "acme status:VERIFY,MODERATION type:corporate begun:yes",
		ID:       identifier, CUID: identifier, Raw: func(c api.Customer) json.RawMessage { return c.Raw },
		Ask:  customerfilter.NameIn,
		Card: present.Customer,
		Read: func(ctx context.Context, at api.PageAt, name string) (api.Page[api.Customer], error) {
			return endpoint.Do(ctx, caller, endpoint.ListCustomers, api.CustomerQuery{Name: name, Page: at.Page, Next: at.Next})
		},
		First: s.isBegun, Warn: func(c api.Customer) bool { return s.isBegun(c) || c.DisplayName().Flags().Suspicious() },
		Warns: "a verification that was started and not finalized, or a name with hidden or unsafe characters"},
		start)
	return s
}

func identifier(c api.Customer) string { return string(c.CUID) }

func (s *Customers) isBegun(c api.Customer) bool {
	_, begun := s.begun[string(c.CUID)]
	return begun
}

// added returns the columns that only some lists need: started verifications, and the
// creation time of customers if the service sends it.
func (s *Customers) added(all []api.Customer) []records.Column[api.Customer] {
	var out []records.Column[api.Customer]
	if len(s.begun) > 0 {
		out = append(out, records.Column[api.Customer]{Column: begunColumn(s.begun), Before: "cuid"})
	}
	if slices.ContainsFunc(all, func(c api.Customer) bool { return !c.CreatedAt.IsZero() }) {
		created := records.ColumnOf(field.Customers, "created")
		created.Before = "updated"
		out = append(out, created)
	}
	return out
}

func begunColumn(begun customerfilter.Begun) present.Column[api.Customer] {
	return present.Column[api.Customer]{Layout: field.Layout{Title: "begun", Min: 22, HidePriority: 1}, Name: "begun",
		Cell: func(o present.Options, c api.Customer) present.Cell {
			r, ok := begun[string(c.CUID)]
			if !ok {
				return present.Cell{Tone: present.Dim}
			}
			return present.Begun(o, r)
		}}
}

// Reload implements list.Screen: it reads the service's first page and the started verifications.
func (s *Customers) Reload() tea.Cmd { return tea.Batch(s.readBegun(), s.List.Reload()) }

func (s *Customers) readBegun() tea.Cmd {
	return ui.Reading(s.env, s.reads, s.unfinished, func(list []journey.Record, _ time.Time, err error) {
		if s.failed = api.AsError(err); err == nil {
			s.setBegun(customerfilter.BegunOf(list))
		}
	})
}

func (s *Customers) setBegun(begun customerfilter.Begun) {
	s.begun = begun
	s.Arrange(s.All())
}

// Answer implements list.Screen.
func (s *Customers) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	if changed, ok := msg.(ui.Changed); ok && s.begun != nil {
		if r, ok := changed.Object.(journey.Record); ok {
			now := maps.Clone(s.begun)
			delete(now, r.CUID)
			if r.Unfinished() {
				now[r.CUID] = r
			}
			s.setBegun(now)
		}
	}
	return nil, nil
}

// OwnKey implements list.Screen.
func (s *Customers) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	id := s.Table.Cursor.SelectedID()
	switch {
	case k.List.Open.Match(msg) && id == "":
		return askID(), nil, true
	case k.Compliance.Operations.Match(msg) && id != "":
		return ui.Open{Place: ui.Place{Kind: ui.KindOperations, Arg: "customer:" + id}}, nil, true
	}
	return s.List.OwnKey(msg)
}

// askID opens a customer by id, where there is no list to choose from.
func askID() ui.Action {
	return ui.Ask{Title: "Open a customer", Verb: "Open",
		Intro:  []string{"Share, link and finalize need only the customer's id."},
		Fields: []widget.Field{{Label: "Customer id", Max: 64, Check: checkCUID}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			return ui.Open{Place: ui.Place{Kind: ui.KindCompliance, ID: api.ReadID(v.Text(0))}}, nil
		}}
}

// checkCUID accepts what may be a customer's id.
func checkCUID(v string) error {
	if err := api.CheckID("customer id", api.ReadID(v)); err != nil {
		return &api.Error{Kind: api.Usage, Public: api.AsError(err).Public}
	}
	return nil
}

// Empty implements list.Screen.
func (s *Customers) Empty() widget.Notice {
	k := s.env.Keys
	byID := k.List.Open.Help().Key + " opens a customer by id"
	if s.Err != nil {
		return widget.Notice{Tone: theme.Bad, Text: s.Err.Public, Hint: k.Global.Reload.Help().Key + " tries again, " + byID}
	}
	return s.None(widget.Notice{Text: "There are no customers.", Hint: byID})
}

// HeadLines implements list.Screen: the number of customers, and those that need attention.
func (s *Customers) HeadLines() []string {
	th, out, w := s.env.Theme, s.List.HeadLines(), s.W
	if line := needs(s.All(), len(s.begun)); line != "" {
		sign := th.Info.Render(th.Signs.Wait)
		if len(s.begun) > 0 {
			sign = th.Warn.Render(th.Signs.Warn)
		}
		out = slices.Insert(out, 1, sign+th.Dim.Render(draw.Cut(" "+line, w-2)))
	}
	if s.failed != nil {
		out = append(out, th.Warn.Render(draw.Cut(th.Signs.Warn+" The started verifications could not be read: "+
			untrusted.Text(s.failed.Public).Line(200), w)))
	}
	return out
}

// needs says how many of those that were read have no result yet, by the service's own
// words, and how many verifications were begun; "" when none.
func needs(all []api.Customer, begun int) string {
	var words, parts []string
	for _, c := range all {
		if customerfilter.Waits(c) {
			words = append(words, c.Status.Line(20))
		}
	}
	if begun > 0 {
		parts = append(parts, format.Plural(begun, "verification", "verifications")+" started, not finalized")
	}
	if len(words) > 0 {
		counts := map[string]int{}
		for _, w := range words {
			counts[w]++
		}
		var each []string
		for _, w := range slices.Sorted(maps.Keys(counts)) {
			each = append(each, format.Count(counts[w])+" "+w)
		}
		parts = append(parts, format.Plural(len(words), "customer", "customers")+" without a result: "+
			strings.Join(each, ", "))
	}
	return strings.Join(parts, "; ")
}

// HelpKeys implements list.Screen.
func (s *Customers) HelpKeys() []keymap.Key {
	k := s.env.Keys
	return []keymap.Key{k.List.Open, k.List.Filter, k.List.Sort, k.Compliance.Operations, k.Item.CopyID}
}

// Commands implements ui.Commander.
func (s *Customers) Commands() []ui.Command {
	return []ui.Command{{Title: "open a customer by id", Do: askID()}}
}
