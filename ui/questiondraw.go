package ui

import (
	"strconv"
	"strings"
	"time"

	"opdeck/api/untrusted"
	"opdeck/ui/draw"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

func (q *question) panel(s *Shell, w, h int, now time.Time) panel {
	if h < 8 {
		return q.small(s.win.th, w, h, now)
	}
	in := max(min(w, dialogWidth)-4, 1)
	p := panel{title: q.c.Title, body: q.content(s.win.th, in, false), tail: q.tail(s.win.th, in, now), scroll: q.scroll,
		tone: theme.Warn}
	if p.fitted(h).hidden(h) > 0 { // show the risk above the part that scrolls
		p.body, p.more = q.content(s.win.th, in, true), q.unread()
		if q.read {
			p.more = q.nav.PageUp.Help().Key + " and " + q.nav.PageDown.Help().Key + " scroll"
		}
	}
	if s.win.opt.About.Environment == Production {
		p.tone = theme.Bad
	}
	if !q.ready(now) {
		p.foot = s.win.th.Signs.Wait + " keys are ignored for a moment"
	}
	return p
}

// layout implements overlay. The last line counts as shown when it is in the window; a yes then waits for the frame
// that shows it. A window of another size begins at the first line again.
func (q *question) layout(s *Shell) {
	if !s.visible() || q.read {
		return
	}
	w, h := s.win.area()
	if size := [2]int{w, h}; size != q.size {
		q.size, q.scroll = size, 0
	}
	if p := q.panel(s, w, h, s.win.now()).fitted(h); q.scroll < p.hidden(h) {
		return
	}
	q.read, q.drawn = true, false
}

// unread says how to see the rest, and what comes then.
func (q *question) unread() string {
	out := q.nav.PageDown.Help().Key + " shows the rest"
	switch {
	case !q.typed:
		return out + "; then " + q.k.Yes.Help().Key
	case q.want != "":
		return out + "; then type"
	}
	return out
}

// content returns the question, its facts, and its risk below or above them.
func (q *question) content(th *theme.Theme, w int, riskFirst bool) []string {
	var out, risk []string
	for _, l := range draw.Wrap(q.c.Ask, w) {
		out = append(out, th.Strong.Render(l))
	}
	tone := theme.Warn
	if q.c.Destroys {
		tone, riskFirst = theme.Bad, true
	}
	if q.c.Risk != "" {
		risk = append(risk, "")
		for _, l := range draw.Wrap(th.Signs.Warn+" "+q.c.Risk, w) {
			risk = append(risk, th.Tone(tone).Render(l))
		}
	}
	if riskFirst {
		out, risk = append(out, risk...), nil
	}
	facts := q.c.Facts
	if q.c.ID != "" && !q.typed { // otherwise it is above the field
		facts = append([]widget.Pair{{Label: q.c.IDLabel, Value: untrusted.Text(q.c.ID).Line(200), Long: true}}, facts...)
	}
	if len(facts) > 0 {
		out = append(append(out, ""), widget.Pairs(th, facts, min(w, 90))...)
	}
	return append(out, risk...)
}

// tail returns the id whose end is typed, the typed characters, the note and the two answers.
func (q *question) tail(th *theme.Theme, w int, now time.Time) []string {
	out := []string{""}
	if q.note != "" {
		out = append(out, th.Warn.Render(draw.Cut(th.Signs.Warn+" "+q.note, w)))
	}
	if q.typed {
		if q.c.ID != "" {
			out = append(out, q.markedID(th, w))
		}
		ask := q.demand()
		if draw.Width(ask) > w-7 && q.want != "" {
			ask = "Type its last " + q.wanted() + ":"
		}
		if draw.Width(ask) > w-7 && q.want != "" {
			ask = "Last " + strconv.Itoa(len(q.want)) + " of id:"
		}
		out = append(out, draw.Cut(ask, max(w-7, 1))+" "+q.edit.View(th, min(6, w), q.ready(now), ""), "")
	}
	return append(out, q.answers(th, w, now))
}

// markedID is the id with the characters to type in brackets; a long one is cut in the middle.
func (q *question) markedID(th *theme.Theme, w int) string {
	label := th.Dim.Render(q.c.IDLabel) + "  "
	room := w - draw.Width(q.c.IDLabel) - 2
	begin, end := untrusted.Text(strings.TrimSuffix(q.c.ID, q.want)).Line(200), ""
	if q.want != "" {
		end = "[" + q.want + "]"
	}
	if room < draw.Width(end)+4 {
		label, room = "", w
	}
	return label + draw.Middle(begin, max(room-draw.Width(end), 0)) + th.Strong.Render(end)
}

func (q *question) answers(th *theme.Theme, w int, now time.Time) string {
	no, yes := "  No  ", "  "+q.c.Verb+"  "
	if q.yes {
		yes = "[ " + q.c.Verb + " ]"
	} else {
		no = "[ No ]"
	}
	if draw.Width(no)+draw.Width(yes)+2 > w {
		yes = draw.Cut(yes, max(w-draw.Width(no)-2, 0))
	}
	style := func(on, off bool) theme.Style {
		switch {
		case !q.ready(now) || off:
			return th.Dim
		case on:
			return th.Selected(theme.Strong)
		}
		return theme.Style{}
	}
	line := style(!q.yes, false).Render(no) + "  " + style(q.yes, !q.read).Render(yes)
	return draw.Lay([]string{line}, w, 1)[0]
}

// small returns the question without a frame, for windows of a few lines: its object
// and the answers.
func (q *question) small(th *theme.Theme, w, h int, now time.Time) panel {
	w = min(w, dialogWidth)
	body := q.content(th, w, true)
	if q.c.ID != "" {
		body = append([]string{th.Strong.Render(q.c.Verb + " " + draw.ID(q.c.ID, max(w-draw.Width(q.c.Verb)-2, 4)) + "?")},
			body...)
	}
	tail := q.tail(th, w, now)[1:]
	if !q.read { // the answer line says how to see the rest
		tail[len(tail)-1] = draw.Lay([]string{th.Selected(theme.Strong).Render("[ No ]") + " " +
			th.Dim.Render(q.nav.PageDown.Help().Key+": rest")}, w, 1)[0]
	}
	p := panel{body: body, tail: tail, scroll: q.scroll, bare: true}.filled()
	if n := len(p.tail); n >= h { // drop the note first, then the typed characters; the answers stay
		p.tail = p.tail[n-max(h-1, 1):]
	}
	return p
}
