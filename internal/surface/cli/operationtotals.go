package cli

import (
	"context"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/field"
	"opdeck/internal/format"
)

// totalsJSON is the JSON of totals.
type totalsJSON struct {
	AsOf       *time.Time         `json:"as_of"`      // null: not known
	Complete   bool               `json:"complete"`   // no row is known to be missing
	Operations int64              `json:"operations"` // matching operations
	NotKnown   int64              `json:"not_known"`  // operations that the filter cannot judge: a value was never read
	By         []index.By         `json:"by"`
	Items      []index.TotalsLine `json:"items"` // one for each group and currency
}

func operationTotalsCommand(r *root) *cobra.Command {
	var c choice
	var by string
	cmd := c.flags(&cobra.Command{Long: "Adds up the operations of the local index that match the filter: one line for " +
		"each group\n" +
		"and currency, the largest group first (days, weeks and months: the newest first). Sums are exact.\n" +
		"An amount that is not known is counted as unusable and left out of the sums.\n\n" +
		"--by takes one or two of " + strings.Join(byNames(), ", ") + ";\n" +
		"the second divides each group of the first. Days, weeks (from Monday) and months are those of\n" +
		"the creation, in UTC. The counterparty is the side that receives."})
	cmd.Flags().Lookup("sort").Hidden = true
	cmd.Flags().StringVar(&by, "by", "", "one or two groupings, with a comma between them: status,customer")
	return printsList(r, cmd, func(ctx context.Context, a *app.App, _ []string,
		out many[totalsJSON, index.TotalsLine]) error {
		groupings := []index.By{}
		for b := range strings.SplitSeq(by, ",") {
			if b = strings.TrimSpace(b); b != "" {
				groupings = append(groupings, index.By(b))
			}
		}
		if index.CheckBy(groupings) != nil {
			return usage("--by takes one or two different ones of %s", strings.Join(byNames(), ", "))
		}
		f, _, err := c.parse(r, a)
		if err != nil {
			return err
		}
		if err := freshenIndex(r, ctx, a, c.cached); err != nil {
			return err
		}
		if !c.cached {
			askNarrowed(r, ctx, a, f)
		}
		var fresh index.Freshness
		var all index.Group
		err = a.Index.Consistent(ctx, func(x *index.Index) (err error) {
			if all, err = x.Totals(ctx, f, groupings, 0, a.Now()); err == nil {
				fresh, err = x.Freshness(ctx)
			}
			return err
		})
		if err != nil {
			return err
		}
		sayWhatIsMissing(r, a, fresh)
		unknown, err := notKnown(r, ctx, a, f)
		if err != nil {
			return err
		}
		l := totalsJSON{AsOf: moments(fresh.AsOf), Complete: fresh.Complete, Operations: all.Count, NotKnown: unknown,
			By: groupings, Items: all.Lines(groupings)}
		if r.output == "table" {
			defer r.say("%s, of the index: %s", format.Plural(int(all.Count), "operation", "operations"),
				fresh.Says(a.Now(), r.zone))
		}
		return out.print(l, l.Items, totalsTable(l))
	})
}

func byNames() []string {
	var out []string
	for _, b := range index.Groupings() {
		out = append(out, string(b))
	}
	return out
}

func totalsTable(l totalsJSON) *table {
	head := index.TotalsHead(l.By)
	t := tabled(strings.ToUpper(strings.Join(head, "|")))
	t.columns[len(head)-2] = field.Column{HidePriority: 1} // the count of unusable amounts, before any other
	for _, line := range l.Items {
		cells := line.Cells()
		row := make([]any, len(cells))
		for i, c := range cells {
			if row[i] = c; i >= len(cells)-3 {
				row[i] = aligned(c)
			}
		}
		t.add(row...)
	}
	return t.none("No operations to total.")
}
