package ui

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/format"
	"opdeck/ui/draw"
)

// Found is an object in the local data.
type Found struct {
	Place Place
	Text  string // one safe line that names it: its id as lists show it, or a name
	About string // one safe line: status, amount, customer
}

// Finding is the local result for a typed text; it costs no call.
type Finding struct {
	// Beginning are operations whose id begins with it, the newest first.
	Beginning []Found
	More      bool   // there are more
	Only      string // the whole id, if only one operation matches or one has exactly this id; else ""
	Related   []Found
	Whole     bool // the text can be a whole id, which the service can look up
}

// all lists what was found.
func (f Finding) all() []Found {
	return append(f.Beginning[:len(f.Beginning):len(f.Beginning)], f.Related...)
}

// Finder finds operations and customers in the local data. Its methods are called
// in commands.
type Finder interface {
	// Find finds operations by the beginning of an id, an id as lists show it, a
	// reference or a customer's name, and customers if requested.
	Find(ctx context.Context, typed string, customers bool) (Finding, error)
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
	if find == nil || !remembered(p) {
		return nil
	}
	return func() tea.Msg {
		_ = find.Opened(ctx, p) // a missing entry in the list of recent objects is not worth a notice
		return nil
	}
}

// resolvedMsg is the local result for an id that was typed to open a place.
type resolvedMsg struct {
	kind, typed string
	finding     Finding
	err         error
}

// OpenTyped opens an operation, or another place of one, by a typed id or by the beginning of
// an id. If several ids match, it offers them.
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

// resolved opens the only match, or offers several.
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

// askService is the text for an id that is not in the local data.
const askService = "ask the service: one billing call"

// nothingFound says that nothing matches the typed text.
func nothingFound(typed string) string {
	if err := CheckID(typed); err != nil {
		return "No match for “" + draw.Cut(safe(typed), 40) + "” among references and customers, and " + err.Error() +
			"."
	}
	return "No id, reference or customer in the local index matches “" + draw.Cut(safe(typed), 40) +
		"”. Type a full id to read it from the service."
}
