package ui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/format"
	"opdeck/ui/draw"
)

// Found is an object that is known here.
type Found struct {
	Place Place
	Text  string // one safe line that names it: its id as lists show it, or a name
	About string // one safe line: status, amount, customer
}

// Finding is what is known here about something typed; all of it costs no call.
type Finding struct {
	// Beginning are operations whose id begins with it, the newest first.
	Beginning []Found
	More      bool   // there are further ones
	Only      string // the whole id that was meant: of the only one, or of the one with exactly this id; else empty
	Related   []Found
	Whole     bool // it can be a whole id: the service may be asked for it
}

// all lists what was found.
func (f Finding) all() []Found {
	return append(f.Beginning[:len(f.Beginning):len(f.Beginning)], f.Related...)
}

// Finder finds operations and customers in what is known here. Its methods are called
// in commands.
type Finder interface {
	// Find looks for operations by the beginning of an id, an id as lists show it, a
	// reference or a customer's name, and for customers when those are wanted.
	Find(ctx context.Context, typed string, customers bool) (Finding, error)
	// Recent lists what the person opened last, the newest first; at most ten.
	Recent(ctx context.Context) ([]Found, error)
	// Opened remembers that the person opened a place of one object.
	Opened(ctx context.Context, p Place) error
}

// remembered reports whether a place is one that Finder.Opened is told of.
func remembered(p Place) bool {
	return p.ID != "" && (p.Kind == KindOperation || p.Kind == KindDocuments || p.Kind == KindCompliance)
}

// remember tells the finder what was opened.
func (s *window) remember(p Place) tea.Cmd {
	find, ctx := s.opt.Finder, s.root
	if find == nil || !remembered(p) {
		return nil
	}
	return func() tea.Msg {
		_ = find.Opened(ctx, p) // a list of what was opened last that lacks one is not trouble worth telling
		return nil
	}
}

// resolvedMsg is what is known about an id that was typed to be opened.
type resolvedMsg struct {
	kind, typed string
	finding     Finding
	err         error
}

// OpenTyped opens an operation, or another place of one, by what was typed: its id,
// or a beginning that only one has. Several are offered.
func (s *Shell) OpenTyped(kind, typed string) tea.Cmd {
	find, ctx := s.opt.Finder, s.root
	if find == nil {
		return s.resolved(resolvedMsg{kind: kind, typed: typed, finding: Finding{Whole: CheckID(typed) == nil}})
	}
	return func() tea.Msg {
		found, err := find.Find(ctx, typed, false)
		return resolvedMsg{kind, typed, found, err}
	}
}

// resolved opens what was meant, or offers what could be.
func (s *Shell) resolved(m resolvedMsg) tea.Cmd {
	f := m.finding
	switch {
	case m.err != nil:
		return s.notify(Error, "The index cannot be read: "+m.err.Error())
	case f.Only != "":
		return s.open(Place{Kind: m.kind, ID: f.Only})
	case len(f.all()) == 0 && f.Whole:
		return s.open(Place{Kind: m.kind, ID: m.typed})
	case len(f.all()) == 0:
		return s.notify(Denied, nothingFound(m.typed))
	}
	var items []Choice
	for _, one := range f.all() {
		items = append(items, Choice{Text: one.Text, About: one.About})
	}
	s.push(newMenu(s, 0, Choose{Title: format.Plural(len(items), "operation matches", "operations match") +
		" “" + safe(m.typed) +
		"”", Items: items, Pick: func(i int) (Action, tea.Cmd) {
		return do(func(s *Shell) tea.Cmd { return s.open(Place{Kind: m.kind, ID: f.all()[i].Place.ID}) }), nil
	}}))
	return nil
}

// askService is said of an id that is not known here.
const askService = "ask the service: one billing call"

// nothingFound says that nothing fits what was typed.
func nothingFound(typed string) string {
	if err := CheckID(typed); err != nil {
		return "No match for “" + draw.Cut(safe(typed), 40) + "” among references and customers, and " + err.Error() +
			"."
	}
	return "No id, reference or customer in the local index matches “" + draw.Cut(safe(typed), 40) +
		"”. A full id is read from the service."
}
