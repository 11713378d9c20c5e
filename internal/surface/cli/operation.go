package cli

import (
	"bufio"
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/present"
)

var operationCommands = commands{
	act.OperationList: operationListCommand, act.OperationGet: operationGetCommand,
	act.OperationTree:    operationTreeCommand,
	act.OperationHistory: operationHistoryCommand, act.OperationExport: operationExportCommand,
	act.OperationReport: operationReportCommand,
	act.OperationTotals: operationTotalsCommand,
}

// answerJSON is an operation as received, or why it could not be read; opid is set for an error.
type answerJSON struct {
	OPID  string         `json:"opid,omitempty"`
	Item  *api.Operation `json:"item,omitempty"`
	Error *errorJSON     `json:"error,omitempty"`
}

func operationGetCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Reads operations. With - the ids come from standard input, one a line, and each is\n" +
		"answered as it comes (-o jsonl: one object a line, {\"item\": …} or {\"opid\": …, \"error\": …}).\n\n" +
		"The JSON is the service's own with account numbers, personal data and secrets masked; nothing\n" +
		"else is changed. --reveal prints them, for a role that may, and the audit trail records it."}
	return streams(r, cmd, func(ctx context.Context, a *app.App, args []string, out one[answerJSON]) error {
		if len(args) == 1 && args[0] != "-" {
			sent := a.Now()
			op, err := operationOf(ctx, a, args[0])
			if err != nil {
				return err
			}
			a.Hooks().Learn(ctx, op, sent)
			return out.card(answerJSON{Item: &op}, operationCard(r.options(ctx, a), op, a.Client.Phase(op)))
		}
		return getMany(r, ctx, a, args, out)
	})
}

// getMany reads all ids one by one; the exit code is that of the first failure.
func getMany(r *root, ctx context.Context, a *app.App, args []string, out one[answerJSON]) error {
	var first error
	answer := func(ctx context.Context, opid string) error {
		op, err := operationOf(ctx, a, opid)
		if first = cmp.Or(first, err); err != nil && ctx.Err() != nil {
			return err
		}
		switch e := api.AsError(err); {
		case err == nil && r.output == "table":
			return r.table(r.env.Out, operationCard(r.options(ctx, a), op, a.Client.Phase(op)))
		case err == nil:
			return out.line(answerJSON{Item: &op})
		case r.output == "table":
			r.say("%s: %s", opid, e.Public)
			return nil
		default:
			return out.line(answerJSON{OPID: opid, Error: errorOf(e)})
		}
	}
	for _, arg := range args {
		ids := bufio.NewScanner(strings.NewReader(arg))
		if arg == "-" {
			ids = bufio.NewScanner(r.env.In)
		}
		for ids.Scan() {
			id := strings.TrimSpace(ids.Text())
			if id == "" {
				continue
			}
			seen, err := ctx, error(nil)
			if arg == "-" {
				seen, err = r.revealing(ctx, a, id)
			}
			if err == nil {
				err = answer(seen, id)
			}
			if err != nil {
				return err
			}
		}
		if err := ids.Err(); err != nil {
			return usage("standard input cannot be read: %s", err)
		}
	}
	return first
}

// operationCard is a whole operation with exact values.
func operationCard(o present.Options, op api.Operation, phase api.Phase) *table {
	return card(present.Operation(o, op, phase))
}

// fieldTable is a table of records with these fields of their catalogue.
func fieldTable[T any](o present.Options, c *field.Catalogue[T], records []T, names ...string) *table {
	t := tabled("")
	t.head, t.rows = nil, make([][]string, len(records))
	t.key = max(slices.IndexFunc(names, func(name string) bool { return c.Get(name).Kind == field.ID }), 0)
	for i, name := range names {
		f := c.Get(name)
		t.head = append(t.head, strings.ToUpper(name))
		t.right[i], t.columns[i] = f.Kind == field.Money || f.Kind == field.Count, present.ColumnOf(f).Column
		if f.Kind == field.Time {
			t.times[i] = listTime(o, f.Column)
		}
		for k, record := range records {
			t.rows[k] = append(t.rows[k], present.Exact(f, record, 2000))
		}
	}
	for _, c := range c.SheetOf(names...) {
		sheet := sheetColumn{head: strings.ToUpper(c.Head)}
		for _, record := range records {
			sheet.cells = append(sheet.cells, c.Cell(record))
		}
		t.sheet = append(t.sheet, sheet)
	}
	return t
}

// treeJSON is an operation with its children as received.
type treeJSON = sent[map[string]any]

func operationTreeCommand(r *root) *cobra.Command {
	return printsList(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string,
		out many[treeJSON, api.Operation]) error {
		tree, err := endpoint.Do(ctx, a.Client, endpoint.GetOperationTree, args[0])
		if err != nil {
			return err
		}
		if tree.Repeated > 0 && r.output != "json" {
			r.say("The service's answer repeats an operation further down %s; it is listed once here, and -o json shows where.",
				format.Plural(tree.Repeated, "time", "times"))
		}
		if tree.Unread > 0 && r.output != "json" {
			r.say("%s in the service's answer could not be read; -o json shows it as received.",
				format.Plural(tree.Unread, "child", "children"))
		}
		var all []api.Operation
		var levels []string
		for i, op := range slices.Backward(tree.Ancestors) {
			all, levels = append(all, op), append(levels, strconv.Itoa(-i-1))
		}
		all, levels = append(all, tree.Parent), append(levels, "0")
		for _, c := range tree.Children {
			all, levels = append(all, c.Operation), append(levels, strconv.Itoa(c.Depth))
		}
		t := operationTable(r.options(ctx, a), all)
		t.extend("LEVEL", levels, nil)
		return out.print(treeJSON{tree.Raw}, all, t)
	})
}

func operationTable(o present.Options, ops []api.Operation) *table {
	return fieldTable(o, field.Operations, ops, "id", "status", "type", "payment", "amount", "customer", "destination",
		"updated")
}
