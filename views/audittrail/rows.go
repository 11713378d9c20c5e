package audittrail

import (
	"slices"
	"time"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/audit"
	"opdeck/ui/draw"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// columns of the list in a window of w cells: seconds where there is room, and
// the outcome in view wherever it is drawn at all.
func columns(w int) []widget.Column {
	clock, event, result := 16, 15, 12
	switch {
	case w >= wide:
		clock = 19
	case w < 34:
		event, result = 6, 10
	}
	return []widget.Column{{Title: "time", Min: clock, HidePriority: 1}, {Title: "person", Min: 8, Max: 20, Flex: 1,
		HidePriority: 3}, {Title: "event", Min: event, Max: 28, Flex: 1},
		{Title: "object", Min: 12, Max: 60, Flex: 3, CutMiddle: true, HidePriority: 2}, {Title: "outcome", Min: result}}
}

const wide = 100 // cells from which on times have seconds

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

// entries are the records that were read.
func (s *Screen) entries() []audit.Entry { return slices.Collect(s.records) }

func (s *Screen) records(yield func(audit.Entry) bool) {
	for _, r := range s.rows.All() {
		if !r.unsettled && !yield(r.Entry) {
			return
		}
	}
}

// row draws one record.
func (s *Screen) row(r record) widget.Row {
	th, e := s.env.Theme, r.Entry
	look := outcome(th, e)
	if r.unsettled {
		look = badge{th.Signs.Unknown, "no outcome", theme.Bad}
	}
	w, _ := s.Size()
	out := widget.Row{ID: r.id(),
		Cells: []string{moment(e.At, s.env.Zone(), w >= wide), draw.Line(read(e.Actor.Name), 60),
			draw.Line(read(e.Event), 60) + times(e), object(e), look.sign + " " + look.word},
		Tones: []theme.Tone{theme.Dim, theme.Plain, theme.Plain, theme.Dim, look.tone}}
	switch {
	case r.unsettled:
		out.Sign, out.Tone = th.Signs.Unknown, theme.Bad
	case e.Damaged:
		out.Sign, out.Tone = th.Signs.Bad, theme.Bad
	case odd(e):
		out.Sign, out.Tone = th.Signs.Warn, theme.Warn
	}
	return out
}

// moment is a time for a column: to the second where there is room.
func moment(t time.Time, zone *time.Location, wide bool) string {
	s := draw.Minute(t, zone)
	if wide && !t.IsZero() {
		s += draw.Clock(t, zone)[5:]
	}
	return s
}

func times(e audit.Entry) string {
	if e.Count > 1 {
		return " ×" + draw.Count(int(e.Count))
	}
	return ""
}

// object is the id of an operation, and kind and id of anything else.
func object(e audit.Entry) string {
	kind, id := draw.Line(read(e.Object), 30), draw.Line(read(e.ID), 100)
	switch {
	case id == "":
		return kind
	case e.Object == "operation":
		return id
	}
	return kind + " " + id
}

// odd reports whether a text of the record is not what it looks like.
func odd(e audit.Entry) bool {
	for _, s := range []string{e.Actor.Name, e.Event, e.ID, e.Item, e.Name} {
		if read(s).Flags().Suspicious() {
			return true
		}
	}
	return false
}

type badge struct {
	sign, word string
	tone       theme.Tone
}

// outcome is how a record's result is drawn: sign, word and tone.
func outcome(th *theme.Theme, e audit.Entry) badge {
	s := th.Signs
	switch {
	case e.Damaged:
		return badge{s.Bad, "damaged", theme.Bad}
	case e.Outcome == audit.ResultOK:
		return badge{s.Good, "done", theme.Good}
	case e.Outcome == audit.ResultDenied:
		return badge{s.Bad, "refused", theme.Bad}
	case e.Outcome == audit.ResultFailed:
		return badge{s.Bad, "failed", theme.Bad}
	case e.Outcome == audit.ResultUnknown:
		return badge{s.Unknown, "unknown", theme.Warn}
	case e.Outcome == audit.ResultNotSeen:
		return badge{s.Unknown, "not seen", theme.Warn}
	case e.Phase == audit.PhaseIntent:
		return badge{s.Wait, "intent", theme.Info}
	case e.Event == audit.EventDenied:
		return badge{s.Bad, "denied", theme.Warn}
	}
	return badge{s.Info, "note", theme.Dim}
}

// legend is what the help says of the signs in a row.
func legend() []list.Sign {
	out := []list.Sign{list.Warning("a text of it holds characters that are not what they look like")}
	for _, s := range []struct {
		sign func(theme.Signs) string
		says string
	}{
		{func(s theme.Signs) string { return s.Good }, "done"},
		{func(s theme.Signs) string { return s.Bad }, "refused, denied or failed; before the row: the record is damaged"},
		{func(s theme.Signs) string { return s.Unknown }, "sent, and its outcome is not known"},
		{func(s theme.Signs) string { return s.Wait }, "written down before it is sent"},
		{func(s theme.Signs) string { return s.Info }, "a note: nothing was sent"},
	} {
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { return s.sign(th.Signs) }, Says: s.says})
	}
	return out
}

// read is a text of a record as it was before it was quoted.
func read(s string) untrusted.Text { return audit.Unquote(s) }
