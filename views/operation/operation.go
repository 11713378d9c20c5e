// Package operation is the screen of one operation with all its fields.
package operation

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/note"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
	"opdeck/views/history"
	"opdeck/views/notes"
)

// History returns the local states of an operation, oldest first; it
// costs no call.
type History func(ctx context.Context, opid string) ([]index.State, error)

// Screen is the detail of one operation; it implements ui.Screen.
type Screen struct {
	ui.Page
	latest   *ui.Latest
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
func NewScreen(env *ui.Env, caller endpoint.Caller, known ui.Known, history History, book *note.Notes,
	opid string) *Screen {
	s := &Screen{env: env, caller: caller, phase: known.Phase, latest: ui.NewLatest(env, caller, known, opid),
		trees: env.Requests(), notes: notes.New(env, book, note.Operation, opid), keys: env.Keys.Operation,
		noteKeys: env.Keys.Notes, related: env.Keys.Related}
	s.latest.OnShow = s.onShow
	s.latest.Beside = func(ctx context.Context, _ bool) ui.Then {
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
	s.Page.Err = s.latest.Err
	open, read := "", ""
	if s.latest.Op == nil {
		read = "The operation has not been read yet."
	}
	if s.latest.ID == "" {
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
	if s.latest.Op == nil || of(s.latest.Op.Source) != "" || of(s.latest.Op.Destination) != "" {
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
func (s *Screen) Init() tea.Cmd { return s.latest.Init() }

// Reload implements ui.PageScreen: one billing call, two with the tree.
func (s *Screen) Reload() tea.Cmd {
	if s.tree != nil {
		return tea.Batch(s.latest.Load(), s.loadTree(false))
	}
	return s.latest.Load()
}

// loadTree reads the parent and the children; asked: a person pressed the key, so the cursor goes to the result.
func (s *Screen) loadTree(asked bool) tea.Cmd {
	caller, id := s.caller, s.latest.ID
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
		return s.latest.OnNews(changed)
	}
	return nil, nil
}

// OwnKey implements ui.PageScreen.
func (s *Screen) OwnKey(p keymap.Press) (ui.Action, tea.Cmd, bool) {
	switch {
	case s.keys.Documents.Match(p):
		return ui.Open{Place: ui.Place{Kind: ui.KindDocuments, ID: s.latest.ID}}, nil, true
	case s.noteKeys.Add.Match(p):
		return s.notes.Ask(), nil, true
	case s.env.Keys.List.Open.Match(p) && s.Link().ID != "":
		a, cmd := s.open()
		return a, cmd, true
	case s.latest.Op == nil:
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
	}{{"source", s.latest.Op.Source}, {"destination", s.latest.Op.Destination}} {
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
	id := s.latest.ID
	out := ui.Item{ID: id, IDWhat: "the operation id", JSONWhat: "the operation as JSON", Title: "Operation " + id}
	if s.latest.Op != nil {
		out.JSON = s.latest.Op.Raw
	}
	return out
}

// NextTick implements ui.Ticker: the ages of created and updated.
func (s *Screen) NextTick(now time.Time) time.Time {
	if s.latest.Op == nil {
		return time.Time{}
	}
	_, a := format.Ago(s.latest.Op.CreatedAt.Time, now)
	_, b := format.Ago(s.latest.Op.UpdatedAt.Time, now)
	return ui.Sooner(a, b)
}

// Keys implements ui.Screen: those that are used most come first.
func (s *Screen) Keys() []keymap.Key {
	k := s.env.Keys.Item
	k.CopyID.SetHelp(k.CopyID.Help().Key, "copy")
	k.CopyID.Long = "copy the selected id or value to the clipboard"
	keys := []keymap.Key{s.keys.Documents, s.related.History, s.related.Customer}
	if s.latest.Op == nil || s.latest.Op.IsParent {
		keys = append(keys, s.keys.Tree)
	}
	keys = s.PageKeys(true, append(keys, k.CopyID)...)
	return append(keys, s.noteKeys.Add, s.keys.Account, s.keys.Counterparty, s.keys.Tree, k.CopyJSON, k.Raw)
}

// Title implements ui.Screen.
func (s *Screen) Title() string {
	if s.latest.ID == "" {
		return "Operation"
	}
	return "Operation " + draw.ID(s.latest.ID, 13)
}

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindOperation, ID: s.latest.ID} }

// Subject implements ui.SubjectOf.
func (s *Screen) Subject(kind string) string { return s.latest.Subject(kind) }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := s.latest.Source()
	src.Loading = src.Loading || s.trees.Busy()
	return src
}

const wide = 400 // cells; the viewer wraps what is wider than the window

// Content implements ui.Contenter.
func (s *Screen) Content() ui.Content {
	th := s.env.Theme
	switch {
	case s.latest.ID == "":
		return ui.Content{Lines: []string{th.Dim.Render("No operation is open."),
			th.Dim.Render(s.env.Way(s.env.Keys.Global.OpenID) + " opens one by its id, " +
				s.env.Way(s.env.Keys.Global.Operations) + " lists them.")}}
	case s.latest.Op == nil && s.Page.Err != nil:
		return s.Failed(s.Page.Err)
	case s.latest.Op == nil:
		return ui.Content{Lines: []string{th.Dim.Render("Reading operation " + draw.ID(s.latest.ID, 40) + " …")}}
	}
	lines := append(append(s.NotReread(), s.headlines()...), s.attached()...)
	if th.Linear {
		lines = append(s.NotReread(), "Operation "+s.latest.Op.OPID.Line(64)+".")
		for _, l := range append(s.headlines(), s.attached()...) {
			lines = append(lines, l+".")
		}
	}
	c := ui.Content{Lines: lines, Problem: len(s.NotReread())}
	add := func(parts ...ui.Section) {
		for _, part := range parts {
			if part.Title != "" {
				c.Sections = append(c.Sections, part)
			}
		}
	}
	add(s.facts()...)
	add(s.documents(), s.notes.Section(s.Inner(s.beside())), s.above(), s.children())
	add(s.past(c), s.unknown())
	return c
}

// headlines returns the first lines of an operation: its status, type and amount, and the counterparty that is paid.
// They are one line if it fits, and no amount is cut that has room in a line of its own.
func (s *Screen) headlines() []string {
	th := s.env.Theme
	state, pays := present.Headline(s.env.Present(), *s.latest.Op, s.phase(*s.latest.Op))
	lines := []string{s.env.Line(state) + "  " + s.env.Line(pays)}
	if draw.Width(lines[0]) > s.W && !th.Linear {
		lines = []string{s.env.Line(state), s.env.Line(pays)}
	}
	payee, last := present.Payee(s.env.Present(), *s.latest.Op), len(lines)-1
	switch to := "→ "; {
	case payee == "":
		return lines
	case th.Linear:
		return append(lines, "To "+payee)
	case draw.Width(lines[last])+1+draw.Width(to+payee) <= s.W:
		lines[last] += " " + th.Dim.Render(to) + th.Strong.Render(payee)
		return lines
	default:
		return append(lines, th.Dim.Render(to)+th.Strong.Render(draw.Cut(payee, max(s.W-2, 10))))
	}
}

// attached returns the operation's documents and its customer: in one line if they fit.
func (s *Screen) attached() []string {
	dim, documents := s.env.Theme.Dim, present.Attached(*s.latest.Op)
	name := draw.Line(s.latest.Op.Customer.Name, max(s.W, 10))
	if name != "" && draw.Width(documents)+2+draw.Width(name) > s.W && !s.env.Theme.Linear {
		return []string{dim.Render(name), dim.Render(documents)}
	}
	return []string{dim.Render(strings.TrimSpace(documents + "  " + name))}
}

func (s *Screen) documents() ui.Section {
	th := s.env.Theme
	out := ui.Section{Title: "Documents", Drawn: present.Attached(*s.latest.Op),
		Hint: s.keys.Documents.Help().Key + " opens them"}
	room, longest := max(min(s.left()-32, 60), 12), 0
	for _, d := range s.latest.Op.Documents {
		longest = max(longest, draw.Width(draw.File(d.FileName, room)))
	}
	for _, d := range s.latest.Op.Documents {
		lock := "  "
		word := present.LockWord(d.Lock)
		if d.Lock.Is() {
			lock = th.Locked.Render(th.Signs.Locked + " ")
		} else if word != "" {
			lock = th.Warn.Render(th.Signs.Unknown + " ")
		}
		line := lock + draw.Pad(draw.File(d.FileName, room), longest) + "  " +
			th.Dim.Render(strings.TrimPrefix(d.DocType.Line(30)+", "+format.Size(d.Size), ", "))
		if word != "" {
			line += th.Locked.Render("  " + word)
		}
		if odd := d.FileName.Flags(); odd.Suspicious() {
			line += th.Warn.Render("  ! " + odd.Words())
		}
		out.Lines = append(out.Lines, line)
		out.Links = append(out.Links, link{opens: ui.KindDocuments, id: s.latest.ID, row: string(d.GUID)}.to("document",
			"the document id", string(d.GUID), true))
	}
	return out
}

// left is how wide the column of the documents is.
func (s *Screen) left() int {
	left, _ := s.Widths()
	return left
}

// beside is how wide what is beside the documents is, or all of it in a narrow window.
func (s *Screen) beside() int {
	left, right := s.Widths()
	if right > 0 {
		return right
	}
	return left
}

// past returns the last local states, as many as there is room for below the other sections of their column.
func (s *Screen) past(c ui.Content) ui.Section {
	if _, right := s.Widths(); right == 0 && !s.env.Theme.Linear {
		return ui.Section{}
	}
	out := ui.Section{Title: "History", Hint: s.related.History.Help().Key + " opens it", Beside: true}
	if s.pastErr != nil {
		out.Lines = []string{s.env.Theme.Warn.Render(s.env.Theme.Signs.Warn + " " + history.Unread)}
		return out
	}
	room := s.H - len(c.Lines) - 2
	for _, part := range c.Sections {
		if part.Beside {
			room -= len(part.Facts) + len(part.Lines) + 2
		}
	}
	if s.env.Theme.Linear {
		room = 0
	}
	lines, rows := history.Last(s.env, s.states, max(room, 5), s.Inner(s.beside()))
	for _, row := range rows {
		to := link{opens: ui.KindHistory, id: s.latest.ID, row: row}
		out.Links = append(out.Links, to.to("state", "the change", "", true))
	}
	if out.Lines = lines; len(lines) == 0 {
		out.Lines = []string{s.env.Theme.Dim.Render("No state of it is stored yet.")}
	}
	return out
}

// relatives are the lines of parents or children: as much of their ids as the widest line has room for.
func (s *Screen) relatives(list []api.Child) []string {
	amount, indent := 0, 0
	for _, c := range list {
		amount = max(amount, draw.Width(format.Money(c.Operation.SourceAmount.Sum))+1)
		indent = max(indent, branch(c.Depth))
	}
	out := make([]string, len(list))
	id := max(s.Inner(s.beside())-indent-relativeFixed-amount, 13)
	for i, c := range list {
		op, st := c.Operation, s.env.Theme.Status(string(c.Operation.Status))
		out[i] = draw.Space(branch(c.Depth)) + s.env.Theme.Tone(st.Tone).Render(st.Sign+" "+
			draw.Fit(op.Status.Line(14), 10)) + "  " + draw.Fit(op.Type.Line(14), 10) +
			draw.PadLeft(format.Money(op.SourceAmount.Sum), amount) + "  " + draw.ID(op.OPID.Line(64), id)
	}
	return out
}

// relativeFixed is the width of a parent's or child's line without indent, amount and id.
const relativeFixed = 26

// above returns the ancestors of the operation, nearest first.
func (s *Screen) above() ui.Section {
	if s.tree == nil || len(s.tree.Ancestors) == 0 {
		return ui.Section{}
	}
	out := ui.Section{Title: "Parent", Beside: true}
	if len(s.tree.Ancestors) > 1 {
		out.Title, out.Hint = "Parents", "the nearest first"
	}
	list := make([]api.Child, len(s.tree.Ancestors))
	for i, op := range s.tree.Ancestors {
		list[i].Operation = op
		out.Links = append(out.Links, parentLink(op))
	}
	out.Lines = s.relatives(list)
	return out
}

func parentLink(op api.Operation) widget.Link {
	return link{opens: ui.KindOperation, id: string(op.OPID)}.to("parent operation", "the parent's operation id",
		string(op.OPID), true)
}

func (s *Screen) children() ui.Section {
	th, out := s.env.Theme, ui.Section{Title: "Children", Beside: true}
	switch {
	case s.treeErr != nil:
		out.Lines = []string{th.Bad.Render(th.Signs.Bad + " " + s.treeErr.Public)}
		return out
	case s.tree == nil && s.trees.Busy():
		out.Lines = []string{th.Dim.Render("Reading the tree …")}
		return out
	case s.tree == nil && s.latest.Op.IsParent:
		out.Hint = s.keys.Tree.Help().Key + " reads them (one billing call)"
		return out
	case s.tree == nil, len(s.tree.Children)+s.tree.Unread+s.tree.Repeated == 0:
		return ui.Section{}
	}
	out.Drawn = format.Plural(len(s.tree.Children), "child operation", "child operations")
	if th.Linear {
		out.Lines, out.Links = []string{out.Drawn}, []widget.Link{{}}
	}
	if n := s.tree.Unread; n > 0 {
		out.Lines = append(out.Lines, th.Warn.Render(th.Signs.Warn+" "+format.Plural(n, "child",
			"children")+" in the service's answer could not be read."))
		out.Links = append(out.Links, widget.Link{})
	}
	if n := s.tree.Repeated; n > 0 {
		out.Lines = append(out.Lines,
			th.Warn.Render(th.Signs.Warn+" The answer lists an operation twice "+format.Plural(n, "time",
				"times")+"; it is shown once."))
		out.Links = append(out.Links, widget.Link{})
	}
	out.Lines = append(out.Lines, s.relatives(s.tree.Children)...)
	for _, c := range s.tree.Children {
		out.Links = append(out.Links, childLink(c))
	}
	return out
}

func childLink(c api.Child) widget.Link {
	return link{opens: ui.KindOperation, id: string(c.OPID)}.to("child", "the child's operation id", string(c.OPID), true)
}

// branch is the indent of a child by its depth, in cells; from the sixth level on it is the
// same.
func branch(depth int) int { return 2 * (min(max(depth, 1), 6) - 1) }

// unknown lists the fields of the service that opdeck does not know.
func (s *Screen) unknown() ui.Section {
	if len(s.other) == 0 {
		return ui.Section{}
	}
	th := s.env.Theme
	out := ui.Section{Title: "Other fields", Hint: "that opdeck does not know; " + s.env.Keys.Item.Raw.Help().Key +
		" shows the raw answer"}
	for _, f := range s.other {
		odd := ""
		if f.Odd {
			odd = th.Warn.Render("  " + th.Signs.Warn + " cannot be read")
			out.Hint = "that opdeck does not know or cannot read; " + s.env.Keys.Item.Raw.Help().Key +
				" shows the raw answer"
		}
		out.Lines = append(out.Lines, th.Dim.Render(f.Label)+"  "+mask.Detail(f, s.env.Masked()).Line(wide)+odd)
	}
	if more := s.others - len(s.other); more > 0 {
		out.Lines = append(out.Lines,
			th.Warn.Render("… "+format.Count(more)+" more; "+s.env.Keys.Item.Raw.Help().Key+" shows them"))
	}
	return out
}

// maxOther is the maximum of listed unknown fields.
const maxOther = 200

// onShow extracts the unknown fields from the record, once per state.
func (s *Screen) onShow(*api.Operation) ui.Action {
	fields := s.latest.Op.Unknown()
	s.other, s.others = api.Details(fields[:min(len(fields), maxOther)]), len(fields)
	return nil
}

// opens is the kind of place that shows a kind of records.
var opens = map[present.RefKind]string{present.RefCustomer: ui.KindCompliance, present.RefAccount: accounts,
	present.RefCounterparty: counterparties, present.RefChildren: tree}

// facts returns the sections of facts: the person can copy every value, and open those that have
// a record of their own.
func (s *Screen) facts() []ui.Section {
	list := present.OperationFacts(s.env.Present(), *s.latest.Op)
	for i := range list {
		for k := range list[i].Facts {
			if f := &list[i].Facts[k]; f.Opens.Kind == present.RefChildren {
				f.Value, f.Stop = "yes ("+s.keys.Tree.Help().Key+" shows them)", s.tree == nil
				if s.tree != nil {
					f.Value = "yes, " + format.Plural(len(s.tree.Children), "child operation", "child operations")
				}
			}
		}
	}
	out := s.env.Sections(list, factLink)
	for i, part := range list {
		out[i].Beside = part.Side
	}
	return out
}

// factLink returns the link of a fact.
func factLink(f present.Fact) widget.Link {
	if f.Note {
		return widget.Link{}
	}
	what := f.What
	if what == "" {
		what = "the " + f.Label
	}
	return link{opens: opens[f.Opens.Kind], id: f.Opens.ID}.to(f.Key(), what, f.Copy, f.Stop)
}

// Kinds of places that other packages name.
const (
	accounts       = "accounts"
	counterparties = "counterparties"
)

// tree is the pseudo kind of the link that reads the children.
const tree = "tree"

// link is the place that a line opens, by kind and object; the zero link opens
// nothing.
type link struct {
	opens, id string
	row       string // of a list: where the cursor goes there
}

// sep separates the parts of a link's id; an id of the service that contains it opens
// nothing.
const sep = "\x00"

// to returns the link of a line; name is unique on the page. tab goes to it
// if stop is set and the link opens something.
func (l link) to(name, what, text string, stop bool) widget.Link {
	return widget.Link{ID: strings.Join([]string{name, l.opens, l.id, l.row}, sep), Copy: text, What: what,
		Opens: stop && l.opens != "" && l.id != ""}
}

// open opens what the cursor is on.
func (s *Screen) open() (ui.Action, tea.Cmd) {
	parts := strings.Split(s.Link().ID, sep)
	if len(parts) != 4 || parts[1] == "" || parts[2] == "" {
		next := s.env.Keys.Global.Pane.Help().Key
		return ui.Notify{Level: ui.Info, Text: "Nothing to open here; " + next +
			" goes to the next line that opens something."}, nil
	}
	to := link{parts[1], parts[2], parts[3]}
	if to.opens == tree {
		return nil, s.loadTree(true)
	}
	return ui.Open{Place: ui.Place{Kind: to.opens, ID: to.id}, Row: to.row}, nil
}

// Preview draws an operation from local data as its screen does, for the preview beside a list.
// It reads nothing.
func Preview(env *ui.Env, known ui.Known) func(op api.Operation, w int) []string {
	s := NewScreen(env, nil, known, nil, nil, "")
	tree := &s.keys.Tree // its letter has another function on the list
	tree.SetHelp(env.Keys.List.Open.Help().Key+" "+tree.Help().Key, tree.Help().Desc)
	return func(op api.Operation, w int) []string {
		s.latest.ID, s.latest.Op, s.W = string(op.OPID), &op, w
		return s.Draw(s.Content())
	}
}
