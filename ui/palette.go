package ui

import (
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/act"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// palette collects the entries of the palette: the keys of the screen, commands, places,
// and the acts of other screens. It finds local objects while the person types.
type palette struct {
	s     *Shell
	items []Choice
	acts  []func(s *Shell) tea.Cmd // by entry; for one that is off, it shows the reason
	seen  map[string]bool          // names of keys that have an entry or need none
}

// openPalette opens the palette over a screen.
func (s *Shell) openPalette(top *openScreen) tea.Cmd {
	p := newPalette(s, top)
	m := newMenu(s.win, top.id, Choose{Title: "Commands", Items: p.items,
		Pick: func(i int) (Action, tea.Cmd) { return do(p.acts[i]), nil }})
	m.finds, m.refuses = true, true
	s.dialogs.push(m)
	return m.look(s)
}

// newPalette lists the entries; those that match equally well keep this order.
func newPalette(s *Shell, top *openScreen) *palette {
	p := &palette{s: s, seen: map[string]bool{}}
	g := &s.win.keys.Global
	skip := append(keymap.All(s.win.keys.Nav), g.Palette, g.Back, g.Quit, g.Leave, g.Zone)
	for _, k := range keymap.All(*g) {
		if !s.win.offers(top, k) {
			skip = append(skip, k)
		}
	}
	for _, k := range skip {
		p.seen[k.Name] = true
	}
	p.seen[s.win.keys.Operations.Customers.Name] = true // own has it for every screen
	for _, k := range top.screen.Keys() {
		p.key(k)
	}
	p.commands(top)
	p.own()
	for i, k := range keymap.All(s.win.keys.Global) {
		if i >= places {
			p.key(k)
		}
	}
	for _, direct := range []bool{true, false} {
		p.elsewhere(direct)
	}
	return p
}

func (p *palette) add(c Choice, do func(s *Shell) tea.Cmd) {
	if c.Why != "" {
		do = func(s *Shell) tea.Cmd { return s.status.notify(Denied, c.Why) }
	}
	p.items, p.acts = append(p.items, c), append(p.acts, do)
}

// key adds a key of the screen or a global key; choosing the entry presses it.
func (p *palette) key(k keymap.Key) {
	if p.seen[k.Name] {
		return
	}
	p.seen[k.Name] = true
	h := k.Binding.Help()
	p.add(Choice{Text: h.Desc, About: k.Long, Note: h.Key, Words: names(k)},
		func(s *Shell) tea.Cmd { return s.press(k.Msg()) })
	p.refuses(k)
}

// refuses sets the reason why the key of the last entry is off.
func (p *palette) refuses(k keymap.Key) {
	if why := k.Why(); why != "" {
		last := len(p.items) - 1
		p.items[last].Why, p.acts[last] = why, func(s *Shell) tea.Cmd { return s.refuse(k) }
	}
}

// names returns the other names of a key: its act's command and short names.
func names(k keymap.Key) []string {
	a := k.Act
	if a == nil {
		return []string{strings.ReplaceAll(k.Name, ".", " ")}
	}
	path := a.Path()
	return append([]string{path, path[strings.LastIndexByte(path, ' ')+1:]}, a.Aliases...)
}

// commands adds the commands without a key, of the open screens and of Options.Commands.
func (p *palette) commands(top *openScreen) {
	for _, st := range slices.Backward(p.s.stack.stack) {
		c, ok := st.screen.(Commander)
		if !ok {
			continue
		}
		for _, one := range c.Commands() {
			p.command(one, func(s *Shell) tea.Cmd { return s.runOn(st.id, one) })
		}
	}
	if p.s.win.opt.Commands == nil {
		return
	}
	for _, one := range p.s.win.opt.Commands() {
		p.command(one, func(s *Shell) tea.Cmd { return s.runOn(top.id, one) })
	}
}

func (p *palette) command(c Command, do func(s *Shell) tea.Cmd) {
	if !slices.ContainsFunc(p.items, func(i Choice) bool { return i.Text == c.Title }) {
		p.add(Choice{Text: c.Title, About: c.About, Words: c.Words, Why: c.Why}, do)
	}
}

// runOn brings a screen to the top and runs one of its commands.
func (s *Shell) runOn(id screenID, c Command) tea.Cmd {
	i := slices.IndexFunc(s.stack.stack, func(st *openScreen) bool { return st.id == id })
	if i < 0 {
		return nil
	}
	run := func(s *Shell) tea.Cmd { return s.RunCommand(c) }
	if i == len(s.stack.stack)-1 {
		return run(s)
	}
	return s.route.unwindThen(i, run)
}

// placeWords are the other names of places.
var placeWords = map[string][]string{
	KindOperations: {"home"}, KindOperation: {"open operation"}, KindDocuments: {"docs"}, KindCompliance: {"customer"},
	KindLimits: {"budget"}, KindSession: {"token"}, KindEvents: {"webhooks received", "inbox"}, KindAudit: {"trail"},
}

// own adds the shell's own entries: places, display, contexts, leaving.
func (p *palette) own() {
	s := p.s
	for i, k := range s.win.keys.Global.Places() {
		p.seen[k.Name] = true
		p.add(Choice{Text: placeKinds[i], About: "go to: " + k.Long, Note: k.Binding.Help().Key,
			Words: append(names(*k)[:1:1], append(placeWords[placeKinds[i]], aliases(*k)...)...)},
			func(s *Shell) tea.Cmd { return s.press(k.Msg()) })
		p.refuses(*k)
	}
	p.add(Choice{Text: "customers", About: "all customers and their verification",
		Note:  s.win.keys.Global.Operations.Help().Key + " " + s.win.keys.Operations.Customers.Help().Key,
		Words: append(slices.Clone(act.CustomerList.Aliases), "all customers", "customer list", "verifications")},
		func(s *Shell) tea.Cmd { return s.route.visit(Place{Kind: KindCompliance}) })
	zone := s.win.keys.Global.Zone.Help().Key
	p.add(Choice{Text: "utc", About: "show times in UTC", Note: zone, Words: []string{"time zone utc"}},
		func(s *Shell) tea.Cmd { return s.showUTC(true) })
	p.add(Choice{Text: "local time", About: "show times in the local time zone", Note: zone,
		Words: []string{"time zone local"}}, func(s *Shell) tea.Cmd { return s.showUTC(false) })
	if s.win.opt.Themes != nil {
		for _, name := range theme.Names() {
			p.add(Choice{Text: "theme " + name, About: "change the colours; your choice is kept",
				Words: []string{"colours " + name, "colors " + name}},
				func(s *Shell) tea.Cmd { return s.setTheme(name) })
		}
	}
	p.contexts()
	p.add(Choice{Text: "back", About: "back to the previous screen", Note: "esc"},
		func(s *Shell) tea.Cmd { return s.press(s.win.keys.Global.Back.Msg()) })
	p.add(Choice{Text: "quit", About: "leave the console", Note: s.win.keys.Global.Leave.Help().Key,
		Words: []string{"q", "exit", "leave"}}, (*Shell).interrupt)
}

// contexts adds the other contexts of the config.
func (p *palette) contexts() {
	for _, c := range p.s.win.opt.Contexts {
		name, is := c.Context, []string{c.Environment.Word()}
		if c.ReadOnly {
			is = append(is, "READ-ONLY")
		}
		if c.Role != "" {
			is = append(is, c.Role)
		}
		p.add(Choice{Text: "ctx " + name, About: strings.Join(is, ", ") + " " + p.s.win.th.Signs.Sep + " leaves " +
			p.s.win.opt.About.Context, Words: []string{"context " + name, name}},
			func(s *Shell) tea.Cmd { return s.switchContext(name) })
	}
	if len(p.s.win.opt.Contexts) == 0 {
		p.add(Choice{Text: "ctx", About: "open another context", Words: []string{"context"},
			Why: "No other context to open from here."}, nil)
	}
}

func aliases(k keymap.Key) []string {
	if k.Act == nil {
		return nil
	}
	return k.Act.Aliases
}

// elsewhere adds the acts of other screens. If an act needs only its screen, choosing it opens
// the screen and performs it (direct); for the others it opens the screen and shows the key.
func (p *palette) elsewhere(direct bool) {
	k := p.s.win.keys
	for _, of := range []struct {
		kind  string
		group any
	}{{KindOperations, k.Operations}, {KindOperation, k.Operation}, {KindOperation, k.Related},
		{KindOperation, k.Notes},
		{KindDocuments, k.Documents}, {KindCompliance, k.Compliance},
		{KindLimits, k.Tariffs}, {KindSession, k.Session}, {KindEvents, k.Events}, {KindAudit, k.Audit}} {
		for _, key := range keymap.All(of.group) {
			if p.seen[key.Name] || pressable(of.kind, key) != direct {
				continue
			}
			p.seen[key.Name] = true
			h := key.Binding.Help()
			i := slices.Index(placeKinds, of.kind)
			p.add(Choice{Text: of.kind + ": " + h.Desc, About: key.Long, Note: p.s.win.keys.Global.Places()[i].Help().Key + " " +
				h.Key, Words: append(names(key), h.Desc)},
				func(s *Shell) tea.Cmd { return s.route.pressAt(of.kind, key, direct) })
			p.refuses(key)
		}
	}
}

// pressable reports whether a key of another screen can be pressed as soon as that screen is
// open: its act is about the screen, or about the screen's single object.
func pressable(kind string, k keymap.Key) bool {
	if k.Act == nil {
		return kind != KindEvents
	}
	need := 0
	for _, arg := range k.Act.Args {
		if !arg.Optional && !arg.File {
			need++
		}
	}
	of := 0
	if kind == KindOperation || kind == KindDocuments || kind == KindCompliance {
		of = 1
	}
	return need <= of
}

// Named finds the palette entry with exactly this name; ok is false if there is none. why is
// the reason why it cannot be done now; do then shows the reason, too.
func (d Driver) Named(name string) (do func() tea.Cmd, why string, ok bool) {
	top := d.Shell.stack.top()
	if top == nil || name == "" {
		return nil, "", false
	}
	p := newPalette(d.Shell, top)
	hits := ranked(p.items, name)
	if len(hits) == 0 || p.items[hits[0]].fit(name) != fitsExactly {
		return nil, "", false
	}
	at := hits[0]
	return func() tea.Cmd { return p.acts[at](d.Shell) }, p.items[at].Why, true
}

// offers reports whether a global key has an effect here: reload and panes depend on
// the screen.
func (s *window) offers(top *openScreen, k keymap.Key) bool {
	g := s.keys.Global
	switch k.Name {
	case g.Reload.Name:
		return top.screen.Source() != (Source{})
	case g.Pane.Name, g.PaneBack.Name:
		return false
	}
	return true
}
