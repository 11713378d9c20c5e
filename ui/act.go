package ui

import (
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/draw"
)

// act does what the screen st asked for. Opening, asking and replacing are for
// the screen on top only: nobody gets a question about a screen he has left.
func (s *Shell) act(st *seat, a Action) tea.Cmd {
	onTop := st == s.top()
	switch a := a.(type) {
	case nil, Handled:
		return nil
	case Many:
		var cmds []tea.Cmd
		for _, one := range a {
			cmds = append(cmds, s.act(st, one))
		}
		return tea.Batch(cmds...)
	case Notify:
		return s.tell(a.Kind, a.Text)
	case Copy:
		return s.copy(a)
	case Write:
		return s.track(a.What, a.Cmd)
	case Back:
		return s.back(st)
	case Withdraw:
		return s.withdraw(st.id, a)
	case Revise:
		s.revise(st.id, a.Confirm)
		return nil
	case Explain:
		s.push(newExplain(s, st.id, a))
		return nil
	case Quit:
		return s.leave()
	}
	if !onTop {
		return nil
	}
	switch a := a.(type) {
	case Open:
		return s.open(a.Place)
	case Replace:
		return s.replace(st, a.Place)
	case Confirm:
		s.push(newQuestion(s, st.id, a))
	case Ask:
		s.push(newInput(s, st.id, a))
	case Choose:
		s.push(newChoice(s, st.id, a))
	case Raw:
		lines, whole := draw.JSON(a.JSON, maxRawLines)
		if !whole {
			lines = append(lines, "… cut here: "+draw.Size(int64(len(a.JSON)))+" in all")
		}
		p := newPager(s, st.id, a.Title, func(*Shell) []string { return lines })
		p.copy = Copy{Text: string(a.JSON), What: "the JSON"}
		s.push(p)
	}
	return nil
}

const maxRawLines = 50_000

// withdraw closes the question of a screen about an id.
func (s *Shell) withdraw(owner screenID, w Withdraw) tea.Cmd {
	for i, o := range s.overlays {
		if q, ok := o.(*question); ok && q.screen == owner && q.c.ID == w.ID {
			s.overlays = append(s.overlays[:i:i], s.overlays[i+1:]...)
			return s.tell(Warned, w.Why)
		}
	}
	return nil
}

func (s *Shell) revise(owner screenID, c Confirm) {
	for _, o := range s.overlays {
		if q, ok := o.(*question); ok && q.screen == owner && q.c.ID == c.ID {
			q.revise(c, s.now())
		}
	}
}
