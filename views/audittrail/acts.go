package audittrail

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/audit"
	"opdeck/internal/format"
	"opdeck/internal/present"
	"opdeck/internal/system/wholefile"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/list"
	"opdeck/ui/widget"
)

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
