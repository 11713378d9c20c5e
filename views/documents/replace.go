package documents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/act"
	"opdeck/internal/domain/replace"
	"opdeck/internal/present"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

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
		"opdeck records each step first, so you can resume or abandon an unfinished replacement.",
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
