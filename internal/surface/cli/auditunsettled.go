package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/evidence"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app"
	"opdeck/internal/domain/followup"
	"opdeck/internal/present"
)

func auditUnsettledCommand(r *root) *cobra.Command {
	var settle bool
	cmd := &cobra.Command{Long: "Lists the writes that were sent and have no answer of their own: until [writes] " +
		"late_after\n" +
		"they may still arrive, also where a read shows the wanted state (seen). It also lists those of\n" +
		"the last day that no read showed in time. Consoles and opdeck serve keep checking them;\n" +
		"--settle checks now. With --settle the exit code is 7 while one may still arrive, else 0."}
	printsList(r, cmd, func(ctx context.Context, a *app.App, _ []string, out listOf[unsettledJSON]) error {
		var looked error
		if settle {
			looked = a.Follow.Look(ctx, true)
		}
		pending, err := a.Follow.Pending(ctx)
		if err != nil {
			return err
		}
		list := make([]unsettledJSON, len(pending))
		open := false
		for i, row := range pending {
			list[i] = unsettledOf(row)
			evidence.Note(ctx, row.Why())
			open = open || row.State != followup.NotSeen
		}
		err = out.print(list, list, listed(r.options(ctx, a), present.UnsettledListed, pending).
			none("No writes with an unknown outcome."))
		if err == nil && len(list) > 0 && r.output == "table" {
			r.say("Where no read can prove the outcome: check the object, then run opdeck audit settle REF --note \"what you " +
				"found\".")
		}
		switch {
		case err != nil || !settle:
			return err
		case looked == nil && open:
			return exitError(api.UnknownOutcome.Exit())
		}
		return looked
	})
	cmd.Flags().BoolVar(&settle, "settle", false, "check each of them now")
	return cmd
}

// unsettledJSON is one write for programs; missing times are null.
type unsettledJSON struct {
	Ref      string     `json:"ref"`
	What     string     `json:"what"`
	Object   string     `json:"object"`
	ID       string     `json:"id"`
	Item     string     `json:"item"`
	Name     string     `json:"name"`
	Who      string     `json:"who"`
	Sent     time.Time  `json:"sent_at"`
	Until    time.Time  `json:"until"` // it may arrive until then; its repetition and its opposite are refused
	Looked   *time.Time `json:"last_looked_at"`
	NextLook *time.Time `json:"next_look"`
	Looks    int        `json:"looks"`
	State    string     `json:"state"` // sending (it is not known whether its process still runs), unknown, seen, not_seen
	Advice   string     `json:"advice"`
	Restored *time.Time `json:"restored_backup,omitempty"` // when the backup was taken from which it comes
}

func unsettledOf(row followup.Row) unsettledJSON {
	x := unsettledJSON{Ref: row.Ref, What: string(row.Kind), Object: row.Object, ID: row.ID, Item: row.Item,
		Name: row.Name, Who: row.Who,
		Sent: row.Sent, Until: row.Until, Looks: row.Reads, State: string(present.UnsettledState(row)),
		Advice: remedy.Command(&api.Error{Remedy: row.Advice()})}
	if row.State != followup.NotSeen {
		x.NextLook = &row.Next
	}
	if !row.Looked.IsZero() {
		x.Looked = &row.Looked
	}
	if !row.Restored.IsZero() {
		x.Restored = &row.Restored
	}
	return x
}
