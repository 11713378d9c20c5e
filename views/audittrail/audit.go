package audittrail

import (
	"context"
	"fmt"
	"io"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/auditfilter"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
)

// Log is the trail, read as the person in ctx; app.Trail has these
// methods.
type Log interface {
	Find(ctx context.Context, q audit.Query) (audit.Page, error)
	Unsettled(ctx context.Context) ([]audit.Entry, error)
	Settle(ctx context.Context, who api.Actor, ref, note string) error
	Verify(ctx context.Context) (audit.Report, error)
	Export(ctx context.Context, w io.Writer, from, to int64) (int64, error)
	Health() audit.Health
}

// Screen implements ui.Screen.
type Screen struct {
	*list.List[audit.Entry]
	env  *ui.Env
	log  Log
	who  api.Actor
	keys keymap.Audit
	rows *list.Rows[record] // unsettled acts, then the newest

	unsettledLoads *ui.Requests // what is unsettled alone
	checks         *ui.Requests // checks of the trail

	open     []audit.Entry // unsettled acts
	all      bool          // every record is shown, not writes, refusals and trouble alone
	next     int64         // where older records begin; 0: there are none
	archived audit.Segment // the newest part of the archive with older records; zero: none
	health   audit.Health
	newer    bool // records came since the list was read
}

// New returns the screen. start is the text of its first filter.
func New(env *ui.Env, log Log, start string) *Screen {
	s := &Screen{env: env, log: log, who: api.ActorOf(env.Ctx), keys: env.Keys.Audit, unsettledLoads: env.Requests(),
		checks: env.Requests()}
	s.rows = list.NewRows(record.id, s.row)
	s.List = list.New(env, s, s.rows, list.Spec[audit.Entry]{Title: "Audit", Signs: legend(),
		Place: ui.Place{Kind: ui.KindAudit}, Origin: "audit trail",
		Reading: "Reading the audit trail …", None: "No record matches the filter.",
		Further: "No match among the records read so far.",
		Columns: columns, Language: auditfilter.Table(), Example: "person:ana event:document.* id:7f3a outcome:denied at<2h",
		Start: start, Records: s.records,
		Beside: func(w int) []string {
			if r, on := s.rows.Find(s.Table.Cursor.SelectedID()); on {
				return drawRecord(env, r.Entry, w)
			}
			return nil
		}})
	s.keys.Export.Set(s.who.Role.WhyNot(api.MayAuditOut))
	return s
}

// Answer implements list.Screen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case ui.Changed:
		s.newer = s.newer || msg.Kind == ui.KindAudit
	case ui.Shown:
		return nil, s.loadUnsettled()
	}
	return nil, nil
}

// Filtered implements list.Screen. During typing the filter applies to the records that were
// read. The trail records each read, so the list reads only after enter.
func (s *Screen) Filtered(live bool) tea.Cmd {
	s.narrow()
	if live {
		return nil
	}
	return s.Reload()
}

func (s *Screen) narrow() {
	s.rows.Narrow(func(r record) bool { return r.unsettled || s.Filter.Shown.Match(r.Entry, s.env.Now()) })
	s.Changed()
}

// selection is the filter that the trail is asked by: the confirmed one, among what the
// screen is about now.
func (s *Screen) selection() auditfilter.Expr {
	if s.all {
		return s.Filter.Applied
	}
	text := auditfilter.Main
	if !s.Filter.Applied.Empty() {
		text += " (" + s.Filter.Applied.String() + ")"
	}
	e, err := auditfilter.Parse(text)
	if err != nil { // it is written again from what was parsed before
		return s.Filter.Applied
	}
	return e
}

// OwnKey implements list.Screen.
func (s *Screen) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	k := s.env.Keys
	r, on := s.rows.Find(s.ItemID())
	switch {
	case s.keys.Verify.Match(msg):
		return nil, s.verify(), true
	case s.Page == nil && s.keys.Everything.Match(msg):
		s.all = !s.all
		return nil, s.Reload(), true
	case s.keys.Export.Match(msg):
		return s.askExport(), nil, true
	case s.keys.Approvals.Match(msg):
		return ui.Open{Place: ui.Place{Kind: "approvals"}}, nil, true
	case !on:
	case s.Page != nil || !k.List.Open.Match(msg):
	case r.unsettled:
		return s.settleMenu(r.Entry), nil, true
	default:
		s.show(r)
		return nil, nil, true
	}
	return nil, nil, false
}

// Item implements list.Screen: the id of the object, else of the
// record.
func (s *Screen) Item() ui.Item {
	r, on := s.rows.Find(s.ItemID())
	if !on {
		return ui.Item{}
	}
	out := ui.Item{ID: r.UID, IDWhat: "the record's id", JSON: r.Raw, JSONWhat: "the record as JSON",
		Title: "Audit record " + format.Count(int(r.Seq))}
	if id := string(audit.Unquote(r.ID)); id != "" && !r.Damaged {
		out.ID, out.IDWhat = id, "the id of the "+audit.Unquote(r.Object).Line(20)
	}
	return out
}

// Empty implements list.Screen.
func (s *Screen) Empty() widget.Notice {
	on := ""
	if s.next != 0 {
		on = s.env.Keys.Nav.Down.Help().Key
	}
	out := s.NoRows(widget.Notice{Text: "The audit trail is empty."}, on)
	if s.all || s.Err != nil || !s.Loaded {
		return out
	}
	if s.Filter.Shown.Empty() {
		out.Text = "No writes or refusals yet."
	}
	if out.Hint != "" {
		out.Hint += "; "
	}
	out.Hint += s.keys.Everything.Help().Key + " searches all records"
	return out
}

// Refresh implements list.Screen: a check of the trail ends with its page.
func (s *Screen) Refresh() {
	if s.Page == nil {
		s.checks.Stop()
	}
}

// What the list shows, and what its key shows instead.
const (
	onlyWrites = "writes and refusals"
	allRecords = "all records"
)

// HeadLines implements list.Screen: the number of records, and warnings.
func (s *Screen) HeadLines() []string {
	th := s.env.Theme
	n, w := s.rows.Len()-len(s.open), s.W
	head, other := format.Plural(n, "write or refusal", onlyWrites), allRecords
	if s.all {
		head, other = format.Plural(n, "record", "records")+" of all kinds", onlyWrites
	}
	if s.next != 0 {
		head += ", older ones below"
	}
	if !s.newer {
		head += "; " + s.keys.Everything.Help().Key + " shows " + other
	}
	line := s.Head(th.Strong.Render(head))
	if s.newer && s.Doing == "" {
		line += th.Info.Render("  newer records: " + s.env.Keys.Global.Reload.Help().Key + " reads them")
	}
	out := []string{line}
	if n := len(s.open); n > 0 {
		out = append(out, th.Bad.Render(th.Signs.Unknown+" "+draw.Cut(format.Plural(n, "write has", "writes have")+
			" an unknown outcome and may have been done. enter on one shows what to do.", w-2)))
	}
	if a := s.archived; s.next == 0 && a.Last > 0 {
		o := s.env.Present()
		out = append(out, th.Dim.Render(draw.Fitting(w, present.AuditArchived(o, a, s.env.About.Remote == ""),
			present.AuditArchived(o, a, false), "Older records are in the archive: opdeck audit export prints them.")))
	}
	return append(out, trouble(s.env, s.health, w)...)
}

// trouble is what keeps the trail from being written or trusted.
func trouble(env *ui.Env, h audit.Health, w int) []string {
	th := env.Theme
	var out []string
	warn := func(tone theme.Tone, sign, line string) {
		out = append(out, th.Tone(tone).Render(sign+" "+draw.Cut(line, w-2)))
	}
	switch {
	case h.Err != nil:
		warn(theme.Bad, th.Signs.Bad, "The trail cannot be written since "+format.Clock(h.Since, env.Zone())+
			": writes are refused until the store works again.")
	case h.Waiting > 0:
		warn(theme.Warn, th.Signs.Warn, format.Plural(h.Waiting, "record waits", "records wait")+
			" to be stored; opdeck retries by itself.")
	}
	switch bad := h.Tampered(); {
	case bad != nil && bad.Older:
		warn(theme.Bad, th.Signs.Bad, fmt.Sprintf("The trail is older than its checkpoint for %d records. If a backup was "+
			"restored on purpose: opdeck restore --reason WHY.", bad.N))
	case bad != nil:
		warn(theme.Bad, th.Signs.Bad, "The trail was tampered with: "+bad.Reason+". Check it, and keep a copy of the store.")
	case h.Checkpoint != nil:
		warn(theme.Warn, th.Signs.Warn, "The last checkpoint could not be written: without it, opdeck cannot notice if "+
			"records are "+
			"removed from the end.")
	}
	return out
}

// HelpKeys implements list.Screen.
func (s *Screen) HelpKeys() []keymap.Key {
	k := s.env.Keys
	own := []keymap.Key{s.keys.Verify, s.keys.Approvals, s.keys.Export}
	if s.Page == nil {
		other := s.keys.Everything
		other.SetHelp(other.Help().Key, allRecords)
		if s.all {
			other.SetHelp(other.Help().Key, onlyWrites)
		}
		return append(append([]keymap.Key{k.List.Open, k.List.Filter, other}, append(own, k.Global.Reload)...),
			keymap.Join(k.Item, k.Nav)...)
	}
	own = append(own, k.Viewer.Search, k.Viewer.Next, k.Viewer.Prev)
	if s.Page.ID != "" {
		own = append(own, keymap.All(k.Item)...)
	}
	return append(own, keymap.All(k.Nav)...)
}

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source {
	src := s.List.Source()
	src.Loading = src.Loading || s.checks.Busy()
	return src
}

// Subject implements ui.SubjectOf.
func (s *Screen) Subject(kind string) string {
	r, ok := s.rows.Find(s.ItemID())
	if !ok || r.Damaged || placeOf(r.Entry).Kind != kind {
		return ""
	}
	return string(audit.Unquote(r.ID))
}

// placeOf is the screen of what a record is about; the zero place when there is none.
func placeOf(e audit.Entry) ui.Place {
	id := string(audit.Unquote(e.ID))
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
	for _, e := range s.open {
		out = append(out, ui.Command{Title: "Settle " + audit.Unquote(e.Event).Line(40) + " " +
			draw.ID(string(audit.Unquote(e.ID)), 20), Do: s.settleMenu(e)})
	}
	return out
}
