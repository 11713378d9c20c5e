package ui

import (
	"context"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api/untrusted"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
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
		return s.goTo(i, Place{}, nil)
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

// goTo closes all screens above stack[i], puts that of a place on top if there is one, and then calls a function, if
// any. It asks first if one of them has typed text.
func (s *router) goTo(i int, next Place, then func(*Shell) tea.Cmd) tea.Cmd {
	id, above := s.stack.stack[i].id, slices.Clone(s.stack.stack[i+1:])
	slices.Reverse(above) // the question is about the one on top
	return s.closing(above, "", func(sh *Shell) tea.Cmd {
		if s.stack.find(id) == nil {
			return nil
		}
		var st *openScreen
		if next.Kind != "" {
			if st = s.stack.mount(next); st == nil {
				return s.unknownPlace(next)
			}
		}
		for s.stack.top().id != id {
			s.unmount(s.stack.top())
			s.stack.stack = s.stack.stack[:len(s.stack.stack)-1]
		}
		if st != nil {
			s.stack.stack = append(s.stack.stack, st)
			return s.begin(st)
		}
		s.status.fadeNotice()
		cmd := s.deliver(s.stack.top(), Shown{})
		if then != nil {
			cmd = tea.Batch(cmd, then(sh))
		}
		return cmd
	})
}

// replace replaces the screen on top by that of a place.
func (s *router) replace(p Place) tea.Cmd { return s.goTo(len(s.stack.stack)-2, p, nil) }

// unmount ends a screen's reads and its dialogs.
func (s *router) unmount(st *openScreen) {
	st.cancel()
	for _, o := range s.dialogs.overlays {
		if o.owner() == st.id {
			s.dialogs.remove(o)
		}
	}
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

// trail holds the visited places, oldest first.
type trail struct {
	places []Place
	at     int // index of the current place
	to     int // index of travel's destination; -1: none
}

// maxTrail is the maximum of stored places.
const maxTrail = 50

// arrive records that the person is at a place. A new place after going back removes the
// forward places.
func (t *trail) arrive(p Place) {
	if len(t.places) > 0 && p == t.places[t.at] {
		return
	}
	to := t.to
	t.to = -1
	switch {
	case len(t.places) == 0:
		t.places, t.at = []Place{p}, 0
	case to >= 0 && to < len(t.places) && t.places[to] == p:
		t.at = to
	default:
		t.places = append(slices.Clip(t.places[:t.at+1]), p)
		if over := len(t.places) - maxTrail; over > 0 {
			t.places = t.places[over:]
		}
		t.at = len(t.places) - 1
	}
}

// travel goes to the previous place (-1), or forward again (1).
func (s *router) travel(by int) tea.Cmd {
	t := &s.stack.trail
	to := t.at + by
	switch {
	case to < 0:
		return s.status.hint(Info, "No previous screen.")
	case to >= len(t.places):
		return s.status.hint(Info, "No next screen; "+s.win.keys.Global.Before.Help().Key+" goes back.")
	}
	p, top := t.places[to], s.stack.top()
	var cmd tea.Cmd
	if at := top.screen.Place(); at.Kind == p.Kind && at.ID != "" && !s.stack.root() && s.stack.indexOf(p) < 0 {
		cmd = s.replace(p) // replace the object by the earlier one
	} else {
		cmd = s.visit(p)
	}
	t.to = to // if a question about typed text opens, its answer decides
	return cmd
}

// Named returns the title of a screen and, if a page covers the screen, the page's name; all safe. A nil screen has
// no name.
func Named(screen Screen) []string {
	if screen == nil {
		return nil
	}
	out := []string{safe(screen.Title())}
	if l := layerOf(screen); l != nil {
		out = append(out, safe(l.Crumb))
	}
	return out
}

// named names the open screens and the pages over them, the one on top last.
func (s *screenStack) named() (out []string) {
	for _, st := range s.stack {
		out = append(out, Named(st.screen)...)
	}
	return out
}

// crumbMost is the width of a name before the last one: that of a list with the short id of its object fits.
const crumbMost = 30

// crumbs draws the last of the names that fit into w cells.
func crumbs(th *theme.Theme, names []string, w int) string {
	if len(names) == 0 {
		return ""
	}
	sep := " " + th.Signs.Crumb + " "
	last := len(names) - 1
	out := draw.Cut(names[last], max(w, 1))
	used := draw.Width(out)
	out = th.Title.Render(out)
	for i := last - 1; i >= 0; i-- {
		t := draw.Cut(names[i], crumbMost)
		if used+draw.Width(t)+draw.Width(sep) > w {
			if more := th.Signs.More + sep; used+draw.Width(more) <= w {
				out = th.Dim.Render(more) + out
			}
			break
		}
		used += draw.Width(t) + draw.Width(sep)
		out = th.Dim.Render(t+sep) + out
	}
	return out
}

// Stepper is implemented by screens that show one record above their own list. Step shows
// the record that is by rows further down (1) or up (-1); ok is false while no
// record is shown.
type Stepper interface {
	Step(by int) (a Action, cmd tea.Cmd, ok bool)
}

// step goes from the object on the screen to the next or previous one in the nearest list
// below it in the stack. The cursor of that list moves, too.
func (s *router) step(top *openScreen, key keymap.Key, by int) tea.Cmd {
	if sub, ok := top.screen.(Stepper); ok {
		if a, cmd, ok := sub.Step(by); ok {
			return tea.Batch(s.perform(top, a), cmd)
		}
	}
	p := top.screen.Place()
	i := s.stack.listBelow(p)
	switch {
	case p.ID == "":
		return s.status.hint(Info, key.Help().Key+" moves through a list from inside one of its records.")
	case i < 0:
		return s.status.hint(Info, "You did not open this from a list, so "+key.Help().Key+" does nothing.")
	}
	list := s.stack.stack[i]
	move := s.win.keys.Nav.Down
	if by < 0 {
		move = s.win.keys.Nav.Up
	}
	cmd := s.deliver(list, move.Msg())
	kind := subjectKind(p.Kind)
	next := list.screen.(SubjectOf).Subject(kind)
	switch {
	case next == p.ID && by > 0:
		return tea.Batch(cmd, s.status.hint(Info, "Last one in the list."))
	case next == p.ID:
		return tea.Batch(cmd, s.status.hint(Info, "First one in the list."))
	case next == "": // a row that is still being read
		return tea.Batch(cmd, s.status.hint(Info, "That row is still being read; press "+key.Help().Key+" again."))
	}
	return tea.Batch(cmd, s.goTo(i, Place{Kind: p.Kind, ID: next, Arg: p.Arg}, nil))
}

// subjectKind returns the kind of a place's object, as in SubjectOf.
func subjectKind(kind string) string {
	if kind == KindCompliance {
		return KindCompliance
	}
	return KindOperation
}

// listBelow returns the nearest screen below the top whose rows include the object of p, and puts
// its cursor on it. -1: there is none.
func (s *screenStack) listBelow(p Place) int {
	for i := len(s.stack) - 2; i >= 0 && p.ID != ""; i-- {
		screen := s.stack[i].screen
		rows, ok := screen.(Selecter)
		about, ok2 := screen.(SubjectOf)
		if !ok || !ok2 || screen.Place().ID == p.ID {
			continue
		}
		if about.Subject(subjectKind(p.Kind)) == p.ID || rows.Select(p.ID) && about.Subject(subjectKind(p.Kind)) == p.ID {
			return i
		}
	}
	return -1
}

// waitingKey is a key that the shell presses for the person once a screen has loaded.
// Any key that the person presses cancels it.
type waitingKey struct {
	at  screenID // 0: none
	key keymap.Key
}

// pressAt opens the place of a kind for the current object and presses a key there. If the
// person must choose the object first, it shows the key instead.
func (s *router) pressAt(kind string, k keymap.Key, direct bool) tea.Cmd {
	i := slices.Index(placeKinds, kind)
	cmd, _ := s.jump(s.win.keys.Global.Places()[i].Msg())
	top := s.stack.top()
	switch {
	case top == nil || top.screen.Place().Kind != kind: // a dialog asks for an id or about typed text
		return cmd
	case direct:
		s.afterRead = waitingKey{top.id, k}
		return cmd
	}
	return tea.Batch(cmd, s.status.notify(Info, k.Help().Key+": "+k.Long+"."))
}

// pressPending presses the waiting key, unless the screen on top is still loading.
func (s *Shell) pressPending() tea.Cmd {
	top := s.stack.top()
	switch {
	case s.route.afterRead.at == 0:
		return nil
	case top == nil || top.id != s.route.afterRead.at || len(s.dialogs.overlays) > 0 || top.screen.Editing():
		s.route.afterRead = waitingKey{}
		return nil
	case top.screen.Source().Loading:
		return nil
	}
	k := s.route.afterRead.key
	s.route.afterRead = waitingKey{}
	return s.press(k.Msg())
}

// RunCommand runs a command for the screen on top.
func (s *Shell) RunCommand(c Command) tea.Cmd {
	a, cmd := c.action()
	return tea.Batch(s.act(s.stack.top(), a), cmd)
}

// setTheme changes the theme, saves the choice for the person and says so.
func (s *Shell) setTheme(name string) tea.Cmd {
	next := s.win.opt.Themes(name)
	if next == nil {
		return s.status.notify(Denied, "Unknown theme: "+safe(name)+".")
	}
	*s.win.th = *next // screens and widgets hold the same pointer
	keep, ctx, shown := s.win.opt.KeepTheme, context.WithoutCancel(s.win.root), next.Name
	changed := s.route.broadcast(DisplayChanged{})
	return tea.Batch(changed, func() tea.Msg {
		n := Notify{Level: Info, Text: "Theme " + shown + ", saved for you."}
		if keep(ctx, name) != nil {
			n = Notify{Level: Warning, Text: "Theme " + shown + " until you quit: the choice could not be saved."}
		}
		return do(func(s *Shell) tea.Cmd { return s.status.tell(n) })
	})
}

// switchContext exits the console to open it on another context. It waits for writes that
// were sent, and asks about typed text.
func (s *Shell) switchContext(name string) tea.Cmd {
	return s.route.closing(s.stack.stack, "The console opens "+safe(name)+".", func(s *Shell) tea.Cmd {
		s.nextContext = name
		return s.Leave()
	})
}

// NextContext returns the context to open after the console has exited; "" for none.
func (s *Shell) NextContext() string { return s.nextContext }

// TakeRelated handles the keys of k: it opens the history of the operation of, or its
// customer; false if p is none of them.
func TakeRelated(k keymap.Related, p keymap.Press, of SubjectOf) (Action, bool) {
	history := k.History.Match(p)
	if !history && !k.Customer.Match(p) {
		return nil, false
	}
	operation, customer := of.Subject(KindOperation), of.Subject(KindCompliance)
	switch {
	case operation == "":
		return Notify{Level: Denied, Text: "There is no operation under the cursor."}, true
	case history:
		return Open{Place: Place{Kind: KindHistory, ID: operation}}, true
	case customer == "":
		return Notify{Level: Denied, Text: "This operation names no customer."}, true
	}
	return Open{Place: Place{Kind: KindCompliance, ID: customer}}, true
}
