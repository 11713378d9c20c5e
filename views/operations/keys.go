package operations

import (
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/keymap"
)

// OwnKey implements list.Screen.
func (s *Screen) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	if s.chooser != nil {
		action, cmd := s.columns().choosing(msg)
		return action, cmd, true
	}
	if s.panel.open() && !s.works.Busy() {
		if action, cmd, ok := s.sums().panelKey(msg); ok {
			return action, cmd, true
		}
	}
	k := s.env.Keys
	switch {
	case k.Global.Reload.Match(msg) && s.Table.Marks() > 0:
		return s.jobs().unlessBusy(s.jobs().askReread), nil, true
	case k.Operations.Live.Match(msg):
		return nil, s.loader().live(), true
	case k.List.Sort.Match(msg):
		action, cmd := s.chooseSort()
		return action, cmd, true
	case k.List.Views.Match(msg):
		return nil, s.saves().countViews(), true
	case k.Operations.Totals.Match(msg):
		return nil, s.sums().nextPanel(), true
	case k.Operations.Columns.Match(msg):
		s.chooser = newChooser(s.shown)
		return nil, nil, true
	case k.Operations.Accounts.Match(msg):
		return ui.Open{Place: ui.Place{Kind: "accounts"}}, nil, true
	case k.Operations.Counterparties.Match(msg):
		return ui.Open{Place: ui.Place{Kind: "counterparties"}}, nil, true
	case k.Operations.Export.Match(msg):
		return s.jobs().unlessBusy(s.jobs().askExport), nil, true
	case k.Operations.Customers.Match(msg):
		return ui.Open{Place: ui.Place{Kind: ui.KindCompliance}}, nil, true
	case k.Global.Quit.Match(msg):
		return nil, nil, true
	case k.Global.Back.Match(msg) && s.works.Busy():
		s.jobs().stopWork()
		return ui.Notify{Level: ui.Info, Text: "Stopping …"}, nil, true
	case k.Global.Back.Match(msg) && s.panel.open() && s.Table.Marks() == 0:
		s.sums().closePanel()
		return ui.Handled{}, nil, true
	case k.List.MarkAll.Match(msg) && s.rows.total > len(s.rows.recs):
		return ui.Notify{Level: ui.Denied, Text: "Filter first: " + format.Count(s.rows.total) +
			" rows are too many to mark. e exports them all."}, nil, true
	}
	if id := s.Table.SelectedID(); id != "" {
		return s.itemKey(msg, id)
	}
	return nil, nil, false
}

// itemKey is a key about the operation under the cursor, or about those marked.
func (s *Screen) itemKey(msg keymap.Press, id string) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	switch {
	case k.List.Open.Match(msg):
		return ui.Open{Place: ui.Place{Kind: ui.KindOperation, ID: id}}, nil, true
	case k.Operations.Documents.Match(msg):
		return ui.Open{Place: ui.Place{Kind: ui.KindDocuments, ID: id}}, nil, true
	}
	a, ok := ui.TakeRelated(k.Related, msg, s)
	return a, nil, ok
}

// HelpKeys implements list.Screen.
func (s *Screen) HelpKeys() []keymap.Key {
	k := s.env.Keys
	if s.chooser != nil {
		c := k.Columns
		return append([]keymap.Key{c.Show, c.Keep, c.Cancel, c.Narrower, c.Wider, c.Earlier, c.Later, c.Reset},
			keymap.All(k.Nav)...)
	}
	if s.usualKeys == nil { // asked for with each key and each frame
		l, o, item := k.List, k.Operations, k.Item
		s.usualKeys = append([]keymap.Key{l.Open, l.Filter, l.Sort, l.Views, o.Documents, o.Totals, o.Columns,
			k.Related.History, k.Related.Customer, l.Mark, item.CopyID, k.Global.Reload,
			l.MarkAll, l.Range, l.Remark, l.Left, l.Right, l.Preview, o.Live, o.Export, o.Customers, o.Accounts,
			o.Counterparties, item.CopyJSON, item.Raw}, keymap.All(k.Nav)...)
		s.emptyKeys = slices.Clone(s.usualKeys)
		for i, key := range s.emptyKeys {
			needsRow := []string{l.Open.Name, l.Sort.Name, o.Documents.Name, o.Totals.Name, k.Related.History.Name,
				k.Related.Customer.Name, l.Mark.Name, item.CopyID.Name}
			s.emptyKeys[i].Extra = key.Extra || slices.Contains(needsRow, key.Name)
		}
	}
	if now := s.keysNow(); len(now) > 0 {
		return append(now, s.usualKeys...)
	}
	if s.Loaded && s.rows.total == 0 {
		return s.emptyKeys
	}
	return s.usualKeys
}

// keysNow are the keys that matter more than the others at the moment: with rows
// marked what is done to all of them, with the totals open how they go on.
func (s *Screen) keysNow() []keymap.Key {
	k := s.env.Keys
	back := func(short string) keymap.Key {
		out := k.Global.Back
		out.SetHelp(out.Help().Key, short)
		out.Extra = false
		return out
	}
	n := s.Table.Marks()
	switch {
	case s.works.Busy():
		return []keymap.Key{back("stop")}
	case n > 0:
		about := func(k keymap.Key, short string) keymap.Key {
			k.SetHelp(k.Help().Key, short)
			k.Extra = false
			return k
		}
		return []keymap.Key{about(k.Operations.Export, "export "+format.Count(n)+" marked"),
			about(k.Operations.Totals, "total"), about(k.Item.CopyID, "copy "+format.Plural(n, "id", "ids")),
			about(k.Global.Reload, "reload marked"), back("unmark")}
	case s.panel.open():
		return s.sums().panelKeys(back)
	}
	return nil
}
