package ui

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/format"
	"opdeck/ui/keymap"
	"opdeck/ui/paint"
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
	// lastOfID is the number of characters of the id that the person types in production.
	lastOfID = 4
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
	armed  time.Time // keys before this time are ignored
	last   time.Time // the last typed character
	note   string
	scroll int
	read   bool   // its last line was on screen: before that there is no yes
	size   [2]int // of the window that scroll is for
	k      keymap.Dialog
	nav    keymap.Nav
	cancel keymap.Key
}

func newQuestion(s *window, owner screenID, c Confirm) *question {
	q := &question{dialog: dialog{owner}, c: c, digest: digest(c), want: LastOf(c.ID), edit: widget.Edit{Max: 32},
		k: s.keys.Dialog, nav: s.keys.Nav, cancel: s.keys.Form.Cancel}
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

// LastOf returns the characters to type: the last four of an id, or all of a
// shorter one. It returns "" if they are not all printable ASCII.
func LastOf(id string) string {
	r := []rune(id)
	r = r[max(len(r)-lastOfID, 0):]
	for _, c := range r {
		if c <= 0x20 || c > 0x7e {
			return ""
		}
	}
	return string(r)
}

func (q *question) ready(now time.Time) bool { return q.drawn && !now.Before(q.armed) }

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

func (q *question) counts(_ *Shell, now time.Time) time.Time {
	if !q.drawn || q.ready(now) {
		return time.Time{}
	}
	return q.armed
}

func (q *question) key(s *Shell, p keymap.Press) (Action, tea.Cmd, bool) {
	now := s.win.now()
	if q.c.yields && !p.IsText() && !p.Burst && !q.owns(p) {
		return do(func(s *Shell) tea.Cmd { return s.press(p) }), nil, true
	}
	if !q.ready(now) {
		q.armed = later(q.armed, now.Add(quiet))
		return nil, nil, false
	}
	if p.IsText() || p.Burst {
		q.note = "Pasted text is not an answer."
		q.armed = now.Add(quiet)
		return nil, nil, false
	}
	q.note = ""
	switch {
	case q.nav.PageDown.Match(p):
		q.scroll = turned(s, q, 1)
	case q.nav.PageUp.Match(p):
		q.scroll = turned(s, q, -1)
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
