package audittrail

import (
	"context"
	"io"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Log is the trail; *audit.Log of opdeck/internal/domain/audit has these methods. The
// person is the one in ctx.
type Log interface {
	Find(ctx context.Context, q audit.Query) (audit.Page, error)
	Unsettled(ctx context.Context) ([]audit.Entry, error)
	Settle(ctx context.Context, who api.Actor, ref, note string) error
	Verify(ctx context.Context) (audit.Report, error)
	Export(ctx context.Context, w io.Writer, from, to int64) (int64, error)
	Extract(ctx context.Context, w io.Writer, object, id string) error
	Health() audit.Health
}

// Config is what does not change while the console runs.
type Config struct {
	// NoFiles says why nothing can be exported to a file from here ("Files would
	// be written on the server; …"); empty when it can.
	NoFiles string
}

// Screen implements ui.Screen.
type Screen struct {
	env  *ui.Env
	log  Log
	who  api.Actor
	keys keymap.Audit

	loads  *ui.Loads // the newest records, and what is unsettled
	more   *ui.Loads // older records
	doubts *ui.Loads // what is unsettled alone
	checks *ui.Loads // verification

	filter filter
	text   string // of the filter as typed
	rows   *rows
	next   int64 // where older records begin; 0: there are none
	seen   int   // records looked at for the filter
	health audit.Health
	at     time.Time
	err    *api.Error
	inited bool
	newer  bool // records came since the list was read
	doing  string

	bar  *widget.FilterBar // the filter while it is typed
	page *page             // a record or a report over the list

	table *widget.Table
	w, h  int
}

// New makes the screen. start is a filter to begin with, as it is typed.
func New(env *ui.Env, log Log, cfg Config, start string) *Screen {
	s := &Screen{env: env, log: log, who: api.ActorOf(env.Ctx), keys: env.Keys.Audit, rows: &rows{env: env},
		loads: env.Loads(), more: env.Loads(), doubts: env.Loads(), checks: env.Loads(),
		table: widget.NewTable(env.Theme, env.Keys, false, columns(0)...)}
	s.table.Apart()
	if f, bad := parse(start, env.Now()); bad == nil {
		s.filter, s.text = f, start
	}
	switch {
	case !s.who.Role.May(api.MayAuditOut):
		s.keys.Export.Off("Your role does not allow to " + string(api.MayAuditOut) + "; " + api.WhoMay(api.MayAuditOut) + " may.")
	case cfg.NoFiles != "":
		s.keys.Export.Off(cfg.NoFiles)
	}
	s.settle()
	return s
}

// Init implements ui.Screen.
func (s *Screen) Init() tea.Cmd { return s.load() }

// Update implements ui.Screen.
func (s *Screen) Update(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case loadedMsg:
		s.loaded(msg)
	case olderMsg:
		s.older(msg)
	case doubtsMsg:
		if s.doubts.Current(msg.Ticket) && msg.err == nil {
			s.rows.open = msg.open
			s.settle()
		}
	case verifiedMsg:
		s.verified(msg)
	case settledMsg:
		return s.settled(msg)
	case savedMsg:
		s.doing = ""
		if msg.err != nil {
			return ui.Failure("The export", msg.err), nil
		}
		return msg.Outcome(), nil
	case ui.Changed:
		s.newer = s.newer || msg.Kind == ui.KindAudit
	case ui.Shown:
		return nil, s.loadDoubts()
	case ui.DisplayChanged:
		s.settle()
	case keymap.Press:
		return s.key(msg)
	}
	return nil, nil
}

func (s *Screen) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	switch {
	case s.bar != nil:
		return s.typing(msg)
	case s.page != nil && s.page.view.Searching():
		s.page.view.Update(msg)
		return nil, nil
	}
	k := s.env.Keys
	e, on := s.current()
	switch {
	case k.Global.Reload.Match(msg):
		return nil, s.load()
	case s.keys.Verify.Match(msg):
		return nil, s.verify()
	case s.keys.Export.Match(msg):
		return s.askExport(), nil
	case s.keys.Approvals.Match(msg):
		return ui.Open{Place: ui.Place{Kind: "approvals"}}, nil
	case on && k.Item.CopyID.Match(msg):
		return copyID(e), nil
	case on && k.Item.CopyJSON.Match(msg):
		return ui.Copy{Text: string(e.Raw), What: "the record as JSON"}, nil
	case on && k.Item.Raw.Match(msg):
		return ui.Raw{Title: "Audit record " + draw.Count(int(e.Seq)), JSON: e.Raw}, nil
	case s.page != nil:
		return s.pageKey(msg)
	}
	return s.listKey(msg, e, on)
}

func (s *Screen) listKey(msg keymap.Press, e audit.Entry, on bool) (ui.Action, tea.Cmd) {
	k := s.env.Keys
	switch {
	case k.List.Filter.Match(msg):
		s.bar = s.newBar(s.text)
		return nil, nil
	case k.Global.Back.Match(msg), k.Global.Quit.Match(msg):
		if s.text == "" {
			return nil, nil
		}
		s.filter, s.text = filter{}, ""
		return ui.Handled{}, s.load()
	case on && k.List.Open.Match(msg):
		if s.rows.unsettled(s.table.SelectedID()) {
			return s.settleMenu(e), nil
		}
		s.show(e)
		return nil, nil
	}
	s.table.Update(msg)
	return nil, s.reach()
}

// pageKey is a key while a record or a report is open.
func (s *Screen) pageKey(msg keymap.Press) (ui.Action, tea.Cmd) {
	k := s.env.Keys.Global
	if k.Back.Match(msg) || k.Quit.Match(msg) {
		if !s.page.view.Clear() {
			s.page = nil
			s.checks.Stop()
		}
		return ui.Handled{}, nil
	}
	s.page.view.Update(msg)
	return nil, nil
}

// current is the record on the page, else the one under the cursor.
func (s *Screen) current() (audit.Entry, bool) {
	if s.page != nil {
		return s.page.entry, s.page.entry.UID != ""
	}
	return s.rows.entry(s.table.SelectedID())
}

// copyID copies what people look things up by: the object's id, else the record's.
func copyID(e audit.Entry) ui.Action {
	if id := string(audit.Reading(e.ID)); id != "" && !e.Damaged {
		return ui.Copy{Text: id, What: "the id of the " + audit.Reading(e.Object).Line(20)}
	}
	return ui.Copy{Text: e.UID, What: "the record's id"}
}

// View implements ui.Screen.
func (s *Screen) View() string {
	if s.page != nil {
		return strings.Join(s.page.draw(s.env, s.w, s.h), "\n")
	}
	top := s.above()
	if len(top) > s.h/2 {
		top = top[:s.h/2]
	}
	s.table.SetSize(s.w, max(s.h-len(top), 1))
	return strings.Join(draw.Lay(append(top, s.table.Lines()...), s.w, s.h), "\n")
}

// SetSize implements ui.Screen.
func (s *Screen) SetSize(w, h int) {
	s.w, s.h = w, h
	s.rows.wide = w >= wide
	s.table.SetColumns(columns(w)...)
}

// Help implements ui.Screen.
func (s *Screen) Keys() []keymap.Key {
	k := s.env.Keys
	own := []keymap.Key{s.keys.Verify, s.keys.Approvals, s.keys.Export}
	if s.bar != nil {
		return widget.FilterKeys(k)
	}
	if s.page != nil && s.page.view.Seeking() {
		return s.page.view.Hints()
	}
	if s.page != nil {
		own = append(own, k.Viewer.Search, k.Viewer.Next, k.Viewer.Prev)
		if _, on := s.current(); on {
			own = append(own, keymap.All(k.Item)...)
		}
		return append(own, keymap.All(k.Nav)...)
	}
	list := append([]keymap.Key{k.List.Open, k.List.Filter}, own...)
	return append(append(list, k.Global.Reload), keymap.Join(k.Item, k.Nav)...)
}

// Editing implements ui.Screen.
func (s *Screen) Editing() bool { return s.bar != nil || s.page != nil && s.page.view.Searching() }

// Unsaved implements ui.Keeper.
func (s *Screen) Unsaved() string {
	if s.bar != nil && s.bar.Value() != s.text {
		return "The filter you typed."
	}
	return ""
}

// Title implements ui.Screen.
func (s *Screen) Title() string { return "Audit" }

// Place implements ui.Screen.
func (s *Screen) Place() ui.Place { return ui.Place{Kind: ui.KindAudit} }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := ui.Source{Origin: "audit trail", At: s.at, Loading: s.loads.Busy() || s.more.Busy() || s.checks.Busy()}
	if s.err != nil {
		src.Problem = s.err.Public
	}
	return src
}

// Subject implements ui.Subjecter.
func (s *Screen) Subject(kind string) string {
	e, ok := s.current()
	if !ok || e.Damaged || placeOf(e).Kind != kind {
		return ""
	}
	return string(audit.Reading(e.ID))
}

// placeOf is the screen of what a record is about; the zero place when there is none.
func placeOf(e audit.Entry) ui.Place {
	id := string(audit.Reading(e.ID))
	switch {
	case id == "":
	case e.Object == "operation":
		return ui.Place{Kind: ui.KindOperation, ID: id}
	case e.Object == "customer":
		return ui.Place{Kind: ui.KindCompliance, ID: id}
	}
	return ui.Place{}
}

// Commands implements ui.Commander.
func (s *Screen) Commands() []ui.Command {
	var out []ui.Command
	for _, e := range s.rows.open {
		out = append(out, ui.Command{Title: "Settle " + audit.Reading(e.Event).Line(40) + " " + draw.ID(string(audit.Reading(e.ID)), 20), Do: s.settleMenu(e)})
	}
	return out
}
