package cli

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/note"
	"opdeck/internal/present"
)

var noteCommands = commands{act.NoteAdd: noteAddCommand, act.NoteList: noteListCommand}

func noteAddCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Writes a note about the operation or the customer with that id. Notes are kept in " +
		"opdeck's store for\n" +
		"everyone who uses it, and are never sent to the service. A note cannot be changed. The audit trail records\n" +
		"who wrote one about what, without its text."}
	return prints(r, cmd, func(ctx context.Context, a *app.App, args []string, out one[note.Note]) error {
		n, err := a.Notes.Add(ctx, noted(ctx, a, args[0]), args[0], strings.Join(args[1:], " "))
		if err != nil {
			return err
		}
		return out.report(n, "Note saved about %s %s.", n.Object, n.ID)
	})
}

// noted is the kind of object with that id: an operation that the index knows, else a customer.
func noted(ctx context.Context, a *app.App, id string) string {
	if _, err := a.Index.Get(ctx, id); err == nil {
		return note.Operation
	}
	return note.Customer
}

func noteListCommand(r *root) *cobra.Command {
	var text string
	cmd := &cobra.Command{Long: "Lists the notes about an operation or a customer, or about all, newest first: at most " +
		"200."}
	printsList(r, cmd, func(ctx context.Context, a *app.App, args []string, out listOf[note.Note]) error {
		var list []note.Note
		var err error
		switch {
		case text != "":
			list, err = a.Notes.Find(ctx, text, note.Kept)
		case len(args) > 0:
			list, err = a.Notes.About(ctx, "", args[0])
		default:
			list, err = a.Notes.About(ctx, "", "")
		}
		if err != nil {
			return err
		}
		o := r.options(ctx, a)
		o.Zone = cmp.Or(o.Zone, time.UTC)
		return out.print(list, list, listed(o, present.NoteListed, list).none("No notes."))
	})
	cmd.Flags().StringVar(&text, "text", "", "only notes that contain this, in any case")
	return cmd
}
