package approvals

import (
	"slices"
	"time"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/approval"
	"opdeck/internal/present"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

var columns = present.Named(present.RequestColumns, "state", "asked by", "asks to", "amount", "customer",
	"about", "reason", "asked", "time left")

const askedBy = 1 // of the columns

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
	out := list.RowOf(s.env.Present(), q.ID, columns, q)
	if s.own(q) {
		out.Cells[askedBy] += " (you)"
	}
	for _, text := range []string{q.Requester.Name, q.Act.ID, q.Act.Item, q.Act.Name, q.Act.Reason} {
		if untrusted.Text(text).Flags().Suspicious() {
			out.Sign, out.Tone = s.env.Theme.Signs.Warn, theme.Warn
		}
	}
	return out
}

// state is the state of a request at now.
func state(r approval.Request, now time.Time) approval.State { return r.AsOf(now).State }

// legend is what the help says of the signs in a row.
func legend() []list.Sign {
	out := []list.Sign{list.Warning("a text in it contains hidden or unsafe characters")}
	for _, st := range []approval.State{approval.Open, approval.Approved, approval.Denied, approval.Spent,
		approval.Lapsed, approval.Void} {
		mark, means := present.RequestState(present.Options{}, approval.Request{State: st, Expires: time.Unix(1, 0)})
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { return th.SignOf(mark.Sign) },
			Says: mark.Word + ": " + means})
	}
	return out
}

func line(s string, max int) string { return untrusted.Text(s).Line(max) }
