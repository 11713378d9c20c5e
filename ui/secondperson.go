package ui

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/approval"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// confirm opens the question of a screen. Where a second person approves its write and none has yet, a form asks for
// the reason before it.
func (s *Shell) confirm(st *openScreen, c Confirm) {
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
			Paste: widget.PasteKeep, Value: waits.Reason}},
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
