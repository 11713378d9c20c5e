package events

import (
	"slices"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/receiver"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// loadRejected reads the rejected deliveries.
func (s *pages) loadRejected() tea.Cmd {
	p := s.page
	return ui.Reading(s.env, s.rejects, s.feed.Rejected, func(rejected []receiver.Rejection, at time.Time, err error) {
		if p.err = api.AsError(err); err == nil {
			p.rejected, p.at = rejected, at
		}
	})
}

const maxRejectedBody = 12 // lines of a body on the page

// rejectedLines returns the page of rejected deliveries: the counts by reason with
// what to do, then the last ones.
func (s *pages) rejectedLines(w int) []string {
	th, p := s.env.Theme, s.page
	out := widget.NewText(th, w)
	switch {
	case p.err != nil:
		s.unread(out)
	case p.at.IsZero():
		out.Say(theme.Dim, "Reading them …")
	case len(s.bad.Rejected) == 0:
		out.Say(theme.Dim, "No delivery was rejected.")
	}
	for _, c := range s.bad.Rejected {
		tone, sign := theme.Warn, th.Signs.Warn
		if c.Stray() || c.Passing() {
			tone, sign = theme.Dim, th.Signs.Sep
		}
		out.Say(tone, sign+" "+format.Plural(int(c.N), "delivery", "deliveries")+" rejected ("+line(c.Reason, 40)+
			"), the last at "+
			format.Time(c.Last, s.env.Zone())+" from "+line(string(c.Source), 64))
		out.Under(theme.Plain, line(c.Detail, 400))
	}
	if len(p.rejected) > 0 {
		head := "Last rejected delivery"
		if n := len(p.rejected); n > 1 {
			head = "Last " + strconv.Itoa(n) + " rejected deliveries, newest first"
		}
		out.Title(head)
	}
	for _, x := range p.rejected {
		s.rejectedOne(out, x)
	}
	return out.Lines
}

// unread returns why the page could not be read.
func (s *pages) unread(out *widget.Text) {
	err := s.page.err
	out.Say(theme.Bad, s.env.Theme.Signs.Bad+" "+err.Public+" "+remedy.Screen(err)+" "+s.env.Keys.Global.Reload.Help().Key+
		" tries again.")
}

// rejectedOne draws one delivery with its stored parts.
func (s *pages) rejectedOne(out *widget.Text, x receiver.Rejection) {
	out.Section(present.RejectedAt(s.env.Present(), x))
	if slices.ContainsFunc(s.bad.Rejected, func(c receiver.RejectCount) bool { return c.Detail == x.Detail }) {
		x.Detail = "" // it is above
	}
	out.Pairs(s.env.Pairs(present.Rejected(x), nil))
	switch {
	case len(x.Body) == 0:
		return
	case s.env.Masked():
		out.Under(theme.Dim, "The body may contain account numbers; M reveals it for 30 s.")
		return
	}
	body, whole := format.JSON(x.Body, maxRejectedBody)
	for _, l := range body {
		out.Add("  " + l)
	}
	if !whole || int64(len(x.Body)) < x.Size {
		out.Under(theme.Dim, "… cut here; opdeck event show "+x.Key()+" shows what is kept")
	}
}
