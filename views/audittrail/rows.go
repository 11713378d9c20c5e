package audittrail

import (
	"opdeck/internal/domain/audit"
	"opdeck/internal/present"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// columns of the list in a window of w cells.
func columns(w int) []widget.Column { return list.ColumnsOf(present.AuditColumns(w)) }

// record is a row: a record of the trail, or once more above them one whose act
// is unsettled.
type record struct {
	audit.Entry
	unsettled bool
}

func (r record) id() string {
	if r.unsettled {
		return "unsettled " + r.UID
	}
	return r.UID
}

// set shows unsettled acts and records.
func (s *Screen) set(open, entries []audit.Entry) {
	s.open = open
	all := make([]record, 0, len(open)+len(entries))
	for _, e := range open {
		all = append(all, record{e, true})
	}
	for _, e := range entries {
		all = append(all, record{e, false})
	}
	s.rows.Set(all)
	s.Changed()
}

// records are those that were read.
func (s *Screen) records(yield func(audit.Entry) bool) {
	for _, r := range s.rows.All() {
		if !r.unsettled && !yield(r.Entry) {
			return
		}
	}
}

// row draws one record.
func (s *Screen) row(r record) widget.Row {
	th, e, o := s.env.Theme, r.Entry, s.env.Present()
	out := list.RowOf(o, r.id(), present.AuditColumns(s.W), e)
	switch {
	case r.unsettled:
		none := present.NoOutcome.Cell(o)
		last := len(out.Cells) - 1 // the outcome
		out.Cells[last], out.Tones[last] = none.Text, none.Tone
		out.Sign, out.Tone = th.Signs.Unknown, theme.Bad
	case e.Damaged:
		out.Sign, out.Tone = th.Signs.Bad, theme.Bad
	case present.AuditOdd(e):
		out.Sign, out.Tone = th.Signs.Warn, theme.Warn
	}
	return out
}

// legend is what the help says of the signs in a row.
func legend() []list.Sign {
	out := []list.Sign{list.Warning("a text in it contains hidden or unsafe characters")}
	for _, s := range []struct {
		sign func(theme.Signs) string
		says string
	}{
		{func(s theme.Signs) string { return s.Good }, "done"},
		{func(s theme.Signs) string { return s.Bad }, "refused, denied or failed; at the start of a row: the record is " +
			"damaged"},
		{func(s theme.Signs) string { return s.Unknown }, "sent, with an unknown outcome"},
		{func(s theme.Signs) string { return s.Wait }, "recorded before it is sent; the outcome is a record of its own"},
		{func(s theme.Signs) string { return s.Off }, "a record that is not about a write, such as a read of the trail"},
	} {
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { return s.sign(th.Signs) }, Says: s.says})
	}
	return out
}
