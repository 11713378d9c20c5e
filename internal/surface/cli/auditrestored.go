package cli

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
	"opdeck/internal/present"
)

func auditRestoredCommand(r *root) *cobra.Command {
	var against []string
	cmd := &cobra.Command{Long: "When a backup of the store was restored, the trail is older than the checkpoints that " +
		"were\n" +
		"signed since, and opdeck signs nothing until this command records the restore: from where to\n" +
		"where, who, when and why. A second person approves it where the context asks for one. Then the\n" +
		"verification is intact again and names the restore. A trail that was changed or forked is refused.\n" +
		"--against names checkpoints of opdeck audit checkpoint that are newer than the trail: needed where\n" +
		"the checkpoint files were restored too."}
	writes(r, cmd, func(ctx context.Context, a *app.App, _ []string, out one[audit.Restore]) (asked, error) {
		if strings.TrimSpace(r.reason) == "" {
			return asked{}, usage("--reason is required: write why a backup was restored")
		}
		notes, err := keptNotes(r, against)
		if err != nil {
			return asked{}, err
		}
		shown, err := app.Restorable(ctx, a, notes)
		if err != nil {
			return asked{}, err
		}
		chain, err := a.Audit.Signer.Chain(ctx)
		if err != nil {
			return asked{}, err
		}
		return asked{object: act.Object{ID: chain}, facts: []present.Fact{{Label: "restore", Value: shown.Sentence()},
			{Label: "reason", Value: r.reason}},
			send: func(ctx context.Context) error {
				done, err := a.RecordRestore(ctx, notes)
				if err != nil {
					return err
				}
				return out.report(done, "Recorded as record %d: %s.", done.Seq, done.Sentence())
			}}, nil
	})
	cmd.Flags().StringVar(&r.reason, "reason", "", "why a backup was restored: a second person reads it, the trail "+
		"keeps it")
	cmd.Flags().StringArrayVar(&against, "against", nil,
		"a kept checkpoint that is newer than the trail; may be given several times")
	return cmd
}
