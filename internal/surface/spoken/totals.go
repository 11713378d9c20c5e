package spoken

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/untrusted"
	"opdeck/internal/domain/index"
	"opdeck/ui/plain"
)

// sum makes a total sayable by the one way to say money.
type sum struct{ index.Sum }

// Currency implements ui/draw.Moneyer.
func (s sum) Currency() untrusted.Text { return s.Sum.Currency }

// Decimal implements ui/draw.Moneyer.
func (s sum) Decimal() (*apd.Decimal, error) { return s.Amount, nil }

func sumLine(s index.Sum) string {
	line := money(sum{s}) + " in " + plural(int(s.Count), "operation", "operations")
	if s.Bad > 0 {
		line += ", of which " + count(int(s.Bad)) + " without a usable amount are not counted in"
	}
	return line + "."
}

// totals adds up what the filter shows, exactly.
func (c *console) totals(ctx context.Context, _ string) error {
	sums, err := c.app.Index.Totals(ctx, c.list.query, c.app.Now())
	if err != nil {
		return c.failed(ctx, "The totals", err)
	}
	c.talk.Say("Totals of " + plural(c.list.total, "operation", "operations") + ", " + plural(len(sums), "currency", "currencies") + ".")
	for _, s := range sums {
		c.talk.Say(sumLine(s))
	}
	return nil
}

var groupings = []string{"status", "type", "payment", "currency", "customer", "day"}

func (c *console) group(ctx context.Context, arg string) error {
	by := strings.ToLower(arg)
	if !slices.Contains(groupings, by) {
		c.talk.Say("Group by " + plain.List(groupings) + ". For example: group status.")
		return nil
	}
	groups, err := c.app.Index.Groups(ctx, c.list.query, index.By(by), 20, c.app.Now())
	if err != nil {
		return c.failed(ctx, "The groups", err)
	}
	c.talk.Say("By " + by + ", " + plural(len(groups), "group", "groups") + ", 20 at most.")
	for _, g := range groups {
		name := g.Key
		if g.Name != "" {
			name = g.Name
		}
		var sums []string
		for _, s := range g.Sums {
			sums = append(sums, money(sum{s}))
		}
		c.talk.Say(safe(name, 120) + ": " + plural(int(g.Count), "operation", "operations") + ", " + plain.List(sums) + ".")
	}
	return nil
}

// export writes what the filter shows to a new file of the host.
func (c *console) export(ctx context.Context, path string) error {
	if path == "" {
		var err error
		if path, err = c.talk.Ask(ctx, plain.Field{Label: "New file on this host, ending in .csv or .jsonl", Help: "An existing file is never written over."}); err != nil {
			return err
		}
	}
	path = expand(path)
	format, ok := map[string]index.Format{".csv": index.CSV, ".jsonl": index.JSONL}[filepath.Ext(path)]
	if !ok {
		c.talk.Say("The name must end in .csv or .jsonl.")
		return nil
	}
	var n int
	var fresh index.Freshness
	err := c.talk.Work(ctx, "writing the file", func(ctx context.Context) (err error) {
		n, fresh, err = c.app.ExportOperations(ctx, c.list.query, c.list.sort, format, path, func(int, int) {})
		return err
	})
	if err != nil {
		return c.failed(ctx, "Export", err)
	}
	c.talk.Say("Exported " + plural(n, "operation", "operations") + " to " + untrusted.Text(path).Line(1024) + ". " + c.age(fresh))
	return nil
}
