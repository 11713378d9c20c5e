package operations

import (
	"context"
	"errors"
	"fmt"
	"os"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/mask"
	"opdeck/internal/format"
	"opdeck/ui"
	"opdeck/ui/widget"
)

// sheet is what is exported, frozen when it is asked for, and what it is called.
type sheet struct {
	index.Sheet
	what     string // "300 operations"
	whence   string // "the 300 operations that the filter shows"
	marked   int    // operations; 0: all that the filter shows
	one, all string // what its rows are called
}

// askExport asks for the file of the marked operations, else of what the filter shows.
func (s *jobs) askExport() ui.Action {
	q, marked := s.loader.meant()
	what := format.Plural(s.loader.rows.Len(), "operation", "operations")
	if marked > 0 {
		what = format.Count(marked) + " marked"
	}
	return s.askFile(sheet{index.Sheet{Filter: q, Sort: s.loader.order()}, what, s.whence(marked), marked, "operation",
		"operations"}, "operations.csv")
}

func (s *jobs) whence(marked int) string {
	switch {
	case marked > 0:
		return format.Plural(marked, "marked operation", "marked operations")
	case s.list.Filter.Shown.Empty():
		return "all " + format.Plural(s.loader.rows.Len(), "operation", "operations") + " of the index"
	}
	return "the " + format.Plural(s.loader.rows.Len(), "operation", "operations") + " that the filter shows"
}

// askFile asks for the file of an export; name is offered.
func (s *jobs) askFile(of sheet, name string) ui.Action {
	role := api.Role(s.env.About.Role)
	if why := role.WhyNot(api.MayExport); role != "" && why != "" {
		return ui.Notify{Level: ui.Denied, Text: why}
	}
	if s.env.About.Remote != "" {
		return s.exportOverSSH(of)
	}
	intro := []string{"Writes " + of.whence + ", " + s.hides() + ", to a new file" + s.folder() + ". The file name must " +
		"end in .csv or .jsonl; no existing file is overwritten."}
	if warn := s.loader.readSoFar(); warn != "" && of.marked == 0 {
		intro = append(intro, s.env.Theme.Signs.Warn+" Not complete, "+warn+".")
	}
	return ui.Ask{Title: "Export " + of.what, Verb: "Export", Intro: intro,
		Fields: []widget.Field{{Label: "File", Value: name, Check: checkExport}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) { return nil, s.export(of, v.Text(0)) }}
}

// hides says what the file has of account numbers: what the screen shows while it is written.
func (s *jobs) hides() string {
	if s.env.Masked() {
		return "account numbers masked"
	}
	return "account numbers in full while they are revealed"
}

// folder is the folder of a file name without one.
func (s *jobs) folder() string {
	if s.cfg.Folder == "" {
		return " on the host that runs the console"
	}
	return " in " + untrusted.Text(s.cfg.Folder).Line(200)
}

func checkExport(v string) error {
	if _, ok := index.FormatOf(v); ok {
		return nil
	}
	return &api.Error{Kind: api.Usage, Public: "The name must end in .csv or .jsonl."}
}

func (s *jobs) export(of sheet, path string) tea.Cmd {
	write := s.cfg.Export
	of.Format, _ = index.FormatOf(path)
	masked, now, zone := s.env.Masked(), s.env.Now(), s.env.Zone()
	return s.work("exporting", func(ctx context.Context, report func(string)) ended {
		if masked { // the file holds what the screen shows
			ctx = mask.Again(ctx)
		}
		done, err := write(ctx, of.Sheet, path, func(done, total int) {
			if total > 0 {
				report(fmt.Sprintf("exporting %s of %s", format.Count(done), format.Count(total)))
			}
		})
		switch {
		case errors.Is(err, os.ErrExist):
			return ended{notice: ui.Many{ui.Notify{Level: ui.Warning, Text: untrusted.Text(path).Line(200) +
				" exists already. An export overwrites no file: type another name."}, s.askFile(of, path)}}
		case err != nil:
			return ended{notice: failed("The export", err)}
		}
		said := "Exported " + format.Plural(done.Rows, of.one, of.all) + " to " + untrusted.Text(done.Path).Line(300) +
			" (" + format.Size(done.Size) + "), of the index: " +
			done.Fresh.Says(now, zone) + "."
		if done.Lacks.Rows > 0 {
			said += " " + done.Lacks.String()
		}
		return ended{notice: ui.Notify{Level: ui.Success, Text: said}}
	})
}
