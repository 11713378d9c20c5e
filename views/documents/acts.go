package documents

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/mask"
	"opdeck/internal/domain/replace"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// wroteMsg is the outcome of a write.
type wroteMsg struct {
	ui.Ticket
	what string // "remove", "put back", …
	done string // the sentence when it went well
	op   *api.Operation
	took *removed // what was taken off, to be put back with z
	back string   // guid that was put back
	err  error
}

func (s *Screen) key(msg keymap.Press) (ui.Action, tea.Cmd) {
	g, item := s.env.Keys.Global, s.env.Keys.Item
	doc, has := s.selected()
	switch {
	case g.Reload.Match(msg) && s.id != "":
		return nil, s.load()
	case s.keys.Remove.Match(msg) && has:
		return s.askRemove(doc), nil
	case s.keys.Restore.Match(msg):
		return s.restore(), nil
	case s.keys.Attach.Match(msg):
		return s.askAttach(), nil
	case s.keys.Upload.Match(msg):
		return s.askUpload(), nil
	case s.keys.Replace.Match(msg) && has:
		return s.askReplace(doc), nil
	case item.CopyID.Match(msg) && has:
		return ui.Copy{Text: string(doc.GUID), What: "the document id"}, nil
	case item.CopyJSON.Match(msg) && has:
		b, err := json.Marshal(doc)
		if err != nil {
			return ui.Notify{Kind: ui.Failed, Text: "The document cannot be written as JSON."}, nil
		}
		return ui.Copy{Text: string(b), What: "the document as JSON"}, nil
	case item.Raw.Match(msg) && s.op != nil:
		return ui.Raw{Title: "Operation " + s.id, JSON: mask.Shown(s.op.Raw, s.env.Masked())}, nil
	}
	if s.table.Update(msg) {
		s.settle()
	}
	return nil, nil
}

// start marks the write as under way; its keys are off until the outcome.
func (s *Screen) start(what string) { s.doing = what; s.settle() }

// locked explains instead of asking: nothing would be sent anyway.
func (s *Screen) locked(d api.Document, act string) ui.Action {
	return ui.Explain{Title: "Locked", Lines: []string{
		"This document is locked and cannot be " + act + ".",
		"A lock is set by a compliance team, usually while it reviews the document. The service tells neither who set it nor when; the document itself is there since the time below.",
		"Only the compliance team can lift it. Ask it, and name the ids below; then press " + s.env.Keys.Global.Reload.Help().Key + " to read the operation again.",
	}, Facts: append([]widget.Pair{{Label: "guid", Value: d.GUID.Line(64)}}, s.facts(d)...)}
}

// facts are what a question about a document shows; its id stands above them.
func (s *Screen) facts(d api.Document) []widget.Pair {
	return []widget.Pair{
		{Label: "document", Value: d.FileName.Line(200), Long: true},
		{Label: "type", Value: d.DocType.Line(64) + ", " + draw.Size(d.Size)},
		{Label: "created", Value: draw.Time(d.CreateAt.Time, s.env.Zone())},
		{Label: "operation", Value: s.id}, {Label: "status", Value: s.op.Status.Line(40)},
		{Label: "amount", Value: draw.Money(s.op.SourceAmount.Sum)},
	}
}

func (s *Screen) askRemove(d api.Document) ui.Action {
	if d.IsLock {
		return s.locked(d, "removed")
	}
	risk := "Only the link goes; z puts it back."
	ended := s.client.Phase(*s.op).Ended()
	if ended {
		risk = "The operation is " + s.client.Phase(*s.op).Word() + ": the service normally refuses this, and may refuse to take it back. " + risk
	}
	seen := *s.op
	return ui.Confirm{ID: string(d.GUID), Title: "Remove document", Verb: "Remove", Risk: risk, Facts: s.facts(d),
		Ask: fmt.Sprintf("Remove %s from operation %s?", d.FileName.Line(60), draw.ID(s.id, 13)),
		Yes: func(ui.Seen) tea.Cmd { return s.remove(seen, d, ended) }}
}

func (s *Screen) remove(seen api.Operation, d api.Document, force bool) tea.Cmd {
	s.start("removing " + d.FileName.Line(40))
	t, ctx, client := s.env.Ticket(), s.env.Root, s.client
	r := api.RemoveDocument{OPID: string(seen.OPID), GUID: string(d.GUID), Seen: &seen, Force: force}
	return func() tea.Msg {
		op, err := client.RemoveDocument(ctx, r)
		return wroteMsg{Ticket: t, what: "Removal", done: "Removed " + d.FileName.Line(40) + "; z puts it back.", op: &op,
			took: &removed{r.GUID, d.FileName.Line(80)}, err: err}
	}
}

func (s *Screen) restore() ui.Action {
	last := s.undone[len(s.undone)-1]
	s.start("putting back " + last.name)
	t, ctx, client, id := s.env.Ticket(), s.env.Root, s.client, s.id
	return ui.Write{What: "put back " + last.name, Cmd: func() tea.Msg {
		op, err := client.AttachDocument(ctx, id, last.guid, "")
		return wroteMsg{Ticket: t, what: "Putting back", done: "Put back " + last.name + ".", op: &op, back: last.guid, err: err}
	}}
}

func (s *Screen) askAttach() ui.Action {
	return ui.Ask{Title: "Attach a document", Verb: "Attach",
		Intro: []string{"An uploaded document is linked to operation " + draw.ID(s.id, 13) + " by its id."},
		Fields: []widget.Field{
			{Label: "Document id", Check: func(v string) error { return checkID(v) }},
			{Label: "Name there (optional)", Max: 255},
		},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			guid, name := v.Text(0), v.Text(1)
			s.start("attaching " + draw.ID(guid, 13))
			t, ctx, client, id := s.env.Ticket(), s.env.Root, s.client, s.id
			return ui.Write{What: "attach " + draw.ID(guid, 13), Cmd: func() tea.Msg {
				op, err := client.AttachDocument(ctx, id, guid, name)
				return wroteMsg{Ticket: t, what: "Attaching", done: "Attached.", op: &op, err: err}
			}}, nil
		}}
}

func checkID(v string) error {
	if err := api.CheckID("document id", v); err != nil {
		return api.AsError(err)
	}
	return nil
}

// fileFields ask for a file of the host that runs the console.
func fileFields() []widget.Field {
	return []widget.Field{
		{Label: "File on this host", Check: checkFile, Max: 4096},
		{Label: "Type (optional)", Hint: "INVOICE, CONTRACT …", Max: 64},
		{Label: "Info (optional)", Max: 255},
	}
}

// checkFile looks at the file's name only: the rest is read by the command.
func checkFile(v string) error {
	if v == "" {
		return &api.Error{Kind: api.Usage, Public: "Name a file."}
	}
	if strings.ContainsRune(v, 0) {
		return &api.Error{Kind: api.Usage, Public: "This is no file name."}
	}
	return nil
}

func expand(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	return path
}

func (s *Screen) askUpload() ui.Action {
	return ui.Ask{Title: "Upload and attach", Verb: "Upload", Fields: fileFields(),
		Intro: []string{"The file goes into the customer's store and is then linked to operation " + draw.ID(s.id, 13) + ".",
			"PDF up to 10 MB, JPEG, PNG and Word up to 5 MB, text up to 1 MB. One customer call and one billing call."},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			path, kind, info := expand(v.Text(0)), v.Text(1), v.Text(2)
			name := untrusted.Text(filepath.Base(path)).Line(60)
			s.start("uploading " + name)
			t, ctx, client, op := s.env.Ticket(), s.env.Root, s.client, *s.op
			return ui.Write{What: "upload " + name, Cmd: func() tea.Msg {
				now, err := uploadAndAttach(ctx, client, op, path, kind, info)
				return wroteMsg{Ticket: t, what: "Upload", done: "Uploaded and attached " + name + ".", op: &now, err: err}
			}}, nil
		}}
}

func uploadAndAttach(ctx context.Context, c Client, op api.Operation, path, kind, info string) (api.Operation, error) {
	f, err := c.Upload(ctx, string(op.Customer.CUID), path, kind, info)
	if err != nil {
		return api.Operation{}, err
	}
	now, err := c.AttachDocument(ctx, string(op.OPID), string(f.ID), filepath.Base(path))
	if err != nil {
		e := *api.AsError(err)
		e.Hint = "The file is uploaded as " + f.ID.Line(64) + "; a attaches it by that id. " + e.Hint
		return api.Operation{}, &e
	}
	return now, nil
}

func (s *Screen) askReplace(d api.Document) ui.Action {
	if job, ok := s.job(string(d.GUID)); ok {
		return s.askResume(job)
	}
	if len(s.jobs) > 0 {
		return s.askResume(s.jobs[0])
	}
	if d.IsLock {
		return s.locked(d, "replaced")
	}
	seen, ended := *s.op, s.client.Phase(*s.op).Ended()
	intro := []string{"Replace " + d.FileName.Line(60) + " by another file: it is removed, the new file uploaded and attached.",
		"One job, written down before each step; if it is cut off it can be resumed or given up."}
	if ended {
		intro = append(intro, "The operation is "+s.client.Phase(*s.op).Word()+": the service normally refuses this.")
	}
	return ui.Ask{Title: "Replace document", Verb: "Go on", Fields: fileFields(), Intro: intro,
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			path, kind, info := expand(v.Text(0)), v.Text(1), v.Text(2)
			name := untrusted.Text(filepath.Base(path)).Line(60)
			return ui.Confirm{ID: string(d.GUID), Title: "Replace document", Verb: "Replace", Facts: s.facts(d),
				Ask:  fmt.Sprintf("Replace %s by %s?", d.FileName.Line(60), name),
				Risk: "Between removal and attaching the operation is without this document.",
				Yes: func(ui.Seen) tea.Cmd {
					return s.runJob("replacing "+d.FileName.Line(40), func(ctx context.Context, c Client) (replace.Job, error) {
						return c.Replace(ctx, seen, string(d.GUID), path, kind, info, ended)
					})
				}}, nil
		}}
}

func (s *Screen) job(guid string) (replace.Job, bool) {
	for _, j := range s.jobs {
		if j.OldGUID == guid {
			return j, true
		}
	}
	return replace.Job{}, false
}

// standing says in words how far a job came.
func standing(j replace.Job) string {
	switch j.Step {
	case replace.Planned:
		return "nothing was sent yet"
	case replace.Removing:
		return "the removal was sent, its outcome is open"
	case replace.Removed:
		return "the old document is off, the new one is not uploaded"
	case replace.Uploading:
		return "the old document is off, the upload is open"
	case replace.Uploaded:
		return "the old document is off, the new one is uploaded but not attached"
	case replace.Attaching:
		return "the new document was sent for attaching, its outcome is open"
	case replace.Abandoning:
		return "it is being given up: the old document is put back"
	}
	return string(j.Step)
}

// askResume offers to go on with a job that stands still, or to give it up; where
// an outcome is not known, what a person may decide.
func (s *Screen) askResume(j replace.Job) ui.Action {
	type way struct {
		ui.Choice
		do func(context.Context, Client) (replace.Job, error)
	}
	ways := []way{{ui.Choice{Text: "Resume", Note: "look what became of it, then go on"}, func(ctx context.Context, c Client) (replace.Job, error) { return c.Resume(ctx, j.ID) }}}
	for _, file := range j.Candidates[:min(len(j.Candidates), 4)] {
		ways = append(ways, way{ui.Choice{Text: "Take " + draw.Middle(file, 24), Note: "this file is the uploaded one"},
			func(ctx context.Context, c Client) (replace.Job, error) { return c.Use(ctx, j.ID, file) }})
	}
	switch j.Step {
	case replace.Removing, replace.Uploading, replace.Attaching:
		ways = append(ways, way{ui.Choice{Text: "Send again", Note: "what was not seen in time goes out once more"},
			func(ctx context.Context, c Client) (replace.Job, error) { return c.Again(ctx, j.ID) }})
	}
	ways = append(ways, way{ui.Choice{Text: "Give up", Note: "put the old document back"}, func(ctx context.Context, c Client) (replace.Job, error) { return c.Abandon(ctx, j.ID) }},
		way{ui.Choice{Text: "Leave it", Note: "decide later"}, nil})
	items := make([]ui.Choice, len(ways))
	for i, w := range ways {
		items[i] = w.Choice
	}
	return ui.Choose{Title: "Replacement of " + draw.Middle(j.OldName, 30), Items: items, Pick: func(i int) (ui.Action, tea.Cmd) {
		if ways[i].do == nil {
			return nil, nil
		}
		what := strings.ToLower(ways[i].Text) + ": the replacement"
		return ui.Write{What: what, Cmd: s.runJob(what, ways[i].do)}, nil
	}}
}

// jobMsg carries what became of a job; the operation is read again after it.
type jobMsg struct {
	wroteMsg
	jobs []replace.Job
}

func (s *Screen) runJob(what string, run func(context.Context, Client) (replace.Job, error)) tea.Cmd {
	s.start(what)
	t, ctx, client, id := s.env.Ticket(), s.env.Root, s.client, s.id
	return func() tea.Msg {
		j, err := run(ctx, client)
		m := jobMsg{wroteMsg: wroteMsg{Ticket: t, what: "Replacement", done: "Replaced " + j.OldName + ".", err: err}}
		if j.Step == replace.Abandoned {
			m.done = "Given up; " + j.OldName + " is attached again."
		}
		after := context.WithoutCancel(ctx)
		if op, readErr := client.Operation(after, id); readErr == nil {
			m.op = &op
		}
		m.jobs, _ = client.Unfinished(after, id)
		return m
	}
}

// wrote takes the outcome of a write; nothing was shown as done before it.
func (s *Screen) wrote(msg wroteMsg) (ui.Action, tea.Cmd) {
	s.doing = ""
	s.loads.Stop()
	var acts ui.Many
	if msg.op != nil && msg.op.OPID != "" {
		if a := s.show(*msg.op, s.env.Now(), "service"); a != nil {
			acts = append(acts, a)
		}
	} else if msg.op != nil && msg.err == nil {
		msg.done += " The operation could not be read to show it."
		s.err = &api.Error{Kind: api.Unavailable, Public: "this list is from before the last write; " + s.env.Keys.Global.Reload.Help().Key + " reads it."}
	}
	if msg.err != nil {
		s.settle()
		return append(acts, ui.Failure(msg.what, msg.err)), s.reread(msg.err)
	}
	if msg.took != nil {
		s.undone = append(s.undone, *msg.took)
	}
	if n := len(s.undone); msg.back != "" && n > 0 && s.undone[n-1].guid == msg.back {
		s.undone = s.undone[:n-1]
	}
	s.settle()
	return append(acts, ui.Notify{Kind: ui.Done, Text: msg.done}), nil
}

// reread looks again when what we show cannot be right any more.
func (s *Screen) reread(err error) tea.Cmd {
	if api.KindOf(err) == api.UnknownOutcome {
		return s.look() // what is open is shown; it costs no call
	}
	switch e := api.AsError(err); e.Rule {
	case api.RuleNotAttached, api.RuleChanged, api.RuleLocked, api.RuleEndState:
		return s.load()
	}
	return nil
}
