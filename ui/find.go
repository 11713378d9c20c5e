package ui

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/format"
	"opdeck/ui/draw"
)

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
	Read       []string // how words were understood that are more than a text, one safe line each
	Missing    string   // which words of the text no operation matches, one safe sentence; "": unknown
	Wrong      string   // why the text cannot be searched, as one safe sentence
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
	if find == nil || !remembered(p) {
		return nil
	}
	return func() tea.Msg {
		_ = find.Opened(ctx, p) // a missing entry in the list of recent objects is not worth a notice
		return nil
	}
}

// resolvedMsg is the local result for a text that was typed to open a place.
type resolvedMsg struct {
	kind    string
	q       Search
	finding Finding
	err     error
}

// OpenTyped opens an operation, or another place of one, by what a list shows of it. If
// several match, it offers them.
func (s *Shell) OpenTyped(kind, typed string) tea.Cmd {
	find, ctx, m := s.win.opt.Finder, s.win.root, resolvedMsg{kind: kind, q: s.win.search(typed, false)}
	if find == nil {
		m.finding = unsearched(typed)
		return s.resolved(m)
	}
	s.searches++
	return func() tea.Msg {
		m.finding, m.err = find.Find(ctx, m.q)
		return m
	}
}

// search is a Search of this person.
func (s *window) search(typed string, customers bool) Search {
	return Search{Text: typed, Customers: customers, Zone: s.shown.zone}
}

// resolved opens the only match, or offers several.
func (s *Shell) resolved(m resolvedMsg) tea.Cmd {
	rows := m.finding.rows(m.q.Text)
	switch {
	case m.err != nil:
		return s.status.notify(Error, indexError(m.err))
	case m.finding.Only != "":
		return s.route.open(Place{Kind: m.kind, ID: m.finding.Only})
	case len(rows) == 0:
		return s.status.notify(Denied, m.finding.nothing(m.q.Text))
	case len(rows) == 1:
		return s.route.open(rows[0].in(m.kind))
	}
	title := format.Plural(len(m.finding.Matches), "operation matches", "operations match") + " “" + safe(m.q.Text) + "”"
	s.dialogs.push(newMenu(s.win, 0, Choose{Title: title, Items: s.win.choices(rows),
		Pick: func(i int) (Action, tea.Cmd) {
			return do(func(s *Shell) tea.Cmd { return s.route.open(rows[i].in(m.kind)) }), nil
		}}))
	return nil
}

// unsearched is the result without local data.
func unsearched(typed string) Finding {
	if err := CheckID(typed); err != nil && typed != "" {
		return Finding{Wrong: "Not a valid id: " + err.Error() + "."}
	}
	return Finding{Whole: typed != ""}
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
	if f.Whole && f.Only == "" {
		out = append(out, Found{Place: Place{Kind: KindOperation, ID: typed}, Text: draw.ID(typed, 36), About: askService})
	}
	return out
}

// in is the found place, and of an operation the place of that kind.
func (f Found) in(kind string) Place {
	if f.Place.Kind == KindOperation {
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
	case len(f.Read) > 0:
		said += ": " + strings.Join(f.Read, ", ")
	}
	return strings.TrimSpace(said + ". " + f.Missing)
}
