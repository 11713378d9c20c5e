// Package audittrail is the screen of the audit trail: the acts of all people with their
// results, the check of the trail, and writes with an unknown outcome.
//
// The trail records each read of it, so this screen reads only at its start, after a
// confirmed filter, and on reload.
package audittrail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/auditfilter"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/internal/system/wholefile"
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

	open   []audit.Entry // unsettled acts
	all    bool          // every record is shown, not writes, refusals and trouble alone
	next   int64         // where older records begin; 0: there are none
	health audit.Health
	newer  bool // records came since the list was read
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
		out.Text = "No writes yet. Press " + s.keys.Everything.Help().Key + " to see all records."
		return out
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
	if !s.newer && n > 0 {
		head += "; " + s.keys.Everything.Help().Key + " shows " + other
	}
	newer := ""
	if s.newer && s.Doing == "" {
		newer = th.Info.Render("  newer records: " + s.env.Keys.Global.Reload.Help().Key + " reads them")
	}
	out := s.Head(th.Strong.Render(head), newer)
	if n := len(s.open); n > 0 {
		out = append(out, th.Bad.Render(th.Signs.Unknown+" "+draw.Cut(format.Plural(n, "write has", "writes have")+
			" an unknown outcome and may have been done. enter on one shows what to do.", w-2)))
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
		return append([]keymap.Key{k.List.Open, k.List.Filter, other}, own...)
	}
	return own
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

// settleMenu says what can be done about an act of which no one knows what
// became of it: look at its object first, then write down what was found.
func (s *Screen) settleMenu(e audit.Entry) ui.Action {
	where := placeOf(e)
	items := []ui.Choice{
		{Text: "Open the " + present.AuditText(e.Object, 20) + " and check", Note: draw.ID(string(audit.Unquote(e.ID)), 24)},
		{Text: "Settle: write down what you found", Note: "the trail keeps the outcome as unknown"},
		{Text: "Show the record"},
	}
	if where.Kind == "" {
		items[0].Why = "There is no screen for this kind of object."
	}
	if items[1].Why = s.who.Role.WhyNot(api.MayAudit); e.Damaged {
		items[1].Why = "The record is damaged; V names the first bad one."
	}
	return ui.Choose{Title: "The outcome is unknown: " + present.AuditText(e.Event, 40), Items: items,
		Pick: func(i int) (ui.Action, tea.Cmd) {
			switch i {
			case 0:
				return ui.Open{Place: where}, nil
			case 1:
				return s.askSettle(e), nil
			}
			s.show(record{e, true})
			return nil, nil
		}}
}

func (s *Screen) askSettle(e audit.Entry) ui.Action {
	return ui.Ask{Title: "Settle " + present.AuditText(e.Event, 40), Verb: "write down",
		Intro: []string{"opdeck can no longer prove which write put the object into its present state, so the outcome " +
			"stays “unknown”. Your note says what you found.",
			"Write of " + present.AuditText(e.Actor.Name, 60) + " at " + format.Time(e.At, s.env.Zone()) + " on " +
				present.AuditText(e.Object, 30) + " " + draw.ID(string(audit.Unquote(e.ID)), 40) + "."},
		Fields: []widget.Field{widget.Note("What you found", "the document is still attached",
			"write a sentence about the object's state")},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			log, who, ref, note := s.log, s.who, e.UID, strings.TrimSpace(v.Text(0))
			s.Doing = "settling"
			return ui.Write{What: "settle " + present.AuditText(e.Event, 40),
				Cmd: s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
					err := log.Settle(ctx, who, ref, note)
					const done = "The write is settled as unknown, with your note."
					return func() (ui.Action, tea.Cmd) {
						s.Doing, s.newer = "", s.newer || err == nil
						return ui.Ended("Settling", done, err), s.loadUnsettled()
					}, ui.EndedElsewhere("Not settled", done, err)
				})}, nil
		}}
}

// askExport asks for the file of an export of the whole trail. Over SSH it gives the command in the place of the form.
func (s *Screen) askExport() ui.Action {
	if busy, ok := list.OneThing(s.Doing); ok {
		return busy
	}
	const title = "Export the audit trail"
	const intro = "All records as JSON lines with their exact bytes and hashes, for opdeck audit verify. The export " +
		"itself is recorded."
	if s.env.About.Remote != "" {
		return s.env.OverSSH(title, s.env.RemoteCommand("audit", "export")+" > FILE", intro)
	}
	day := s.env.Now().In(s.env.Zone()).Format("2006-01-02")
	return ui.Ask{Title: title, Verb: "export", Intro: []string{intro},
		Fields: []widget.Field{{Label: "File (must not exist yet)", Value: "audit-" + day + ".jsonl", Max: 1000,
			Check: checkPath}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			log, path := s.log, v.Text(0)
			s.Doing = "exporting"
			return ui.Write{What: "export to a file", Cmd: s.env.Write(func(ctx context.Context) (ui.Then, ui.Notify) {
				n := int64(0)
				full, err := filepath.Abs(path)
				if err == nil {
					err = wholefile.Write(full, func(w io.Writer) (err error) { n, err = log.Export(ctx, w, 1, 0); return err })
				}
				done := format.Plural(int(n), "record", "records") + " written to " + untrusted.Text(full).Line(300) + "."
				return func() (ui.Action, tea.Cmd) {
					s.Doing = ""
					return ui.Ended("The export", done, fileError(err)), nil
				}, ui.EndedElsewhere("Not exported", done, fileError(err))
			})}, nil
		}}
}

func checkPath(v string) error {
	if strings.TrimSpace(v) == "" {
		return errors.New("enter a file name")
	}
	return nil
}

// fileError words an error of the file; one of the trail has its words.
func fileError(err error) error {
	var worded *api.Error
	if err == nil || errors.As(err, &worded) {
		return err
	}
	e := &api.Error{Op: "export", Kind: api.Usage, Public: "The file cannot be created.",
		Hint: "Choose a new name in a folder that you can write to.", Err: err}
	if errors.Is(err, os.ErrExist) {
		e.Public = "A file with that name exists already and was not changed."
	}
	return e
}

const (
	pageSize = 200
	maxRows  = 20_000 // kept; a filter narrows further
)

// find reads one page of what the filter selects, from before on (0: the newest).
func find(ctx context.Context, log Log, f auditfilter.Expr, now time.Time, before int64) (auditfilter.Found, error) {
	return auditfilter.Find(ctx, log, audit.Query{Before: before, Limit: pageSize}, f, now)
}

// Reload implements list.Screen: it reads the newest records and the unsettled writes.
func (s *Screen) Reload() tea.Cmd {
	s.More.Stop()
	log, f, now := s.log, s.selection(), s.env.Now
	return s.env.Read(s.Loads, func(ctx context.Context) ui.Then {
		health, at := log.Health(), now()
		found, err := find(ctx, log, f, at, 0)
		var open []audit.Entry
		if err == nil {
			open, err = log.Unsettled(ctx)
		}
		return func() (ui.Action, tea.Cmd) {
			s.health = health
			if !s.Failed(err) {
				s.next, s.At, s.newer = found.Next, at, false
				s.set(open, found.Entries)
			}
			return nil, nil
		}
	})
}

// ReadOn implements list.Screen: it reads older records when the cursor comes near
// the last one.
func (s *Screen) ReadOn() tea.Cmd {
	_, to := s.Table.Cursor.Visible()
	if s.next == 0 || s.Loads.Busy() || s.More.Busy() || to+pageSize/4 < s.rows.Len() || len(s.rows.All()) >= maxRows {
		return nil
	}
	log, f, now, before := s.log, s.selection(), s.env.Now(), s.next
	return s.env.Read(s.More, func(ctx context.Context) ui.Then {
		found, err := find(ctx, log, f, now, before)
		return func() (ui.Action, tea.Cmd) {
			if !s.Failed(err) {
				s.next = found.Next
				s.set(s.open, append(slices.Collect(s.records), found.Entries...))
			}
			return nil, nil
		}
	})
}

// loadUnsettled reads what is unsettled; unlike the list it leaves no record.
func (s *Screen) loadUnsettled() tea.Cmd {
	return ui.Reading(s.env, s.unsettledLoads, s.log.Unsettled, func(open []audit.Entry, _ time.Time, err error) {
		if err == nil {
			s.set(open, slices.Collect(s.records))
		}
	})
}

// show opens a record.
func (s *Screen) show(r record) {
	s.Open(r.id(), "Record "+format.Count(int(r.Seq)), func(w int) []string { return drawRecord(s.env, r.Entry, w) })
}

// drawRecord draws all of a record. Texts are shown as they were, and exactly where
// they are odd.
func drawRecord(env *ui.Env, e audit.Entry, w int) []string {
	th := env.Theme
	look := present.AuditOutcome(e)
	out := widget.NewText(th, w)
	if e.Damaged {
		what := "The stored bytes do not match their hash. Do not trust anything below; "
		if e.Genuine() {
			what = "Below is what was hashed, but " + e.Why + ": lists and searches may show altered values; "
		}
		out.Say(theme.Bad, th.Signs.Bad+" "+what+env.Keys.Audit.Verify.Help().Key+" names all bad records.")
		out.Gap()
	}
	head := th.Strong.Render(present.AuditEvent(e))
	if look.Sign != present.NoSign {
		head = th.Tone(look.Tone).Render(th.SignOf(look.Sign)+" "+look.Word) + "  " + head
	}
	out.Add(head, "")
	out.Pairs(env.Headed(present.AuditEntry(env.Present(), e)))
	for _, h := range present.AuditHashes(e) { // each in the whole width
		out.Gap()
		out.Pairs(env.Headed([]present.Section{h}))
	}
	return out.Lines
}

// columns of the list in a window of w cells.
func columns(w int) []field.Layout { return list.ColumnsOf(present.AuditColumns(w)) }

// record is a row: a record of the trail, or once more above them one whose act
// is unsettled.
type record struct {
	audit.Entry
	unsettled bool
}

func (r record) id() string {
	if r.unsettled {
		return "unsettled " + r.UID
	}
	return r.UID
}

// set shows unsettled acts and records.
func (s *Screen) set(open, entries []audit.Entry) {
	s.open = open
	all := make([]record, 0, len(open)+len(entries))
	for _, e := range open {
		all = append(all, record{e, true})
	}
	for _, e := range entries {
		all = append(all, record{e, false})
	}
	s.rows.Set(all)
	s.Changed()
}

// records are those that were read.
func (s *Screen) records(yield func(audit.Entry) bool) {
	for _, r := range s.rows.All() {
		if !r.unsettled && !yield(r.Entry) {
			return
		}
	}
}

// row draws one record.
func (s *Screen) row(r record) widget.Row {
	th, e, o := s.env.Theme, r.Entry, s.env.Present()
	out := list.RowOf(o, r.id(), present.AuditColumns(s.W), e)
	switch {
	case r.unsettled:
		none := present.NoOutcome.Cell(o)
		last := len(out.Cells) - 1 // the outcome
		out.Cells[last], out.Tones[last] = none.Text, none.Tone
		out.Sign, out.Tone = th.Signs.Unknown, theme.Bad
	case e.Damaged:
		out.Sign, out.Tone = th.Signs.Bad, theme.Bad
	case present.AuditOdd(e):
		out.Sign, out.Tone = th.Signs.Warn, theme.Warn
	}
	return out
}

// legend is what the help says of the signs in a row.
func legend() []list.Sign {
	out := []list.Sign{list.Warning("a text in it contains hidden or unsafe characters")}
	for _, s := range []struct {
		sign func(theme.Signs) string
		says string
	}{
		{func(s theme.Signs) string { return s.Good }, "done"},
		{func(s theme.Signs) string { return s.Bad }, "refused, denied or failed; at the start of a row: the record is " +
			"damaged"},
		{func(s theme.Signs) string { return s.Unknown }, "sent, with an unknown outcome"},
		{func(s theme.Signs) string { return s.Wait }, "recorded before it is sent; the outcome is a record of its own"},
		{func(s theme.Signs) string { return s.Off }, "a record that is not about a write, such as a read of the trail"},
	} {
		out = append(out, list.Sign{Sign: func(th *theme.Theme) string { return s.sign(th.Signs) }, Says: s.says})
	}
	return out
}

const checkCrumb = "Check of the trail"

// verify checks the whole chain in a command and opens the page of its report;
// esc there stops it.
func (s *Screen) verify() tea.Cmd {
	log := s.log
	s.Open("", checkCrumb, func(w int) []string {
		return []string{s.env.Theme.Dim.Render(draw.Cut("Reading every record and checking its hash … "+
			s.env.Keys.Global.Back.Help().Key+" stops.", w))}
	})
	return s.env.Read(s.checks, func(ctx context.Context) ui.Then {
		r, err := log.Verify(ctx)
		return func() (ui.Action, tea.Cmd) {
			s.Open("", checkCrumb, func(w int) []string {
				if err != nil {
					return unverified(s.env, api.AsError(err), w)
				}
				return report(s.env, r, w)
			})
			return nil, nil
		}
	})
}

func unverified(env *ui.Env, e *api.Error, w int) []string {
	out := widget.NewText(env.Theme, w)
	out.Say(theme.Bad, env.Theme.Signs.Unknown+" The trail could not be checked: "+untrusted.Text(e.Public).Line(400))
	out.Say(theme.Dim, untrusted.Text(remedy.Screen(e)).Line(400))
	out.Gap()
	out.Say(theme.Dim, env.Keys.Audit.Verify.Help().Key+" tries again, "+env.Keys.Global.Back.Help().Key+" goes back.")
	return out.Lines
}

// report draws what the check found: the verdict, the first bad record,
// a cut end, intents without an outcome, clock steps.
func report(env *ui.Env, r audit.Report, w int) []string {
	th, o := env.Theme, env.Present()
	verdict, checked, found := present.Verified(o, r)
	out := widget.NewText(th, w)
	out.Say(verdict.Tone, verdict.Line(o))
	out.Gap()
	out.Pairs(env.Headed([]present.Section{checked}))
	for _, f := range found {
		out.Section(f.Title)
		switch {
		case len(f.Lines) > 0:
		case f.Unsure:
			out.Say(theme.Dim, th.Signs.Off+" "+f.None)
		default:
			out.Cut(theme.Good, th.Signs.Good+" "+f.None)
		}
		for _, l := range f.Lines {
			out.Say(l.Tone, l.Line(o))
		}
		if f.Note != "" && len(f.Lines) > 0 {
			out.Say(theme.Warn, f.Note)
		}
	}
	return out.Lines
}
