package documents

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

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
	open      []followup.Row   // writes that may still arrive, or were not seen in time
	doubted   []removed        // removals that were among them
	undone    []removed        // newest last
	seenTypes []untrusted.Text // of documents, in answers
	before    *api.Operation   // as it was when the write under way began; nil: none is
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
	seen := *s.latest.Op
	return ui.Asking(act.DocumentRemove, s.object(d.FileName.Line(60)), ui.Confirm{ID: string(d.GUID), Risk: risk,
		Facts: s.facts(d),
		Yes:   func(ui.Seen) tea.Cmd { return s.remove(seen, d, lifts) }})
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
		done: "Removed " + name + ".", took: &removed{r.GUID, d.FileName.Line(80)}},
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
					back: last.guid},
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

// wrote takes the outcome of a write; nothing was shown as done before it.
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
	done := ui.Notify{Level: ui.Success, Text: s.env.Proven(s.latest.ID, msg.done)}
	c, _ := evidence.Of(s.env.Root).ByRead(s.latest.ID)
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
