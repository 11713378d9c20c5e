package operations

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/list"
	"opdeck/ui/widget"
)

// chooseSort sorts by the column under the cursor, or offers the orders.
func (s *Screen) chooseSort() (ui.Action, tea.Cmd) {
	return s.AskSort(s.order(), list.Orders{Fields: index.SortFields, Note: list.Direction,
		Usual: func(f string) list.Order {
			o := index.UsualSort(f)
			return list.Order{By: o.Field, Down: o.Desc}
		},
		Take: func(o list.Order) tea.Cmd {
			s.sort = index.Sort{Field: o.By, Desc: o.Down}
			s.Table.SetSort(s.sortColumn(), s.sort.Desc)
			s.restart = true
			return s.load("")
		}})
}

// order is the present one.
func (s *Screen) order() list.Order { return list.Order{By: s.sort.Field, Down: s.sort.Desc} }

// countViews counts how many operations each saved view shows, then the menu opens.
func (s *Screen) countViews() tea.Cmd {
	ix, views := s.index, s.cfg.Views
	return s.Read(s.saved, func(ctx context.Context) ui.Then {
		var counts []string
		for _, v := range views {
			counts = append(counts, countOf(ctx, ix, v))
		}
		return func() (ui.Action, tea.Cmd) { return s.chooseView(counts), nil }
	})
}

func countOf(ctx context.Context, ix Index, v View) string {
	q, err := filter.Parse(v.Filter)
	if err != nil {
		return err.Error()
	}
	n, err := ix.Count(ctx, q)
	if err != nil {
		return "cannot be counted"
	}
	return draw.Plural(int(n), "operation", "operations")
}

func (s *Screen) chooseView(counts []string) ui.Action {
	items := []ui.Choice{{Text: "everything", Note: "no filter, newest first"}}
	views := append([]View{{Sort: "-created"}}, s.cfg.Views...)
	for i, v := range s.cfg.Views {
		items = append(items, ui.Choice{Text: v.Name, Note: counts[i] + "  " + v.Filter})
	}
	if len(s.cfg.Views) == 0 {
		items = append(items, ui.Choice{Text: "your own …", Note: "how to keep a filter under a name"})
	}
	return ui.Choose{Title: "Views", Items: items, Pick: func(i int) (ui.Action, tea.Cmd) {
		if i == len(views) {
			return aboutViews(), nil
		}
		return s.useView(views[i])
	}}
}

// aboutViews says where views come from, for who has none yet.
func aboutViews() ui.Action {
	return ui.Explain{Title: "Views of your own", Lines: []string{"A view is a filter and an order under a name. They stand in the config file and are here at the next start:", "",
		"[views.pending-eur]", `filter = "status:PENDING currency:EUR"`, `sort = "-amount"`, "", "opdeck config path says where that file is."}}
}

func (s *Screen) useView(v View) (ui.Action, tea.Cmd) {
	q, err := filter.Parse(v.Filter)
	if err != nil {
		return ui.Explain{Title: "View " + v.Name, Lines: []string{err.Error(), "Mend it under [views] in the config file."}}, nil
	}
	order, err := index.ParseSort(v.Sort)
	if err != nil {
		return ui.Explain{Title: "View " + v.Name, Lines: []string{"It sorts by a field that there is not: " + v.Sort + ".",
			"There are " + strings.Join(index.SortFields, ", ") + "."}}, nil
	}
	s.Show(q, v.Filter)
	s.sort, s.view = order, v.Name
	s.show(s.columnsOf(v.Name))
	s.restart = true
	return nil, s.load("")
}

// meant is the filter of what a key is about: the marked operations, else all that are
// shown. marked is how many those are.
func (s *Screen) meant() (f filter.OperationExpr, marked int) {
	if ids := s.Table.Marked(); len(ids) > 0 {
		return filter.OfIDs(ids), len(ids)
	}
	return s.Filter, 0
}

// askExport asks for the file; what is exported is frozen when it is answered.
func (s *Screen) askExport() ui.Action {
	if s.env.About.Role != "" && !api.Role(s.env.About.Role).May(api.MayExport) {
		return ui.Notify{Level: ui.Denied, Text: "Your role does not allow to export; " + api.WhoMay(api.MayExport) + " may."}
	}
	what, whence := draw.Plural(s.rows.total, "operation", "operations"), "what the filter shows"
	q, marked := s.meant()
	if marked > 0 {
		what, whence = draw.Count(marked)+" marked", draw.Plural(marked, "marked operation", "marked operations")
	}
	return ui.Ask{Title: "Export " + what, Verb: "Export",
		Intro:  []string{"Writes " + whence + " to a new file of the host that runs the console. The name's ending says how: .csv or .jsonl."},
		Fields: []widget.Field{{Label: "File", Value: "operations.csv", Check: checkExport}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) { return nil, s.export(q, v.Text(0)) }}
}

func checkExport(v string) error {
	switch filepath.Ext(v) {
	case ".csv", ".jsonl":
		return nil
	}
	return &api.Error{Kind: api.Usage, Public: "The name must end in .csv or .jsonl."}
}

func (s *Screen) export(q filter.OperationExpr, path string) tea.Cmd {
	client, order := s.client, s.sort
	return s.work("exporting", func(ctx context.Context, tell func(string)) ended {
		n, asOf, err := client.Export(ctx, q, order, strings.TrimPrefix(filepath.Ext(path), "."), path, func(done, total int64) {
			if total > 0 {
				tell(fmt.Sprintf("exporting %s of %s", draw.Count(int(done)), draw.Count(int(total))))
			}
		})
		if err != nil {
			return ended{notice: failed("The export", err)}
		}
		return ended{notice: ui.Notify{Level: ui.Success, Text: "Exported " + draw.Plural(int(n), "operation", "operations") + " to " + filepath.Base(path) + ", " + asOf + "."}}
	})
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
