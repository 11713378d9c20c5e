package events

import (
	"slices"

	"opdeck/api/hook"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/present"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// columns of the list in a window of w cells; how far an event can be trusted is
// in view wherever it is drawn at all.
func (s *Screen) columns(w int) []widget.Column {
	out := list.ColumnsOf(s.cells)
	if object, age := &out[2], &out[4]; w < 44 { // no room for the object, only for the age
		object.HidePriority, age.HidePriority = age.HidePriority, object.HidePriority
	}
	if w < 34 {
		out[3].Min, out[5].Min = 6, 10
	}
	return out
}

// item is a row.
type item = present.Event

// older puts older events, newest first, in front of those that are held.
func older(held []item, list []receiver.Stored) []item {
	all := make([]item, 0, len(list)+len(held))
	for _, s := range slices.Backward(list) {
		all = append(all, present.EventOf(s))
	}
	return linked(append(all, held...))
}

// newer appends events, oldest first; dropped: the oldest had to go.
func newer(held []item, list []receiver.Stored) (all []item, dropped bool) {
	all = slices.Clone(held)
	for _, s := range list {
		all = append(all, present.EventOf(s))
	}
	all = linked(all)
	if n := len(all) - maxRows; n > 0 {
		return all[n:], true
	}
	return all, false
}

// linked removes duplicate events, and stores with each the previous state of its
// object.
func linked(all []item) []item {
	met, newest := map[string]bool{}, map[string]*hook.Event{}
	out := all[:0]
	for _, it := range all {
		if met[it.Key] {
			continue
		}
		met[it.Key] = true
		it.Before, it.Late = nil, false
		if it.Good && it.Status != receiver.Conflict {
			id := string(it.Object) + " " + string(it.ObjectID)
			known := newest[id]
			if it.Late = known != nil && it.Said.UpdatedAt.Given && it.Said.UpdatedAt.Compare(known.UpdatedAt) < 0; !it.Late {
				event := it.Said.Event
				it.Before, newest[id] = known, &event
			}
		}
		out = append(out, it)
	}
	return out
}

// row draws one event.
func (s *Screen) row(it item) widget.Row {
	th, o := s.env.Theme, s.env.Present()
	out := list.RowOf(o, it.Key, s.cells, it)
	switch trust, _ := present.Trust(it.Stored); {
	case it.Alarming() && !it.Retry.Waiting():
		out.Sign, out.Tone = th.SignOf(trust.Sign), trust.Tone
	case it.Retry.Waiting(), it.Late, len(it.Said.Issues) > 0:
		out.Sign, out.Tone = th.Signs.Warn, theme.Warn
	}
	return out
}

// legend explains the signs of a row in the help.
func legend() []list.Sign {
	out := []list.Sign{list.Warning("at the start of a row: late, partly unreadable, or not merged yet")}
	for _, e := range []receiver.Record{{Status: receiver.Conflict}, {Status: receiver.Quarantined}, {},
		{Verdict: hook.Verdict{Authenticated: true, Bound: true}}, {Verdict: hook.Verdict{Authenticated: true}}} {
		trust, says := present.Trust(receiver.Stored{Record: e})
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { return th.SignOf(trust.Sign) },
			Says: trust.Word + ": " + says})
	}
	return out
}

func line(s string, max int) string { return untrusted.Text(s).Line(max) }
