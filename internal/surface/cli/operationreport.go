package cli

import (
	"context"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/format"
)

func operationReportCommand(r *root) *cobra.Command {
	var q api.ReportQuery
	cmd := &cobra.Command{Long: "Saves the report that the service itself makes of its operations, a workbook (.xlsx), " +
		"to a new\n" +
		"file (mode 0600). Nothing is overwritten, and an interrupted report leaves no file. FILE may\n" +
		"be -, standard output. The service makes it of one page of the operations: --page and --limit.\n" +
		"opdeck does not look into it, so nothing in it is masked: a role that may not see account\n" +
		"numbers is refused. The export is recorded."}
	cmd.RunE = r.do(func(ctx context.Context, a *app.App, args []string) error {
		if args[0] == "-" {
			if err := r.notToTerminal("A workbook"); err != nil {
				return err
			}
			_, err := a.ReportTo(ctx, q, r.env.Out)
			return err
		}
		got, err := a.SaveReport(ctx, q, args[0])
		if err == nil {
			r.say("%s written to %s.", format.Plural(int(got.Bytes), "byte", "bytes"), args[0])
		}
		return err
	})
	cmd.Flags().IntVar(&q.Page, "page", 0, "page number of the operations; the first page is 0")
	cmd.Flags().IntVar(&q.Size, "limit", 0, "operations per page")
	return cmd
}
