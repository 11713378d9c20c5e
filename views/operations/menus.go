package operations

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/list"
	"opdeck/ui/widget"
)

// chooseSort sorts by the column under the cursor, or offers the orders.
func (s *Screen) chooseSort() (ui.Action, tea.Cmd) {
	return s.Sort.Ask(s.order(), list.Orders{Fields: index.SortFields, Note: direction,
		Usual: func(f string) list.Order {
			o := index.UsualSort(f)
			return list.Order{By: o.Field, Down: o.Desc}
		},
		Take: func(o list.Order) tea.Cmd {
			s.sort = index.Sort{Field: o.By, Desc: o.Down}
			s.Table.SetSort(s.columns().sortColumn(), s.sort.Desc)
			s.restart = true
			return s.loader().load("")
		}})
}

// direction says what is first in an order.
func direction(o list.Order) string { return list.Direction(field.Operations.Get(o.By).Kind, o) }

// order is the present one.
func (s *Screen) order() list.Order { return list.Order{By: s.sort.Field, Down: s.sort.Desc} }

// meant is the filter of what a key is about: the marked operations, else all that are
// shown. marked is how many those are.
func (s *Screen) meant() (f filter.OperationExpr, marked int) {
	if ids := s.Table.Marked(); len(ids) > 0 {
		return filter.OfIDs(ids), len(ids)
	}
	return s.Filter.Shown, 0
}

// lacks is the refusal of what the role does not allow; nil when it does.
func (s jobs) lacks(p api.Permission) ui.Action {
	why := api.Role(s.env.About.Role).WhyNot(p)
	if s.env.About.Role == "" || why == "" {
		return nil
	}
	return ui.Notify{Level: ui.Denied, Text: why}
}

// failed words a failure; what was stopped on purpose is none.
func failed(what string, err error) ui.Action {
	if e := api.AsError(err); e.Kind == api.Interrupted {
		return ui.Notify{Level: ui.Success, Text: e.Public}
	}
	return ui.Failure(what, err)
}

// askReread freezes the marked operations and says what reading them costs.
func (s jobs) askReread() ui.Action {
	ids := s.Table.Marked()
	return ui.Confirm{ID: fmt.Sprintf("%d operations", len(ids)), Title: "Reload", Verb: "Reload",
		SkipTypedConfirmation: true,
		Ask: fmt.Sprintf("Reload %s, one by one?", format.Plural(len(ids), "marked operation",
			"marked operations")),
		Facts: []widget.Pair{{Label: "cost", Value: format.Plural(len(ids), "billing call", "billing calls") +
			", as fast as the budget allows"}, {Label: "first", Value: ids[0]}},
		Yes: func(ui.Seen) tea.Cmd {
			caller := s.caller
			return s.work("reloading "+format.Plural(len(ids), "operation", "operations"),
				func(ctx context.Context, report func(string)) ended {
					return ended{notice: ui.Notify{Level: ui.Success, Text: reread(ctx, caller, ids, report)}, reload: true}
				})
		}}
}

func reread(ctx context.Context, c endpoint.Caller, ids []string, report func(string)) string {
	good, tried := 0, 0
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		report(fmt.Sprintf("reloading %s of %s", format.Count(tried+1), format.Count(len(ids))))
		if _, err := endpoint.Do(ctx, c, endpoint.GetOperation, id); err == nil {
			good++
		} else if ctx.Err() != nil {
			break
		}
		tried++
	}
	said := format.Plural(good, "operation", "operations") + " reloaded."
	if bad := tried - good; bad > 0 {
		said += " " + format.Count(bad) + " could not be read."
	}
	if left := len(ids) - tried; left > 0 {
		were := " were"
		if left == 1 {
			were = " was"
		}
		said = "Stopped: " + said + " " + format.Count(left) + were + " not requested."
	}
	return said
}
