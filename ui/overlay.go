package ui

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/lipgloss"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// overlay is a dialog above the screen. Only the top one gets keys.
type overlay interface {
	owner() screenID
	// key takes a key; done closes the dialog before the action is done.
	key(s *Shell, p keymap.Press) (a Action, cmd tea.Cmd, done bool)
	// panel returns its content for at most w by h cells.
	panel(s *Shell, w, h int, now time.Time) panel
	// counts is the time when its text changes next; zero: never.
	counts(s *Shell, now time.Time) time.Time
	// early reports whether keys are still ignored, because they were meant for the previous content.
	early(now time.Time) bool
	// layout is called after each message and lays out the next frame.
	layout(s *Shell)
	keys() []keymap.Key
}

// dialogStack is the open dialogs, the one on top last.
type dialogStack struct {
	overlays []overlay
	frames   uint64 // numbers paint.AfterFrame
}

// dialog is the common part of all dialogs.
type dialog struct {
	screen screenID
	armed  time.Time // keys before this time are ignored
	scroll int
}

func (d *dialog) owner() screenID          { return d.screen }
func (d *dialog) layout(*Shell)            {}
func (d *dialog) early(now time.Time) bool { return now.Before(d.armed) }

// postpone ignores keys for a moment longer.
func (d *dialog) postpone(now time.Time) { d.armed = later(d.armed, now.Add(quiet)) }

func (d *dialog) counts(_ *Shell, now time.Time) time.Time {
	if d.early(now) {
		return d.armed
	}
	return time.Time{}
}

// dialogWidth is the default width of a dialog.
const dialogWidth = 76

// hangsAt is the line of the upper edge of a dialog that hangs.
const hangsAt = 1

// wideDialog is the maximum width of a dialog that lists sentences and objects, in a window
// of w cells. The palette and the opener always have this width, so that it does not change
// while the person types.
func wideDialog(w int) int { return max(96, 2*w/3) }

// panel is the content of a dialog: in a low window the body scrolls, and the
// tail stays.
type panel struct {
	title, foot string
	body, tail  []string
	scroll      int
	width       int // 0: dialogWidth
	tone        theme.Tone
	more        string // how to see the hidden lines; empty: the key of the next page
	bare        bool   // no frame; it uses the full height
	hangs       bool   // its upper edge has a fixed line at any height
	below       int    // lines above it that stay in view
}

// hidden is the number of lines of the body that do not fit into h lines; in a frame the
// line with this number takes one more.
func (p panel) hidden(h int) int {
	if p.bare {
		return max(len(p.body)-max(h-len(p.tail), 0), 0)
	}
	if over := len(p.body) - max(h-2-len(p.tail), 1); over > 0 {
		return over + 1
	}
	return 0
}

// fitted returns the panel for h lines, without empty lines if text would be hidden.
func (p panel) fitted(h int) panel {
	if p.bare || p.hidden(h) == 0 {
		return p
	}
	return p.filled()
}

// filled returns the panel without empty lines.
func (p panel) filled() panel {
	p.body, p.tail = filled(p.body), filled(p.tail)
	return p
}

func filled(lines []string) []string {
	return slices.DeleteFunc(slices.Clone(lines), func(l string) bool { return strings.TrimSpace(l) == "" })
}

func (p panel) draw(th *theme.Theme, w, h int) []string {
	p = p.fitted(h)
	if p.width == 0 {
		p.width = dialogWidth
	}
	w = min(w, p.width)
	hidden := p.hidden(h)
	at := min(p.scroll, hidden)
	lines := slices.Clone(p.body[at : len(p.body)-hidden+at])
	switch {
	case p.bare:
		lines = draw.Lay(lines, w, max(h-len(p.tail), 0))
	case hidden > 0:
		lines = append(lines, th.Dim.Render(draw.Cut(p.more, max(w-4, 1))))
	}
	lines = append(lines, p.tail...)
	if !p.bare {
		lines = widget.Box(th, p.title, lines, p.foot, w, min(len(lines)+2, max(h, 1)), p.tone)
	}
	for i := range lines {
		lines[i] = draw.Pad(lines[i], w)
	}
	return lines
}

// turned returns the position of a dialog after scrolling by whole pages of what is visible.
func (s *Shell) turned(o overlay, pages int) int {
	w, h := s.win.area()
	p := o.panel(s, w, h, s.win.now()).fitted(h)
	return max(min(p.scroll+pages*max(len(p.body)-p.hidden(h), 1), p.hidden(h)), 0)
}

// do is an Action of the shell itself, and the answer to one of its commands.
type do func(*Shell) tea.Cmd

func (do) isAction() {}

// top returns the dialog on top; nil: none is open.
func (s *dialogStack) top() overlay {
	if len(s.overlays) == 0 {
		return nil
	}
	return s.overlays[len(s.overlays)-1]
}

func (s *dialogStack) push(o overlay) { s.overlays = append(s.overlays, o) }

// overlayKey passes a key to the top dialog.
func (s *Shell) overlayKey(o overlay, p keymap.Press) tea.Cmd {
	a, cmd, done := o.key(s, p)
	if done {
		s.dialogs.remove(o)
	}
	return s.finish(o, a, cmd)
}

// asker returns the screen of a dialog: its owner, else the one on top.
func (s *Shell) asker(o overlay) *openScreen {
	if st := s.stack.find(o.owner()); st != nil {
		return st
	}
	return s.stack.top()
}

// finish performs the remaining action of a closed dialog.
func (s *Shell) finish(o overlay, a Action, cmd tea.Cmd) tea.Cmd {
	return tea.Batch(s.act(s.asker(o), a), cmd)
}

func (s *dialogStack) remove(o overlay) {
	if m, ok := o.(*menu); ok {
		m.seek.Stop()
		m.reads.Stop()
	}
	s.overlays = slices.DeleteFunc(slices.Clone(s.overlays), func(other overlay) bool { return other == o })
}

// questions returns the open questions, oldest first.
func (s *dialogStack) questions() []*question {
	var out []*question
	for _, o := range s.overlays {
		if q, ok := o.(*question); ok {
			out = append(out, q)
		}
	}
	return out
}

// cover draws a dialog over the lines below it and dims them. Beside it nothing is drawn: lines that end at its
// edges would end within words.
func (s *Shell) cover(o overlay, below []string, now time.Time) []string {
	w, h := s.win.area()
	p := o.panel(s, w, h, now)
	p.more = cmp.Or(p.more, s.win.keys.Nav.PageDown.Help().Key+" shows more")
	if o.early(now) {
		p.foot = s.win.th.Signs.Wait + " keys are ignored for a moment"
	}
	box := p.draw(s.win.th, w, h)
	if len(box) == 0 {
		return below
	}
	bw := min(draw.Width(box[0]), w)
	x, y := (w-bw)/2, p.below+max((h-p.below-len(box))/3, 0)
	if p.hangs {
		y = min(hangsAt, max(h-len(box), 0))
	}
	out := make([]string, h)
	for i := range out {
		if i < y || i >= y+len(box) {
			out[i] = s.win.th.Dim.Render(draw.Unstyled(below[i]))
			continue
		}
		out[i] = draw.Space(x) + box[i-y]
	}
	return out
}

// pager is a dialog with a viewer: raw JSON, help, activity, explanations.
type pager struct {
	dialog
	title string
	lines func(*Shell) []string
	live  func(*Shell, time.Time) time.Time // nil: the lines do not change
	view  *widget.Viewer
	wide  int    // maximum width in cells
	raw   []byte // the JSON that it shows and y copies, with the current masking; nil: none
	w, h  int
	rows  int  // of low: its lines
	copy  Copy // Text empty: nothing to copy
	hides bool // raw is masked in lines and copy
	low   bool // its height is that of its lines, which fit its width
	press *keymap.Map

	explains *Explain  // what it says, if it is an explanation: most keys close it
	until    time.Time // keys before this time have no effect: they were meant for the previous content
}

// newExplain returns a pager with an explanation. That of an error ignores keys as long as a question does.
func newExplain(s *window, owner screenID, e Explain) *pager {
	e.Title, e.Facts = safe(e.Title), safeFacts(e.Facts)
	p := newPager(s, owner, e.Title, nil)
	p.wide, p.low, p.copy, p.explains, p.until = dialogWidth, true, e.Copy, &e, s.now().Add(quiet)
	if e.failed() {
		p.armed = s.now().Add(armAfter)
	}
	p.lines = func(s *Shell) (out []string) {
		for _, l := range e.Lines {
			out = append(out, draw.Wrap(safe(l), p.room(s))...)
		}
		if len(e.Facts) > 0 {
			out = append(append(out, ""), widget.Pairs(s.win.th, e.Facts, p.room(s))...)
		}
		return out
	}
	return p
}

func newPager(s *window, owner screenID, title string, lines func(*Shell) []string) *pager {
	return &pager{dialog: dialog{screen: owner}, title: title, lines: lines, wide: pagerWidth,
		view: widget.NewViewer(s.th, s.keys), press: s.keys}
}

// newRaw returns a pager with JSON, masked while masking is on.
func newRaw(s *window, owner screenID, a Raw) *pager {
	p := newPager(s, owner, a.Title, nil)
	p.raw = a.JSON
	p.readRaw(s)
	return p
}

// readRaw makes lines and copy from raw.
func (p *pager) readRaw(s *window) {
	p.hides = s.shown.hides()
	is := mask.JSONIf(p.raw, p.hides)
	lines, whole := format.JSON(is, maxRawLines)
	if !whole {
		lines = append(lines, "… cut here: "+format.Size(int64(len(is)))+
			" in total; the command with -o json shows all of it")
	}
	p.lines, p.copy = func(*Shell) []string { return lines }, Copy{Text: string(is), What: "the JSON"}
}

func (p *pager) counts(s *Shell, now time.Time) time.Time {
	if p.live == nil {
		return p.dialog.counts(s, now)
	}
	return p.live(s, now)
}

// copies is the key that copies the text.
func (p *pager) copies() keymap.Key {
	if p.explains != nil {
		return p.press.Item.CopyID
	}
	return p.press.Viewer.Copy
}

func (p *pager) keys() []keymap.Key {
	if hits := p.view.Hints(); hits != nil {
		return hits
	}
	if p.explains != nil {
		k, y := p.press.Dialog.Answer, p.copies()
		k.SetHelp("enter", "close")
		if p.copy.Text == "" {
			return []keymap.Key{k}
		}
		y.SetHelp(y.Help().Key, "copy "+p.copy.What)
		return []keymap.Key{k, y}
	}
	if p.copy.Text == "" {
		return []keymap.Key{p.press.Viewer.Search, p.press.Viewer.Next, p.press.Viewer.Close}
	}
	out := []keymap.Key{p.press.Viewer.Search, p.press.Viewer.Next, p.press.Viewer.Copy}
	if p.raw != nil && p.hides {
		show := p.press.Global.Reveal
		show.SetHelp(show.Help().Key, "show masked values")
		show.Extra = false
		out = append(out, show)
	}
	return append(out, p.press.Viewer.Close)
}

func (p *pager) key(s *Shell, msg keymap.Press) (Action, tea.Cmd, bool) {
	switch now, k, c := s.win.now(), p.press.Viewer, p.press.Dialog; {
	case p.early(now):
		p.postpone(now)
	case now.Before(p.until):
	case p.view.Searching():
		p.view.Update(msg)
	case msg.IsText(), p.explains != nil && (msg.Burst || k.Search.Match(msg)):
	case k.Close.Match(msg):
		return nil, nil, !p.view.Clear()
	case p.explains != nil && (c.Answer.Match(msg) || c.No.Match(msg) || c.Close.Match(msg)):
		return nil, nil, true
	case p.copy.Text != "" && p.copies().Match(msg):
		return p.copy, nil, false
	case p.raw != nil && p.press.Global.Reveal.Match(msg):
		return do(func(s *Shell) tea.Cmd { return s.reveal() }), nil, false
	default:
		p.view.Update(msg)
	}
	return nil, nil, false
}

const pagerWidth = 120

// layout sets size and lines of the viewer. It uses the full height, so that no edge of the
// screen below distracts.
func (p *pager) layout(s *Shell) {
	_, h := s.win.area()
	w := p.room(s)
	again := p.raw != nil && p.hides != s.win.shown.hides()
	if again {
		p.readRaw(s.win)
	}
	p.h = max(h-2, 1)
	if again || p.live != nil || p.explains != nil || w != p.w {
		lines := p.lines(s)
		if p.explains != nil && len(lines) > p.h {
			lines = filled(lines)
		}
		if p.view.SetLines(lines); p.low {
			p.rows = len(lines)
		}
	}
	if p.w = w; p.low && !p.view.Seeking() { // the line of a search takes the place of none
		p.h = max(min(p.h, p.rows), 1)
	}
	p.view.SetSize(p.w, p.h)
}

// room is the width of its lines.
func (p *pager) room(s *Shell) int {
	w, _ := s.win.area()
	return max(min(w, p.wide)-4, 1)
}

func (p *pager) panel(*Shell, int, int, time.Time) panel {
	out := panel{title: p.title, tail: p.view.Lines(), foot: p.view.Further(), width: p.wide, tone: theme.Accent}
	if p.explains != nil {
		out.tone = cmp.Or(p.explains.Tone, theme.Warn)
	}
	return out
}

// sentWrites holds the writes that were sent and not answered yet, and whether the person is leaving.
type sentWrites struct {
	writes  map[uint64]string
	written uint64
	leaving bool // the console exits as soon as they are answered
	gone    bool
}

// track runs a command that sends a write. The console does not exit before the command and
// all parts of its batch or sequence have ended.
func (s *sentWrites) track(what string, cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	s.written++
	n := s.written
	s.writes[n] = safe(what)
	return tea.Sequence(cmd, func() tea.Msg { return do(func(s *Shell) tea.Cmd { return s.writeEnded(n) }) })
}

// writeEnded records the end of a command that sends a write; its answer came before.
func (s *Shell) writeEnded(n uint64) tea.Cmd {
	delete(s.sent.writes, n)
	if s.sent.leaving && len(s.sent.writes) == 0 {
		return s.quit()
	}
	return nil
}

// waiting returns the names of writes that were sent and not answered yet.
func (s *sentWrites) waiting() []string { return slices.Sorted(maps.Values(s.writes)) }

// Back closes the screen on top; on the last one it asks to leave.
func (s *Shell) Back() tea.Cmd {
	if !s.stack.root() {
		return s.route.goTo(len(s.stack.stack)-2, Place{}, nil)
	}
	c := Confirm{Title: "Leave", Ask: "Leave the console?", Verb: "Leave", SkipTypedConfirmation: true, then: leave,
		yields: true}
	if len(s.sent.writes) > 0 {
		c.Risk = "A request has no answer yet. The console waits for the answer, then closes."
	}
	s.dialogs.push(newQuestion(s.win, 0, c))
	return nil
}

// closing calls then; if a screen of the list has typed text, it asks first. next is that of askDiscard.
func (s *router) closing(list []*openScreen, next string, then func(*Shell) tea.Cmd) tea.Cmd {
	for _, st := range list {
		if what := unsaved(st); what != "" {
			return s.askDiscard(what, next, then)
		}
	}
	return s.perform(nil, do(then))
}

// askDiscard asks before what ("the form") is lost; next is a sentence about the consequence, or "".
func (s *router) askDiscard(what, next string, then func(*Shell) tea.Cmd) tea.Cmd {
	c := Confirm{
		Title: "Discard typed text", Ask: "Discard " + what + "?", Verb: "Discard", SkipTypedConfirmation: true, then: then,
		Risk: next,
	}
	s.dialogs.push(newQuestion(s.win, 0, c))
	return nil
}

// interrupt handles ctrl+c: it exits at once, but asks if typed text would be
// lost. A second ctrl+c in that question exits.
func (s *Shell) interrupt() tea.Cmd {
	if s.sent.leaving {
		return nil // the status line shows the writes
	}
	switch o := s.dialogs.top().(type) {
	case *question:
		return s.Leave()
	case *input:
		if what := o.model.form().unsaved(); what != "" {
			return s.route.askDiscard(what, "The console closes.", leave)
		}
	}
	return s.route.closing(s.stack.stack, "The console closes.", leave)
}

// Leave ends the console: it drops writes that were not sent, and QuitMsg follows after the
// answers to the others.
func (s *Shell) Leave() tea.Cmd {
	s.win.end()
	s.dialogs.overlays = nil
	if len(s.sent.writes) > 0 {
		s.sent.leaving = true
		return nil
	}
	return s.quit()
}

func (s *Shell) quit() tea.Cmd {
	s.sent.gone = true
	for _, st := range s.stack.stack {
		st.cancel()
	}
	return tea.Quit
}

func safe(line string) string { return untrusted.Text(line).Line(400) }

func leave(s *Shell) tea.Cmd { return s.Leave() }

// idleLock is the state of the blank screen of an absent person: the time of the last key,
// and the events since the screen went blank.
type idleLock struct {
	after       time.Duration // without a key; 0: never
	lastKey     time.Time
	on          bool
	ignoreUntil time.Time // keys until then are dropped: they were typed with the unlocking key
	missed      int       // notices while the screen was blank
	lapsed      int       // open questions that it closed
}

// drops reports whether a key was typed with the one that unlocked the screen.
func (v *idleLock) drops(now time.Time) bool {
	v.lastKey = now
	if !now.Before(v.ignoreUntil) {
		return false
	}
	v.ignoreUntil = now.Add(quiet)
	return true
}

// idle reports whether there was no key for the time of the lock. It uses both clocks, because
// one of them stops while the machine sleeps.
func (v *idleLock) idle(now time.Time) bool {
	d := max(now.Sub(v.lastKey), now.Round(0).Sub(v.lastKey.Round(0)))
	return v.after > 0 && d >= v.after
}

// lockWhenIdle blanks the screen when the time is over. It closes open questions, so that no
// other person can answer them.
func (s *Shell) lockWhenIdle(now time.Time) tea.Cmd {
	if s.lock.on || s.sent.leaving || s.sent.gone || !s.lock.idle(now) {
		return nil
	}
	var cmds []tea.Cmd
	open := s.dialogs.questions()
	for _, q := range open {
		s.dialogs.remove(q)
		if st := s.stack.find(q.screen); st != nil && q.c.No != nil {
			cmds = append(cmds, s.route.perform(st, q.c.No()))
		}
	}
	s.status.notice = notice{}
	s.lock.on, s.lock.missed, s.lock.lapsed = true, 0, len(open)
	if !s.win.shown.revealed.IsZero() {
		s.win.shown.revealed = time.Time{}
		cmds = append(cmds, s.route.broadcast(DisplayChanged{}))
	}
	return tea.Batch(cmds...)
}

// unlock shows the screen again and reports what happened in the meantime.
func (s *Shell) unlock(now time.Time) {
	was := *s.lock
	*s.lock = idleLock{after: was.after, lastKey: now, ignoreUntil: now.Add(quiet)}
	defer s.status.expireNotice(now)
	if top := s.stack.top(); top != nil {
		s.route.deliver(top, Tick{})
	}
	if was.lapsed > 0 {
		line := "The question expired while the screen was blank: nothing was done."
		if was.missed == 0 {
			s.status.notify(Warning, line)
			return
		}
		s.activity.note(now, Warning, line)
		s.status.notice.text += " " + line
	}
	if was.missed == 0 {
		return
	}
	if was.missed > 1 {
		s.status.notice.text += " (" + format.Plural(was.missed-1, "notice", "notices") + " more: !)"
	}
	s.status.notice.until = now.Add(noticeLong)
}

// hold stores a notice while the screen is blank; it keeps only the most important one.
func (v *idleLock) hold(old *notice, n notice) {
	v.missed++
	n.until = time.Time{}
	if old.text == "" || n.kind.weight() >= old.kind.weight() {
		*old = n
	}
}

// weight orders levels by importance.
func (k Level) weight() int { return map[Level]int{Success: 1, Denied: 1, Warning: 2, Error: 3}[k] }

// lockAt is the time when the screen goes blank; zero for never, as while the person is leaving.
func (v *idleLock) lockAt(leaving bool) time.Time {
	if v.after <= 0 || v.on || leaving {
		return time.Time{}
	}
	return v.lastKey.Add(v.after)
}

// blank returns the blank frame: it shows the connection, but no data. waits: a write has no
// answer yet.
func (s *window) blank(waits bool) []string {
	head := s.badges()
	if room := s.w - draw.Width(head) - 1; room >= 3 {
		head += " " + s.th.Strong.Render(draw.Cut(safe(s.opt.About.Context), min(room, 24)))
	}
	say := "No key pressed for " + format.Duration(s.opt.IdleLock) + "."
	if waits {
		say += "\nStill waiting for answers to sent requests."
	}
	var lines []string
	for _, l := range strings.Split(say, "\n") {
		for _, part := range draw.Wrap(l, max(s.w-2, 1)) {
			lines = append(lines, s.th.Dim.Render(part))
		}
	}
	for _, part := range draw.Wrap("Press any key to continue.", max(s.w-2, 1)) {
		lines = append(lines, s.th.Strong.Render(part))
	}
	top := []string{head}
	if s.w >= compactBelow {
		sign, style := s.frame()
		top = append(top, style.Render(strings.Repeat(sign, s.w)))
	}
	room := s.h - len(top)
	lines = lines[max(len(lines)-room, 0):] // the last line matters most
	page := lipgloss.JoinVertical(lipgloss.Center, lines...)
	page = lipgloss.Place(s.w, room, lipgloss.Center, lipgloss.Center, page)
	return append(top, strings.Split(page, "\n")...)
}
