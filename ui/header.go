package ui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// compactBelow is the width from which on the header is written out.
const compactBelow = 60

func (s *Shell) compact() bool { return s.w < compactBelow }

// header is the first line: where we are connected, and with how much room.
func (s *Shell) header(now time.Time) string {
	left := s.badges()
	a := s.opt.About
	who := safe(a.Context)
	if s.compact() {
		if asked := s.waiting(false); asked != "" {
			left += " " + asked
		}
		if feed := s.feedWarning(); feed != "" { // matters more than the name
			left += " " + feed
		}
		room := s.w - draw.Width(left) - 1
		if room < 3 || who == "" {
			return draw.Lay([]string{left}, s.w, 1)[0]
		}
		return left + " " + s.th.Strong.Render(draw.Cut(who, room))
	}
	left += " " + s.th.Strong.Render(draw.Cut(who, 24))
	if who := person(a); who != "" {
		left += s.th.Dim.Render(" " + s.th.Signs.Sep + " " + draw.Cut(who, 30))
	}
	var right []string
	if !s.shown.revealed.IsZero() {
		t, _ := draw.Until(s.shown.revealed, now)
		right = append(right, s.th.Warn.Render("revealed "+t))
	}
	if st := s.top(); st != nil && len(s.others.Others) > 0 && s.others.At == st.screen.Place() {
		right = append(right, s.th.Warn.Render(draw.Cut(strings.Join(s.others.Others, ", "), 24)+" here too"))
	}
	if asked := s.waiting(true); asked != "" {
		right = append(right, asked)
	}
	if feed := s.feedWarning(); feed != "" {
		right = append(right, feed)
	}
	right = append(right, s.access(now, true), s.room(now, true))
	sep := " " + s.th.Dim.Render(s.th.Signs.Sep) + " "
	// The budget and the token stay; names give way.
	facts := strings.Join(right, sep) + " "
	if over := draw.Width(left) + 1 + draw.Width(facts) - s.w; over > 0 {
		left = draw.Lay([]string{left}, max(draw.Width(left)-over, 0), 1)[0]
	}
	return draw.Spread(left, facts, s.w)
}

// waiting tells that colleagues ask for this person's approval.
func (s *Shell) waiting(long bool) string {
	switch {
	case s.asked <= 0:
		return ""
	case !long:
		return s.th.Warn.Render(s.th.Signs.Warn + strconv.Itoa(s.asked))
	}
	return s.th.Warn.Render(s.th.Signs.Warn + " " + strconv.Itoa(s.asked) + " to approve")
}

// feedWarning says that news of the service do not arrive as they used to: what is
// shown may be older than it looks.
func (s *Shell) feedWarning() string {
	var said []string
	if s.feed.State == "deaf" || s.feed.State == "quiet" {
		said = append(said, "feed "+s.feed.State)
	}
	if s.feed.Rejected > 0 {
		said = append(said, "hooks rejected")
	}
	if n := s.feed.Waiting; n > 0 {
		said = append(said, strconv.FormatInt(n, 10)+" not merged")
	}
	if len(said) == 0 {
		return ""
	}
	return s.th.Warn.Render(s.th.Signs.Warn + " " + strings.Join(said, ", "))
}

func person(a About) string {
	switch {
	case a.Person != "" && a.Role != "":
		return safe(a.Person) + ", " + safe(a.Role)
	case a.Person != "":
		return safe(a.Person)
	}
	return safe(a.Role)
}

// badges are the words that are always on screen.
func (s *Shell) badges() string {
	style := s.th.Sandbox
	switch s.opt.About.Ground {
	case Production:
		style = s.th.Production
	case Test:
		style = s.th.Test
	}
	pad := " "
	if s.compact() {
		pad = ""
	}
	out := style.Render(pad + s.opt.About.Ground.Word() + pad)
	if s.opt.About.ReadOnly {
		out += " " + s.th.ReadOnly.Render(pad+"READ-ONLY"+pad)
	}
	return out
}

// access is the access token's time left, or the session's state.
func (s *Shell) access(now time.Time, long bool) string {
	state := safe(s.session.State)
	switch {
	case state == "":
		state = "–"
	case state == "live" || state == "rotating":
		t, _ := draw.Until(s.session.AccessUntil, now)
		left := s.session.AccessUntil.Sub(now)
		tone := theme.Plain
		if left <= 15*time.Second {
			tone = theme.Bad
		} else if left <= time.Minute {
			tone = theme.Warn
		}
		if !long {
			return s.th.Tone(tone).Render(strings.ReplaceAll(t, " ", ""))
		}
		if state == "rotating" {
			t += ", refreshing"
		}
		return s.th.Dim.Render("access ") + s.th.Tone(tone).Render(t)
	}
	if !long {
		return s.th.Warn.Render(draw.Cut(state, 8))
	}
	return s.th.Dim.Render("session ") + s.th.Warn.Render(state)
}

// class is the budget class in use here.
func (s *Shell) class() string {
	if top := s.top(); top != nil {
		if c := top.screen.Source().Class; c != "" {
			return c
		}
	}
	return "billing"
}

// room is what is left in the budget class in use.
func (s *Shell) room(now time.Time, long bool) string {
	class := s.class()
	b, ok := s.budgets[class]
	if !ok {
		if long {
			return s.th.Dim.Render(safe(class) + " –")
		}
		return "–"
	}
	tone := theme.Plain
	if b.Room == 0 {
		tone = theme.Warn
	}
	if b.Throttled > 0 {
		tone = theme.Bad
	}
	if !long {
		return s.th.Tone(tone).Render(fmt.Sprintf("%d/%d", b.Room, b.Limit))
	}
	out := s.th.Dim.Render(safe(class)+" ") + s.th.Tone(tone).Render(fmt.Sprintf("%d of %d", b.Room, b.Limit))
	if b.Room == 0 && b.NextSlot.After(now) {
		t, _ := draw.Until(b.NextSlot, now)
		out += s.th.Warn.Render(", next " + t)
	}
	if b.Throttled > 0 {
		out += s.th.Bad.Render(" 429")
	}
	return out
}

// headerNext is when header or rule change by time alone.
func (s *Shell) headerNext(now time.Time) time.Time {
	var at time.Time
	if s.session.State == "live" || s.session.State == "rotating" {
		_, at = draw.Until(s.session.AccessUntil, now)
	}
	if b, ok := s.budgets[s.class()]; ok && b.Room == 0 {
		_, t := draw.Until(b.NextSlot, now)
		at = Sooner(at, t)
	}
	if !s.shown.revealed.IsZero() && !s.compact() {
		_, t := draw.Until(s.shown.revealed, now)
		at = Sooner(at, t)
	}
	if top := s.top(); top != nil {
		src := top.screen.Source()
		for _, moment := range []time.Time{src.At, src.Oldest} {
			if !moment.IsZero() {
				_, t := draw.Ago(moment, now)
				at = Sooner(at, t)
			}
		}
	}
	return at
}

// frame is the line that tells the ground by its shape too.
func (s *Shell) frame() (sign string, style theme.Style) {
	switch s.opt.About.Ground {
	case Production:
		return s.th.Signs.Heavy, s.th.Bad
	case Test:
		return s.th.Signs.Light, s.th.Warn
	}
	return s.th.Signs.Dotted, s.th.Info
}

// rule is the second line: breadcrumbs, and age and source of what is shown.
func (s *Shell) rule(now time.Time) string {
	sign, style := s.frame()
	age := s.age(now)
	if s.compact() {
		right := []string{s.access(now, false), s.room(now, false)}
		if age != "" {
			right = append(right, age)
		}
		facts := strings.Join(right, " ")
		for len(right) > 1 && draw.Width(facts) > s.w-4 {
			right = right[:len(right)-1]
			facts = strings.Join(right, " ")
		}
		room := s.w - draw.Width(facts) - 1
		return draw.Spread(s.th.Title.Render(draw.Cut(s.title(), room)), facts, s.w)
	}
	crumbs := s.crumbs(s.w - draw.Width(age) - 12)
	fill := s.w - draw.Width(crumbs) - draw.Width(age) - 7
	if age == "" {
		return style.Render(strings.Repeat(sign, 2)) + " " + crumbs + " " + style.Render(strings.Repeat(sign, max(s.w-draw.Width(crumbs)-4, 0)))
	}
	return style.Render(strings.Repeat(sign, 2)) + " " + crumbs + " " + style.Render(strings.Repeat(sign, max(fill, 0))) + " " + age + " " + style.Render(sign)
}

func (s *Shell) title() string {
	if top := s.top(); top != nil {
		return safe(top.screen.Title())
	}
	return ""
}

// crumbs is the way here: the last titles that fit in w cells.
func (s *Shell) crumbs(w int) string {
	sep := " " + s.th.Signs.Crumb + " "
	out := draw.Cut(s.title(), max(w, 1))
	used := draw.Width(out)
	out = s.th.Title.Render(out)
	for i := len(s.stack) - 2; i >= 0; i-- {
		t := draw.Cut(safe(s.stack[i].screen.Title()), 24)
		if used+draw.Width(t)+draw.Width(sep) > w {
			if used+len("… › ") <= w {
				out = s.th.Dim.Render(s.th.Signs.More+sep) + out
			}
			break
		}
		used += draw.Width(t) + draw.Width(sep)
		out = s.th.Dim.Render(t+sep) + out
	}
	return out
}

// age tells how old what is shown is and where it came from.
func (s *Shell) age(now time.Time) string {
	top := s.top()
	if top == nil {
		return ""
	}
	src := top.screen.Source()
	ago, _ := draw.Ago(src.At, now)
	oldest, _ := draw.Ago(src.Oldest, now)
	two := !src.Oldest.IsZero() && !src.At.IsZero() && src.Oldest.Before(src.At) && oldest != ago
	if s.compact() {
		short := strings.TrimSuffix(ago, " ago")
		if two {
			short += "–" + strings.TrimSuffix(oldest, " ago")
		}
		switch {
		case src.Problem != "":
			return s.th.Warn.Render(s.th.Signs.Warn + short)
		case src.At.IsZero() && src.Loading:
			return s.th.Dim.Render("…")
		case src.At.IsZero():
			return ""
		}
		return s.th.Dim.Render(short)
	}
	out := ""
	switch {
	case two:
		out = s.th.Dim.Render(safe(src.Origin) + ", newest " + strings.TrimSuffix(ago, " ago") + ", oldest " + strings.TrimSuffix(oldest, " ago"))
	case !src.At.IsZero():
		out = s.th.Dim.Render(safe(src.Origin) + ", " + ago)
	}
	join := func(part string) {
		if out != "" {
			out += " "
		}
		out += part
	}
	if src.Loading {
		join(s.th.Info.Render("loading…"))
	}
	if src.Problem != "" {
		room := s.w - draw.Width(s.title()) - draw.Width(out) - 16 // the title stays: a screen says itself what is wrong
		join(s.th.Warn.Render(s.th.Signs.Warn + " " + draw.Cut(safe(src.Problem), max(min(room, 40), 12))))
	}
	return out
}
