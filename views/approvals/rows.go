package approvals

import (
	"slices"
	"time"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/approval"
	"opdeck/internal/format"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

var columns = []widget.Column{
	{Title: "state", Min: 10}, {Title: "asked by", Min: 6, Max: 24, Flex: 2}, {Title: "act", Min: 15, Max: 24, Flex: 1,
		HidePriority: 1}, {Title: "object", Min: 10, Max: 50, Flex: 3, CutMiddle: true, HidePriority: 3},
	{Title: "asked", Min: 8, HidePriority: 4, Align: widget.Right}, {Title: "time left", Min: 9, HidePriority: 2,
		Align: widget.Right},
}

// ordered puts those that wait first, each part newest first.
func ordered(list []approval.Request, now time.Time) []approval.Request {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b approval.Request) int {
		if x, y := state(a, now) == approval.Open, state(b, now) == approval.Open; x != y {
			if x {
				return -1
			}
			return 1
		}
		return b.Created.Compare(a.Created)
	})
	return list
}

// row draws one request.
func (s *Screen) row(q approval.Request) widget.Row {
	th, now := s.env.Theme, s.env.Now()
	sign, tone := stateStyle(th, state(q, now))
	asked, _ := format.Ago(q.Created, now)
	left := ""
	if waits(q) && now.Before(q.Expires) {
		left, _ = format.Until(q.Expires, now)
	}
	who := line(q.Requester.Name, 40)
	if s.own(q) {
		who += " (you)"
	}
	out := widget.Row{ID: q.ID,
		Cells: []string{sign + " " + string(state(q, now)), who, line(string(q.Act.Kind), 40), line(q.Act.ID, 100), asked,
			left},
		Tones: []theme.Tone{tone, theme.Plain, theme.Plain, theme.Dim, theme.Dim, theme.Warn}}
	for _, text := range []string{q.Requester.Name, q.Act.ID, q.Act.Item, q.Act.Name, q.Act.Reason} {
		if untrusted.Text(text).Flags().Suspicious() {
			out.Sign, out.Tone = th.Signs.Warn, theme.Warn
		}
	}
	return out
}

// state is where a request is at now: time alone can end it.
func state(r approval.Request, now time.Time) approval.State {
	if waits(r) && !now.Before(r.Expires) {
		return approval.Lapsed
	}
	return r.State
}

// waits reports whether time can end the request.
func waits(r approval.Request) bool {
	return r.State == approval.Open || r.State == approval.Approved
}

// stateStyle is sign and tone of a state; its word goes with them.
func stateStyle(th *theme.Theme, st approval.State) (sign string, tone theme.Tone) {
	switch st {
	case approval.Open:
		return th.Signs.Wait, theme.Warn
	case approval.Approved:
		return th.Signs.Good, theme.Good
	case approval.Denied:
		return th.Signs.Bad, theme.Bad
	case approval.Spent:
		return th.Signs.Info, theme.Info
	}
	return th.Signs.Off, theme.Dim
}

// legend is what the help says of the signs in a row.
func legend() []list.Sign {
	out := []list.Sign{list.Warning("a text in it contains hidden or unsafe characters")}
	for _, st := range []approval.State{approval.Open, approval.Approved, approval.Denied, approval.Spent,
		approval.Lapsed, approval.Void} {
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { sign, _ := stateStyle(th, st); return sign },
			Says: string(st) + ": " + meaning(st)})
	}
	return out
}

// meaning says what a state means for the two people.
func meaning(st approval.State) string {
	switch st {
	case approval.Open:
		return "waits for a second person"
	case approval.Approved:
		return "the requester can send exactly this act, once"
	case approval.Denied:
		return "refused by the second person"
	case approval.Lapsed:
		return "not used in time"
	case approval.Spent:
		return "the approved act was sent"
	case approval.Void:
		return "void: the content changed after the request"
	}
	return ""
}

func line(s string, max int) string { return untrusted.Text(s).Line(max) }
