package ui

import (
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// How long a notice is shown.
const (
	noticeShort = 5 * time.Second
	noticeLong  = 10 * time.Second
)

// statusLine is the lines below the screen: the notice, and the keys that have an effect now.
type statusLine struct {
	win      *window
	stack    *screenStack
	dialogs  *dialogStack
	sent     *sentWrites
	activity *activity
	lock     *idleLock // keeps notices that arrive while the screen is blank
	notice   notice
	waits    []notice // news that are shown after notice
}

// notice is the line at the bottom.
type notice struct {
	kind  Level
	text  string
	hint  Hint
	layer *Layer // what covered the screen when it was made: the key of the hint works only there
	until time.Time
	shows time.Duration // how long it is shown
	news  bool          // not the answer to a key
	times int           // how often it was repeated while it was shown
	about *verdict.Finding
}

// take shows news that are notices, and a verdict whose first cause is another one.
func (s *statusLine) take(msg BroadcastMsg) {
	switch m := msg.(type) {
	case VerdictFacts:
		if t, changed := s.newVerdict(m); changed {
			s.toast(t)
		}
	case Toast:
		s.toast(m)
	}
}

// bad reports whether a notice of this level is a warning or error, which is counted.
func (k Level) bad() bool { return k == Error || k == Warning }

// times returns the count as text.
func times(n int) string { return format.Count(n) + " times" }

// notify shows a notice and keeps it in the activity list.
func (s *statusLine) notify(k Level, line string) tea.Cmd {
	return s.tell(Notify{Level: k, Text: line})
}

// tell is notify for a notice with a hint.
func (s *statusLine) tell(n Notify) tea.Cmd {
	s.activity.note(s.win.now(), n.Level, n.Text)
	return s.put(s.made(n))
}

// hint shows a notice without a record, such as that a key has no effect here.
func (s *statusLine) hint(k Level, line string) tea.Cmd {
	return s.put(s.made(Notify{Level: k, Text: line}))
}

// put shows a notice instead of the current one.
func (s *statusLine) put(n notice) tea.Cmd {
	if s.lock.on {
		s.lock.hold(&s.notice, n)
	} else {
		s.notice = n
	}
	s.reportNotice(n)
	return nil
}

// made returns a notice with the current time.
func (s *statusLine) made(of Notify) notice {
	k, shows := of.Level, noticeShort
	if k == Error || k == Denied || k == Warning {
		shows = noticeLong
	}
	line := untrusted.Text(of.Text).Line(400) // safe to draw, whatever its source
	n := notice{kind: k, text: line, hint: of.Hint, until: s.win.now().Add(shows), shows: shows, times: 1}
	n.hint.Text = untrusted.Text(of.Hint.Text).Line(200)
	if top := s.stack.top(); top != nil {
		n.layer = layerOf(top.screen)
	}
	if k.bad() && s.notice.kind == k && s.notice.text == line {
		n.times += s.notice.times
	}
	return n
}

func (s *statusLine) reportNotice(n notice) {
	if s.win.opt.Report != nil {
		s.win.opt.Report(Notify{Level: n.kind, Text: s.withHint(n, n.text)})
	}
}

// withHint returns the text of a notice with its hint, if that helps on the current screen.
func (s *statusLine) withHint(n notice, text string) string {
	at, layer := Place{}, (*Layer)(nil)
	if top := s.stack.top(); top != nil {
		at, layer = top.screen.Place(), layerOf(top.screen)
	}
	if !n.hint.helps(at) || n.hint.Works != (Place{}) && layer != n.layer {
		return text
	}
	return text + " " + n.hint.Text
}

// toast shows news. It replaces no notice: earlier or more important ones are shown first,
// and the others after them. A notice after a key does replace the current one.
func (s *statusLine) toast(t Toast) {
	for _, line := range t.Each {
		s.activity.note(s.win.now(), t.Level, line)
	}
	if len(t.Each) == 0 {
		s.activity.note(s.win.now(), t.Level, t.Text)
	}
	n := s.made(Notify{Level: t.Level, Text: t.Text, Hint: t.Hint})
	n.news, n.about = true, t.About
	switch old := s.notice; {
	case s.lock.on:
		s.lock.hold(&s.notice, n)
	case old.text == "" || !old.news || old.text == n.text:
		s.notice = n
	case n.kind.weight() > old.kind.weight() && old.kind != Info:
		s.notice = n
		s.wait(old)
	default:
		s.wait(n)
	}
	s.reportNotice(n)
}

// mostWaiting is the maximum of waiting notices; above it the oldest is only in the activity list.
const mostWaiting = 4

func (s *statusLine) wait(n notice) {
	if slices.ContainsFunc(s.waits, func(w notice) bool { return w.text == n.text }) {
		return
	}
	if s.waits = append(s.waits, n); len(s.waits) > mostWaiting {
		s.waits = s.waits[1:]
	}
}

// expireNotice removes an expired notice and shows the next waiting one.
func (s *statusLine) expireNotice(now time.Time) {
	if s.notice.expire(now); s.notice.text == "" && len(s.waits) > 0 && !s.lock.on {
		s.notice, s.waits = s.waits[0], s.waits[1:]
		s.notice.until = now.Add(s.notice.shows)
	}
}

func (n *notice) expire(now time.Time) {
	if !n.until.IsZero() && !now.Before(n.until) {
		*n = notice{}
	}
}

// fadeNotice removes a notice of the previous screen, unless it is a warning or error.
func (s *statusLine) fadeNotice() {
	if s.notice.kind == Info || s.notice.kind == Denied {
		s.notice = notice{}
	}
	s.expireNotice(s.win.now())
}

// look returns sign, word and tone of a level.
func (k Level) look(th *theme.Theme) (sign, word string, tone theme.Tone) {
	switch k {
	case Success:
		return th.Signs.Good, "done", theme.Good
	case Warning:
		return th.Signs.Warn, "careful", theme.Warn
	case Error:
		return th.Signs.Bad, "failed", theme.Bad
	case Denied:
		return th.Signs.Off, "off", theme.Warn
	}
	return th.Signs.Info, "", theme.Info
}

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

// hints returns the last line: the keys that have an effect here.
func (s *statusLine) hints() string {
	if s.win.chrome() == 3 {
		if line := s.noticeLine(s.win.w); line != "" {
			return line
		}
	}
	if o := s.dialogs.top(); o != nil {
		return s.hintLine(o.keys(), "", nil)
	}
	top := s.stack.top()
	if top == nil {
		return ""
	}
	if top.screen.Editing() { // the other keys are text now
		return s.hintLine(top.screen.Keys(), "", nil)
	}
	last := []keymap.Key{s.win.keys.Global.Help, s.win.keys.Global.Palette}
	if src := top.screen.Source(); src.Class != "" {
		k := s.win.keys.Global.Reload
		if s.win.w >= classFrom {
			k.SetHelp(k.Help().Key, "reload ("+safe(src.Class)+")")
		}
		last = append(last, k)
	}
	return s.hintLine(top.screen.Keys(), s.win.keys.List.Open.Name, last)
}

// classFrom is the width from which the reload's hint names the class of its call, as the header does.
const classFrom = 100

// hintLine draws as many keys as fit completely: the one named first, if it is among them, then in their order, which
// begins with the screen's main act; last are at the right edge. It gives room alternately to these, the most
// important first, and to the others. Both margins stay empty.
func (s *statusLine) hintLine(keys []keymap.Key, first string, last []keymap.Key) string {
	left := make([]keymap.Key, 0, mostHints)
	add := func(k *keymap.Key) {
		if len(left) < mostHints && !k.Extra && k.Enabled() && keymap.Index(last, k.Name) < 0 &&
			keymap.Index(left, k.Name) < 0 {
			left = append(left, *k)
		}
	}
	if at := keymap.Index(keys, first); at >= 0 {
		add(&keys[at])
	}
	for i := range keys {
		add(&keys[i])
	}
	room := s.win.w // a margin on each side, and no gap after the last one
	fits := func(list []keymap.Key, i int) bool {
		if i >= len(list) {
			return false
		}
		h := list[i].Help()
		cells := draw.Width(h.Key) + 1 + draw.Width(h.Desc) + 2
		if cells > room {
			return false
		}
		room -= cells
		return true
	}
	l, r, lmore, rmore := 0, 0, true, true
	for lmore || rmore {
		if rmore = rmore && fits(last, r); rmore {
			r++
		}
		if lmore = lmore && fits(left, l); lmore {
			l++
		}
	}
	right := append(last[min(r, 2):r:r], last[:min(r, 2)]...) // in reading order: reload, help, commands
	return draw.Spread(" "+s.labels(left[:l]), s.labels(right), s.win.w-1)
}

// labels draws keys on one line.
func (s *statusLine) labels(list []keymap.Key) string {
	out := make([]string, len(list))
	for i, k := range list {
		out[i] = s.win.th.Key.Render(k.Help().Key) + " " + s.win.th.Dim.Render(k.Help().Desc)
	}
	return strings.Join(out, "  ")
}

// mostHints is more than a line has room for.
const mostHints = 32

// keptCalls and keptNotes bound the activity list.
const (
	keptCalls = 200
	keptNotes = 200
)

// activityWord is the width of sign and word before the text of a line, the same for notices and calls.
const activityWord = 16

// activityText is the column where that text begins.
const activityText = len("  15:04:05  ") + activityWord + 1

// latestNotes is how many notices are above the calls.
const latestNotes = 8

// activity holds the running and finished calls, by id, and the notices.
type activity struct {
	calls []CallFacts // in the order they began
	notes []noted
}

type noted struct {
	at, first time.Time // when it was shown last, and first
	kind      Level
	text      string
	times     int // in a row
}

func (a *activity) call(f CallFacts) {
	for i := len(a.calls) - 1; i >= 0; i-- {
		if a.calls[i].ID == f.ID {
			a.calls[i] = f
			return
		}
	}
	if len(a.calls) >= keptCalls {
		a.calls = a.dropped()
	}
	a.calls = append(a.calls, f)
}

// dropped returns the calls without the oldest finished one.
func (a *activity) dropped() []CallFacts {
	for i, c := range a.calls {
		if !c.open() {
			return append(a.calls[:i:i], a.calls[i+1:]...)
		}
	}
	return a.calls[1:]
}

// note stores a notice. A repeated warning or error without another notice in between only raises its count.
func (a *activity) note(at time.Time, k Level, line string) {
	line = safe(line)
	if n := len(a.notes); n > 0 && k.bad() && a.notes[n-1].kind == k && a.notes[n-1].text == line {
		a.notes[n-1].at, a.notes[n-1].times = at, a.notes[n-1].times+1
		return
	}
	if len(a.notes) >= keptNotes {
		a.notes = append(a.notes[:0:0], a.notes[1:]...)
	}
	a.notes = append(a.notes, noted{at: at, first: at, kind: k, text: line, times: 1})
}

// newActivity returns the page that the key "!" opens.
func newActivity(s *Shell) *pager {
	p := newPager(s.win, 0, "Activity", nil)
	p.low = true
	p.lines = func(s *Shell) []string {
		var out []string
		for _, l := range activityLines(s) {
			out = append(out, draw.Hang(l, activityText, p.room(s))...)
		}
		return out
	}
	p.live = func(s *Shell, now time.Time) time.Time {
		if slices.ContainsFunc(s.activity.calls, CallFacts.open) {
			return now.Truncate(time.Second).Add(time.Second)
		}
		return time.Time{}
	}
	return p
}

func activityLines(s *Shell) []string {
	now := s.win.now()
	var open, over []string
	for i := len(s.activity.calls) - 1; i >= 0; i-- {
		c := s.activity.calls[i]
		line := callLine(s, c, now)
		if c.open() {
			open = append(open, line)
		} else {
			over = append(over, line)
		}
	}
	out := []string{s.win.th.Title.Render("Now")}
	for _, w := range s.sent.waiting() {
		out = append(out, "  "+s.win.th.Warn.Render(s.win.th.Signs.Wait+" sent, no answer yet: "+w))
	}
	out = append(out, open...)
	if len(out) == 1 {
		out = append(out, s.win.th.Dim.Render("  Nothing in progress."))
	}
	var notes []string
	for i := len(s.activity.notes) - 1; i >= 0; i-- {
		n := s.activity.notes[i]
		sign, word, tone := n.kind.look(s.win.th)
		text := n.text
		if n.times > 1 {
			text += s.win.th.Dim.Render("  " + times(n.times) + " since " + format.Clock(n.first, s.win.shown.zone))
		}
		notes = append(notes, "  "+s.win.th.Dim.Render(format.Clock(n.at, s.win.shown.zone))+"  "+
			s.win.th.Tone(tone).Render(draw.Fit(sign+" "+word, activityWord))+" "+text)
	}
	latest := min(len(notes), latestNotes)
	section := func(title string, lines []string) {
		out = append(out, "", s.win.th.Title.Render(title))
		if len(lines) == 0 {
			lines = []string{s.win.th.Dim.Render("  None yet.")}
		}
		out = append(out, lines...)
	}
	section("Notices", notes[:latest])
	section("Calls", over)
	if len(notes) > latest {
		section("Earlier notices", notes[latest:])
	}
	return out
}

func callLine(s *Shell, c CallFacts, now time.Time) string {
	th := s.win.th
	var sign, word string
	tone := theme.Plain
	switch c.Phase {
	case CallWaits:
		left, _ := format.Until(s.head.goes(c), now)
		sign, word, tone = th.Signs.Wait, "waits "+left, theme.Warn
	case CallRuns:
		ago, _ := since(c.At, now)
		sign, word, tone = th.Signs.Info, strings.TrimSpace("running "+ago), theme.Info
		c.Note = c.moved()
	case CallDone:
		sign, word, tone = th.Signs.Good, "done", theme.Good
	case CallFailed:
		sign, word, tone = th.Signs.Bad, "failed", theme.Bad
	case CallUnknown:
		sign, word, tone = th.Signs.Unknown, "unknown", theme.Warn
	}
	line := "  " + th.Dim.Render(format.Clock(c.At, s.win.shown.zone)) + "  " +
		th.Tone(tone).Render(draw.Fit(sign+" "+word, activityWord)) + " " + safe(c.What)
	if c.Class != "" {
		line += th.Dim.Render("  " + safe(c.Class))
	}
	if c.Note != "" {
		line += "  " + th.Tone(tone).Render(safe(c.Note))
	}
	return line
}

// Failure explains an act that was refused, that failed, or whose outcome is unknown:
// the sentence, the remedy, and the request's id. An act that waits for a second person
// did not fail: Failure then says where the colleague finds it.
func Failure(what string, err error) Explain {
	e := api.AsError(err)
	title := what + " failed"
	switch {
	case e.Rule == api.RuleApproval:
		title = what + " needs a second person"
	case e.Kind == api.UnknownOutcome:
		title = what + ": unknown outcome"
	case e.Kind == api.Refused, e.Kind == api.NotFound:
		title = what + " refused"
	}
	lines := []string{e.Public}
	if what := remedy.Screen(e); what != "" {
		lines = append(lines, what)
	}
	var facts []widget.Pair
	if e.RequestID != "" {
		facts = append(facts, widget.Pair{Label: "request", Value: untrusted.Text(e.RequestID).Line(80)})
	}
	return Explain{Title: title, Lines: lines, Facts: facts, err: e}
}

// whereNext says where a person sees what follows from an error; none if there is no such place.
func (s *window) whereNext(e *api.Error) []string {
	switch k := s.keys; {
	case e.Kind == api.UnknownOutcome:
		return []string{"A notice appears when the outcome is known; " + s.way(k.Global.Audit) + " lists writes with an " +
			"unknown outcome."}
	case e.Kind == api.RateLimited:
		return []string{s.way(k.Global.Limits) + " shows when the next call is possible; try again then."}
	case e.Rule == api.RuleApproval:
		return []string{"They find it in the console with " + s.way(k.Global.Audit) + ", then " +
			s.way(k.Audit.Approvals) + "."}
	}
	return nil
}

// canResend reports whether nothing was done and a corrected form may be sent again.
func canResend(e *api.Error) bool {
	switch e.Rule {
	case api.RuleApproval, api.RuleRole, api.RuleReadOnly, api.RuleShared:
		return false
	}
	return e.Kind != api.UnknownOutcome && e.Kind != api.Interrupted
}

// newRefused opens a refused form again, with the values that were sent and the refusal.
func newRefused(s *Shell, owner screenID, m FormModel, e Explain) *input {
	m.form().refuse(e)
	d := newInput(owner, m)
	d.armed = s.win.now().Add(armAfter)
	return d
}

// wrongField returns the field that the error names, else the first secret field, else the first field.
func wrongField(fields []widget.Field, name string) int {
	i := slices.IndexFunc(fields, func(f widget.Field) bool { return name != "" && f.Name == name })
	if i < 0 {
		i = slices.IndexFunc(fields, func(f widget.Field) bool { return f.Secret })
	}
	return max(i, 0)
}

// Ended returns the result of a write for its screen: done, or why it failed.
func Ended(what, done string, err error) Action {
	if err != nil {
		return Failure(what, err)
	}
	return Notify{Level: Success, Text: done}
}

// EndedElsewhere returns the result of a write in one line, for a person who left its screen.
func EndedElsewhere(failed, done string, err error) Notify {
	if err != nil {
		return Notify{Level: Error, Text: failed + ": " + untrusted.Text(api.AsError(err).Public).Line(300)}
	}
	return Notify{Level: Success, Text: done}
}
