package ui

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// act performs the action that the screen st requested; st is nil while no screen is open. It
// ignores Open, Confirm and Ask of a screen that is not on top, so that no question is about
// a screen that the person left.
func (s *Shell) act(st *openScreen, a Action) tea.Cmd {
	switch a := a.(type) {
	case nil, Handled:
		return nil
	case do:
		return a(s)
	case Many:
		var cmds []tea.Cmd
		for _, one := range a {
			cmds = append(cmds, s.act(st, one))
		}
		return tea.Batch(cmds...)
	case Notify:
		return s.status.tell(a)
	case Copy:
		return s.status.copy(a)
	case Write:
		return s.sent.track(a.What, a.Cmd)
	}
	if st == nil {
		return nil
	}
	switch a := a.(type) {
	case Withdraw:
		return s.withdraw(st.id, a)
	case Explain:
		s.explain(st, a)
		return nil
	}
	if st != s.stack.top() {
		return nil
	}
	switch a := a.(type) {
	case Open:
		cmd := s.route.open(a.Place)
		if rows, ok := s.Top().(Selecter); ok && a.Row != "" {
			rows.Select(a.Row)
		}
		return cmd
	case Confirm:
		s.confirm(st, a)
	case Ask:
		s.dialogs.push(newInput(st.id, NewForm(st.env, a)))
	case Fill:
		s.dialogs.push(newInput(st.id, a.Form))
	case Choose:
		s.dialogs.push(newMenu(s.win, st.id, a))
	case Raw:
		s.dialogs.push(newRaw(s.win, st.id, a))
	}
	return nil
}

// explain opens a page of sentences. If a form was refused and its screen is on top, explain
// opens that form again.
func (s *Shell) explain(st *openScreen, e Explain) {
	if e.then != nil {
		e.Lines = append(slices.Clone(e.Lines), e.then(s.win.keys, s.win.way))
	}
	if e.failed {
		s.activity.note(s.win.now(), Error, strings.Join(append([]string{e.Title + "."}, e.Lines...), " "))
	}
	form := st.sent
	if e.failed {
		st.sent = nil
	}
	if !e.resending || form == nil || st != s.stack.top() {
		s.dialogs.push(newExplain(s.win, st.id, e))
		return
	}
	s.dialogs.push(newRefused(s, st.id, form, e))
}

const maxRawLines = 50_000

// withdraw closes the question of a screen about an id.
func (s *Shell) withdraw(owner screenID, w Withdraw) tea.Cmd {
	for _, q := range s.dialogs.questions() {
		if q.screen == owner && q.c.ID == w.ID {
			s.dialogs.remove(q)
			return s.status.notify(Warning, w.Why)
		}
	}
	return nil
}
