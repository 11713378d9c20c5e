package ui

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/approval"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/paint"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

const (
	// armAfter is the time from its drawing during which a question ignores every key,
	// because such a key was meant for the previous content.
	armAfter = 400 * time.Millisecond
	// quiet is the time without keys that a question requires after an ignored key, and
	// between typed characters and Enter: a held key repeats faster, and pasted
	// characters come faster.
	quiet = 120 * time.Millisecond
)

// question is the dialog that asks before a write. Only a separate key counts as yes, after
// the question has been on screen for armAfter; pasted text, the terminal's answers (which
// look like typed text) and held keys do not.
type question struct {
	dialog
	c      Confirm // a copy: later changes of the row have no effect
	digest string
	typed  bool // the person must type the last characters of the id
	want   string
	edit   widget.Edit
	yes    bool      // the marked answer; No at first
	asked  uint64    // number of the pending paint.AfterFrame; 0: none
	drawn  bool      // its current content was on screen
	last   time.Time // the last typed character
	note   string
	read   bool   // its last line was on screen: before that there is no yes
	size   [2]int // of the window that scroll is for
	k      keymap.Dialog
	nav    keymap.Nav
	cancel keymap.Key
}

func newQuestion(s *window, owner screenID, c Confirm) *question {
	q := &question{dialog: dialog{screen: owner}, c: c, digest: digest(c), want: act.LastOf(c.ID),
		edit: widget.Edit{Max: 32}, k: s.keys.Dialog, nav: s.keys.Nav, cancel: s.keys.Form.Cancel}
	q.typed = s.opt.About.Environment == Production && !c.SkipTypedConfirmation
	// Safe to draw, whatever its source; the digest is of the exact content.
	q.c.Title, q.c.Ask, q.c.Risk, q.c.Verb = safe(c.Title), safe(c.Ask), safe(c.Risk), cmp.Or(safe(c.Verb), "Yes")
	q.c.Facts, q.c.IDLabel = safeFacts(c.Facts), cmp.Or(safe(c.IDLabel), "id")
	return q
}

func safeFacts(list []widget.Pair) []widget.Pair {
	out := append([]widget.Pair(nil), list...)
	for i := range out {
		out[i].Label, out[i].Value = safe(out[i].Label), safe(out[i].Value)
	}
	return out
}

// digest hashes everything that the question shows, each part with its length.
func digest(c Confirm) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s,", len(s), s) }
	for _, s := range []string{c.IDLabel, c.ID, c.Title, c.Ask, c.Risk} {
		part(s)
	}
	for _, f := range c.Facts {
		part(f.Label)
		part(f.Value)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// early implements overlay: a question also waits until it was drawn.
func (q *question) early(now time.Time) bool { return !q.drawn || q.dialog.early(now) }

// awaitDrawn requests a paint.AfterFrame for the new questions: with it their frame reached the terminal, and earlier
// keys were meant for the previous content. (Bubble Tea's own renderer has drawn it by then.)
func (s *Shell) awaitDrawn() tea.Cmd {
	if !s.visible() {
		return nil
	}
	var cmds []tea.Cmd
	for _, q := range s.dialogs.questions() {
		if !q.drawn && q.asked == 0 {
			s.dialogs.frames++
			n := s.dialogs.frames
			q.asked = n
			cmds = append(cmds, func() tea.Msg { return paint.AfterFrame(n) })
		}
	}
	return tea.Batch(cmds...)
}

// onDrawn arms the drawn question; for one that was not visible it requests another paint.AfterFrame.
func (s *Shell) onDrawn(m paint.AfterFrame) {
	for _, q := range s.dialogs.questions() {
		if q.asked != uint64(m) {
			continue
		}
		if q.asked = 0; s.visible() {
			q.drawn, q.armed = true, later(q.armed, s.win.now().Add(armAfter))
		}
	}
}

func (q *question) key(s *Shell, p keymap.Press) (Action, tea.Cmd, bool) {
	now := s.win.now()
	if q.c.yields && !p.IsText() && !p.Burst && !q.owns(p) {
		return do(func(s *Shell) tea.Cmd { return s.press(p) }), nil, true
	}
	if q.early(now) {
		q.postpone(now)
		return nil, nil, false
	}
	if p.IsText() || p.Burst {
		q.note = "Type y or n; pasted text is ignored."
		if q.typed {
			q.note = "Type the characters; pasted text is ignored."
		}
		q.armed = now.Add(quiet)
		return nil, nil, false
	}
	q.note = ""
	switch {
	case q.nav.PageDown.Match(p):
		q.scroll = s.turned(q, 1)
	case q.nav.PageUp.Match(p):
		q.scroll = s.turned(q, -1)
	case q.k.Next.Match(p), q.k.Prev.Match(p):
		q.markOther()
	case q.k.Answer.Match(p):
		return q.enter(now)
	case !q.read && !q.cancel.Match(p) && (q.typed || q.k.Yes.Match(p)):
		q.note = "The end of the question was not shown yet."
	case q.typed && !q.cancel.Match(p):
		if q.edit.Type(p) {
			q.last, q.yes = now, q.matches()
		}
	case q.k.Yes.Match(p):
		return q.sayYes()
	case q.k.No.Match(p):
		return q.sayNo()
	}
	return nil, nil, false
}

// owns reports whether a key belongs to the question. q does, so that holding it down
// does not close the question that it opened.
func (q *question) owns(p keymap.Press) bool {
	for _, k := range []keymap.Key{q.k.Yes, q.k.No, q.k.Answer, q.k.Next, q.k.Prev, q.k.Close, q.nav.PageDown,
		q.nav.PageUp} {
		if k.Pressed(p) {
			return true
		}
	}
	return false
}

// markOther marks the other answer, if it is allowed.
func (q *question) markOther() {
	switch {
	case q.yes:
	case !q.read:
		q.note = "The end of the question was not shown yet."
		return
	case q.typed && !q.matches():
		q.note = strings.TrimRight(q.demand(), ".:") + "."
		return
	}
	q.yes = !q.yes
}

func (q *question) matches() bool { return q.want != "" && q.edit.Value() == q.want }

// demand says what to type.
func (q *question) demand() string {
	if q.want == "" {
		return "This id cannot be typed: you can only answer no."
	}
	return "Type the last " + q.wanted() + " of the " + q.c.IDLabel + ":"
}

// wanted is how many characters are typed.
func (q *question) wanted() string { return format.Plural(len(q.want), "character", "characters") }

func (q *question) enter(now time.Time) (Action, tea.Cmd, bool) {
	switch {
	case !q.yes:
		return q.sayNo()
	case !q.read, q.typed && (!q.matches() || now.Sub(q.last) < quiet):
		return nil, nil, false
	}
	return q.sayYes()
}

func (q *question) sayYes() (Action, tea.Cmd, bool) {
	c, seen := q.c, Seen{ID: q.c.ID, Digest: q.digest}
	return do(func(s *Shell) tea.Cmd {
		switch {
		case c.then != nil:
			return c.then(s)
		case c.Yes != nil:
			st := s.stack.find(q.screen)
			if st != nil {
				st.sent = c.form
			}
			return s.sent.track(c.Title, writeWith(st, c, seen))
		}
		return nil
	}), nil, true
}

func (q *question) sayNo() (Action, tea.Cmd, bool) {
	switch {
	case q.c.No != nil:
		return q.c.No(), nil, true
	case q.c.not != "":
		return Notify{Level: Info, Text: q.c.not}, nil, true
	}
	return nil, nil, true
}

// keys names what the keys answer now: what enter does, and how to get to a yes.
func (q *question) keys() []keymap.Key {
	yes, no, enter, other := q.k.Yes, q.k.No, q.k.Answer, q.k.Next
	marked := "No"
	if q.yes {
		marked = q.c.Verb
	}
	yes.SetHelp(yes.Help().Key, q.c.Verb)
	no.SetHelp(no.Help().Key, "No")
	enter.SetHelp(enter.Help().Key+":", marked)
	other.SetHelp(other.Help().Key, "changes")
	if q.typed { // n is a character there
		no.SetHelp(q.cancel.Help().Key, "No")
	}
	switch {
	case !q.read:
		more := q.nav.PageDown
		more.SetHelp(more.Help().Key, "the rest")
		more.Extra = false
		return []keymap.Key{more, no}
	case q.typed && q.want == "":
		return []keymap.Key{no}
	case q.typed && !q.matches():
		yes.SetHelp("type "+q.wanted()+",", "then "+q.k.Answer.Help().Key+": "+q.c.Verb)
		return []keymap.Key{yes, no}
	case q.typed:
		return []keymap.Key{enter, no, other}
	}
	return []keymap.Key{yes, no, enter, other}
}

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
		out = append(out, draw.Cut(ask, max(w-7, 1))+" "+q.edit.View(th, min(6, w), !q.early(now), ""), "")
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
		case q.early(now) || off:
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

// confirm opens the question of a screen. Where a second person approves its write and none has yet, a form asks for
// the reason before it.
func (s *Shell) confirm(st *openScreen, c Confirm) {
	c.Risk = strings.TrimSpace(c.Risk + " " + s.head.waits(c.act, s.win.now()))
	if len(c.sends) == 0 || !s.win.opt.About.SecondPerson {
		s.dialogs.push(newQuestion(s.win, st.id, c))
		return
	}
	if w, ok := requestFor(s.head.mine, st, c, approval.Approved, s.win.now()); ok {
		c.consent.Reason, c.Verb = w.Reason, "Send now (approved by "+w.By+")"
		s.dialogs.push(newQuestion(s.win, st.id, c.secondPerson("Approved by "+w.By+". This sends it now.")))
		return
	}
	waits, _ := requestFor(s.head.mine, st, c, approval.Open, s.win.now())
	f := NewForm(st.env, Ask{Title: c.Title, Verb: "Continue",
		Intro: []string{"A second person must approve this. They read the reason, and the audit trail keeps it."},
		Fields: []widget.Field{{Label: "Reason", Hint: "why it should be done", Optional: true, Max: api.MaxReason,
			Sentence: true, Value: waits.Reason}},
		Submit: func(v Values) (Action, tea.Cmd) {
			c := c
			c.consent, c.Verb = api.Consent{Reason: strings.TrimSpace(v.Text(0)), AskOnly: true}, askFor
			c.Title, c.Ask = askFor, askFor+": "+lowered(c.Ask)
			return do(func(s *Shell) tea.Cmd {
				s.dialogs.push(newQuestion(s.win, st.id, c.secondPerson("A second person must approve this. Nothing is sent yet.")))
				return nil
			}), nil
		}})
	s.dialogs.push(newInput(st.id, f))
}

// askFor is what the requester of an approval does.
const askFor = "Ask for approval"

// lowered is a sentence behind a colon.
func lowered(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	return string(unicode.ToLower(r)) + s[n:]
}

// secondPerson is the question with its reason and, first, what a yes does now.
func (c Confirm) secondPerson(now string) Confirm {
	c.Risk = strings.TrimSpace(now + " " + c.Risk)
	reason := widget.Pair{Label: "reason", Value: c.consent.Reason, Long: true}
	if reason.Value == "" {
		reason.Value, reason.Tone = "no reason given", theme.Warn
	}
	c.Facts = append([]widget.Pair{reason}, c.Facts...)
	return c
}

// requestFor finds, among the requests of this person, the one for what c would send next. The gate decides by the
// exact content: what is
// found here only words the question, and a question that was worded as asking never sends.
func requestFor(mine []AskedWrite, st *openScreen, c Confirm, state approval.State, now time.Time) (AskedWrite, bool) {
	ids := []string{st.screen.Place().ID, c.ID}
	if of, ok := st.screen.(SubjectOf); ok {
		ids = append(ids, of.Subject(KindOperation), of.Subject(KindCompliance))
	}
	i := slices.IndexFunc(mine, func(w AskedWrite) bool {
		item := w.Item == "" || w.Item == c.ID || w.Act != c.sends[0] // a later step is about what an earlier one made
		return w.State == state && slices.Contains(c.sends, w.Act) && slices.Contains(ids, w.ID) && item &&
			now.Before(w.Until)
	})
	if i < 0 {
		return AskedWrite{}, false
	}
	return mine[i], true
}

// writeWith calls Yes of c with the consent that was given: writes that it returns carry it.
func writeWith(st *openScreen, c Confirm, seen Seen) tea.Cmd {
	if st == nil {
		return c.Yes(seen)
	}
	root := st.env.Root
	st.env.Root = api.WithConsent(root, c.consent)
	defer func() { st.env.Root = root }()
	return c.Yes(seen)
}

// mostReasons is the maximum of conclusions that are explained at once, newest first.
const mostReasons = 12

// why explains the conclusions about the object of a place, or what is wrong and all conclusions if it has
// none, with the evidence of each.
func (s *Shell) why(at Place) Action {
	said := s.concluded.About(at.ID)
	var lines []string
	if at.ID == "" {
		lines = present.Evidence(s.win.verdictOptions(), s.win.shown.found.at(s.win.now()))
	}
	for _, c := range said[:min(len(said), mostReasons)] {
		lines = append(lines, safe(c.Line(s.win.shown.zone)))
	}
	if len(lines) == 0 {
		lines = []string{"No conclusions yet. This page lists what was done, refused or found complete, " +
			"with the read that shows it."}
	}
	return Explain{Title: "Evidence", Lines: lines}
}
