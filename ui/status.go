package ui

import (
	"slices"
	"strings"

	"opdeck/internal/domain/verdict"
	"opdeck/ui/draw"
)

// noticeMost is the maximum of lines of a notice: a refusal has its reason and then its
// remedy.
const noticeMost = 3

// framed is the line of notices. Without a notice it is a heavy line in production.
func (s *statusLine) framed(line string) string {
	if s.win.opt.About.Environment != Production {
		if line == "" {
			return ""
		}
		return " " + line
	}
	sign, style := s.win.frame()
	if line == "" {
		return style.Render(strings.Repeat(sign, s.win.w))
	}
	rest := s.win.w - 4 - draw.Width(line)
	return style.Render(strings.Repeat(sign, 2)) + " " + line + " " + style.Render(strings.Repeat(sign, max(rest, 0)))
}

// noticeLine returns the notice in one line.
func (s *statusLine) noticeLine(w int) string {
	lines := s.noticeLines(w, 1, false)
	if len(lines) == 0 {
		return ""
	}
	return lines[0]
}

// noticeLines returns the notice in at most most lines of w cells; none if there is
// no notice. shown: the body has the text of the notice.
func (s *statusLine) noticeLines(w, most int, shown bool) []string {
	sign, line, style := s.win.th.Signs.Wait, "", s.win.th.Warn
	if s.sent.leaving {
		line = "Closing after the answer to: " + strings.Join(s.sent.waiting(), ", ")
	} else if s.notice.text != "" && !shown {
		look, _, tone := s.notice.kind.look(s.win.th)
		sign, line, style = look, s.notice.text, s.win.th.Tone(tone)
		if s.notice.times > 1 {
			line = strings.TrimRight(line, ".") + " (" + times(s.notice.times) + ")."
		}
		line = s.withHint(s.notice, line)
	} else if line = s.outage(); line != "" {
		sign, style = s.win.th.Signs.Bad, s.win.th.Bad
	}
	if line == "" {
		return nil
	}
	in := max(w-2, 1)
	parts := draw.Wrap(line, in)
	if len(parts) > most {
		parts = append(parts[:most-1:most-1], draw.Cut(strings.Join(parts[most-1:], " "), in))
	}
	for i, p := range parts {
		lead := sign + " "
		if i > 0 {
			lead = "  "
		}
		parts[i] = style.Render(draw.Cut(lead+p, w))
	}
	return parts
}

// outage is the first cause while it is critical, unless the screen on top prints it.
func (s *statusLine) outage() string {
	f, is := s.win.cause()
	if !is || f.Severity < verdict.Critical || s.stack.prints(f) {
		return ""
	}
	return safe(f.Sentence) + " " + s.win.keys.Global.OnCall.Help().Key + " shows more."
}

// placeNotice puts the notice into a frame whose header and body are drawn, and returns the
// line below the body. A longer notice covers the end of the body, which is not laid out
// again, so that no row moves. It never covers the row under the cursor: if that row is at
// the end, the notice is at the top of the body. placeNotice omits a notice that the body
// already shows (noticed).
func (s *statusLine) placeNotice(frame []string, shown bool) string {
	shown = shown && s.notice.text != "" && strings.TrimRight(s.notice.text, ".") ==
		strings.TrimRight(safe(s.stack.source().Problem), ".") || s.notice.about != nil && s.stack.prints(*s.notice.about)
	most := noticeMost
	switch {
	case s.win.h < 10 || len(s.dialogs.overlays) > 0: // nothing may cover a dialog
		most = 1
	case s.win.h < 16:
		most = 2
	}
	lines := s.noticeLines(s.win.w-4, most, shown)
	if len(lines) == 0 {
		return s.framed("")
	}
	for i := range lines {
		lines[i] = s.framed(lines[i])
	}
	more, body := len(lines)-1, len(frame)
	switch {
	case !s.covers(body-more, body):
		copy(frame[body-more:], lines[:more])
		return lines[more]
	case body-s.win.headed() > 2*len(lines) && !s.covers(s.win.headed(), s.win.headed()+len(lines)):
		copy(frame[s.win.headed():], lines)
		return s.framed("")
	}
	return s.framed(s.noticeLine(s.win.w - 4))
}

// covers reports whether a cursor is on lines from..to of the frame.
func (s *statusLine) covers(from, to int) bool {
	body := s.win.headed()
	return slices.ContainsFunc(s.stack.drawn().Cursors, func(l int) bool { return from <= body+l && body+l < to })
}
