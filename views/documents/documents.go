// Package documents is the screen of an operation's documents: remove, restore,
// attach, upload and replace, each with its guards.
package documents

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/replace"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/internal/system/folder"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/theme"
	"opdeck/ui/widget"
	"opdeck/views/storedfile"
)

// Parts are the data sources of the screen besides the service.
type Parts struct {
	Known ui.Known
	Save  storedfile.Save
	// Read reads a file of this host; its name, type and content are to be sent.
	Read  func(ctx context.Context, path string) (api.Upload, error)
	Types func(context.Context) ([]untrusted.Text, error) // of documents, in answers; without a call
	Jobs  *replace.Jobs                                   // the replacements of documents
	// Unfinished lists the unfinished replacements of an operation.
	Unfinished func(ctx context.Context, opid string) ([]replace.Job, error)
	// Open lists the writes to an operation that may still arrive, or were not seen in time.
	Open func(ctx context.Context, opid string) ([]followup.Row, error)
	// Removed are the documents that we removed a short time ago, and when; see followup.Tracker.
	Removed func(ctx context.Context, opid string) (map[string]time.Time, error)
}

// removed is a document that was taken off here and can be put back.
type removed struct{ guid, name string }

// Screen is the documents of one operation; it implements ui.Screen.
type Screen struct {
	*list.List[api.Document]
	latest *ui.Latest
	env    *ui.Env
	parts  Parts
	keys   keymap.Documents

	rows    *list.Rows[api.Document]
	changes *changes
}

// language is the filter language over documents.
var language = filter.NewTable(append(filter.Catalogued(field.Documents),
	filter.Field[api.Document]{Name: "has", Aliases: []string{"is"}, Kind: filter.Flag,
		Help: "a property", Example: "has:locked",
		Values: []string{"locked"}, Flag: func(d api.Document, _ string) bool { return d.Lock.Is() },
		Needs: func(string) []string { return []string{filter.FieldLock} },
		Lacks: func(d api.Document, _ string) bool { return d.Lock == api.LockUnknown }},
	filter.Field[api.Document]{Kind: filter.Free, Help: "contained in any of these fields", Example: `"free text"`,
		Strings: func(d api.Document) []string {
			return []string{string(d.FileName), string(d.DocType), string(d.MIME), string(d.Info), string(d.GUID)}
		}})...)

// NewScreen returns the screen of one operation's documents.
func NewScreen(env *ui.Env, caller endpoint.Caller, parts Parts, opid string) *Screen {
	s := &Screen{env: env, parts: parts, keys: env.Keys.Documents,
		latest: ui.NewLatest(env, caller, parts.Known, opid)}
	s.rows = list.NewRows(func(d api.Document) string { return string(d.GUID) }, s.row)
	s.List = list.New(env, s, s.rows, list.Spec[api.Document]{Title: list.TitleOf("Documents", "", opid), OwnStale: true,
		Place:   ui.Place{Kind: ui.KindDocuments, ID: opid},
		Reading: "Reading the documents …", None: "No document matches the filter.", Detail: s.detail, Sort: field.Documents,
		Columns: func(int) []field.Layout { return list.ColumnsOf(columns) }, Language: language,
		Signs: []list.Sign{list.Warning("its name or description contains hidden or unsafe characters"),
			list.Locked("locked: only the compliance team can unlock it"),
			list.LockUnknown()},
		Example: "invoice type:CONTRACT has:locked created<2d"})
	s.changes = &changes{list: s.List, latest: s.latest, env: env, caller: caller, parts: parts}
	s.latest.OnShow, s.latest.Beside, s.latest.Hold = s.onShow, s.beside(opid), func() bool { return s.Doing != "" }
	s.Refresh()
	return s
}

// Init implements ui.Screen: it shows the local data of the operation at once, and reads the
// document types from earlier answers.
func (s *Screen) Init() tea.Cmd {
	return tea.Batch(s.latest.Init(), ui.Reading(s.env, nil, s.parts.Types, func(seen []untrusted.Text,
		_ time.Time, _ error) {
		s.changes.seenTypes = seen // none without the index: the known ones are offered
	}))
}

// beside reads the stored writes of the operation, and on opening its jobs. It drops errors,
// which the warnings about the store and the audit trail show.
func (s *Screen) beside(opid string) func(context.Context, bool) ui.Then {
	parts := s.parts
	return func(ctx context.Context, first bool) ui.Then {
		open, _ := parts.Open(ctx, opid)
		gone, _ := parts.Removed(ctx, opid)
		var jobs []replace.Job
		if first {
			jobs, _ = parts.Unfinished(ctx, opid)
		}
		return func() (ui.Action, tea.Cmd) {
			s.changes.gone = gone
			if s.changes.doubt(open); first {
				s.changes.jobs = jobs
			}
			return nil, nil
		}
	}
}

// Reload implements list.Screen: one billing call.
func (s *Screen) Reload() tea.Cmd { return s.latest.Load() }

// Answer implements list.Screen.
func (s *Screen) Answer(msg tea.Msg) (ui.Action, tea.Cmd) {
	switch msg := msg.(type) {
	case writeDoneMsg:
		return s.changes.onWriteDone(msg)
	case jobMsg:
		s.changes.jobs = msg.jobs
		return s.changes.onWriteDone(msg.writeDoneMsg)
	case ui.Changed:
		return s.latest.OnNews(msg)
	}
	return nil, nil
}

// doubt keeps the removals whose outcome is unknown.
func (s *changes) doubt(open []followup.Row) {
	s.open = open
	for _, r := range open {
		if r.Kind == api.ActRemoveDocument {
			s.doubted = slices.DeleteFunc(s.doubted, func(u removed) bool { return u.guid == r.Item })
			s.doubted = append(s.doubted, removed{r.Item, r.Name})
		}
	}
}

// provenLate takes the removals that were in doubt and of which the operation no longer lists
// the document: they can be put back. One that is settled otherwise is forgotten.
func (s *changes) provenLate() {
	if !s.latest.Op.DocumentsReported() || s.latest.Op.UnreadDocuments > 0 {
		return
	}
	s.doubted = slices.DeleteFunc(s.doubted, func(u removed) bool {
		_, there := s.latest.Op.Document(u.guid)
		if !there && !slices.Contains(s.undone, u) {
			s.undone = append(s.undone, u)
		}
		return !there || !slices.ContainsFunc(s.open, func(r followup.Row) bool { return r.Item == u.guid })
	})
}

// onShow shows the documents of a new state of the operation. It withdraws an open question
// about a document that changed.
func (s *Screen) onShow(before *api.Operation) ui.Action {
	op := *s.latest.Op
	s.rows.Set(op.Documents)
	s.changes.provenLate()
	s.Changed()
	if before == nil {
		return nil
	}
	var acts ui.Many
	for _, d := range before.Documents {
		id := string(d.GUID)
		if api.SeenDigest(*before, id) == api.SeenDigest(op, id) {
			continue
		}
		why := "The document or the operation changed in the meantime. Check again."
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

// Refresh implements list.Screen: it switches keys on or off by the current state, with a reason.
func (s *Screen) Refresh() {
	s.Loaded, s.List.Err = s.latest.Op != nil || s.latest.Err != nil, s.latest.Err
	why := s.whyOff()
	s.keys.Save.Set(s.noContent())
	for _, k := range []*keymap.Key{&s.keys.Remove, &s.keys.Restore, &s.keys.Attach, &s.keys.Upload, &s.keys.Replace} {
		k.Set(why)
	}
	if why != "" {
		return
	}
	if n := len(s.changes.undone); n == 0 {
		s.keys.Restore.Set("Nothing to restore: no document was removed here.")
	} else {
		s.keys.Restore.Set(s.changes.inDoubt(s.changes.undone[n-1].guid))
	}
	doc, ok := s.selected()
	if why = s.changes.inDoubt(string(doc.GUID)); !ok {
		why = "No document is selected."
	}
	s.keys.Remove.Set(why)
	s.keys.Replace.Set(why)
}

// inDoubt says why a document cannot be removed or attached: a request of it may still arrive; "" if none may.
func (s *changes) inDoubt(guid string) (why string) {
	for _, r := range s.open {
		if r.Item != guid || r.State == followup.NotSeen {
			continue
		}
		if why = present.Unsettled(s.env.Present(), r); r.State != followup.Seen {
			why += " " + s.env.Keys.Global.Reload.Help().Key + " checks now."
		}
	}
	return why
}

func (s *Screen) whyOff() string {
	switch {
	case s.Doing != "":
		return "Wait until this ends: " + s.Doing + "."
	case s.latest.Op == nil:
		return "The operation has not been read yet."
	}
	return ""
}

// Empty implements list.Screen.
func (s *Screen) Empty() widget.Notice {
	if s.latest.ID == "" {
		return widget.Notice{Text: "No operation is open.", Hint: s.env.Way(s.env.Keys.Global.OpenID) + " opens one by " +
			"its id, " +
			s.env.Way(s.env.Keys.Global.Operations) + " lists them"}
	}
	if s.latest.Op != nil && !s.latest.Op.DocumentsReported() {
		return widget.Notice{Text: "The answer has no readable list of documents.",
			Hint: "opdeck does not know whether there are any; " + s.env.Way(s.env.Keys.Global.Reload) + " reloads, " +
				s.env.Way(s.env.Keys.Item.Raw) + " shows the raw answer"}
	}
	return s.NoRows(widget.Notice{Text: "No document is attached.",
		Hint: s.env.Way(s.keys.Upload) + " uploads a file and attaches it, " + s.env.Way(s.keys.Attach) +
			" attaches one of the customer's files"}, "")
}

// columns are the columns of the list, in this order.
var columns = present.Columns(field.Documents, "name", "type", "media", "size", "created", "locked", "description")

// row draws one document.
func (s *Screen) row(d api.Document) widget.Row {
	o := s.env.Present()
	o.Masked = false // a file is called by its name as it is
	out := list.RowOf(o, string(d.GUID), columns, d)
	if d.FileName.Flags().Suspicious() || d.Info.Flags().Suspicious() {
		out.Sign, out.Tone = s.env.Theme.Signs.Warn, theme.Warn
	}
	return out
}

// selected is a copy of the document under the cursor.
func (s *Screen) selected() (api.Document, bool) { return s.rows.Find(s.Table.Cursor.SelectedID()) }

// HeadLines implements list.Screen: the operation, and warnings about an end state, a
// write whose outcome is unknown, or an interrupted job.
func (s *Screen) HeadLines() []string {
	th := s.env.Theme
	w, h, op := s.W, s.H, s.latest.Op
	if op == nil || h < 8 {
		return nil
	}
	st := th.Status(string(op.Status))
	head := th.Tone(st.Tone).Render(st.Sign+" "+op.Status.Line(20)) + "  " + draw.Line(op.Type, 16) + "  " +
		th.Strong.Render(format.Money(op.SourceAmount.Sum))
	id := "  " + draw.ID(s.latest.ID, 13)
	if room := w - draw.Width(head) - draw.Width(id) - 2; room >= 6 { // the id is not cut twice
		id = "  " + draw.Line(op.Customer.Name, room) + id
	}
	if draw.Width(head)+draw.Width(id) > w {
		id = ""
	}
	out := []string{head + th.Dim.Render(id)}
	if phase := s.parts.Known.Phase(*op); phase.Ended() {
		out = append(out,
			th.Warn.Render(th.Signs.Warn+" The operation is "+phase.Word()+". Its documents can usually no longer be changed."))
	}
	out = append(out, s.Stale()...)
	for _, r := range s.changes.open {
		for i, l := range draw.Wrap(present.Unsettled(s.env.Present(), r), max(w-2, 1)) {
			out = append(out, th.Warn.Render([]string{th.Signs.Unknown, " "}[min(i, 1)]+" "+l))
		}
	}
	for _, d := range op.Documents {
		if says := s.changes.listedStill(d); says != "" {
			for i, l := range draw.Wrap(says, max(w-2, 1)) {
				out = append(out, th.Warn.Render([]string{th.Signs.Warn, " "}[min(i, 1)]+" "+l))
			}
		}
	}
	for _, j := range s.changes.jobs {
		out = append(out,
			th.Warn.Render(th.Signs.Warn+" A replacement of "+j.OldName+" is unfinished; "+
				s.env.Way(s.keys.Replace)+" resumes or abandons it."))
		status := present.JobStep(j) + "."
		if j.Problem != "" {
			status = present.JobStep(j) + ": " + j.Problem
		}
		for _, l := range draw.Wrap(status, max(w-2, 1)) {
			out = append(out, th.Warn.Render("  "+l))
		}
	}
	n := format.Plural(s.rows.Len(), "document", "documents")
	if !op.DocumentsReported() {
		n = "documents not reported"
	}
	if u := op.UnreadDocuments; u > 0 {
		n += ", " + format.Count(u) + " more cannot be read (" + s.env.Keys.Item.Raw.Help().Key + ")"
	}
	if s.rows.Len() < len(op.Documents) {
		n += " of " + format.Count(len(op.Documents))
	}
	return append(out, s.Head(th.Strong.Render(n), "")...)
}

// detail is all of the document under the cursor.
func (s *Screen) detail() []widget.Pair {
	if d, ok := s.selected(); ok {
		return s.card(d)
	}
	return nil
}

// card is all that is known of a document.
func (s *Screen) card(d api.Document) []widget.Pair {
	return s.env.Pairs(present.Document(s.env.Present(), d), nil)
}

// Item implements list.Screen: the document under the cursor.
func (s *Screen) Item() ui.Item {
	d, ok := s.selected()
	if !ok {
		return ui.Item{}
	}
	b, _ := json.Marshal(d) // of texts and numbers
	return ui.Item{ID: string(d.GUID), IDWhat: "the document id", JSON: b, JSONWhat: "the document as JSON"}
}

// NextChange implements list.Screen: the age of the document under the cursor.
func (s *Screen) NextChange(now time.Time) time.Time {
	d, ok := s.selected()
	if !ok {
		return time.Time{}
	}
	_, next := format.Ago(d.CreateAt.Time, now)
	return next
}

// HelpKeys implements list.Screen.
func (s *Screen) HelpKeys() []keymap.Key {
	k := s.env.Keys
	if s.Page != nil {
		return []keymap.Key{s.keys.Save}
	}
	return append([]keymap.Key{k.List.Open}, keymap.Join(s.keys, k.Related)...)
}

// Subject implements ui.SubjectOf.
func (s *Screen) Subject(kind string) string { return s.latest.Subject(kind) }

// Source implements ui.Screen.
func (s *Screen) Source() ui.Source { return s.latest.Source() }

// Commands implements ui.Commander: the person can resume an interrupted job even if
// no document is left on the list.
func (s *Screen) Commands() []ui.Command {
	var out []ui.Command
	for _, j := range s.changes.jobs {
		out = append(out, ui.Command{Title: "resume", Do: s.changes.askResume(j)})
	}
	return out
}

// contentKey takes the keys about what a document holds: they work on the list and on the
// page of the document.
func (s *Screen) contentKey(msg keymap.Press, doc api.Document) (ui.Action, tea.Cmd, bool) {
	switch {
	case doc.GUID == "":
	case s.keys.Save.Match(msg):
		return storedfile.AskSave(s.env, s.parts.Save, s.known(doc)), nil, true
	case s.Page == nil && s.env.Keys.List.Open.Match(msg):
		storedfile.Show(s.List, s.known(doc), func() []widget.Pair { return s.changes.grouped(s.card(doc)) })
		return nil, nil, true
	}
	return nil, nil, false
}

// known is what the operation reports on a document.
func (s *Screen) known(d api.Document) storedfile.Document {
	return storedfile.Document{CUID: string(s.latest.Op.Customer.CUID), ID: string(d.GUID), Name: d.FileName,
		Kind: d.DocType, MIME: d.MIME, Size: d.Size, Attached: true}
}

// noContent says why the content cannot be read; "" when it can.
func (s *Screen) noContent() string {
	switch _, has := s.selected(); {
	case s.latest.Op == nil:
		return "The operation has not been read yet."
	case !has:
		return "No document is selected."
	case s.latest.Op.Customer.CUID == "":
		return "The operation has no customer, and a document can only be read through its customer."
	}
	return ""
}

// uploadOverSSH gives the commands in the place of a form: over SSH a file of the host
// would be the server's.
func (s *changes) uploadOverSSH() ui.Action {
	upload := []string{"document", "upload", "-", "--customer", word(s.latest.Op.Customer.CUID, "CUSTOMER"),
		"--name", "NAME", "--type", "TYPE", "--yes"}
	return s.env.OverSSH("Upload a file from your machine", s.env.RemoteCommand(upload...)+" < FILE",
		"The command prints the id of the uploaded file. "+s.env.Way(s.env.Keys.Documents.Attach)+
			" attaches it here by that id, or run:",
		s.env.RemoteCommand("document", "attach", word(untrusted.Text(s.latest.ID), "OPID"), "DOCID", "--yes"))
}

// replaceOverSSH is the same for a replacement.
func (s *changes) replaceOverSSH(d api.Document) ui.Action {
	line := s.env.RemoteCommand("document", "replace", word(untrusted.Text(s.latest.ID), "OPID"),
		word(d.GUID, "DOCID"), "-", "--name", word(d.FileName, "NAME"), "--yes") + " < FILE"
	return s.env.OverSSH("Replace with a file from your machine", line,
		"Type and description are copied from "+d.FileName.Line(60)+
			"; change them with --type and --info.")
}

// word returns a text of the service as a word of a shell command. It returns unknown for a text that is
// missing, unsafe or too long, because a terminal could take its characters for keys.
func word(u untrusted.Text, unknown string) string {
	if s, ok := takeOver(u, 200); ok && s != "" && !u.Flags().Suspicious() && draw.Width(s) > 0 {
		return s
	}
	return unknown
}

// fileFields returns the fields for a file of the host that runs the console; kind and info are
// their initial values.
func (s *changes) fileFields(kind, info string) []widget.Field {
	return []widget.Field{
		{Name: api.FieldFile, Label: "File on this host", Hint: "~/invoice.pdf", Check: checkFile, Max: 4096,
			Complete: complete, Look: lookAtFile},
		{Name: api.FieldType, Label: "Type", Optional: true, Hint: "INVOICE, CONTRACT …", Max: maxKind, Value: kind,
			Options: s.types(), Capitals: true},
		{Label: "Description", Optional: true, Max: maxInfo, Value: info, Sentence: true},
	}
}

// types are the document types that can be chosen: those of the operation's documents
// first, then those that the service names, then others that its answers showed.
func (s *changes) types() []widget.Option {
	var here []string
	for _, d := range s.latest.Op.Documents {
		if t, ok := takeOver(d.DocType, maxKind); ok {
			here = append(here, t)
		}
	}
	return storedfile.TypeOptions(here, api.DocumentTypes(), s.seenTypes)
}

// The longest type and info that can be typed, in characters.
const (
	maxKind = storedfile.MaxType
	maxInfo = 255
)

// takeOver is a text of a document as a field can hold it; ok is false when it would
// not stay to the letter.
func takeOver(u untrusted.Text, most int) (s string, ok bool) {
	if s = u.Line(most); s != string(u) {
		return "", false
	}
	return s, true
}

// checkFile looks at the text only: the file itself is looked at in a command.
func checkFile(v string) error {
	if v == "" {
		return &api.Error{Kind: api.Usage, Public: "Enter a file name."}
	}
	if strings.ContainsRune(v, 0) {
		return &api.Error{Kind: api.Usage, Public: "Not a valid file name."}
	}
	return nil
}

// lookAtFile says how large a file is and what it holds; its error says why the service
// would not take it.
func lookAtFile(_ context.Context, path string) (string, error) {
	path = folder.Expand(path)
	size, begins, err := folder.Look(path)
	if err != nil {
		return "", err
	}
	if err := api.CheckFile(path, size, begins); err != nil {
		return "", err
	}
	return format.Size(size) + ", " + api.MediaType(path, begins), nil
}

// complete lists the files and folders that a typed path can continue with.
func complete(ctx context.Context, typed string) (widget.Completion, error) {
	found, err := folder.Complete(ctx, typed)
	out := widget.Completion{Common: found.Common, More: found.More}
	for _, n := range found.Found {
		o := widget.Option{Value: n.Path, Text: untrusted.Text(n.Name).Line(200), Opens: n.Folder}
		switch {
		case n.Broken:
			o.About = "link to nothing"
		case n.Link:
			o.About = "link"
		}
		if n.Folder {
			o.Text += "/"
		}
		out.Options = append(out.Options, o)
	}
	return out, err
}

// file is what the fields of a file say.
type file struct {
	path, name, kind, info string
	holds                  string // size and media type, as far as they are known
}

// fileFrom reads the fields. A type is written in capitals, but for known, which stays
// to the letter.
func fileFrom(v ui.Values, known string) file {
	path, kind := folder.Expand(v.Text(0)), strings.TrimSpace(v.Text(1))
	if kind != known {
		kind = strings.ToUpper(kind)
	}
	return file{path, untrusted.Text(filepath.Base(path)).Line(60), kind, v.Text(2), v.Said(0)}
}

// read reads the file, to be sent for the operation's customer.
func (f file) read(ctx context.Context, parts Parts, op api.Operation) (api.Upload, error) {
	u, err := parts.Read(ctx, f.path)
	u.CUID, u.Type, u.Info = string(op.Customer.CUID), f.kind, f.info
	return u, err
}

// asked is the file in a question.
func (f file) asked() present.AskedFile {
	return present.AskedFile{Path: f.path, Name: f.name, Holds: f.holds, Type: f.kind, Info: f.info}
}
