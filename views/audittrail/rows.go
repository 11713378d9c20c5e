package audittrail

import (
	"time"

	"opdeck/internal/domain/audit"
	"opdeck/ui"
	"opdeck/ui/draw"
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
	return []widget.Column{{Title: "time", Min: clock, Drop: 1}, {Title: "person", Min: 8, Max: 20, Flex: 1, Drop: 3}, {Title: "event", Min: event, Max: 28, Flex: 1},
		{Title: "object", Min: 12, Max: 60, Flex: 3, Middle: true, Drop: 2}, {Title: "outcome", Min: result}}
}

const wide = 100 // cells from which on times have seconds

// openID marks the row of an unsettled act; its record stands in the list too.
const openID = "unsettled "

// rows are the unsettled acts and below them the records, newest first.
type rows struct {
	env        *ui.Env
	open, list []audit.Entry
	places     map[string]int
	wide       bool // room for seconds
}

// index notes where each id stands; to be called after each change.
func (r *rows) index() {
	r.places = make(map[string]int, r.Len())
	for i := range r.Len() {
		r.places[r.id(i)] = i
	}
}

func (r *rows) id(i int) string {
	if i < len(r.open) {
		return openID + r.open[i].UID
	}
	return r.list[i-len(r.open)].UID
}

func (r *rows) at(i int) audit.Entry {
	if i < len(r.open) {
		return r.open[i]
	}
	return r.list[i-len(r.open)]
}

func (r *rows) unsettled(id string) bool {
	i, ok := r.places[id]
	return ok && i < len(r.open)
}

func (r *rows) entry(id string) (audit.Entry, bool) {
	i, ok := r.places[id]
	if !ok {
		return audit.Entry{}, false
	}
	return r.at(i), true
}

// Len implements widget.Source.
func (r *rows) Len() int { return len(r.open) + len(r.list) }

// IndexOf implements widget.Source.
func (r *rows) IndexOf(id string) int {
	if i, ok := r.places[id]; ok {
		return i
	}
	return -1
}

// Row implements widget.Source.
func (r *rows) Row(i int) widget.Row {
	e, th := r.at(i), r.env.Theme
	look := outcome(th, e)
	if i < len(r.open) {
		look = outcomeLook{th.Signs.Unknown, "no outcome", theme.Bad}
	}
	out := widget.Row{ID: r.id(i),
		Cells: []string{moment(e.At, r.env.Zone(), r.wide), draw.Line(read(e.Actor.Name), 60), draw.Line(read(e.Event), 60) + times(e), object(e), look.sign + " " + look.word},
		Tones: []theme.Tone{theme.Dim, theme.Plain, theme.Plain, theme.Dim, look.tone}}
	switch {
	case i < len(r.open):
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

type outcomeLook struct {
	sign, word string
	tone       theme.Tone
}

// outcome is how a record's result is drawn: sign, word and tone.
func outcome(th *theme.Theme, e audit.Entry) outcomeLook {
	s := th.Signs
	switch {
	case e.Damaged:
		return outcomeLook{s.Bad, "damaged", theme.Bad}
	case e.Outcome == audit.ResultOK:
		return outcomeLook{s.Good, "done", theme.Good}
	case e.Outcome == audit.ResultDenied:
		return outcomeLook{s.Bad, "refused", theme.Bad}
	case e.Outcome == audit.ResultFailed:
		return outcomeLook{s.Bad, "failed", theme.Bad}
	case e.Outcome == audit.ResultUnknown:
		return outcomeLook{s.Unknown, "unknown", theme.Warn}
	case e.Outcome == audit.ResultNotSeen:
		return outcomeLook{s.Unknown, "not seen", theme.Warn}
	case e.Phase == audit.PhaseIntent:
		return outcomeLook{s.Wait, "intent", theme.Info}
	case e.Event == audit.EventDenied:
		return outcomeLook{s.Bad, "denied", theme.Warn}
	}
	return outcomeLook{s.Info, "note", theme.Dim}
}

// above is what stands over the list: the filter being typed, or what is shown
// and what needs a person.
func (s *Screen) above() []string {
	th := s.env.Theme
	if s.bar != nil {
		return s.bar.Lines(th, s.w)
	}
	head := draw.Plural(len(s.rows.list), "record", "records")
	if s.next != 0 {
		head += ", older ones below"
	}
	line := th.Strong.Render(head)
	if s.text != "" {
		line += th.Dim.Render("  / ") + th.Accent.Render(draw.Line(read(s.text), max(s.w-44, 10)))
	}
	if s.doing != "" {
		line += th.Info.Render("  " + s.doing + " …")
	} else if s.newer {
		line += th.Info.Render("  newer ones exist, " + s.env.Keys.Global.Reload.Help().Key + " reads them")
	}
	out := []string{line}
	if n := len(s.rows.open); n > 0 {
		said := "acts have"
		if n == 1 {
			said = "act has"
		}
		out = append(out, th.Bad.Render(th.Signs.Unknown+" "+draw.Cut(draw.Count(n)+" "+said+" no known outcome: it may have happened. enter on one says what to do.", s.w-2)))
	}
	return append(out, s.trouble()...)
}

// trouble is what keeps the trail from being written, and why old rows stand.
func (s *Screen) trouble() []string {
	th, h := s.env.Theme, s.health
	var out []string
	warn := func(tone theme.Tone, sign, line string) {
		out = append(out, th.Tone(tone).Render(sign+" "+draw.Cut(line, s.w-2)))
	}
	switch {
	case h.Err != nil:
		warn(theme.Bad, th.Signs.Bad, "The trail cannot be written since "+draw.Clock(h.Since, s.env.Zone())+": nothing can be changed until the store works again.")
	case h.Waiting > 0:
		warn(theme.Warn, th.Signs.Warn, draw.Plural(h.Waiting, "record waits", "records wait")+" to be stored; they are tried again by themselves.")
	}
	switch bad := h.Tampered(); {
	case bad != nil:
		warn(theme.Bad, th.Signs.Bad, "The trail was tampered with: "+bad.Reason+". Verify it, and keep a copy of the store.")
	case h.Checkpoint != nil:
		warn(theme.Warn, th.Signs.Warn, "The last checkpoint could not be written: a cut end would not be noticed.")
	}
	if s.err != nil && s.rows.Len() > 0 {
		warn(theme.Warn, th.Signs.Warn, "Not read again: "+s.err.Public)
	}
	return out
}
