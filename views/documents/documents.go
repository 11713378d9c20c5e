// Package documents is the screen of an operation's documents: remove, put back,
// attach, upload, replace, each behind what guards it.
package documents

import (
	"context"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/replace"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Client does what this screen asks for.
type Client interface {
	Known(ctx context.Context, opid string) (op api.Operation, seenAt time.Time, ok bool)
	MaxAge() time.Duration
	Operation(ctx context.Context, opid string) (api.Operation, error)
	RemoveDocument(ctx context.Context, r api.RemoveDocument) (api.Operation, error)
	AttachDocument(ctx context.Context, opid, guid, name string) (api.Operation, error)
	// Upload reads a file of this host and puts it into the customer's store.
	Upload(ctx context.Context, cuid, path, kind, info string) (api.CustomerFile, error)
	// Replace runs a whole job; Resume goes on with one, Abandon gives it up.
	Replace(ctx context.Context, op api.Operation, guid, path, kind, info string, force bool) (replace.Job, error)
	Resume(ctx context.Context, id string) (replace.Job, error)
	Abandon(ctx context.Context, id string) (replace.Job, error)
	// Again sends once more what a job sent and was not seen in time; Use takes a
	// file of the customer as the uploaded one.
	Again(ctx context.Context, id string) (replace.Job, error)
	Use(ctx context.Context, id, file string) (replace.Job, error)
	// Unfinished lists the jobs of an operation that stand still.
	Unfinished(ctx context.Context, opid string) ([]replace.Job, error)
	// OpenWrites lists the writes to an operation whose outcome is not known.
	OpenWrites(ctx context.Context, opid string) ([]followup.Row, error)
	Phase(op api.Operation) api.Phase
}

// removed is a document that was taken off here and can be put back.
type removed struct{ guid, name string }

// Model is the documents of one operation as a program of its own.
type Model struct{ ui.Model }

// New makes the model of one operation's documents; it writes through client.
func New(o ui.Options, client Client, opid string) Model {
	return Model{ui.Alone(o, ui.Place{Kind: ui.KindDocuments, ID: opid}, func(env *ui.Env) ui.Screen { return NewScreen(env, client, opid) })}
}

// Update implements tea.Model.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := m.Model.Update(msg)
	return m, cmd
}

// Screen is the same in the console; it implements ui.Screen.
type Screen struct {
	env    *ui.Env
	client Client
	id     string
	loads  *ui.Requests
	keys   keymap.Documents

	op     *api.Operation
	at     time.Time
	origin string
	err    *api.Error
	jobs   []replace.Job
	open   []followup.Row // writes whose outcome is not known

	doing  string    // the write under way; its keys are off meanwhile
	undone []removed // newest last

	table      *widget.Table
	head, foot []string // above and below the table
	w, h       int
}

// NewScreen makes the screen of one operation's documents.
func NewScreen(env *ui.Env, client Client, opid string) *Screen {
	s := &Screen{env: env, client: client, id: opid, loads: env.Requests(), keys: env.Keys.Documents,
		table: widget.NewTable(env.Theme, env.Keys, false,
			widget.Column{Title: "name", Min: 14, Flex: 3, CutMiddle: true}, widget.Column{Title: "type", Min: 18, Max: 24, Flex: 1, HidePriority: 2},
			widget.Column{Title: "media type", Min: 15, Max: 30, Flex: 1, HidePriority: 4}, widget.Column{Title: "size", Min: 8, Align: widget.Right},
			widget.Column{Title: "created", Min: 16, HidePriority: 3}, widget.Column{Title: "lock", Min: 8},
			widget.Column{Title: "info", Min: 10, Flex: 2, HidePriority: 5})}
	s.refreshKeys()
	return s
}

// knownMsg is what the index holds: at the start, or after it changed (peek).
type knownMsg struct {
	ui.Ticket
	op   api.Operation
	at   time.Time
	ok   bool
	peek bool
	jobs []replace.Job
	open []followup.Row
}

type loadedMsg struct {
	ui.Ticket
	op   api.Operation
	at   time.Time
	open []followup.Row
	err  error
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd {
	if s.id == "" {
		return nil
	}
	t, ctx := s.loads.Start(s.env.Ctx)
	return s.known(ctx, t, false)
}

// known asks what is kept here: no call. A peek does not look at the jobs.
func (s *Screen) known(ctx context.Context, t ui.Ticket, peek bool) tea.Cmd {
	client, id := s.client, s.id
	return func() tea.Msg {
		m := knownMsg{Ticket: t, peek: peek, open: openWrites(ctx, client, id)}
		m.op, m.at, m.ok = client.Known(ctx, id)
		if !peek {
			m.jobs, _ = client.Unfinished(ctx, id) // an error is told by the store's own screens
		}
		return m
	}
}

// peek looks again at what is kept here.
func (s *Screen) peek() tea.Cmd { return s.known(s.env.Ctx, s.env.Ticket(), true) }

func openWrites(ctx context.Context, client Client, id string) []followup.Row {
	rows, err := client.OpenWrites(ctx, id)
	if err != nil {
		return nil // told by the audit trail's screen
	}
	return rows
}

func (s *Screen) load() tea.Cmd {
	t, ctx := s.loads.Start(s.env.Ctx)
	client, id, now := s.client, s.id, s.env.Now
	return func() tea.Msg {
		op, err := client.Operation(ctx, id)
		return loadedMsg{t, op, now(), openWrites(ctx, client, id), err}
	}
}

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	defer s.layout()
	switch msg := msg.(type) {
	case knownMsg:
		return s.onKnown(msg)
	case loadedMsg:
		if !s.loads.Accept(msg.Ticket) {
			return nil, nil
		}
		if s.open = msg.open; msg.err == nil {
			return s.show(msg.op, msg.at, "service"), nil
		}
		s.err = api.AsError(msg.err)
	case wroteMsg:
		return s.wrote(msg)
	case jobMsg:
		s.jobs = msg.jobs
		return s.wrote(msg.wroteMsg)
	case ui.Changed:
		if msg.Kind == ui.KindOperations && s.id != "" && !s.loads.Busy() {
			return nil, s.peek()
		}
		if op, ok := msg.Object.(api.Operation); ok && msg.Kind == ui.KindOperation && msg.ID == s.id {
			return s.show(op, s.env.Now(), msg.Origin), nil
		}
	case keymap.Press:
		return s.key(msg)
	}
	return nil, nil
}

func (s *Screen) onKnown(msg knownMsg) (ui.Action, tea.Cmd) {
	if msg.peek {
		if s.open = msg.open; msg.ok && msg.at.After(s.at) && s.doing == "" {
			return s.show(msg.op, msg.at, "index"), nil
		}
		return nil, nil
	}
	if !s.loads.Accept(msg.Ticket) {
		return nil, nil
	}
	if s.jobs, s.open = msg.jobs, msg.open; msg.ok {
		s.show(msg.op, msg.at, "index")
	}
	if !msg.ok || s.env.Now().Sub(msg.at) > s.client.MaxAge() {
		return nil, s.load()
	}
	return nil, nil
}

// show takes a new state of the operation. A question that is open about one of
// its documents is told when the document changed.
func (s *Screen) show(op api.Operation, at time.Time, origin string) ui.Action {
	before := s.op
	s.op, s.at, s.origin, s.err = &op, at, origin, nil
	if before == nil {
		return nil
	}
	var acts ui.Many
	for _, d := range before.Documents {
		id := string(d.GUID)
		if api.SeenDigest(*before, id) == api.SeenDigest(op, id) {
			continue
		}
		why := "The document or the operation changed meanwhile; look again."
		if _, still := op.Document(id); !still {
			why = "This document is no longer attached."
		}
		acts = append(acts, ui.Withdraw{ID: id, Why: why})
	}
	if acts == nil {
		return nil
	}
	return acts
}

// layout gives table and keys what they need from the state, and lays out what
// stands around the table.
func (s *Screen) layout() {
	s.table.SetSource(rows{s})
	s.table.SetNotice(s.notice())
	s.refreshKeys()
	s.head, s.foot = s.above(), s.below()
	s.table.SetSize(s.w, max(s.h-len(s.head)-len(s.foot), 1))
}

// refreshKeys switches keys by what is there; a key that is off says why.
func (s *Screen) refreshKeys() {
	why := s.whyOff()
	for _, k := range []*keymap.Key{&s.keys.Remove, &s.keys.Restore, &s.keys.Attach, &s.keys.Upload, &s.keys.Replace} {
		k.Set(why)
	}
	if why != "" {
		return
	}
	if len(s.undone) == 0 {
		s.keys.Restore.Set("Nothing was removed here that could be put back.")
	}
	doc, ok := s.selected()
	if !ok {
		why = "There is no document under the cursor."
	}
	for _, r := range s.open {
		if ok && r.Item == string(doc.GUID) && r.State != followup.NotSeen {
			why = s.waits(r) + " " + s.env.Keys.Global.Reload.Help().Key + " looks now."
		}
	}
	s.keys.Remove.Set(why)
	s.keys.Replace.Set(why)
}

// waits says that the outcome of a write is not known.
func (s *Screen) waits(r followup.Row) string {
	what := draw.Line(untrusted.Text(r.What()), 90)
	sent := draw.Clock(r.Sent, s.env.Zone())
	if r.State == followup.NotSeen {
		return what + ": sent at " + sent + ", not seen in time. " + remedy.Screen(&api.Error{Remedy: r.Advice()})
	}
	return what + ": sent at " + sent + ", and it is not known yet whether it was done. opdeck looks again by itself."
}

func (s *Screen) whyOff() string {
	switch {
	case s.doing != "":
		return "Wait for what is under way: " + s.doing + "."
	case s.op == nil:
		return "The operation is not read yet."
	}
	return ""
}

func (s *Screen) notice() widget.Notice {
	switch {
	case s.id == "":
		return widget.Notice{Text: "No operation is open.", Hint: "o opens one by its id, 1 lists them"}
	case s.err != nil && s.op == nil:
		return widget.Notice{Tone: theme.Bad, Text: s.err.Public, Hint: s.env.Keys.Global.Reload.Help().Key + " tries again, " + s.env.Keys.Global.Back.Help().Key + " goes back"}
	case s.op == nil:
		return widget.Notice{Text: "Reading the documents …"}
	}
	return widget.Notice{Text: "No document is attached.", Hint: "u uploads a file and attaches it, a attaches one by its id"}
}

// rows are the documents as the table draws them.
type rows struct{ s *Screen }

func (r rows) docs() []api.Document {
	if r.s.op == nil {
		return nil
	}
	return r.s.op.Documents
}

// Len implements widget.Source.
func (r rows) Len() int { return len(r.docs()) }

// IndexOf implements widget.Source.
func (r rows) IndexOf(id string) int {
	for i, d := range r.docs() {
		if string(d.GUID) == id {
			return i
		}
	}
	return -1
}

// Row implements widget.Source.
func (r rows) Row(i int) widget.Row { return row(r.s.env, r.docs()[i]) }

func row(env *ui.Env, d api.Document) widget.Row {
	lock, tone := "", theme.Plain
	if d.IsLock {
		lock, tone = env.Theme.Signs.Locked+" locked", theme.Warn
	}
	out := widget.Row{ID: string(d.GUID), Cells: []string{d.FileName.Line(512), d.DocType.Line(64), d.MIME.Line(128), draw.Size(d.Size),
		draw.Minute(d.CreateAt.Time, env.Zone()), lock, d.Info.Line(512)},
		Tones: []theme.Tone{theme.Plain, theme.Dim, theme.Dim, theme.Plain, theme.Dim, tone, theme.Dim}}
	if d.FileName.Flags().Suspicious() || d.Info.Flags().Suspicious() {
		out.Sign, out.Tone = env.Theme.Signs.Warn, theme.Warn
	}
	return out
}

// selected is a copy of the document under the cursor.
func (s *Screen) selected() (api.Document, bool) {
	if s.op == nil {
		return api.Document{}, false
	}
	return s.op.Document(s.table.SelectedID())
}

// View implements ui.Screen.
func (s *Screen) View() string {
	return strings.Join(draw.Lay(slices.Concat(s.head, s.table.Lines(), s.foot), s.w, s.h), "\n")
}

// above says which operation it is, and what warns: an end state, a job that
// stands still, a write under way.
func (s *Screen) above() []string {
	th := s.env.Theme
	if s.op == nil || s.h < 8 {
		return nil
	}
	st := th.Status(string(s.op.Status))
	out := []string{th.Tone(st.Tone).Render(st.Sign+" "+s.op.Status.Line(20)) + "  " + draw.Line(s.op.Type, 16) + "  " +
		th.Strong.Render(draw.Money(s.op.SourceAmount.Sum)) + th.Dim.Render("  "+draw.Line(s.op.Customer.Name, 30)+"  "+draw.ID(s.id, 13))}
	if phase := s.client.Phase(*s.op); phase.Ended() {
		out = append(out, th.Warn.Render(th.Signs.Warn+" The operation is "+phase.Word()+": its documents are normally not changed any more."))
	}
	if s.err != nil {
		out = append(out, th.Warn.Render(th.Signs.Warn+" Not read again: "+s.err.Public))
	}
	for _, r := range s.open {
		for i, l := range draw.Wrap(s.waits(r), max(s.w-2, 1)) {
			out = append(out, th.Warn.Render([]string{th.Signs.Unknown, " "}[min(i, 1)]+" "+l))
		}
	}
	for _, j := range s.jobs {
		out = append(out, th.Warn.Render(th.Signs.Warn+" A replacement of "+j.OldName+" stands still; "+s.keys.Replace.Binding.Help().Key+" goes on with it or gives it up."))
		status := jobStatus(j) + "."
		if j.Problem != "" {
			status = jobStatus(j) + ": " + j.Problem
		}
		for _, l := range draw.Wrap(status, max(s.w-2, 1)) {
			out = append(out, th.Warn.Render("  "+l))
		}
	}
	if s.doing != "" {
		out = append(out, th.Info.Render(th.Signs.Info+" "+s.doing+" …"))
	}
	return append(out, "")
}

// below is the detail of the document under the cursor.
func (s *Screen) below() []string {
	d, ok := s.selected()
	if !ok || s.h < 14 {
		return nil
	}
	th := s.env.Theme
	ago, _ := draw.Ago(d.CreateAt.Time, s.env.Now())
	pairs := []widget.Pair{{Label: "name", Value: d.FileName.Line(400)}, {Label: "guid", Value: d.GUID.Line(64)},
		{Label: "type", Value: d.DocType.Line(64) + ", " + d.MIME.Line(128) + ", " + draw.Size(d.Size) + " (" + draw.Count(int(d.Size)) + " bytes)"},
		{Label: "created", Value: draw.Time(d.CreateAt.Time, s.env.Zone()) + ", " + ago}}
	if d.Info != "" {
		pairs = append(pairs, widget.Pair{Label: "info", Value: d.Info.Line(400)})
	}
	if odd := draw.SuspiciousText(d.FileName); odd != "" {
		pairs = append(pairs, widget.Pair{Label: "! odd name", Value: odd, Tone: theme.Warn})
	}
	if odd := draw.SuspiciousText(d.Info); odd != "" {
		pairs = append(pairs, widget.Pair{Label: "! odd info", Value: odd, Tone: theme.Warn})
	}
	return append([]string{th.Rule.Render(strings.Repeat(th.Signs.Light, max(s.w, 0)))}, widget.Pairs(th, pairs, min(s.w, 99))...)
}

// SetSize implements ui.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.layout()
}

// NextTick implements ui.Ticker: the age of the document under the cursor.
func (s *Screen) NextTick(now time.Time) time.Time {
	d, ok := s.selected()
	if !ok {
		return time.Time{}
	}
	_, next := draw.Ago(d.CreateAt.Time, now)
	return next
}

// Keys implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	k := s.env.Keys
	return append(keymap.Join(s.keys, k.Item, k.Nav), k.Global.Reload)
}

// Editing implements ui.Screen.
func (s *Screen) Editing() bool { return false }

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Documents" }

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindDocuments, ID: s.id} }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	return ui.Source{Origin: s.origin, At: s.at, Class: "billing", Loading: s.loads.Busy(), Problem: ui.Problem(s.err)}
}

// Subject implements ui.SubjectOf.
func (s *Screen) Subject(kind string) string {
	switch {
	case kind == ui.KindOperation || kind == ui.KindDocuments:
		return s.id
	case kind == ui.KindCompliance && s.op != nil:
		return string(s.op.Customer.CUID)
	}
	return ""
}
