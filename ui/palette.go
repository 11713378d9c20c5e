package ui

import (
	"context"
	"slices"
	"strings"
	"time"
	"unicode"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/act"
	"opdeck/internal/format"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
)

// palette collects the entries of the palette: the keys of the screen, commands, places,
// and the acts of other screens. It finds local objects while the person types.
type palette struct {
	s     *Shell
	items []Choice
	seen  map[string]bool // names of keys that have an entry or need none

	ofScreen int // so many items, the first ones, are keys of the screen
}

// openPalette opens the palette over a screen.
func (s *Shell) openPalette(top *openScreen) tea.Cmd {
	p := newPalette(s, top)
	m := newMenu(s.win, top.id, Choose{Title: "Commands", Items: p.items,
		Pick: func(i int) (Action, tea.Cmd) { return p.items[i].do, nil }})
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
	p.ofScreen = len(p.items)
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

// add adds an entry; one that is off shows the reason.
func (p *palette) add(c Choice, act func(s *Shell) tea.Cmd) {
	if c.do = act; c.Why != "" {
		c.do = func(s *Shell) tea.Cmd { return s.status.notify(Denied, c.Why) }
	}
	p.items = append(p.items, c)
}

// addKey adds the entry of a key, or why it is off.
func (p *palette) addKey(k keymap.Key, c Choice, act func(s *Shell) tea.Cmd) {
	p.seen[k.Name] = true
	if c.do, c.Why = act, k.Why(); c.Why != "" {
		c.do = func(s *Shell) tea.Cmd { return s.refuse(k) }
	}
	p.items = append(p.items, c)
}

// key adds a key of the screen or a global key; choosing the entry presses it.
func (p *palette) key(k keymap.Key) {
	if h := k.Binding.Help(); !p.seen[k.Name] {
		p.addKey(k, Choice{Text: h.Desc, About: k.Long, Note: h.Key, Words: names(k)},
			func(s *Shell) tea.Cmd { return s.press(k.Msg()) })
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
	return s.route.goTo(i, Place{}, run)
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
		p.addKey(*k, Choice{Text: placeKinds[i], About: "go to: " + k.Long, Note: k.Binding.Help().Key,
			Words: append(names(*k)[:1:1], append(placeWords[placeKinds[i]], aliases(*k)...)...)},
			func(s *Shell) tea.Cmd { return s.press(k.Msg()) })
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
			h, place := key.Binding.Help(), p.s.win.keys.Global.Places()[slices.Index(placeKinds, of.kind)]
			p.addKey(key, Choice{Text: of.kind + ": " + h.Desc, About: key.Long, Note: place.Help().Key + " " + h.Key,
				Words: append(names(key), h.Desc)},
				func(s *Shell) tea.Cmd { return s.route.pressAt(of.kind, key, direct) })
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

// Named finds the palette entry with exactly this name; ok is false if there is none, or if it is a key of the screen
// and that is not seen. why is the reason why it cannot be done now; do then shows the reason, too.
func (d Driver) Named(name string, seen bool) (do func() tea.Cmd, why string, ok bool) {
	top := d.Shell.stack.top()
	if top == nil || name == "" {
		return nil, "", false
	}
	p := newPalette(d.Shell, top)
	hits := ranked(p.items, name)
	if len(hits) == 0 || p.items[hits[0]].fit(name) != fitsExactly || !seen && hits[0] < p.ofScreen {
		return nil, "", false
	}
	at := hits[0]
	return func() tea.Cmd { return p.items[at].do(d.Shell) }, p.items[at].Why, true
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

// How well a choice matches the typed text; a smaller value is better.
const (
	fitsExactly = iota // the text is one of its names
	fitsStart          // a name begins with the text
	fitsNames          // each typed word begins a word of its names
	fitsWords          // each typed word begins a word of its names or of its sentence
	fitsWithin         // a name contains the text
	fitsNot
)

// withinFrom is the number of letters from which a text may match inside a word of a
// name.
const withinFrom = 3

// fit returns how well a choice matches; scattered letters do not count.
func (c Choice) fit(typed string) int {
	typed = strings.Join(strings.Fields(strings.ToLower(typed)), " ")
	if typed == "" {
		return fitsExactly
	}
	best, all := fitsNot, words(c.About+" "+c.said())
	for _, name := range append([]string{c.Text}, c.Words...) {
		name = strings.ToLower(name)
		all = append(all, words(name)...)
		switch {
		case name == typed:
			best = fitsExactly
		case strings.HasPrefix(name, typed):
			best = min(best, fitsStart)
		case begin(words(name), typed):
			best = min(best, fitsNames)
		case len(typed) >= withinFrom && strings.Contains(name, typed):
			best = min(best, fitsWithin)
		}
	}
	if best > fitsWords && begin(all, typed) {
		best = fitsWords
	}
	return best
}

// words returns the words of a text in small letters.
func words(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) &&
			!unicode.IsDigit(r)
	})
}

// begin reports whether each typed word begins one of the words.
func begin(list []string, typed string) bool {
	parts := words(typed)
	for _, p := range parts {
		if !slices.ContainsFunc(list, func(w string) bool { return strings.HasPrefix(w, p) }) {
			return false
		}
	}
	return len(parts) > 0
}

// ranked returns the indexes of the matching choices, best first, equal ones in their order.
func ranked(items []Choice, typed string) []int {
	var hits []int
	fits := make([]int, len(items))
	for i, c := range items {
		if fits[i] = c.fit(typed); fits[i] < fitsNot {
			hits = append(hits, i)
		}
	}
	slices.SortStableFunc(hits, func(a, b int) int { return fits[a] - fits[b] })
	return hits
}

// Found is an object in the local data.
type Found struct {
	Place Place
	Text  string // one safe line that names it: its id as lists show it, or a name
	About string // one safe line
	Cells []Cell // in the place of About: amount, status, customer
}

// Search is what a person typed to find something.
type Search struct {
	Text      string
	Customers bool           // customers are found, too
	Zone      *time.Location // of its days
}

// Finding is the local result of a Search; it costs no call.
type Finding struct {
	// Matches are customers and the newest operations; those whose id begins with the text are first.
	Matches []Found
	Only    string // the whole id, if one operation's id begins with the text or is exactly it; else ""
	Whole   bool   // the text can be a whole id, which the service can look up
	// IDs is the number of typed ids if the text is a list of them, and Known the number of those that are here.
	IDs, Known int
	Missing    string // how the text was understood, and which of its words no operation matches; "": unknown
	Wrong      string // why the text cannot be searched, as one safe sentence
}

// Finder finds operations and customers in the local data. Its methods are called
// in commands.
type Finder interface {
	// Find finds operations by what a list shows of them, as its filter does, and
	// customers by their name or id.
	Find(ctx context.Context, q Search) (Finding, error)
	// Recent lists the person's last opened objects, newest first; at most ten.
	Recent(ctx context.Context) ([]Found, error)
	// Opened records that the person opened a place of one object.
	Opened(ctx context.Context, p Place) error
}

// remembered reports whether Finder.Opened records a place.
func remembered(p Place) bool {
	return p.ID != "" && (p.Kind == KindOperation || p.Kind == KindDocuments || p.Kind == KindCompliance)
}

// remember records an opened place in the finder.
func (s *window) remember(p Place) tea.Cmd {
	find, ctx := s.opt.Finder, s.root
	if !remembered(p) {
		return nil
	}
	return func() tea.Msg {
		_ = find.Opened(ctx, p) // a missing entry in the list of recent objects is not worth a notice
		return nil
	}
}

// search is a Search of this person.
func (s *window) search(typed string, customers bool) Search {
	return Search{Text: typed, Customers: customers, Zone: s.shown.zone}
}

func indexError(err error) string { return "The index cannot be read: " + err.Error() }

// Sentences of the rows that are no match.
const (
	askService = "ask the service: one billing call"
	aboutAll   = "all that match, in the list of operations"
)

// rows lists what can be chosen for a typed text: the list of several matches (before them,
// if ids were typed), and the typed id if only the service can look it up.
func (f Finding) rows(typed string) []Found {
	out := slices.Clone(f.Matches)
	list := Found{Place: Place{Kind: KindOperations, Arg: typed}, Text: "All", About: aboutAll}
	switch {
	case f.IDs > 0 && f.Known > 0:
		list.About = format.Count(f.Known) + " of the " + format.Count(f.IDs) + " typed ids, in the list of operations"
		out = append([]Found{list}, out...)
	case len(out) > 1:
		out = append(out, list)
	}
	if id := api.ReadID(typed); f.Whole && f.Only == "" {
		out = append(out, Found{Place: Place{Kind: KindOperation, ID: id}, Text: draw.ID(id, 36), About: askService})
	}
	return out
}

// in is the found place, and of an operation the place of that kind, if one is given.
func (f Found) in(kind string) Place {
	if f.Place.Kind == KindOperation && kind != "" {
		return Place{Kind: kind, ID: f.Place.ID}
	}
	return f.Place
}

// missed reports whether nothing matches a text that can be searched.
func (f Finding) missed() bool { return len(f.Matches) == 0 && f.Wrong == "" }

// nothing says that nothing matches the typed text, and how it was understood.
func (f Finding) nothing(typed string) string {
	said := "No operation in the local index matches “" + draw.Cut(safe(typed), 40) + "”"
	switch {
	case f.Wrong != "":
		return f.Wrong
	case f.IDs > 0:
		return "None of the " + format.Count(f.IDs) + " typed ids is in the local index."
	}
	return strings.TrimSpace(said + ". " + f.Missing)
}
