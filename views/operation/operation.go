// Package operation is the screen of one operation with all its fields.
package operation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/note"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/views/notes"
)

// History returns the local states of an operation, oldest first; it
// costs no call.
type History func(ctx context.Context, opid string) ([]index.State, error)

// Screen is the detail of one operation; it implements ui.Screen.
type Screen struct {
	ui.Page
	*ui.Latest
	env      *ui.Env
	caller   endpoint.Caller
	phase    func(api.Operation) api.Phase
	trees    *ui.Requests
	keys     keymap.Operation
	related  keymap.Related
	noteKeys keymap.Notes

	other   []api.Detail // of Op, that opdeck does not know; at most maxOther
	others  int          // how many there are
	tree    *api.OperationTree
	treeErr *api.Error
	notes   *notes.Panel
	states  []index.State // oldest first
	pastErr error         // of reading them
}

// NewScreen returns the screen of one operation.
func NewScreen(env *ui.Env, caller endpoint.Caller, known ui.Known, history History, book notes.Book,
	opid string) *Screen {
	s := &Screen{env: env, caller: caller, phase: known.Phase, Latest: ui.NewLatest(env, caller, known, opid),
		trees: env.Requests(), notes: notes.New(env, book, note.Operation, opid), keys: env.Keys.Operation,
		noteKeys: env.Keys.Notes, related: env.Keys.Related}
	s.OnShow = s.onShow
	s.Beside = func(ctx context.Context, _ bool) ui.Then {
		states, err := history(ctx, opid)
		if errors.Is(err, index.ErrNone) {
			err = nil
		}
		read := s.notes.Read(ctx)
		return func() (ui.Action, tea.Cmd) {
			s.states, s.pastErr = states, err
			return read()
		}
	}
	s.Page = ui.NewPage(env, s, "", "")
	s.Narrow = true
	s.Refresh()
	return s
}

// Refresh implements ui.PageScreen: a key that is off says why.
func (s *Screen) Refresh() {
	s.Page.Err = s.Latest.Err
	open, read := "", ""
	if s.Op == nil {
		read = "The operation has not been read yet."
	}
	if s.ID == "" {
		open = "No operation is open; " + s.env.Keys.Global.OpenID.Help().Key + " opens one by its id."
		read = open
	}
	s.keys.Documents.Set(open)
	s.related.History.Set(open)
	s.noteKeys.Add.Set(open)
	s.keys.Tree.Set(read)
	s.related.Customer.Set(read)
	s.keys.Account.Set(cmp.Or(read, s.namesNo("account of a customer", accountOf)))
	s.keys.Counterparty.Set(cmp.Or(read, s.namesNo("counterparty", counterpartyOf)))
}

// namesNo is why a key opens no record of a side; "" if the operation names one.
func (s *Screen) namesNo(what string, of func(api.Party) untrusted.Text) string {
	if s.Op == nil || of(s.Op.Source) != "" || of(s.Op.Destination) != "" {
		return ""
	}
	return "This operation names no " + what + "."
}

// accountOf is the account of a customer that a side of the operation names; "" for none.
func accountOf(p api.Party) untrusted.Text {
	if p.Account == nil {
		return ""
	}
	return p.Account.ID
}

// counterpartyOf is the counterparty that a side of the operation names; "" for none.
func counterpartyOf(p api.Party) untrusted.Text {
	if p.CounterpartyAccount == nil {
		return ""
	}
	return p.CounterpartyAccount.Counterparty.SUID
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd { return s.Latest.Init() }

// Reload implements ui.PageScreen: one billing call, two with the tree.
func (s *Screen) Reload() tea.Cmd {
	if s.tree != nil {
		return tea.Batch(s.Load(), s.loadTree(false))
	}
	return s.Load()
}

// loadTree reads the parent and the children; asked: a person pressed the key, so the cursor goes to the result.
func (s *Screen) loadTree(asked bool) tea.Cmd {
	caller, id := s.caller, s.ID
	return s.env.Read(s.trees, func(ctx context.Context) ui.Then {
		tree, err := endpoint.Do(ctx, caller, endpoint.GetOperationTree, id)
		return func() (ui.Action, tea.Cmd) {
			if s.treeErr = api.AsError(err); err == nil {
				s.tree = &tree
			}
			if !asked {
				return nil, nil
			}
			return s.showTree(), nil
		}
	})
}

// showTree puts the cursor on the first child, else on the parent, or shows why there
// is neither.
func (s *Screen) showTree() ui.Action {
	switch {
	case s.treeErr != nil:
		return ui.Notify{Level: ui.Error, Text: "The parent and the children could not be read: " + s.treeErr.Public}
	case len(s.tree.Children) > 0:
		s.Layout()
		s.Point(childLink(s.tree.Children[0]).ID)
	case len(s.tree.Ancestors) > 0:
		s.Layout()
		s.Point(parentLink(s.tree.Ancestors[0]).ID)
	default:
		return ui.Notify{Level: ui.Info, Text: "The service reports no parent and no child operations."}
	}
	return nil
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
	switch {
	case s.keys.Documents.Match(p):
		return ui.Open{Place: ui.Place{Kind: ui.KindDocuments, ID: s.ID}}, nil, true
	case s.noteKeys.Add.Match(p):
		return s.notes.Ask(), nil, true
	case s.env.Keys.List.Open.Match(p) && s.Link().ID != "":
		a, cmd := s.open()
		return a, cmd, true
	case s.Op == nil:
	case s.keys.Tree.Match(p):
		return nil, s.loadTree(true), true
	case s.keys.Account.Match(p):
		return s.openParty(accounts, "account of a customer", accountOf), nil, true
	case s.keys.Counterparty.Match(p):
		return s.openParty(counterparties, "counterparty", counterpartyOf), nil, true
	}
	a, ok := ui.TakeRelated(s.related, p, s)
	return a, nil, ok
}

// openParty opens the record that of returns for a side of the operation, the source first; if
// both sides have one, it asks which.
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
		out.JSON = s.Op.Raw
	}
	return out
}

// NextTick implements ui.Ticker: the ages of created and updated.
func (s *Screen) NextTick(now time.Time) time.Time {
	if s.Op == nil {
		return time.Time{}
	}
	_, a := format.Ago(s.Op.CreatedAt.Time, now)
	_, b := format.Ago(s.Op.UpdatedAt.Time, now)
	return ui.Sooner(a, b)
}

// Keys implements ui.Screen: those that are used most come first.
func (s *Screen) Keys() []keymap.Key {
	k := s.env.Keys.Item
	k.CopyID.SetHelp(k.CopyID.Help().Key, "copy")
	k.CopyID.Long = "copy the selected id or value to the clipboard"
	keys := []keymap.Key{s.keys.Documents, s.related.History, s.related.Customer}
	if s.Op == nil || s.Op.IsParent {
		keys = append(keys, s.keys.Tree)
	}
	keys = s.PageKeys(true, append(keys, k.CopyID)...)
	return append(keys, s.noteKeys.Add, s.keys.Account, s.keys.Counterparty, s.keys.Tree, k.CopyJSON, k.Raw)
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
