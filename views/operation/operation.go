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
	// Known returns the newest state that is known locally; it costs no call.
	Known(ctx context.Context, opid string) (op api.Operation, seenAt time.Time, ok bool)
	Operation(ctx context.Context, opid string) (api.Operation, error)
	OperationTree(ctx context.Context, opid string) (api.OperationTree, error)
	Phase(op api.Operation) api.Phase
	// MaxAge is how old a known state may be before it is read again.
	MaxAge() time.Duration
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
	env    *ui.Env
	client Client
	id     string
	loads  *ui.Requests
	trees  *ui.Requests
	keys   keymap.Operation

	op     *api.Operation
	at     time.Time
	origin string
	err    *api.Error

	tree    *api.OperationTree
	treeErr *api.Error
}

// NewScreen makes the screen of one operation.
func NewScreen(env *ui.Env, client Client, opid string) *Screen {
	s := &Screen{env: env, client: client, id: opid, loads: env.Requests(), trees: env.Requests(), keys: env.Keys.Operation}
	s.Page = ui.NewPage(env, s.lines)
	s.refreshKeys()
	return s
}

// refreshKeys switches keys by what is there; a key that is off says why.
func (s *Screen) refreshKeys() {
	open, read := "", ""
	if s.op == nil {
		read = "The operation is not read yet."
	}
	if s.id == "" {
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

// knownMsg is what the index holds: at the start, or after it changed (peek).
type knownMsg struct {
	ui.Ticket
	op   api.Operation
	at   time.Time
	ok   bool
	peek bool
}

type loadedMsg struct {
	ui.Ticket
	op  api.Operation
	at  time.Time
	err error
}

type treeMsg struct {
	ui.Ticket
	tree api.OperationTree
	err  error
}

// Init implements ui.Screen: what is known locally is shown first; the service
// is asked when that is too old.
func (s *Screen) Init() tea.Cmd {
	if s.id == "" {
		return nil
	}
	t, ctx := s.loads.Start(s.env.Ctx)
	return s.known(ctx, t, false)
}

// known asks the index: no call.
func (s *Screen) known(ctx context.Context, t ui.Ticket, peek bool) tea.Cmd {
	client, id := s.client, s.id
	return func() tea.Msg {
		op, at, ok := client.Known(ctx, id)
		return knownMsg{t, op, at, ok, peek}
	}
}

func (s *Screen) load() tea.Cmd {
	t, ctx := s.loads.Start(s.env.Ctx)
	client, id, now := s.client, s.id, s.env.Now
	return func() tea.Msg {
		op, err := client.Operation(ctx, id)
		return loadedMsg{t, op, now(), err}
	}
}

func (s *Screen) loadTree() tea.Cmd {
	t, ctx := s.trees.Start(s.env.Ctx)
	client, id := s.client, s.id
	return func() tea.Msg {
		tree, err := client.OperationTree(ctx, id)
		return treeMsg{t, tree, err}
	}
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	defer s.Layout()
	switch msg := msg.(type) {
	case knownMsg:
		return nil, s.onKnown(msg)
	case loadedMsg:
		switch {
		case !s.loads.Accept(msg.Ticket):
		case msg.err != nil:
			s.err = api.AsError(msg.err)
		default:
			s.show(msg.op, msg.at, "service")
		}
	case treeMsg:
		if !s.trees.Accept(msg.Ticket) {
			return nil, nil
		}
		if s.treeErr = api.AsError(msg.err); msg.err == nil {
			s.tree = &msg.tree
		}
	case ui.Changed:
		if msg.Kind == ui.KindOperations && s.id != "" && !s.loads.Busy() {
			return nil, s.known(s.env.Ctx, s.env.Ticket(), true)
		}
		if op, ok := msg.Object.(api.Operation); ok && msg.Kind == ui.KindOperation && msg.ID == s.id {
			s.show(op, s.env.Now(), msg.Origin)
		}
	case keymap.Press:
		return s.Key(msg, s.key)
	}
	return nil, nil
}

func (s *Screen) onKnown(msg knownMsg) tea.Cmd {
	switch {
	case msg.peek:
		if msg.ok && msg.at.After(s.at) {
			s.show(msg.op, msg.at, "index")
		}
		return nil
	case !s.loads.Accept(msg.Ticket):
		return nil
	}
	if msg.ok {
		s.show(msg.op, msg.at, "index")
	}
	if !msg.ok || s.env.Now().Sub(msg.at) > s.client.MaxAge() {
		return s.load()
	}
	return nil
}

func (s *Screen) show(op api.Operation, at time.Time, origin string) {
	s.op, s.at, s.origin, s.err = &op, at, origin, nil
	s.refreshKeys()
}

func (s *Screen) key(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	item := s.env.Keys.Item
	open := func(kind, id string) (ui.Action, tea.Cmd, bool) {
		return ui.Open{Place: ui.Place{Kind: kind, ID: id}}, nil, true
	}
	switch {
	case s.env.Keys.Global.Reload.Match(p) && s.id != "":
		if s.tree != nil {
			return nil, tea.Batch(s.load(), s.loadTree()), true
		}
		return nil, s.load(), true
	case item.CopyID.Match(p) && s.id != "":
		return ui.Copy{Text: s.id, What: "the operation id"}, nil, true
	case s.keys.Documents.Match(p):
		return open(ui.KindDocuments, s.id)
	case s.keys.History.Match(p):
		return open("history", s.id)
	case s.op == nil:
	case item.CopyJSON.Match(p):
		return ui.Copy{Text: string(mask.JSONIf(s.op.Raw, s.env.Masked())), What: "the operation as JSON"}, nil, true
	case item.Raw.Match(p):
		return ui.Raw{Title: "Operation " + s.id, JSON: mask.JSONIf(s.op.Raw, s.env.Masked())}, nil, true
	case s.keys.Tree.Match(p):
		return nil, s.loadTree(), true
	case s.keys.Customer.Match(p) && s.op.Customer.CUID == "":
		return ui.Notify{Level: ui.Denied, Text: "This operation names no customer."}, nil, true
	case s.keys.Customer.Match(p):
		return open(ui.KindCompliance, string(s.op.Customer.CUID))
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
	}{{"source", s.op.Source}, {"destination", s.op.Destination}} {
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

// NextTick implements ui.Ticker: the ages of created and updated.
func (s *Screen) NextTick(now time.Time) time.Time {
	if s.op == nil {
		return time.Time{}
	}
	_, a := draw.Ago(s.op.CreatedAt.Time, now)
	_, b := draw.Ago(s.op.UpdatedAt.Time, now)
	return ui.Sooner(a, b)
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	return s.PageKeys(true, keymap.Join(s.keys, s.env.Keys.Item)...)
}

// Title implements ui.Screen.
func (s *Screen) Title() string {
	if s.id == "" {
		return "Operation"
	}
	return "Operation " + draw.ID(s.id, 13)
}

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindOperation, ID: s.id} }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	return ui.Source{Origin: s.origin, At: s.at, Class: "billing", Loading: s.loads.Busy() || s.trees.Busy(), Problem: ui.Problem(s.err)}
}

// Subject implements ui.SubjectOf.
func (s *Screen) Subject(kind string) string {
	switch {
	case kind == ui.KindOperation:
		return s.id
	case kind == ui.KindCompliance && s.op != nil:
		return string(s.op.Customer.CUID)
	}
	return ""
}
