package operations

import (
	"context"
	"fmt"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// chooseSort offers the orders; the present one stands first, to be reversed.
func (s *Screen) chooseSort() ui.Action {
	reversed := index.Sort{Field: s.sort.Field, Desc: !s.sort.Desc}
	orders := []index.Sort{reversed}
	items := []ui.Choice{{Text: s.sort.Field + ", reversed", Note: direction(reversed)}}
	for _, f := range index.SortFields {
		if f == s.sort.Field {
			continue
		}
		o := index.UsualSort(f)
		orders = append(orders, o)
		items = append(items, ui.Choice{Text: f, Note: direction(o)})
	}
	return ui.Choose{Title: "Sort by", Items: items, Pick: func(i int) (ui.Action, tea.Cmd) {
		s.sort = orders[i]
		s.Table.SetSort(s.sortColumn(), s.sort.Desc)
		return nil, s.load("")
	}}
}

func direction(o index.Sort) string {
	if o.Desc {
		return "largest or newest first"
	}
	return "smallest or oldest first"
}

// lacks is the refusal of what the role does not allow; nil when it does.
func (s *Screen) lacks(p api.Permission) ui.Action {
	if s.env.About.Role == "" || api.Role(s.env.About.Role).May(p) {
		return nil
	}
	return ui.Notify{Level: ui.Denied, Text: "Your role does not allow to " + string(p) + "; " + api.WhoMay(p) + " may."}
}

// failed words a failure; what was stopped on purpose is none.
func failed(what string, err error) ui.Action {
	if e := api.AsError(err); e.Kind == api.Interrupted {
		return ui.Notify{Level: ui.Success, Text: e.Public}
	}
	return ui.Failure(what, err)
}

// askReread freezes the marked operations and says what reading them costs.
func (s *Screen) askReread() ui.Action {
	ids := s.Table.Marked()
	return ui.Confirm{ID: fmt.Sprintf("%d operations", len(ids)), Title: "Read again", Verb: "Read", SkipTypedConfirmation: true,
		Ask:   fmt.Sprintf("Read %s again, one by one?", draw.Plural(len(ids), "marked operation", "marked operations")),
		Facts: []widget.Pair{{Label: "cost", Value: draw.Plural(len(ids), "billing call", "billing calls") + ", as fast as the budget allows"}, {Label: "first", Value: ids[0]}},
		Yes: func(ui.Seen) tea.Cmd {
			client := s.client
			return s.work("reading "+draw.Plural(len(ids), "operation", "operations")+" again", func(ctx context.Context, tell func(string)) ended {
				return ended{notice: ui.Notify{Level: ui.Success, Text: reread(ctx, client, ids, tell)}, reload: true}
			})
		}}
}

func reread(ctx context.Context, c Client, ids []string, tell func(string)) string {
	good, tried := 0, 0
	for _, id := range ids {
		if ctx.Err() != nil {
			break
		}
		tell(fmt.Sprintf("reading %s of %s again", draw.Count(tried+1), draw.Count(len(ids))))
		if _, err := c.Operation(ctx, id); err == nil {
			good++
		} else if ctx.Err() != nil {
			break
		}
		tried++
	}
	said := draw.Plural(good, "operation", "operations") + " read again."
	if bad := tried - good; bad > 0 {
		said += " " + draw.Count(bad) + " could not be read."
	}
	if left := len(ids) - tried; left > 0 {
		were := " were"
		if left == 1 {
			were = " was"
		}
		said = "Stopped: " + said + " " + draw.Count(left) + were + " not asked for."
	}
	return said
}
