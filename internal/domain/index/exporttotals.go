package index

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"
	"strconv"

	"github.com/cockroachdb/apd/v3"

	"opdeck/api/untrusted"
	"opdeck/internal/format/csvcell"
)

// GroupValue is the value that a group of operations shares.
type GroupValue struct {
	By    By     `json:"by"`
	Value string `json:"value"`          // code, currency, identifier, or the day, Monday or month
	Name  string `json:"name,omitempty"` // of a customer or counterparty
}

// TotalsLine is one exact sum: of a group in a currency.
type TotalsLine struct {
	Groups     []GroupValue `json:"groups"`
	Currency   string       `json:"currency"`
	Operations int64        `json:"operations"`
	Unusable   int64        `json:"unusable"` // operations without a numeric amount, not in the sum
	Sum        string       `json:"sum"`      // exact decimal
}

// Lines returns the sums of the innermost groups; by are the groupings.
func (g Group) Lines(by []By) []TotalsLine { return g.lines(by, []GroupValue{}) }

func (g Group) lines(by []By, within []GroupValue) []TotalsLine {
	var out []TotalsLine
	if len(by) == 0 {
		for _, s := range g.Sums {
			out = append(out, TotalsLine{within, string(s.Currency), s.Count, s.Bad, s.Amount.Text('f')})
		}
		return out
	}
	for _, part := range g.Parts {
		group := GroupValue{by[0], string(part.Key), string(part.Name)}
		out = append(out, part.lines(by[1:], append(slices.Clip(within), group))...)
	}
	return out
}

// TotalsHead returns the columns of a table of totals.
func TotalsHead(by []By) []string {
	var out []string
	for _, b := range by {
		if out = append(out, string(b)); b == ByCustomer || b == ByCounterparty {
			out = append(out, string(b)+"_name")
		}
	}
	if !slices.Contains(by, ByCurrency) {
		out = append(out, "currency")
	}
	return append(out, "operations", "unusable", "sum")
}

// Cells returns the line in the columns of TotalsHead; the last three are numbers, the sum with the digits of its
// currency.
func (l TotalsLine) Cells() []string {
	var out []string
	named := false
	for _, g := range l.Groups {
		if out = append(out, g.Value); g.By == ByCustomer || g.By == ByCounterparty {
			out = append(out, g.Name)
		}
		named = named || g.By == ByCurrency
	}
	if !named {
		out = append(out, l.Currency)
	}
	sum := l.Sum
	if d, _, err := apd.NewFromString(sum); err == nil {
		sum = csvcell.Amount(d, l.Currency).String()
	}
	return append(out, strconv.FormatInt(l.Operations, 10), strconv.FormatInt(l.Unusable, 10), sum)
}

// exportTotals writes the totals of a sheet.
func (x *Index) exportTotals(ctx context.Context, w io.Writer, s Sheet) (int, error) {
	all, err := x.Totals(ctx, s.Filter, s.By, 0, x.now())
	if err != nil {
		return 0, err
	}
	lines := all.Lines(s.By)
	switch s.Format {
	case JSONL:
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		for _, l := range lines {
			if err := enc.Encode(l); err != nil {
				return 0, err
			}
		}
		_, err := io.WriteString(w, untrusted.JSON(b.String()))
		return len(lines), err
	case CSV:
		out, err := csvcell.New(w, !s.NoMark, TotalsHead(s.By))
		if err != nil {
			return 0, err
		}
		for _, l := range lines {
			cells := l.Cells()
			row := make([]csvcell.Cell, len(cells))
			for i, c := range cells {
				if row[i] = csvcell.Text(c); i >= len(cells)-3 {
					row[i] = csvcell.Number(c)
				}
			}
			if err := out.Row(row); err != nil {
				return 0, err
			}
		}
		return len(lines), out.Flush()
	}
	return 0, ErrFormat
}
