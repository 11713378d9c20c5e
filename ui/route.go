package ui

import (
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
)

// openScreen is a screen of the stack.
type openScreen struct {
	id      screenID
	screen  Screen
	cancel  context.CancelFunc // ends its reads
	visited bool               // opened by its number key
	sent    FormModel          // the form of the last write; nil: it had none
	env     *Env
}

// screenStack holds the open screens, the one on top last, and the earlier places of the person.
type screenStack struct {
	win     *window
	stack   []*openScreen
	lastID  screenID
	subject map[string]string // last shown object, by kind
	trail   trail
}

// router opens and closes screens and passes messages to them. It knows the parts before it;
// it passes the Actions of screens to perform.
type router struct {
	win       *window
	stack     *screenStack
	dialogs   *dialogStack
	head      *topLine
	status    *statusLine
	perform   func(st *openScreen, a Action) tea.Cmd
	reported  At // the last argument of OnPlace
	afterRead waitingKey
}

// maxDepth bounds the stack: above it the oldest screen except the root is closed.
const maxDepth = 16

func (s *screenStack) top() *openScreen {
	if len(s.stack) == 0 {
		return nil
	}
	return s.stack[len(s.stack)-1]
}

// root reports whether only the first screen is open.
func (s *screenStack) root() bool { return len(s.stack) <= 1 }

func (s *screenStack) find(id screenID) *openScreen {
	if i := slices.IndexFunc(s.stack, func(st *openScreen) bool { return st.id == id }); i >= 0 {
		return s.stack[i]
	}
	return nil
}

// indexOf returns the index of an open place in the stack; -1: it is not open.
func (s *screenStack) indexOf(p Place) int {
	return slices.IndexFunc(s.stack, func(st *openScreen) bool { return st.screen.Place() == p })
}

// open puts the screen of a place on top, or goes back to it if it is open.
func (s *router) open(p Place) tea.Cmd {
	if i := s.stack.indexOf(p); i >= 0 {
		if i == len(s.stack.stack)-1 {
			return s.status.hint(Info, "You are already here.")
		}
		return s.unwind(i)
	}
	st := s.stack.mount(p)
	if st == nil {
		return s.unknownPlace(p)
	}
	s.makeRoom()
	s.stack.stack = append(s.stack.stack, st)
	return s.begin(st)
}

func (s *router) unknownPlace(p Place) tea.Cmd {
	return s.status.notify(Denied, "No screen for this: "+untrusted.Text(p.Kind).Line(40)+".")
}

// mount creates the screen of a place.
func (s *screenStack) mount(p Place) *openScreen {
	s.lastID++
	ctx, cancel := context.WithCancel(s.win.root)
	w := s.win
	env := &Env{Ctx: ctx, Root: w.root, Now: w.now, Theme: w.th, Keys: w.keys, About: w.opt.About, filters: w.opt.Filters,
		id: s.lastID, shared: w.shown}
	screen := w.opt.Make(env, p)
	if screen == nil {
		cancel()
		return nil
	}
	env.screen = screen
	return &openScreen{id: s.lastID, screen: screen, cancel: cancel, env: env}
}

func (s *router) begin(st *openScreen) tea.Cmd {
	w, h := s.win.body()
	st.screen.Update(tea.WindowSizeMsg{Width: w, Height: h})
	s.status.fadeNotice()
	return tea.Batch(st.screen.Init(), s.win.remember(st.screen.Place()))
}

// makeRoom closes a screen of a full stack: the oldest one except the root without
// typed text.
func (s *router) makeRoom() {
	if len(s.stack.stack) < maxDepth {
		return
	}
	for i := 1; i < len(s.stack.stack); i++ {
		if unsaved(s.stack.stack[i]) == "" {
			s.unmount(s.stack.stack[i])
			s.stack.stack = slices.Delete(s.stack.stack, i, i+1)
			return
		}
	}
}

// replace replaces an open screen by that of a place; it asks first if the open screen
// has typed text.
func (s *router) replace(old *openScreen, p Place) tea.Cmd {
	swap := func(*Shell) tea.Cmd {
		i := slices.Index(s.stack.stack, old)
		if i < 0 {
			return nil
		}
		next := s.stack.mount(p)
		if next == nil {
			return s.unknownPlace(p)
		}
		s.unmount(old)
		s.stack.stack[i] = next
		return s.begin(next)
	}
	return s.closing([]*openScreen{old}, "", swap)
}

// unwind closes all screens above stack[i]; it asks first if one of them
// has typed text.
func (s *router) unwind(i int) tea.Cmd {
	return s.unwindThen(i, func(*Shell) tea.Cmd { return nil })
}

func (s *router) closeAbove(id screenID) tea.Cmd {
	if s.stack.find(id) == nil || s.stack.top().id == id {
		return nil
	}
	for s.stack.top().id != id {
		s.unmount(s.stack.top())
		s.stack.stack = s.stack.stack[:len(s.stack.stack)-1]
	}
	s.status.fadeNotice()
	return s.deliver(s.stack.top(), Shown{})
}

// unmount ends a screen's reads and its dialogs.
func (s *router) unmount(st *openScreen) {
	st.cancel()
	s.dialogs.overlays = slices.DeleteFunc(slices.Clone(s.dialogs.overlays),
		func(o overlay) bool { return o.owner() == st.id })
}

func unsaved(st *openScreen) string {
	if k, ok := st.screen.(UnsavedText); ok {
		return k.Unsaved()
	}
	return ""
}

// deliver passes a message to a screen and performs the resulting Action.
func (s *router) deliver(st *openScreen, msg tea.Msg) tea.Cmd {
	a, cmd := Update(st.screen, msg)
	return tea.Batch(s.perform(st, a), cmd)
}

// answer passes an answer to the screen that asked, wherever it is. If that is closed, answer
// drops it, but still reports the outcome of a write.
func (s *router) answer(msg Answer) tea.Cmd {
	if st := s.stack.find(msg.Asker().screen); st != nil {
		stayed := s.stayed(st, msg.Asker())
		a, cmd := Update(st.screen, msg)
		if _, read := msg.(readMsg); !stayed {
			a = late(a, read)
		}
		return tea.Batch(s.perform(st, a), cmd)
	}
	if w, ok := msg.(writeMsg); ok {
		return s.status.tell(w.notice)
	}
	return nil
}

// broadcast passes news to every open screen and to the header.
func (s *router) broadcast(msg BroadcastMsg) tea.Cmd {
	var cmds []tea.Cmd
	s.head.take(msg)
	s.status.take(msg)
	for _, st := range slices.Clone(s.stack.stack) {
		if s.stack.find(st.id) != nil {
			cmds = append(cmds, s.deliver(st, msg))
		}
	}
	return tea.Batch(cmds...)
}

// about returns the object of a kind on screen, or the last one that was.
func (s *screenStack) about(kind string) string {
	for i := len(s.stack) - 1; i >= 0; i-- {
		screen := s.stack[i].screen
		id := ""
		if sub, ok := screen.(SubjectOf); ok {
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
