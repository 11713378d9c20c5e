package documents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/replace"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/list"
	"opdeck/ui/widget"
	"opdeck/views/storedfile"
)

// writeDoneMsg is the outcome of a write.
type writeDoneMsg struct {
	ui.Ticket
	what string // "remove", "put back", …
	done string // the sentence when it went well
	item string // guid of its document; "": known with the answer
	op   *api.Operation
	took *removed // what was taken off, to be put back with z
	back string   // guid that was put back
	err  error
}

// changes are the writes to the documents of the operation: what is asked before each, what each came to, and what of
// them is unfinished.
type changes struct {
	list   *list.List[api.Document]
	latest *ui.Latest
	env    *ui.Env
	caller endpoint.Caller
	parts  Parts

	jobs      []replace.Job
	open      []followup.Row       // writes that may still arrive, or were not seen in time
	doubted   []removed            // removals that were among them
	undone    []removed            // newest last
	gone      map[string]time.Time // guids that we removed a short time ago, and when
	seenTypes []untrusted.Text     // of documents, in answers
	before    *api.Operation       // as it was when the write under way began; nil: none is
}

// OwnKey implements list.Screen.
func (s *Screen) OwnKey(msg keymap.Press) (ui.Action, tea.Cmd, bool) {
	doc, has := s.selected()
	if action, cmd, ok := s.contentKey(msg, doc); ok || s.Page != nil {
		return action, cmd, ok
	}
	switch {
	case s.keys.Remove.Match(msg) && has:
		return s.changes.askRemove(doc), nil, true
	case s.keys.Restore.Match(msg):
		return s.changes.askRestore(), nil, true
	case s.keys.Attach.Match(msg):
		return nil, s.changes.pickFile(), true
	case s.keys.Upload.Match(msg):
		return s.changes.askUpload(), nil, true
	case s.keys.Replace.Match(msg) && has:
		return s.changes.askReplace(doc), nil, true
	case s.env.Keys.Item.Raw.Match(msg) && s.latest.Op != nil:
		return ui.Raw{Title: "Operation " + s.latest.ID, JSON: s.latest.Op.Raw}, nil, true
	}
	a, ok := ui.TakeRelated(s.env.Keys.Related, msg, s)
	return a, nil, ok
}

// locked explains instead of asking: nothing would be sent anyway.
func (s *changes) locked(d api.Document, act string) ui.Action {
	said := "This document is locked and cannot be " + act + "."
	if d.Lock == api.LockRefused {
		said = "The service refused to remove this document because it is locked, and does not say that this changed, so " +
			"it cannot be " + act + "."
	}
	return ui.Explain{Title: "Locked", Lines: []string{said,
		"A compliance team locks a document, usually while it reviews it. The service does not say who locked it or when; " +
			"the date below is when the document was created.",
		"Only the compliance team can unlock it. Send them the ids below, then press " +
			s.env.Keys.Global.Reload.Help().Key + " to read the operation again.",
	}, Facts: append([]widget.Pair{{Label: "document id", Value: d.GUID.Line(64)}}, s.facts(d)...),
		Copy: ui.Copy{Text: "document " + d.GUID.Line(64) + ", operation " + s.latest.ID, What: "the ids"}}
}

// facts are what a question about a document shows; its id is above them.
func (s *changes) facts(d api.Document) []widget.Pair {
	return s.grouped(s.env.Pairs(present.AskedDocument(s.env.Present(), d), nil))
}

func (s *changes) askRemove(d api.Document) ui.Action {
	if d.Lock.Is() {
		return s.locked(d, "removed")
	}
	risk, lifts := s.lifted(d, ": the service usually refuses this, and may refuse to restore it.")
	risk = strings.TrimSpace(s.listedStill(d) + " " + risk)
	seen := *s.latest.Op
	return ui.Asking(act.DocumentRemove, s.object(d.FileName.Line(60)), ui.Confirm{ID: string(d.GUID), Risk: risk,
		Facts: s.facts(d),
		Yes:   func(ui.Seen) tea.Cmd { return s.remove(seen, d, lifts) }})
}

// listedStill says that we removed a document a short time ago, "" if not.
func (s *changes) listedStill(d api.Document) string {
	at, removed := s.gone[string(d.GUID)]
	if !removed {
		return ""
	}
	return present.Removed(s.env.Present(), d.FileName.Line(60), at)
}

// lifted names the guards that a yes lifts, and reports whether there are any; ended says what an end state means.
func (s *changes) lifted(d api.Document, ended string) (risk string, lifts bool) {
	if phase := s.parts.Known.Phase(*s.latest.Op); phase.Ended() {
		risk = "The operation is " + phase.Word() + ended
	}
	if d.Lock == api.LockUnknown {
		risk = strings.TrimSpace(risk + " " + "The service does not say whether this document is locked. If the compliance " +
			"team has locked it, it must stay.")
	}
	return risk, risk != ""
}

// object is what a question about an item of the operation is filled with.
func (s *changes) object(item string) act.Object {
	return act.Object{Item: item, ID: draw.ID(s.latest.ID, 13), Kind: "operation", With: s.env.With}
}

// write runs a write: its keys are off until the outcome. It gets a context that
// outlives the screen and returns the operation as it is after it.
func (s *changes) write(doing string, m writeDoneMsg, run func(context.Context, endpoint.Caller) (api.Operation,
	error)) tea.Cmd {
	s.list.Doing, s.before = doing, s.latest.Op
	m.Ticket = s.env.Ticket()
	ctx, caller := s.env.Root, s.caller
	return func() tea.Msg {
		op, err := run(ctx, caller)
		m.op, m.err = &op, err
		return m
	}
}

func (s *changes) remove(seen api.Operation, d api.Document, force bool) tea.Cmd {
	name := d.FileName.Line(40)
	r := api.RemoveDocument{OPID: string(seen.OPID), GUID: string(d.GUID), Seen: &seen, Force: force}
	return s.write("removing "+name, writeDoneMsg{what: "Removal",
		done: "Removed " + name + ".", item: r.GUID, took: &removed{r.GUID, d.FileName.Line(80)}},
		func(ctx context.Context, c endpoint.Caller) (api.Operation, error) {
			return endpoint.Do(ctx, c, endpoint.RemoveDocument, r)
		})
}

// grouped are facts about an item, then those about the operation.
func (s *changes) grouped(item []widget.Pair) []widget.Pair {
	return append(append(item, widget.Pair{}), s.target()...)
}

// target are the facts of a question about the operation as a whole.
func (s *changes) target() []widget.Pair {
	return s.env.Pairs(present.AskedOperation(s.latest.ID, *s.latest.Op), nil)
}

func (s *changes) askRestore() ui.Action {
	last, id := s.undone[len(s.undone)-1], s.latest.ID
	return ui.Asking(act.DocumentRestore, s.object(draw.Middle(last.name, 60)),
		ui.Confirm{ID: last.guid, Facts: s.target(),
			Yes: func(ui.Seen) tea.Cmd {
				return s.write("restoring "+last.name, writeDoneMsg{what: "Restoring", done: "Restored " + last.name + ".",
					item: last.guid, back: last.guid},
					func(ctx context.Context, c endpoint.Caller) (api.Operation, error) {
						return endpoint.Do(ctx, c, endpoint.AttachDocument, endpoint.Attachment{OPID: id, GUID: last.guid})
					})
			}})
}

func (s *changes) askAttach() ui.Action {
	return ui.Ask{Title: "Attach file", Verb: "Continue",
		Intro: []string{"Attaches one of the customer's files to operation " + draw.ID(s.latest.ID, 13) +
			" by the file's id."},
		Fields: []widget.Field{
			{Label: "File id", Check: checkID},
			{Label: "Name in the operation", Optional: true, Max: 255},
		},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			return s.confirmAttach(storedfile.Document{ID: v.Text(0), Size: -1}, v.Text(1)), nil
		}}
}

func checkID(v string) error { return api.CheckID("file id", v) }

func (s *changes) askUpload() ui.Action {
	if s.env.About.Remote != "" {
		return s.uploadOverSSH()
	}
	return ui.Ask{Title: "Upload and attach", Verb: "Continue", Fields: s.fileFields("", ""),
		Intro: []string{"The file is uploaded to the customer's files and then attached to operation " +
			draw.ID(s.latest.ID, 13) + ".", api.UploadLimits + " One customer call and one billing call."},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			op, f, parts := *s.latest.Op, fileFrom(v, ""), s.parts
			return ui.Asking(act.DocumentUpload, s.object(f.name),
				ui.Confirm{ID: s.latest.ID, IDLabel: "operation id", Ask: "Upload " + f.name + " and attach it to the operation?",
					Facts: s.grouped(s.env.Pairs(f.asked().Facts(), nil)),
					Yes: func(ui.Seen) tea.Cmd {
						return s.write("uploading "+f.name, writeDoneMsg{what: "Upload", done: "Uploaded and attached " + f.name + "."},
							func(ctx context.Context, c endpoint.Caller) (api.Operation, error) {
								return uploadAndAttach(ctx, c, parts, op, f)
							})
					}}), nil
		}}
}

// partlyDoneError is the failure of an act of several steps after the first one was done:
// nobody may send all of it once more.
type partlyDoneError struct{ err *api.Error }

func (e *partlyDoneError) Error() string { return e.err.Error() }
func (e *partlyDoneError) Unwrap() error { return e.err }

func uploadAndAttach(ctx context.Context, c endpoint.Caller, parts Parts, op api.Operation, from file) (api.Operation,
	error) {
	u, err := from.read(ctx, parts, op)
	if err != nil {
		return api.Operation{}, err
	}
	f, err := endpoint.Do(ctx, c, endpoint.UploadDocument, u)
	if err != nil {
		return api.Operation{}, err
	}
	now, err := endpoint.Do(ctx, c, endpoint.AttachDocument,
		endpoint.Attachment{OPID: string(op.OPID), GUID: string(f.ID), Name: filepath.Base(from.path)})
	if err != nil {
		e := *api.AsError(err)
		e.Hint = "The file is uploaded as " + f.ID.Line(64) + "; attach it by that id. " + e.Hint
		return api.Operation{}, &partlyDoneError{&e}
	}
	return now, nil
}

// onWriteDone takes the outcome of a write; nothing was shown as done before it.
func (s *changes) onWriteDone(msg writeDoneMsg) (ui.Action, tea.Cmd) {
	s.list.Doing = ""
	s.latest.Stop()
	var acts ui.Many
	if msg.op != nil && msg.op.OPID != "" {
		if a := s.latest.Show(*msg.op, s.env.Now(), "service"); a != nil {
			acts = append(acts, a)
		}
		s.toNew()
	} else if msg.op != nil && msg.err == nil {
		msg.done += " The operation could not be read again to show it."
		s.latest.Err = &api.Error{Kind: api.Unavailable, Public: "This list is older than the last write."}
	}
	if msg.err != nil {
		notice := ui.Failure(msg.what, msg.err)
		if begun := (*partlyDoneError)(nil); errors.As(msg.err, &begun) {
			notice = notice.Final()
		}
		return append(acts, notice), s.reread(msg.err)
	}
	delete(s.gone, msg.item)
	done := ui.Notify{Level: ui.Success, Text: s.env.Proven(s.latest.ID, msg.item, msg.done)}
	c, _ := evidence.Of(s.env.Root).ByRead(s.latest.ID, msg.item)
	if msg.took != nil {
		s.undone = append(s.undone, *msg.took)
		if c.Open == "" {
			done.Hint = ui.Hint{Text: "To restore it: " + s.env.Way(s.env.Keys.Documents.Restore) + ".", Works: s.list.Place()}
		}
	}
	if n := len(s.undone); msg.back != "" && n > 0 && s.undone[n-1].guid == msg.back {
		s.undone = s.undone[:n-1]
	}
	if c.Open != "" {
		return append(acts, done), s.latest.Peek() // what may still arrive is shown; it costs no call
	}
	return append(acts, done), nil
}

// reread looks again when what we show cannot be right any more.
func (s *changes) reread(err error) tea.Cmd {
	if api.KindOf(err) == api.UnknownOutcome {
		return s.latest.Peek() // what is open is shown; it costs no call
	}
	switch e := api.AsError(err); e.Rule {
	case api.RuleNotAttached, api.RuleChanged, api.RuleLocked, api.RuleLockUnknown, api.RuleEndState:
		return s.latest.Load()
	}
	return nil
}

// pickFile reads the first of the customer's files, one customer call, and offers them for
// attaching. An id can be typed or pasted instead.
func (s *changes) pickFile() tea.Cmd {
	s.list.Doing = "reading the customer's files"
	files := storedfile.NewFileList(s.caller, string(s.latest.Op.Customer.CUID))
	return s.env.Read(nil, func(ctx context.Context) ui.Then {
		files := files.ReadOn(ctx)
		return func() (ui.Action, tea.Cmd) {
			s.list.Doing = ""
			if no := files.NotRead(); no != "" {
				return ui.Many{ui.Notify{Level: ui.Warning, Text: no}, s.askAttach()}, nil
			}
			return files.Choose(s.chooseFile), nil
		}
	})
}

// choosable are the files in the order in which they are offered: those removed here, the
// last one first, then the newest, and last those that are attached already.
func (s *changes) choosable(files storedfile.FileList) []storedfile.Document {
	newest := files.Newest()
	var out []storedfile.Document
	for _, r := range slices.Backward(s.undone) {
		d := storedfile.Document{CUID: string(s.latest.Op.Customer.CUID), ID: r.guid, Size: -1}
		if i := slices.IndexFunc(newest, func(f storedfile.Document) bool { return f.ID == r.guid }); i >= 0 {
			d = newest[i]
		}
		d.Name = untrusted.Text(r.name)
		out = append(out, d)
	}
	for _, f := range newest {
		if !slices.ContainsFunc(out, func(d storedfile.Document) bool { return d.ID == f.ID }) {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b storedfile.Document) int { return cmp.Compare(s.attached(a), s.attached(b)) })
	return out
}

// attached is 1 for a document of this operation, else 0.
func (s *changes) attached(d storedfile.Document) int {
	if _, there := s.latest.Op.Document(d.ID); there {
		return 1
	}
	return 0
}

// chooseFile offers the files that were read.
func (s *changes) chooseFile(files storedfile.FileList) ui.Choose {
	offered := s.choosable(files)
	items := []ui.Choice{{Text: "Another file", Note: "by its id", Words: []string{"id", "name"}}}
	for i, d := range offered {
		state := ""
		if i < len(s.undone) {
			state = "removed here"
		}
		c := d.Choice(s.env, state)
		if s.attached(d) > 0 {
			c.Why = "already attached"
		}
		items = append(items, c)
	}
	return ui.Choose{Title: "Attach a file of " + cmp.Or(s.latest.Op.Customer.Name.Line(40), "the customer"), Items: items,
		At: 1, // the first file
		Typed: func(id string) (ui.Action, bool) {
			return s.confirmAttach(storedfile.Document{ID: id, Size: -1}, ""), api.CheckID("file id", id) == nil
		},
		Pick: func(i int) (ui.Action, tea.Cmd) {
			if i == 0 {
				return s.askAttach(), nil
			}
			return s.confirmAttach(offered[i-1], ""), nil
		}}
}

// confirmAttach asks whether to attach a file; name is what it is called there, empty to
// leave that to the service.
func (s *changes) confirmAttach(d storedfile.Document, name string) ui.Action {
	id, facts := s.latest.ID, s.target()
	if d.Name != "" {
		facts = s.grouped(d.Facts(s.env))
	}
	if name != "" {
		facts = append(facts, widget.Pair{Label: "name in the operation", Value: name, Long: true})
	}
	return ui.Asking(act.DocumentAttach, s.object(cmp.Or(d.Name.Line(60), "file "+draw.ID(d.ID, 13))),
		ui.Confirm{ID: d.ID, Facts: facts,
			Yes: func(ui.Seen) tea.Cmd {
				return s.write("attaching "+d.Line(), writeDoneMsg{what: "Attaching", done: "Attached " + d.Line() + ".",
					item: d.ID},
					func(ctx context.Context, c endpoint.Caller) (api.Operation, error) {
						return endpoint.Do(ctx, c, endpoint.AttachDocument, endpoint.Attachment{OPID: id, GUID: d.ID, Name: name})
					})
			}})
}

// toNew puts the cursor on a document that came by the write that began last.
func (s *changes) toNew() {
	if s.before == nil {
		return
	}
	for _, d := range slices.Backward(s.latest.Op.Documents) {
		if _, was := s.before.Document(string(d.GUID)); !was {
			s.list.Select(string(d.GUID))
			break
		}
	}
	s.before = nil
}

func (s *changes) askReplace(d api.Document) ui.Action {
	if len(s.jobs) > 0 {
		i := slices.IndexFunc(s.jobs, func(j replace.Job) bool { return j.OldGUID == string(d.GUID) })
		return s.askResume(s.jobs[max(i, 0)])
	}
	if d.Lock.Is() {
		return s.locked(d, "replaced")
	}
	if s.env.About.Remote != "" {
		return s.replaceOverSSH(d)
	}
	seen := *s.latest.Op
	risk, lifts := s.lifted(d, ": the service usually refuses this.")
	intro := []string{"Replace " + d.FileName.Line(60) +
		" with another file: opdeck removes it, then uploads and attaches the new file.",
		"Each step is recorded first: you can resume or abandon it.",
		api.UploadLimits}
	if lifts {
		intro = append(intro, risk)
	}
	kind, sameKind := takeOver(d.DocType, maxKind)
	info, sameInfo := takeOver(d.Info, maxInfo)
	if !sameKind || !sameInfo {
		intro = append(intro, "Its type or its description contains characters that cannot be typed, or is too long, so "+
			"it is not "+
			"copied into this form.")
	}
	return ui.Ask{Title: "Replace document", Verb: "Continue", Fields: s.fileFields(kind, info), Intro: intro,
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			f, parts := fileFrom(v, kind), s.parts
			run := func(ctx context.Context, jobs *replace.Jobs) (replace.Job, error) {
				u, err := f.read(ctx, parts, seen)
				if err != nil {
					return replace.Job{}, err
				}
				j, err := jobs.Plan(ctx, seen, string(d.GUID), u, lifts)
				if err != nil {
					return j, err
				}
				return jobs.Run(ctx, j)
			}
			return ui.Asking(act.DocumentReplace, s.object(d.FileName.Line(60)),
				ui.Confirm{ID: string(d.GUID), Facts: s.replacing(d, f), Risk: risk,
					Ask: fmt.Sprintf("Replace %s with %s?", d.FileName.Line(60), f.name),
					Yes: func(ui.Seen) tea.Cmd { return s.runJob("replacing "+d.FileName.Line(40), run) }}), nil
		}}
}

// replacing are the facts of a replacement: of the document what was and what will be.
func (s *changes) replacing(d api.Document, f file) []widget.Pair {
	facts := present.AskedReplace(s.env.Present(), d, f.asked())
	return s.grouped(s.env.Pairs(facts, nil))
}

// jobAct is what can be done with a job.
type jobAct func(jobs *replace.Jobs, ctx context.Context, j replace.Job) (replace.Job, error)

// stored is an act on the job as the store has it by then.
func stored(id string, do jobAct) func(context.Context, *replace.Jobs) (replace.Job, error) {
	return func(ctx context.Context, jobs *replace.Jobs) (replace.Job, error) {
		j, err := jobs.Store.Job(ctx, id)
		if err != nil {
			return j, err
		}
		return do(jobs, ctx, j)
	}
}

// askResume offers to resume or abandon an interrupted job or, if an outcome is not
// known, the decisions that a person may make.
func (s *changes) askResume(j replace.Job) ui.Action {
	type choice struct {
		ui.Choice
		do jobAct
	}
	list := []choice{{ui.Choice{Text: "Resume", Note: "check the outcome, then go on"}, (*replace.Jobs).Run}}
	for _, file := range j.Candidates[:min(len(j.Candidates), 4)] {
		list = append(list, choice{ui.Choice{Text: "Take " + draw.Middle(file, 24), Note: "this file is the uploaded one"},
			func(jobs *replace.Jobs, ctx context.Context, j replace.Job) (replace.Job, error) {
				return jobs.Use(ctx, j, file)
			}})
	}
	switch j.Step {
	case replace.Removing, replace.Uploading, replace.Attaching:
		list = append(list, choice{ui.Choice{Text: "Send again",
			Note: "send the request whose outcome is unknown once more"},
			(*replace.Jobs).Again})
	}
	list = append(list, choice{ui.Choice{Text: "Abandon", Note: "restore the old document"}, (*replace.Jobs).Abandon},
		choice{ui.Choice{Text: "Leave it", Note: "decide later"}, nil})
	items := make([]ui.Choice, len(list))
	for i, c := range list {
		items[i] = c.Choice
	}
	return ui.Choose{Title: "Replacement of " + draw.Middle(j.OldName, 30), Items: items,
		Pick: func(i int) (ui.Action, tea.Cmd) {
			c := list[i]
			if c.do == nil {
				return nil, nil
			}
			q := ui.Asking(act.DocumentResume, s.object(draw.Middle(j.OldName, 60)), ui.Confirm{ID: j.OldGUID,
				Ask: c.Text + ": " + c.Note + "?",
				Facts: s.grouped([]widget.Pair{{Label: "document", Value: draw.Middle(j.OldName, 60)},
					{Label: "so far", Value: present.JobStep(j), Long: true}}),
				Yes: func(ui.Seen) tea.Cmd {
					return s.runJob(strings.ToLower(c.Text)+": the replacement", stored(j.ID, c.do))
				}})
			q.Title, q.Verb, q.SkipTypedConfirmation = "Replacement", c.Text, true
			return q, nil
		}}
}

// jobMsg carries the outcome of a job; the operation is read again after it.
type jobMsg struct {
	writeDoneMsg
	jobs []replace.Job
}

func (s *changes) runJob(what string, run func(context.Context, *replace.Jobs) (replace.Job, error)) tea.Cmd {
	s.list.Doing, s.before = what, s.latest.Op
	t, ctx, caller, parts, id := s.env.Ticket(), s.env.Root, s.caller, s.parts, s.latest.ID
	return func() tea.Msg {
		j, err := run(ctx, parts.Jobs)
		m := jobMsg{writeDoneMsg: writeDoneMsg{Ticket: t, what: "Replacement", done: "Replaced " + j.OldName + ".", err: err}}
		if j.Step == replace.Abandoned {
			m.done = "Abandoned: " + j.OldName + " is attached again."
		}
		after := context.WithoutCancel(ctx)
		if op, readErr := endpoint.Do(after, caller, endpoint.GetOperation, id); readErr == nil {
			m.op = &op
		}
		m.jobs, _ = parts.Unfinished(after, id)
		if err != nil && len(m.jobs) > 0 { // R continues with the job or gives it up
			m.err = &partlyDoneError{api.AsError(err)}
		}
		return m
	}
}
