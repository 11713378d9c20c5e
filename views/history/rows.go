package history

import (
	"slices"
	"time"

	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// columns are those of the list.
var columns = present.Named(present.MomentColumns(valued), "at", "ago", "from", "status", "changes")

// language is the filter language over the states of one operation.
var language = filter.NewTable(
	filter.Field[present.Moment]{Name: "status", Kind: filter.Code, Help: "the service's status word",
		Example: "status:PENDING",
		Strings: func(m present.Moment) []string { return []string{string(m.Status)} }},
	filter.Field[present.Moment]{Name: "from", Kind: filter.Flag, Help: "where the state came from",
		Example: "from:webhook",
		Values:  []string{index.List.String(), index.Read.String(), index.Hook.String(), string(present.NoteMoment)},
		Flag:    func(m present.Moment, v string) bool { return m.From == v }},
	filter.Field[present.Moment]{Name: "when", Aliases: []string{"at"}, Kind: filter.Time,
		Help: "when opdeck first saw it", Example: "when<2d",
		Time: func(m present.Moment) time.Time { return m.At }},
	filter.Field[present.Moment]{Name: "changed", Kind: filter.Text, Help: "name of a changed field",
		Example: "changed:amount", Strings: changed},
	filter.Field[present.Moment]{Kind: filter.Free,
		Help: "contained in the status, in the name of a changed field, or in a note", Example: "document",
		Strings: func(m present.Moment) []string {
			return append(changed(m), string(m.Status), m.From, string(m.Note.Text))
		}})

func changed(m present.Moment) []string {
	var out []string
	for _, c := range m.Changes {
		out = append(out, present.FieldName(c))
	}
	return out
}

// row draws one state.
func (s *Screen) row(m present.Moment) widget.Row {
	out := list.RowOf(s.env.Present(), m.ID, columns, m)
	if s.isFresh(m) {
		out.Sign, out.Tone = s.env.Theme.Signs.Warn, theme.Warn
	}
	return out
}

// valued is how many changes are shown with their values, on one line.
const valued = 4

// Unread says that the states could not be read.
const Unread = "The history cannot be read from the store."

// Last are the newest n of states, which are oldest first, in lines of w cells, and the
// ids of their rows on the screen of the history.
func Last(env *ui.Env, states []index.State, n, w int) (lines, rows []string) {
	th := env.Theme
	all := present.Timeline(states, nil, nil, nil)
	slices.Reverse(all)
	for _, m := range all[:min(n, len(all))] {
		st := th.Status(string(m.Status))
		line := th.Dim.Render(format.Second(m.At, env.Zone())+"  ") + th.Tone(st.Tone).Render(st.Sign) + " "
		lines = append(lines, line+draw.Cut(m.Summary(env.Present(), valued), max(w-draw.Width(line), 1)))
		rows = append(rows, m.ID)
	}
	return lines, rows
}
