package cli

import (
	"context"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app"
	"opdeck/internal/domain/followup"
)

// exitUnknown is the exit code while something is left whose outcome is not known.
var exitUnknown = exitError(api.UnknownOutcome.Exit())

func (r *root) auditUnsettled() *cobra.Command {
	var settle bool
	cmd := lists(&cobra.Command{Use: "unsettled", Long: "Lists the writes that were sent and of which nothing proves what became of them, and those of\n" +
		"the last day that were not seen within [writes] late_after. Consoles and opdeck serve look at\n" +
		"them again by themselves; --settle looks now. With --settle the exit code is 7 while the outcome\n" +
		"of one is not known, else 0.",
		RunE: r.do(func(ctx context.Context, a *app.App, _ []string) error {
			if err := api.Need(ctx, "read the audit trail", api.MayAudit); err != nil {
				return err
			}
			var looked error
			if settle {
				looked = a.Follow.Look(ctx, true)
			}
			rows, err := a.Follow.Pending(ctx)
			if err != nil {
				return err
			}
			if err := r.printUnsettled(rows); err != nil || !settle {
				return err
			}
			if looked != nil {
				return looked
			}
			for _, row := range rows {
				if row.State != followup.NotSeen {
					return exitUnknown
				}
			}
			return nil
		})})
	cmd.Flags().BoolVar(&settle, "settle", false, "look at each of them now")
	return cmd
}

// unsettledJSON is one write for programs; times are null when there are none.
type unsettledJSON struct {
	Ref      string     `json:"ref"`
	What     string     `json:"what"`
	Object   string     `json:"object"`
	ID       string     `json:"id"`
	Item     string     `json:"item"`
	Name     string     `json:"name"`
	Who      string     `json:"who"`
	Sent     time.Time  `json:"sent_at"`
	Looked   *time.Time `json:"last_looked_at"`
	NextLook *time.Time `json:"next_look"`
	Looks    int        `json:"looks"`
	State    string     `json:"state"` // unknown, not_seen
	Advice   string     `json:"advice"`
}

func (r *root) printUnsettled(rows []followup.Row) error {
	t := &table{head: []string{"WHAT", "OBJECT", "ID", "ITEM", "WHO", "SENT", "LAST LOOK", "NEXT LOOK", "LOOKS", "STATE", "REF"}, right: map[int]bool{8: true}}
	list := make([]unsettledJSON, 0, len(rows))
	for _, row := range rows {
		x := unsettledJSON{Ref: row.Ref, What: string(row.Kind), Object: row.Object, ID: row.ID, Item: row.Item, Name: row.Name, Who: row.Who,
			Sent: row.Sent, Looks: row.Reads, State: string(followup.Unknown), Advice: remedy.Command(&api.Error{Remedy: row.Advice()})}
		if row.State == followup.NotSeen {
			x.State = string(followup.NotSeen)
		} else {
			next := row.Next
			x.NextLook = &next
		}
		if !row.Looked.IsZero() {
			looked := row.Looked
			x.Looked = &looked
		}
		t.add(x.What, x.Object, x.ID, x.Item, safeText(x.Who), lookTime(&row.Sent), lookTime(x.Looked), lookTime(x.NextLook), strconv.Itoa(x.Looks), x.State, x.Ref)
		list = append(list, x)
	}
	return r.list(t, list, toAny(list))
}

// lookTime is a time of the list, – for none.
func lookTime(t *time.Time) string {
	if t == nil {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}
