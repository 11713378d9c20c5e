package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/ui/draw"
)

func (r *root) operationGet() *cobra.Command {
	return forms(&cobra.Command{Use: "get", Long: "Reads operations. With - the ids come from standard input, one a line, and each is\n" +
		"answered as it comes (-o jsonl: one object a line, {\"item\": …} or {\"opid\": …, \"error\": …}).\n\n" +
		"The JSON is the service's own. A role that may not reveal account numbers gets them masked,\n" +
		"in JSON too; nothing else is changed.",
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			if len(args) == 1 && args[0] != "-" {
				sent := a.Now()
				op, err := a.Client.Operation(ctx, args[0])
				if err != nil {
					return a.Missing(ctx, args[0], err)
				}
				a.Learn(ctx, op, sent)
				if r.output == "table" || r.output == "csv" {
					return r.operationCard(op, a.Client.Phase(op))
				}
				return r.printItem(op)
			}
			return r.getMany(ctx, a, args)
		})}, "jsonl")
}

// getMany answers ids one by one; the first failure's kind is the exit code,
// after all of them were tried.
func (r *root) getMany(ctx context.Context, a *app.App, args []string) error {
	var first error
	one := func(opid string) error {
		op, err := a.Client.Operation(ctx, opid)
		err = a.Missing(ctx, opid, err)
		if err != nil && first == nil {
			first = err
		}
		if err != nil && ctx.Err() != nil {
			return err
		}
		return r.answerLine(opid, op, a.Client.Phase(op), err)
	}
	for _, arg := range args {
		if arg != "-" {
			if err := one(arg); err != nil {
				return err
			}
			continue
		}
		in := bufio.NewScanner(r.env.In)
		for in.Scan() {
			if id := strings.TrimSpace(in.Text()); id != "" {
				if err := one(id); err != nil {
					return err
				}
			}
		}
		if err := in.Err(); err != nil {
			return usage("standard input cannot be read: %s", err)
		}
	}
	return first
}

func (r *root) answerLine(opid string, op api.Operation, phase api.Phase, err error) error {
	e := api.AsError(err)
	switch {
	case err == nil && r.output == "table":
		return r.operationCard(op, phase)
	case err == nil:
		return r.printLine(map[string]any{"item": op})
	case r.output == "table":
		r.say("%s: %s", opid, e.Public)
		return nil
	}
	return r.printLine(failure{OPID: opid, Error: errorJSON{e.Kind, e.Public, e.Hint, e.RequestID}})
}

// operationCard prints every field of an operation, exactly.
func (r *root) operationCard(op api.Operation, phase api.Phase) error {
	t := &table{head: []string{"FIELD", "VALUE"}}
	t.add("opid", op.OPID.Line(64))
	t.add("status", op.Status.Line(40)+" ("+phase.Word()+")")
	t.add("type", op.Type.Line(40))
	t.add("payment type", op.PaymentType.Line(40))
	t.add("customer", op.Customer.Name.Line(100)+" "+op.Customer.CUID.Line(64))
	r.party(t, "source", op.Source)
	r.party(t, "destination", op.Destination)
	for _, m := range []struct {
		name string
		a    api.Amount
	}{{"source amount", op.SourceAmount}, {"destination amount", op.DestinationAmount}, {"commission", op.CommissionAmount}, {"balance", op.CurrentBalanceAmount}} {
		t.add(m.name, money(m.a.Sum))
	}
	if rate, exact, ok := api.Rate(op.SourceAmount.Sum, op.DestinationAmount.Sum); ok && op.SourceAmount.Sum.CurrencyCode != op.DestinationAmount.Sum.CurrencyCode {
		sign := "= "
		if !exact {
			sign = "≈ "
		}
		t.add("effective rate", sign+rate.Text('f'))
	}
	t.add("reference", op.Reference.Line(200))
	t.add("comment", op.Comment.Line(500))
	t.add("created", op.CreatedAt.Raw.Line(40))
	t.add("updated", op.UpdatedAt.Raw.Line(40))
	t.add("parent", yesNo(op.IsParent))
	t.add("visible", yesNo(op.IsVisible))
	for _, d := range op.Documents {
		lock := ""
		if d.IsLock {
			lock = " (locked)"
		}
		t.add("document", d.GUID.Line(64)+" "+d.FileName.Line(80)+lock)
	}
	for _, f := range op.Unknown() {
		t.add(safeText(f.Path), safeText(string(f.Value))+oddMark(f.Odd))
	}
	return t.write(r.env.Out)
}

// money is an amount, exact; one that cannot be trusted is shown as it came.
func money(m api.Money) string {
	s := draw.Money(m)
	if _, ok := draw.Amount(m); !ok && !m.Empty() {
		s += " (not to be trusted: " + oneLine(m.Raw()) + ")"
	}
	return s
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func (r *root) party(t *table, name string, p api.Party) {
	if a := p.Account; a != nil {
		t.add(name, strings.TrimSpace(a.Name.Line(100)+" "+r.number(a.Number)+" "+a.ID.Line(64)))
		t.add(name+" customer", a.Customer.Name.Line(100)+" "+a.Customer.CUID.Line(64))
	}
	if a := p.CounterpartyAccount; a != nil {
		t.add(name, strings.TrimSpace(a.Name.Line(100)+" "+r.number(a.Number)+" "+a.ID.Line(64)))
		t.add(name+" counterparty", strings.TrimSpace(a.Counterparty.Name.Line(100)+" "+a.Counterparty.BankName.Line(100)+" "+a.Counterparty.SUID.Line(64)))
	}
}

func (r *root) operationTree() *cobra.Command {
	return lists(&cobra.Command{Use: "tree", RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
		tree, err := a.Client.OperationTree(ctx, args[0])
		if err != nil {
			return err
		}
		if r.output == "json" {
			return r.printJSON(json.RawMessage(tree.Raw))
		}
		if tree.Unread > 0 {
			r.say("%s in the service's answer could not be read; -o json shows it as it came.", draw.Plural(tree.Unread, "child", "children"))
		}
		all, levels := []api.Operation{tree.Parent}, []string{"0"}
		for _, c := range tree.Children {
			all, levels = append(all, c.Operation), append(levels, strconv.Itoa(c.Depth))
		}
		t := operationTable(all)
		t.head = append(t.head, "LEVEL")
		for i := range t.rows {
			t.rows[i] = append(t.rows[i], levels[i])
		}
		return r.list(t, nil, toAny(all))
	})})
}

func operationTable(ops []api.Operation) *table {
	t := &table{head: []string{"OPID", "STATUS", "TYPE", "PAYMENT", "AMOUNT", "CUSTOMER", "TO", "UPDATED"}, right: map[int]bool{4: true}}
	for _, o := range ops {
		t.add(o.OPID.Line(64), o.Status.Line(20), o.Type.Line(20), o.PaymentType.Line(20), money(o.SourceAmount.Sum),
			o.Customer.Name.Line(40), o.Destination.Name().Line(40), o.UpdatedAt.Raw.Line(30))
	}
	return t
}
