package ui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
)

// seat is an open screen with what is its own.
type seat struct {
	id     screenID
	screen Screen
	env    *Env
	close  context.CancelFunc

	visited bool // opened by its number
}

// maxDepth bounds the stack: beyond it the oldest screen but the root is closed.
const maxDepth = 16

func (s *Shell) top() *seat {
	if len(s.stack) == 0 {
		return nil
	}
	return s.stack[len(s.stack)-1]
}

func (s *Shell) find(id screenID) *seat {
	for _, st := range s.stack {
		if st.id == id {
			return st
		}
	}
	return nil
}

func (s *Shell) isOpen(p Place) bool {
	for _, st := range s.stack {
		if st.screen.Place() == p {
			return true
		}
	}
	return false
}

// open puts the screen of a place on top, or goes back to it when it is open.
func (s *Shell) open(p Place) tea.Cmd {
	for i, st := range s.stack {
		if st.screen.Place() != p {
			continue
		}
		if st == s.top() {
			return s.tell(Told, "You are here already.")
		}
		return s.unwind(i)
	}
	st := s.sit(p)
	if st == nil {
		return s.tell(Refused, "There is no screen for this: "+untrusted.Text(p.Kind).Line(40)+".")
	}
	s.drop()
	s.stack = append(s.stack, st)
	return s.begin(st)
}

// sit makes the screen of a place.
func (s *Shell) sit(p Place) *seat {
	s.lastID++
	ctx, cancel := context.WithCancel(s.root)
	env := &Env{Ctx: ctx, Root: s.root, Now: s.now, Theme: s.th, Keys: s.keys, About: s.opt.About, id: s.lastID, shared: s.shown}
	screen := s.opt.Make(env, p)
	if screen == nil {
		cancel()
		return nil
	}
	return &seat{id: s.lastID, screen: screen, env: env, close: cancel}
}

func (s *Shell) begin(st *seat) tea.Cmd {
	w, h := s.body()
	st.screen.SetSize(w, h)
	s.notice.fade()
	return st.screen.Init()
}

// drop makes room in a full stack: the oldest screen but the root that holds no
// typed text.
func (s *Shell) drop() {
	if len(s.stack) < maxDepth {
		return
	}
	for i := 1; i < len(s.stack); i++ {
		if unsaved(s.stack[i]) == "" {
			s.shut(s.stack[i])
			s.stack = append(s.stack[:i], s.stack[i+1:]...)
			return
		}
	}
}

func (s *Shell) replace(old *seat, p Place) tea.Cmd {
	if why := unsaved(old); why != "" {
		return s.askDiscard(why, func(s *Shell) tea.Cmd { return s.swap(old.id, p) })
	}
	return s.swap(old.id, p)
}

func (s *Shell) swap(id screenID, p Place) tea.Cmd {
	for i, st := range s.stack {
		if st.id != id {
			continue
		}
		next := s.sit(p)
		if next == nil {
			return s.tell(Refused, "There is no screen for this: "+untrusted.Text(p.Kind).Line(40)+".")
		}
		s.shut(st)
		s.stack[i] = next
		return s.begin(next)
	}
	return nil
}

// back closes one screen; the last one asks to leave.
func (s *Shell) back(st *seat) tea.Cmd {
	if len(s.stack) <= 1 {
		return s.askLeave()
	}
	for i := range s.stack {
		if s.stack[i] != st {
			continue
		}
		if i == len(s.stack)-1 {
			return s.unwind(i - 1)
		}
		if unsaved(st) == "" { // a screen below closes itself
			s.shut(st)
			s.stack = append(s.stack[:i], s.stack[i+1:]...)
		}
		return nil
	}
	return nil
}

// unwind closes all screens above stack[i]; it asks first when one of them
// holds typed text.
func (s *Shell) unwind(i int) tea.Cmd {
	id := s.stack[i].id
	for _, st := range s.stack[i+1:] {
		if why := unsaved(st); why != "" {
			return s.askDiscard(why, func(s *Shell) tea.Cmd { return s.closeAbove(id) })
		}
	}
	return s.closeAbove(id)
}

func (s *Shell) closeAbove(id screenID) tea.Cmd {
	if s.find(id) == nil || s.top().id == id {
		return nil
	}
	for s.top().id != id {
		s.shut(s.top())
		s.stack = s.stack[:len(s.stack)-1]
	}
	s.notice.fade()
	return s.give(s.top(), Shown{})
}

// shut ends a screen's reads and its dialogs.
func (s *Shell) shut(st *seat) {
	st.close()
	keep := s.overlays[:0]
	for _, o := range s.overlays {
		if o.owner() != st.id {
			keep = append(keep, o)
		}
	}
	s.overlays = keep
}

func unsaved(st *seat) string {
	if k, ok := st.screen.(Keeper); ok {
		return k.Unsaved()
	}
	return ""
}

// give hands a message to a screen and does what it answers.
func (s *Shell) give(st *seat, msg tea.Msg) tea.Cmd {
	a, cmd := st.screen.Update(msg)
	return tea.Batch(s.act(st, a), cmd)
}

// answer goes to the screen that asked, wherever it is; to nobody when closed,
// but what became of a write is told all the same.
func (s *Shell) answer(msg Answer) tea.Cmd {
	if st := s.find(msg.Asker().screen); st != nil {
		return s.give(st, msg)
	}
	if o, ok := msg.(Outcome); ok {
		n := o.Outcome()
		return s.tell(n.Kind, n.Text)
	}
	return nil
}

// news goes to every open screen; the header keeps its share.
func (s *Shell) news(msg News) tea.Cmd {
	var cmds []tea.Cmd
	switch m := msg.(type) {
	case SessionFacts:
		s.session = m
	case BudgetFacts:
		s.budgets[m.Class] = m
	case FeedFacts:
		s.feed = m
	case Toast:
		cmds = append(cmds, s.tell(m.Kind, m.Text))
	case Presence:
		s.others = m
	case Asked:
		s.asked = m.Waiting
	case CallFacts:
		s.activity.call(m)
		if m.Phase == CallFailed || m.Phase == CallUnknown {
			s.activity.note(s.now(), Failed, m.What+": "+m.Note)
		}
	}
	for _, st := range append([]*seat(nil), s.stack...) {
		if s.find(st.id) != nil {
			cmds = append(cmds, s.give(st, msg))
		}
	}
	return tea.Batch(cmds...)
}

// about is the object of a kind that the person looks at or looked at last.
func (s *Shell) about(kind string) string {
	for i := len(s.stack) - 1; i >= 0; i-- {
		screen := s.stack[i].screen
		id := ""
		if sub, ok := screen.(Subjecter); ok {
			id = sub.Subject(kind)
		}
		p := screen.Place()
		if id == "" && (p.Kind == kind || kind == KindOperation && p.Kind == KindDocuments) {
			id = p.ID
		}
		if id != "" {
			s.subject[kind] = id
			return id
		}
	}
	return s.subject[kind]
}
