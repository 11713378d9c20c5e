// Package operation is the screen of one operation: all of it, exactly.
package operation

import (
	"context"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/mask"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
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

// Screen implements ui.Screen.
type Screen struct {
	env    *ui.Env
	client Client
	id     string
	loads  *ui.Loads
	trees  *ui.Loads
	keys   keymap.Operation

	op     *api.Operation
	at     time.Time
	origin string
	err    *api.Error

	tree    *api.OperationTree
	treeErr *api.Error

	view *widget.Viewer
	w, h int
}

// New makes the screen of one operation.
func New(env *ui.Env, client Client, opid string) *Screen {
	s := &Screen{env: env, client: client, id: opid, loads: env.Loads(), trees: env.Loads(), keys: env.Keys.Operation,
		view: widget.NewViewer(env.Theme, env.Keys).Footed()}
	s.settle()
	return s
}

// settle switches keys by what is there; a key that is off says why.
func (s *Screen) settle() {
	open, read := "", ""
	if s.op == nil {
		read = "The operation is not read yet."
	}
	if s.id == "" {
		open = "No operation is open; " + s.env.Keys.Global.OpenID.Binding.Help().Key + " opens one by its id."
		read = open
	}
	s.keys.Documents.Set(open)
	s.keys.History.Set(open)
	s.keys.Tree.Set(read)
	s.keys.Customer.Set(read)
}

type knownMsg struct {
	ui.Ticket
	op api.Operation
	at time.Time
	ok bool
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
	t, ctx := s.loads.Next(s.env.Ctx)
	client, id := s.client, s.id
	return func() tea.Msg {
		op, at, ok := client.Known(ctx, id)
		return knownMsg{t, op, at, ok}
	}
}

func (s *Screen) load() tea.Cmd {
	t, ctx := s.loads.Next(s.env.Ctx)
	client, id, now := s.client, s.id, s.env.Now
	return func() tea.Msg {
		op, err := client.Operation(ctx, id)
		return loadedMsg{t, op, now(), err}
	}
}

// newerMsg is what the index holds after it changed.
type newerMsg knownMsg

// look asks the index alone, after it changed: no call.
func (s *Screen) look() tea.Cmd {
	t, ctx, client, id := s.env.Ticket(), s.env.Ctx, s.client, s.id
	return func() tea.Msg {
		op, at, ok := client.Known(ctx, id)
		return newerMsg{t, op, at, ok}
	}
}

func (s *Screen) loadTree() tea.Cmd {
	t, ctx := s.trees.Next(s.env.Ctx)
	client, id := s.client, s.id
	return func() tea.Msg {
		tree, err := client.OperationTree(ctx, id)
		return treeMsg{t, tree, err}
	}
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case knownMsg:
		return s.known(msg)
	case loadedMsg:
		return s.loaded(msg)
	case treeMsg:
		if !s.trees.Current(msg.Ticket) {
			return nil, nil
		}
		if s.treeErr = api.AsError(msg.err); msg.err == nil {
			s.tree = &msg.tree
		}
		s.draw()
	case newerMsg:
		if msg.ok && msg.at.After(s.at) {
			s.show(msg.op, msg.at, "index")
		}
	case ui.Changed:
		if msg.Kind == ui.KindOperations && s.id != "" && !s.loads.Busy() {
			return nil, s.look()
		}
		if op, ok := msg.Object.(api.Operation); ok && msg.Kind == ui.KindOperation && msg.ID == s.id {
			s.show(op, s.env.Now(), msg.Origin)
		}
	case ui.DisplayChanged:
		s.draw()
	case keymap.Press:
		return s.key(msg)
	}
	return nil, nil
}

func (s *Screen) known(msg knownMsg) (ui.Action, tea.Cmd) {
	if !s.loads.Current(msg.Ticket) {
		return nil, nil
	}
	if msg.ok {
		s.show(msg.op, msg.at, "index")
	}
	if !msg.ok || s.env.Now().Sub(msg.at) > s.client.MaxAge() {
		return nil, s.load()
	}
	return nil, nil
}

func (s *Screen) loaded(msg loadedMsg) (ui.Action, tea.Cmd) {
	if !s.loads.Current(msg.Ticket) {
		return nil, nil
	}
	if msg.err != nil {
		s.err = api.AsError(msg.err)
		s.draw()
		return nil, nil
	}
	s.show(msg.op, msg.at, "service")
	return nil, nil
}

func (s *Screen) show(op api.Operation, at time.Time, origin string) {
	s.op, s.at, s.origin, s.err = &op, at, origin, nil
	s.settle()
	s.draw()
}

func (s *Screen) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	g, item := s.env.Keys.Global, s.env.Keys.Item
	switch {
	case s.view.Searching(): // every key is text
		s.view.Update(msg)
		return nil, nil
	case (g.Back.Match(msg) || g.Quit.Match(msg)) && s.view.Clear():
		return ui.Handled{}, nil
	case g.Reload.Match(msg) && s.id != "":
		if s.tree != nil {
			return nil, tea.Batch(s.load(), s.loadTree())
		}
		return nil, s.load()
	case item.CopyID.Match(msg) && s.id != "":
		return ui.Copy{Text: s.id, What: "the operation id"}, nil
	case s.keys.Documents.Match(msg) && s.id != "":
		return ui.Open{Place: ui.Place{Kind: ui.KindDocuments, ID: s.id}}, nil
	case s.keys.History.Match(msg) && s.id != "":
		return ui.Open{Place: ui.Place{Kind: "history", ID: s.id}}, nil
	case s.op == nil:
	case item.CopyJSON.Match(msg):
		return ui.Copy{Text: string(mask.Shown(s.op.Raw, s.env.Masked())), What: "the operation as JSON"}, nil
	case item.Raw.Match(msg):
		return ui.Raw{Title: "Operation " + s.id, JSON: mask.Shown(s.op.Raw, s.env.Masked())}, nil
	case s.keys.Tree.Match(msg):
		return nil, s.loadTree()
	case s.keys.Customer.Match(msg):
		return s.customer(), nil
	}
	s.view.Update(msg)
	return nil, nil
}

func (s *Screen) customer() ui.Action {
	if s.op.Customer.CUID == "" {
		return ui.Notify{Kind: ui.Refused, Text: "This operation names no customer."}
	}
	return ui.Open{Place: ui.Place{Kind: ui.KindCompliance, ID: string(s.op.Customer.CUID)}}
}

// Counts implements ui.Counter: the ages of created and updated.
func (s *Screen) Counts(now time.Time) time.Time {
	if s.op == nil {
		return time.Time{}
	}
	_, a := draw.Ago(s.op.CreatedAt.Time, now)
	_, b := draw.Ago(s.op.UpdatedAt.Time, now)
	return ui.Sooner(a, b)
}

// View implements ui.Screen.
func (s *Screen) View() string {
	s.draw()
	return strings.Join(draw.Lay(s.view.Lines(), s.w, s.h), "\n")
}

func (s *Screen) draw() {
	s.view.SetLines(s.lines())
	s.view.SetSize(s.w, s.h)
}

// SetSize implements ui.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.draw()
}

// Help implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	hits, k := s.view.Hints(), s.env.Keys
	if s.view.Searching() {
		return hits
	}
	own := append(hits, keymap.All(s.keys)...)
	if s.env.Masked() {
		show := k.Global.Reveal
		show.Extra = false
		own = append(own, show)
	}
	return append(append(own, keymap.Join(k.Item, k.Nav)...), k.Global.Reload, k.Viewer.Search)
}

// Editing implements ui.Screen.
func (s *Screen) Editing() bool { return s.view.Searching() }

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
	src := ui.Source{Origin: s.origin, At: s.at, Class: "billing", Loading: s.loads.Busy() || s.trees.Busy()}
	if s.err != nil {
		src.Problem = s.err.Public
	}
	return src
}

// Subject implements ui.Subjecter.
func (s *Screen) Subject(kind string) string {
	switch {
	case kind == ui.KindOperation:
		return s.id
	case kind == ui.KindCompliance && s.op != nil:
		return string(s.op.Customer.CUID)
	}
	return ""
}
