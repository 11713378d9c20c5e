package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/api/untrusted"
	"opdeck/internal/app"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/note"
	"opdeck/internal/field"
	"opdeck/internal/format"
	"opdeck/internal/format/csvcell"
	"opdeck/internal/present"
)

// answerJSON is an operation as received, or why it could not be read; opid is set for an error.
type answerJSON struct {
	OPID  string         `json:"opid,omitempty"`
	Item  *api.Operation `json:"item,omitempty"`
	Error *errorJSON     `json:"error,omitempty"`
}

func operationGetCommand(r *root) *cobra.Command {
	cmd := forms(&cobra.Command{Long: "Reads operations. With - the ids come from standard input, one a line, and each " +
		"is answered as it comes (-o jsonl: one object a line, {\"item\": …} or {\"opid\": …, \"error\": …}).\n\n" +
		"The JSON is the service's own with account numbers, personal data and secrets masked; nothing else is changed. " +
		"--reveal prints them, for a role that may, and the audit trail records it."}, "jsonl")
	out := also[answerJSON, answerJSON](r, cmd, "")
	r.printed[cmd][0].many = true
	cmd.RunE = r.do(func(ctx context.Context, a *app.App, args []string) error {
		if len(args) > 1 || args[0] == "-" {
			return getMany(r, ctx, a, args)
		}
		op, err := operationOf(ctx, a, args[0])
		if err != nil {
			return err
		}
		a.Hooks().Join(ctx, op)
		return out(card(answerJSON{Item: &op}, present.Operation(r.options(ctx, a), op, a.Client.Phase(op))...))
	})
	return cmd
}

// getMany reads all ids one by one; the exit code is that of the first failure.
func getMany(r *root, ctx context.Context, a *app.App, args []string) error {
	var first error
	failed, all := 0, 0
	answer := func(ctx context.Context, opid string) error {
		op, err := operationOf(ctx, a, opid)
		if all++; err != nil {
			failed++
		}
		if first = cmp.Or(first, err); err != nil && ctx.Err() != nil {
			return err
		}
		switch e := api.AsError(err); {
		case err != nil && r.output == "table":
			r.say("%s: %s", opid, e.Public)
			return nil
		case err != nil:
			return r.encode(r.env.Out, answerJSON{OPID: opid, Error: errorOf(e)}, false)
		case r.output != "table":
			return r.encode(r.env.Out, answerJSON{Item: &op}, false)
		}
		return show(r, card(answerJSON{}, present.Operation(r.options(ctx, a), op, a.Client.Phase(op))...))
	}
	for _, arg := range args {
		if arg != "-" {
			if err := answer(ctx, arg); err != nil {
				return err
			}
			continue
		}
		ids := bufio.NewScanner(r.env.In)
		for ids.Scan() {
			id := r.pasted(ids.Text())
			if id == "" {
				continue
			}
			seen, err := r.revealing(ctx, a, id)
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
	if first == nil || r.output != "table" {
		return first
	}
	return &api.Error{Kind: api.KindOf(first), // each was said
		Public: fmt.Sprintf("%d of %s could not be read.", failed, format.Plural(all, "operation", "operations"))}
}

// fieldTable is a table of records with these fields of their catalogue.
func fieldTable[T any](o present.Options, c *field.Catalogue[T], records []T, names ...string) *table {
	return listed(o, present.Columns(c, names...), records)
}

// treeJSON is an operation with its children as received.
type treeJSON = sent[map[string]any]

func operationTreeCommand(r *root) *cobra.Command {
	type tree = view[treeJSON, api.Operation]
	return prints(r, lists(&cobra.Command{}), func(ctx context.Context, a *app.App, args []string) (tree, error) {
		t, err := endpoint.Do(ctx, a.Client, endpoint.GetOperationTree, args[0])
		if t.Repeated > 0 && r.output != "json" {
			r.say("The service's answer repeats an operation further down %s; it is listed once here, and -o json shows where.",
				format.Plural(t.Repeated, "time", "times"))
		}
		if t.Unread > 0 && r.output != "json" {
			r.say("%s in the service's answer could not be read; -o json shows it as received.",
				format.Plural(t.Unread, "child", "children"))
		}
		var all []api.Operation
		levels := map[untrusted.Text]int64{t.Parent.OPID: 0}
		for i, op := range slices.Backward(t.Ancestors) {
			all, levels[op.OPID] = append(all, op), int64(-i-1)
		}
		all = append(all, t.Parent)
		for _, c := range t.Children {
			all, levels[c.OPID] = append(all, c.Operation), int64(c.Depth)
		}
		columns := append(present.Columns(field.Operations, operationColumns...),
			present.NumberColumn("level", field.Layout{}, func(op api.Operation) int64 { return levels[op.OPID] }))
		return list(treeJSON{t.Raw}, all, listed(r.options(ctx, a), columns, all)), err
	})
}

func operationTable(o present.Options, ops []api.Operation) *table {
	return fieldTable(o, field.Operations, ops, operationColumns...)
}

// operationColumns are those of lists of operations.
var operationColumns = []string{"id", "status", "type", "payment", "amount", "customer", "destination", "updated"}

// allValues bounds the changes that a command prints with values.
const allValues = 1000

// happened is one entry of an operation's timeline.
type happened struct {
	At      time.Time    `json:"at"`
	Kind    string       `json:"kind"`   // "state", "event", "note", or "gone": the service no longer had it
	Source  string       `json:"source"` // list, read, webhook, note
	Status  string       `json:"status"`
	HookID  string       `json:"hook_id,omitempty"`
	Trust   string       `json:"trust,omitempty"` // of an event: verified, unverified, …
	Changes []changeJSON `json:"changes,omitempty"`
	Note    *note.Note   `json:"note,omitempty"`
}

type changeJSON struct {
	Path   string `json:"path"`
	Before string `json:"before"`
	After  string `json:"after"`
	By     string `json:"by,omitempty"` // who changed this document through opdeck
}

func operationHistoryCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Merges the states that were read, who changed documents, the webhooks that came, and " +
		"colleagues' notes, oldest first; \"gone\" marks when the service no longer had it. opdeck reads an operation " +
		"once if the index does not hold it yet. Names come from the audit trail if your role may read it."}
	return prints(r, lists(cmd), func(ctx context.Context, a *app.App, args []string) (listOf[happened], error) {
		states, err := a.Index.History(ctx, args[0])
		var unread error
		if errors.Is(err, index.ErrNone) || err == nil && len(states) == 0 {
			states, err = nil, nil
			if _, unread = endpoint.Do(ctx, a.Client, endpoint.GetOperation, args[0]); unread == nil {
				states, err = a.Index.History(ctx, args[0])
			}
		}
		if err != nil {
			return listOf[happened]{}, err
		}
		all, err := timelineOf(ctx, a, args[0], states)
		switch {
		case err == nil && unread != nil && len(all) == 0:
			err = unread
		case err == nil && unread != nil:
			r.say("It could not be read: %s The rest comes from webhooks.", asError(unread).Public)
		}
		columns := present.Named(present.MomentColumns(allValues), "at", "what", "from", "status", "changes")
		return items(mapped(all, happenedAt), listed(r.options(ctx, a), columns, all)), err
	})
}

// timelineOf is the timeline of an operation, as on its history screen.
func timelineOf(ctx context.Context, a *app.App, opid string, states []index.State) ([]present.Moment, error) {
	hooks, err := a.Hooks().Of(ctx, opid)
	if err != nil {
		return nil, err
	}
	var cuid string
	if len(states) > 0 {
		cuid = string(states[len(states)-1].Op.Customer.CUID)
	}
	notes, err := a.Notes.OnOperation(ctx, opid, cuid)
	if err != nil {
		return nil, err
	}
	line := present.Timeline(states, hooks, nil, notes)
	if !present.DocumentsChanged(line) {
		return line, nil
	}
	writes, _ := a.Trail().DocumentWrites(ctx, opid) // no names if the trail cannot be read: opdeck audit list says why
	return present.Timeline(states, hooks, writes, notes), nil
}

// happenedAt converts an entry to JSON.
func happenedAt(m present.Moment) happened {
	out := happened{At: m.At.UTC(), Kind: string(m.Kind), Source: m.From, Status: string(m.Status),
		HookID: m.Webhook.Key, Trust: m.Webhook.Trust}
	if m.Kind == present.NoteMoment {
		out.Note = &m.Note
	}
	for _, c := range m.Changes {
		out.Changes = append(out.Changes, changeJSON{c.Path, string(c.Before), string(c.After), m.By(c)})
	}
	return out
}

func operationReportCommand(r *root) *cobra.Command {
	var q api.ReportQuery
	cmd := &cobra.Command{Long: "Saves the report that the service itself makes of its operations, a workbook (.xlsx), " +
		"to a new file (mode 0600). Nothing is overwritten, and an interrupted report leaves no file. FILE may be -, " +
		"standard output. The service makes it of one page of the operations: --page and --limit. opdeck does not look " +
		"into it, so nothing in it is masked: a role that may not see account numbers is refused. The export is recorded."}
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
		"each group and currency, the largest group first (days, weeks and months: the newest first). Sums are exact. " +
		"--sort orders the lines by one of their columns; by sum it ranks them within each currency. An amount that is " +
		"not known is counted as unusable and left out of the sums.\n\n" +
		"--by takes one or two of " + strings.Join(byNames(), ", ") + "; the second divides each group of the " +
		"first. Days, weeks (from Monday) and months are those of the creation, in UTC. The counterparty is the side that " +
		"receives."})
	cmd.Flags().Lookup("sort").Usage = "a column, such as sum, operations or customer_name; - before it reverses the order"
	cmd.Flags().StringVar(&by, "by", "", "one or two groupings, with a comma between them: status,customer")
	type totals = view[totalsJSON, index.TotalsLine]
	return prints(r, lists(cmd), func(ctx context.Context, a *app.App, _ []string) (out totals, err error) {
		groupings := []index.By{}
		for b := range strings.SplitSeq(by, ",") {
			if b = strings.TrimSpace(b); b != "" {
				groupings = append(groupings, index.By(b))
			}
		}
		if index.CheckBy(groupings) != nil {
			return out, usage("--by takes one or two different ones of %s", strings.Join(byNames(), ", "))
		}
		order, err := index.ParseTotalsSort(c.sort, groupings)
		if err != nil {
			return out, usage("--sort: totals have no column %q; use one of %s", strings.TrimPrefix(c.sort, "-"),
				strings.Join(index.TotalsHead(groupings), ", "))
		}
		c.sort = "" // of the list
		f, _, err := c.parse(r, a)
		if err != nil {
			return out, err
		}
		if err := c.freshen(r, ctx, a, f); err != nil {
			return out, err
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
			return out, err
		}
		sayWhatIsMissing(r, a, fresh)
		unknown, err := notKnown(r, ctx, a, f)
		l := totalsJSON{AsOf: stamp(fresh.AsOf), Complete: fresh.Complete, Operations: all.Count, NotKnown: unknown,
			By: groupings, Items: all.Lines(groupings, order)}
		return list(l, l.Items, listed(r.options(ctx, a), totalsColumns(l), l.Items).none("No operations to total.")).
			says("%s, of the index: %s", format.Plural(int(all.Count), "operation", "operations"),
				fresh.Says(a.Now(), r.zone)), err
	})
}

func byNames() []string {
	var out []string
	for _, b := range index.Groupings() {
		out = append(out, string(b))
	}
	return out
}

// totalsColumns are those of TotalsHead.
func totalsColumns(l totalsJSON) []present.Column[index.TotalsLine] {
	head := index.TotalsHead(l.By)
	out := make([]present.Column[index.TotalsLine], len(head))
	for i, name := range head {
		c := present.Column[index.TotalsLine]{Name: name, CSV: []field.SheetColumn[index.TotalsLine]{{Head: name,
			Cell: func(l index.TotalsLine) csvcell.Cell { return l.Row()[i] }}},
			Cell: func(_ present.Options, l index.TotalsLine) present.Cell {
				return present.Cell{Text: untrusted.Text(l.Cells()[i]).Line(2000)}
			}}
		switch last := len(head) - 1; {
		case i == last:
			c.Align, c.ID = field.Decimal, true
		case i == last-1: // the count of unusable amounts
			c.Align, c.HidePriority = field.Right, 2
		case i == last-2:
			c.Align = field.Right
		case i > 0 && name == head[i-1]+"_name": // a name tells a group apart, too
			c.HidePriority = 1
		}
		out[i] = c
	}
	return out
}

// wholeIDs reads the ids in arguments as they were pasted, and replaces abbreviated operation ids by complete ones.
// Commands with many ids resolve each with operationOf.
func wholeIDs(r *root, ctx context.Context, a *app.App, args []string) ([]string, error) {
	out := append([]string(nil), args...)
	for i, arg := range r.row.Args {
		if !strings.HasSuffix(arg.Name, "ID") || i >= len(out) {
			continue
		}
		if arg.Many {
			for k := i; k < len(out); k++ {
				out[k] = r.pasted(out[k])
			}
			continue
		}
		out[i] = r.pasted(out[i])
		var err error
		switch odd := api.Unusual(out[i]); {
		case arg.Name == "OPID":
			out[i], err = a.Index.Resolve(ctx, out[i], a.Now())
		case odd != "":
			err = usage("no id of the service has %s: %q", odd, out[i])
		case arg.Name == "DOCID" && i > 0 && r.row.Args[i-1].Name == "OPID":
			out[i], err = attachedID(ctx, a, out[i-1], out[i])
		case arg.Name == "CUID":
			_, err = customerKnown(ctx, a, out[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// attachedID completes the beginning of the id of a document by those that the index knows at the operation; an id
// that is none of them stays as it is.
func attachedID(ctx context.Context, a *app.App, opid, typed string) (string, error) {
	rec, _ := a.Index.Get(ctx, opid) // without the index the id goes as it is
	var ids []string
	for _, d := range rec.Op.Documents {
		switch id := string(d.GUID); {
		case id == typed:
			return typed, nil
		case strings.HasPrefix(strings.ToLower(id), strings.ToLower(typed)):
			ids = append(ids, id)
		}
	}
	if len(ids) > 1 {
		return "", &api.Error{Kind: api.Usage, Public: fmt.Sprintf("Several documents of the operation begin with %q: %s.",
			typed, oneLine(strings.Join(ids, ", ")))}
	}
	return append(ids, typed)[0], nil
}

// customerKnown reports whether the index knows a customer with that id. The beginning of a known id is an error.
func customerKnown(ctx context.Context, a *app.App, cuid string) (known bool, err error) {
	ids, _ := a.Index.Values(ctx, field.OpCUID, cuid, 2) // without the index the service answers
	if len(ids) == 0 || ids[0] == cuid {
		return len(ids) > 0, nil
	}
	whole := "ids of several known customers."
	if len(ids) == 1 {
		whole = "id of a known customer: " + oneLine(ids[0])
	}
	return false, &api.Error{Kind: api.NotFound, Public: fmt.Sprintf("%q is only the beginning of the %s", cuid, whole),
		Hint: "Give the complete id."}
}

// pasted is the id in a text, and says so if there is more in it.
func (r *root) pasted(text string) string {
	id := api.ReadID(text)
	if id != strings.TrimSpace(text) {
		r.say("Read the id %s in: %s", untrusted.Text(id).Line(64), untrusted.Text(text).Line(200))
	}
	return id
}

// operationOf reads the operation with an id or a prefix of it.
func operationOf(ctx context.Context, a *app.App, typed string) (api.Operation, error) {
	id, err := a.Index.Resolve(ctx, typed, a.Now())
	if err != nil {
		return api.Operation{}, err
	}
	return endpoint.Do(ctx, a.Client, endpoint.GetOperation, id)
}
