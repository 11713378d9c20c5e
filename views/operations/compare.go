package operations

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// compare shows what differs between two marked operations, or between the marked one and the one under the cursor.
func (s *Screen) compare(under string) (ui.Action, tea.Cmd) {
	ids := s.Table.Marked()
	if len(ids) == 1 && ids[0] != under {
		ids = append(ids, under)
	}
	if len(ids) != 2 {
		return ui.Notify{Level: ui.Denied, Text: "Mark two operations with " + s.env.Keys.List.Mark.Help().Key +
			" to compare them. One operation at two times: " + s.env.Keys.Related.History.Help().Key + "."}, nil
	}
	ix, sort := s.index, s.sort
	return nil, s.env.Read(s.diffs, func(ctx context.Context) ui.Then {
		w, err := ix.Window(ctx, index.Query{Filter: filter.OfIDs(ids), Sort: sort, After: len(ids)})
		return func() (ui.Action, tea.Cmd) {
			var ops []api.Operation
			for _, id := range ids {
				for _, r := range w.Rows {
					if string(r.Op.OPID) == id {
						ops = append(ops, r.Op)
					}
				}
			}
			if err != nil || len(ops) != 2 {
				return ui.Notify{Level: ui.Warning, Text: "One of the operations is not in the local index."}, nil
			}
			return s.comparison(ops[0], ops[1]), nil
		}
	})
}

// comparison shows two operations, first the fields that differ.
func (s *Screen) comparison(a, b api.Operation) ui.Action {
	o := s.env.Present()
	o.Masked = s.env.Masked()
	differ, same := present.Compare(o, a, b)
	out := ui.Explain{Title: "Compare", Lines: []string{
		"A  " + draw.ID(string(a.OPID), 36), "B  " + draw.ID(string(b.OPID), 36),
		format.Plural(len(differ), "difference", "differences") + "; " + format.Count(len(same)) + " fields are the same."}}
	for _, f := range append(differ, same...) {
		out.Facts = append(out.Facts, widget.Pair{Label: f.Label, Value: f.Value, Long: true})
	}
	return out
}
