package operations

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

const reportPage = 100 // operations, unless another number is typed

// askReport asks where the service's own report goes and what it is about.
func (s *Screen) askReport() ui.Action {
	for _, p := range []api.Permission{api.MayExport, api.MayReveal} {
		if no := s.lacks(p); no != nil {
			return no
		}
	}
	if s.env.About.Remote != "" {
		return s.reportOverSSH()
	}
	return ui.Ask{Title: "The service's report of operations", Verb: "Save",
		Intro: []string{"The service makes a workbook (.xlsx) of one page of its operations. It is saved as it comes, account numbers included, to a new file of this host. One billing call; the export is recorded."},
		Fields: []widget.Field{{Label: "File (must not exist yet)", Value: "report-" + s.env.Now().In(s.env.Zone()).Format("2006-01-02") + ".xlsx", Max: 1000, Check: checkReport},
			{Label: "Page, from 0", Value: "0", Max: 9, Check: checkNumber(0)}, {Label: "Operations a page", Value: strconv.Itoa(reportPage), Max: 9, Check: checkNumber(1)}},
		Submit: func(v ui.Values) (ui.Action, tea.Cmd) {
			return nil, s.report(strings.TrimSpace(v.Text(0)), api.ReportQuery{Page: number(v.Text(1)), Size: number(v.Text(2))})
		}}
}

func checkReport(v string) error {
	if strings.ToLower(filepath.Ext(strings.TrimSpace(v))) != ".xlsx" {
		return &api.Error{Kind: api.Usage, Public: "The name must end in .xlsx."}
	}
	return nil
}

func number(v string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(v)) // checked by the form
	return n
}

func checkNumber(least int) func(string) error {
	return func(v string) error {
		if n, err := strconv.Atoi(strings.TrimSpace(v)); err != nil || n < least {
			return &api.Error{Kind: api.Usage, Public: "A whole number from " + strconv.Itoa(least) + " on."}
		}
		return nil
	}
}

func (s *Screen) report(path string, q api.ReportQuery) tea.Cmd {
	client := s.client
	return s.work("reading the report", func(ctx context.Context, _ func(string)) ended {
		got, err := client.Report(ctx, q, path)
		if err != nil {
			return ended{notice: failed("The report", err)}
		}
		return ended{notice: ui.Notify{Level: ui.Success, Text: draw.Plural(int(got.Bytes), "byte", "bytes") + " of the service's report saved to " + untrusted.Text(path).Line(200) + "."}}
	})
}
