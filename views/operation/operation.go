// Package operation is the screen of one operation: all of it, exactly.
package operation

import (
	"context"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
)

// Client reads operations.
type Client interface {
	ui.OperationReader
	OperationTree(ctx context.Context, opid string) (api.OperationTree, error)
}

// Model is the detail of one operation as a program of its own.
type Model struct{ ui.Model }

// New makes the model of one operation; client's reads are all that it sends.
func New(o ui.Options, client Client, opid string) Model {
	return Model{ui.Alone(o, ui.Place{Kind: ui.KindOperation, ID: opid}, func(env *ui.Env) ui.Screen { return NewScreen(env, client, opid) })}
}

// Update implements tea.Model.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := m.Model.Update(msg)
	return m, cmd
}

// Screen is the same in the console; it implements ui.Screen.
type Screen struct {
	ui.Page
	*ui.Latest
	env    *ui.Env
	client Client
	trees  *ui.Requests
	keys   keymap.Operation

	tree    *api.OperationTree
	treeErr *api.Error
}

// NewScreen makes the screen of one operation.
func NewScreen(env *ui.Env, client Client, opid string) *Screen {
	s := &Screen{env: env, client: client, Latest: ui.NewLatest(env, client, opid), trees: env.Requests(), keys: env.Keys.Operation}
	s.Page = ui.NewPage(env, s, "", "")
	s.Refresh()
	return s
}

// Refresh implements ui.PageScreen: a key that is off says why.
func (s *Screen) Refresh() {
	s.Page.Err = s.Latest.Err
	open, read := "", ""
	if s.Op == nil {
		read = "The operation is not read yet."
	}
	if s.ID == "" {
		open = "No operation is open; " + s.env.Keys.Global.OpenID.Help().Key + " opens one by its id."
		read = open
	}
	s.keys.Documents.Set(open)
	s.keys.History.Set(open)
	s.keys.Tree.Set(read)
	s.keys.Customer.Set(read)
	s.keys.Account.Set(read)
	s.keys.Counterparty.Set(read)
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd { return s.Latest.Init() }

// Reload implements ui.PageScreen: one billing call, two with the tree.
func (s *Screen) Reload() tea.Cmd {
	if s.tree != nil {
		return tea.Batch(s.Load(), s.loadTree())
	}
	return s.Load()
}

func (s *Screen) loadTree() tea.Cmd {
	client, id := s.client, s.ID
	return s.env.Read(s.trees, func(ctx context.Context) ui.Then {
		tree, err := client.OperationTree(ctx, id)
		return func() (ui.Action, tea.Cmd) {
			if s.treeErr = api.AsError(err); err == nil {
				s.tree = &tree
			}
			return nil, nil
		}
	})
}

// Answer implements ui.PageScreen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	if changed, ok := msg.(ui.Changed); ok {
		return s.OnNews(changed)
	}
	return nil, nil
}

// OwnKey implements ui.PageScreen.
func (s *Screen) OwnKey(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	open := func(kind, id string) (ui.Action, tea.Cmd, bool) {
		return ui.Open{Place: ui.Place{Kind: kind, ID: id}}, nil, true
	}
	switch {
	case s.keys.Documents.Match(p):
		return open(ui.KindDocuments, s.ID)
	case s.keys.History.Match(p):
		return open("history", s.ID)
	case s.Op == nil:
	case s.keys.Tree.Match(p):
		return nil, s.loadTree(), true
	case s.keys.Customer.Match(p) && s.Op.Customer.CUID == "":
		return ui.Notify{Level: ui.Denied, Text: "This operation names no customer."}, nil, true
	case s.keys.Customer.Match(p):
		return open(ui.KindCompliance, string(s.Op.Customer.CUID))
	case s.keys.Account.Match(p):
		return s.openParty("accounts", "account of a customer", func(p api.Party) untrusted.Text {
			if p.Account == nil {
				return ""
			}
			return p.Account.ID
		}), nil, true
	case s.keys.Counterparty.Match(p):
		return s.openParty("counterparties", "counterparty", func(p api.Party) untrusted.Text {
			if p.CounterpartyAccount == nil {
				return ""
			}
			return p.CounterpartyAccount.Counterparty.SUID
		}), nil, true
	}
	return nil, nil, false
}

// openParty opens what of names on a side of the operation, the source first; where
// both sides name one, it asks which.
func (s *Screen) openParty(kind, what string, of func(api.Party) untrusted.Text) ui.Action {
	var items []ui.Choice
	var ids []string
	for _, side := range []struct {
		name  string
		party api.Party
	}{{"source", s.Op.Source}, {"destination", s.Op.Destination}} {
		if id := string(of(side.party)); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
			items = append(items, ui.Choice{Text: side.name + ": " + side.party.Name().Line(60), Note: draw.ID(id, 26)})
		}
	}
	open := func(i int) (ui.Action, tea.Cmd) { return ui.Open{Place: ui.Place{Kind: kind, ID: ids[i]}}, nil }
	switch len(ids) {
	case 0:
		return ui.Notify{Level: ui.Denied, Text: "This operation names no " + what + "."}
	case 1:
		a, _ := open(0)
		return a
	}
	return ui.Choose{Title: "Which side?", Items: items, Pick: open}
}

// Item implements ui.PageScreen.
func (s *Screen) Item() ui.Item {
	out := ui.Item{ID: s.ID, IDWhat: "the operation id", JSONWhat: "the operation as JSON", Title: "Operation " + s.ID}
	if s.Op != nil {
		out.JSON = mask.JSONIf(s.Op.Raw, s.env.Masked())
	}
	return out
}

// NextTick implements ui.Ticker: the ages of created and updated.
func (s *Screen) NextTick(now time.Time) time.Time {
	if s.Op == nil {
		return time.Time{}
	}
	_, a := draw.Ago(s.Op.CreatedAt.Time, now)
	_, b := draw.Ago(s.Op.UpdatedAt.Time, now)
	return ui.Sooner(a, b)
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	return s.PageKeys(true, keymap.Join(s.keys, s.env.Keys.Item)...)
}

// Title implements ui.Screen.
func (s *Screen) Title() string {
	if s.ID == "" {
		return "Operation"
	}
	return "Operation " + draw.ID(s.ID, 13)
}

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindOperation, ID: s.ID} }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := s.Latest.Source()
	src.Loading = src.Loading || s.trees.Busy()
	return src
}
