package ui

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

const (
	// armAfter is how long a question ignores every key, from when it was first
	// drawn: what was typed before that was typed at something else.
	armAfter = 400 * time.Millisecond
	// quiet is the silence that a question wants after a key it ignored, and
	// before Enter behind typed characters: a held key repeats faster, pasted
	// characters come faster.
	quiet = 120 * time.Millisecond
	// lastOfID is how many characters of the id are typed in production.
	lastOfID = 4
)

// question is the one dialog that asks before something is written. A yes is
// one key of its own after the question was on screen for a while; pasted text,
// the terminal's answers (they look like typed text) and held keys are none.
type question struct {
	screen screenID
	c      Confirm // a copy: what happens to the row below does not matter
	digest string
	typed  bool // the last characters of the id are to be typed
	want   string
	edit   widget.Edit
	yes    bool      // the marked answer; No at first
	drawn  bool      // it was on screen since its content is what it is
	armed  time.Time // keys count from here on
	last   time.Time // the last typed character
	note   string
	scroll int
	k      keymap.Dialog
}

func newQuestion(s *Shell, owner screenID, c Confirm) *question {
	q := &question{screen: owner, k: s.keys.Dialog}
	q.typed = s.opt.About.Ground == Production && !c.Mild
	q.set(c, s.now())
	return q
}

func (q *question) set(c Confirm, now time.Time) {
	q.digest, q.want = digest(c), lastOf(c.ID)
	// Drawn safely whatever it came from; the digest is of the exact content.
	c.Title, c.Ask, c.Risk, c.Verb = safe(c.Title), safe(c.Ask), safe(c.Risk), safe(c.Verb)
	c.Facts = safeFacts(c.Facts)
	if c.Verb == "" {
		c.Verb = "Yes"
	}
	q.c = c
	q.yes, q.scroll = false, 0
	q.edit = widget.Edit{Max: 32}
	q.drawn, q.armed = false, now.Add(armAfter)
}

func safeFacts(list []widget.Pair) []widget.Pair {
	out := append([]widget.Pair(nil), list...)
	for i := range out {
		out[i].Label, out[i].Value = safe(out[i].Label), safe(out[i].Value)
	}
	return out
}

// revise takes new content: the answer starts from the beginning.
func (q *question) revise(c Confirm, now time.Time) {
	if digest(c) == q.digest {
		q.c.Yes, q.c.No = c.Yes, c.No
		return
	}
	q.set(c, now)
	q.note = "The content has changed. Look again."
}

// digest covers all that the question shows, each part with its length.
func digest(c Confirm) string {
	h := sha256.New()
	part := func(s string) { fmt.Fprintf(h, "%d:%s,", len(s), s) }
	for _, s := range []string{c.ID, c.Title, c.Ask, c.Risk} {
		part(s)
	}
	for _, f := range c.Facts {
		part(f.Label)
		part(f.Value)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// lastOf is what must be typed: the last four characters of an id, or all of a
// shorter one. Empty when they are not all on every keyboard (printable ASCII).
func lastOf(id string) string {
	r := []rune(id)
	r = r[max(len(r)-lastOfID, 0):]
	for _, c := range r {
		if c <= 0x20 || c > 0x7e {
			return ""
		}
	}
	return string(r)
}

func (q *question) owner() screenID { return q.screen }

func (q *question) ready(now time.Time) bool { return q.drawn && !now.Before(q.armed) }

// show notes that the question reaches the screen now. The painter asks for a
// frame only when it can draw it; keys that wait were typed before.
func (q *question) show(now time.Time) {
	if !q.drawn {
		q.drawn, q.armed = true, later(q.armed, now.Add(armAfter))
	}
}

func (q *question) counts(_ *Shell, now time.Time) time.Time {
	switch {
	case q.ready(now):
		return time.Time{}
	case !q.drawn:
		return now.Add(armAfter)
	}
	return q.armed
}

func (q *question) key(s *Shell, msg tea.KeyMsg) (result, bool) {
	now := s.now()
	if !q.ready(now) {
		q.armed = later(q.armed, now.Add(quiet))
		return result{}, false
	}
	if widget.IsPaste(msg) || msg.Alt {
		q.note = "Pasted text is no answer."
		q.armed = now.Add(quiet)
		return result{}, false
	}
	q.note = ""
	switch {
	case msg.Type == tea.KeyPgDown:
		q.scroll++
	case msg.Type == tea.KeyPgUp:
		q.scroll = max(q.scroll-1, 0)
	case q.k.Next.Match(msg), q.k.Prev.Match(msg):
		q.turn()
	case q.k.Answer.Match(msg):
		return q.enter(now)
	case q.typed && msg.Type != tea.KeyEsc:
		q.letter(msg, now)
	case q.k.Yes.Match(msg):
		return q.sayYes()
	case q.k.No.Match(msg):
		return q.sayNo()
	}
	return result{}, false
}

// turn marks the other answer, if it may be given.
func (q *question) turn() {
	if !q.yes && q.typed && !q.matches() {
		q.note = q.demand()
		return
	}
	q.yes = !q.yes
}

func (q *question) matches() bool { return q.want != "" && q.edit.Value() == q.want }

func (q *question) demand() string {
	if q.want == "" {
		return "This id cannot be typed; the answer can only be no."
	}
	return fmt.Sprintf("Type the last %s of the id first.", draw.Plural(len(q.want), "character", "characters"))
}

func (q *question) letter(msg tea.KeyMsg, now time.Time) {
	if q.edit.Type(msg) {
		q.last = now
		q.yes = q.matches()
	}
}

func (q *question) enter(now time.Time) (result, bool) {
	if !q.yes {
		return q.sayNo()
	}
	if q.typed && (!q.matches() || now.Sub(q.last) < quiet) {
		return result{}, false
	}
	return q.sayYes()
}

func (q *question) sayYes() (result, bool) {
	c, seen := q.c, Seen{ID: q.c.ID, Digest: q.digest}
	return result{then: func(s *Shell) tea.Cmd {
		if c.then != nil {
			return c.then(s)
		}
		if c.Yes == nil {
			return nil
		}
		return s.track(c.Title, c.Yes(seen))
	}}, true
}

func (q *question) sayNo() (result, bool) {
	if q.c.No != nil {
		return result{action: q.c.No()}, true
	}
	return result{}, true
}

func (q *question) keys() []keymap.Key {
	if q.typed { // n is a character there
		no := q.k.No
		no.SetHelp("esc", "no")
		return []keymap.Key{no, q.k.Answer, q.k.Next}
	}
	return []keymap.Key{q.k.Yes, q.k.No, q.k.Answer, q.k.Next}
}

func (q *question) box(s *Shell, w, h int, now time.Time) []string {
	q.show(now)
	th := s.th
	bw := min(w, 76)
	in := bw - 4
	foot := ""
	tone := theme.Warn
	if s.opt.About.Ground == Production {
		tone = theme.Bad
	}
	if !q.ready(now) {
		foot = th.Signs.Wait + " wait, keys count in a moment"
	}
	if h < 8 || bw < 8 {
		return q.small(s, bw, h, now)
	}
	content := q.content(th, in)
	tail := q.tail(th, in, now)
	room := max(h-2-len(tail), 1)
	if len(content) > room {
		q.scroll = min(q.scroll, len(content)-room+1)
		content = append(content[q.scroll:min(q.scroll+room-1, len(content))], th.Dim.Render("pgdown shows more"))
	}
	lines := append(content, tail...)
	return widget.Box(th, q.c.Title, lines, foot, bw, min(len(lines)+2, h), tone)
}

// content is the question and what it is about; all of it is in the digest.
func (q *question) content(th *theme.Theme, w int) []string {
	var out []string
	for _, l := range draw.Wrap(q.c.Ask, w) {
		out = append(out, th.Strong.Render(l))
	}
	out = append(out, "")
	var facts []widget.Pair
	if q.c.ID != "" {
		facts = append(facts, widget.Pair{Label: "id", Value: untrusted.Text(q.c.ID).Line(200), Long: true})
	}
	out = append(out, widget.Pairs(th, append(facts, q.c.Facts...), min(w, 90))...)
	if q.c.Risk != "" {
		out = append(out, "")
		for _, l := range draw.Wrap(th.Signs.Warn+" "+q.c.Risk, w) {
			out = append(out, th.Warn.Render(l))
		}
	}
	return out
}

// tail is the typed characters, the note and the two answers.
func (q *question) tail(th *theme.Theme, w int, now time.Time) []string {
	out := []string{""}
	if q.note != "" {
		out = append(out, th.Warn.Render(draw.Cut(th.Signs.Warn+" "+q.note, w)))
	}
	if q.typed {
		ask := draw.Cut(q.demandLine(w < 50), max(w-7, 1))
		out = append(out, ask+" "+q.edit.View(th, min(6, w), q.ready(now), ""))
	}
	return append(out, q.answers(th, w, now))
}

func (q *question) demandLine(short bool) string {
	if q.want == "" {
		return "This id cannot be typed: the answer can only be no."
	}
	if short {
		return fmt.Sprintf("Last %d of id:", len(q.want))
	}
	return fmt.Sprintf("Type the last %d characters of the id:", len(q.want))
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
	style := func(on bool) theme.Style {
		switch {
		case !q.ready(now):
			return th.Dim
		case on:
			return th.Selected(theme.Strong)
		}
		return theme.Style{}
	}
	return draw.Lay([]string{style(!q.yes).Render(no) + "  " + style(q.yes).Render(yes)}, w, 1)[0]
}

// small is the question without a frame, for windows of a few lines: what it is
// about, and the answers.
func (q *question) small(s *Shell, w, h int, now time.Time) []string {
	th := s.th
	content := append([]string{th.Strong.Render(q.c.Verb + " " + draw.ID(q.c.ID, max(w-draw.Width(q.c.Verb)-2, 4)) + "?")}, q.content(th, w)...)
	if q.c.ID == "" {
		content = content[1:]
	}
	tail := q.tail(th, w, now)[1:]
	if len(tail) >= h { // the note gives way, then the typed characters; the answers stay
		tail = tail[len(tail)-max(h-1, 1):]
	}
	room := max(h-len(tail), 0)
	q.scroll = max(min(q.scroll, len(content)-room), 0)
	content = content[min(q.scroll, len(content)):]
	lines := append(draw.Lay(content, w, room), tail...)
	for i := range lines {
		lines[i] = draw.Pad(lines[i], w)
	}
	return lines
}
