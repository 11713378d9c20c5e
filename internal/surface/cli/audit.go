package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/auditfilter"
)

var auditCommands = commands{
	"audit.list": (*root).auditList, "audit.verify": (*root).auditVerify, "audit.export": (*root).auditExport,
	"audit.prove": (*root).auditProve, "audit.key": (*root).auditKey, "audit.witness": (*root).auditWitness,
	"audit.unsettled": (*root).auditUnsettled, "audit.settle": (*root).auditSettle,
}

func (r *root) auditList() *cobra.Command {
	var q audit.Query
	var phase, from, until, operation, customer, expr string
	cmd := lists(&cobra.Command{Use: "list", Long: "Lists the records of the trail, newest first. --from and --until take a moment\n" +
		"(2026-01-31, 2026-01-31T12:00:00Z) or how long ago (2h, 30m).",
		RunE: r.do(func(ctx context.Context, a *app.App, _ []string) error {
			var err error
			if q.From, err = when(from, a.Now()); err != nil {
				return err
			}
			if q.Until, err = when(until, a.Now()); err != nil {
				return err
			}
			if q.Phase, err = phaseOf(phase); err != nil {
				return err
			}
			if q.Limit < 1 || q.Limit > 1000 {
				return usage("--limit must be from 1 to 1000")
			}
			if operation != "" {
				q.Object, q.ID = "operation", operation
			}
			if customer != "" {
				q.Object, q.ID = "customer", customer
			}
			f, err := auditfilter.Parse(expr)
			if err != nil {
				return usage("%s", err)
			}
			found, err := auditfilter.Find(ctx, a.Audit, q, f, a.Now())
			if err != nil {
				return err
			}
			return r.printRecords(audit.Page{Entries: found.Entries, Next: found.Next})
		})})
	f := cmd.Flags()
	f.StringVar(&expr, "filter", "", "only what passes this filter (docs/filter.md)")
	f.StringVar(&q.Actor, "person", "", "whose records")
	f.StringVar(&operation, "operation", "", "of this operation")
	f.StringVar(&customer, "customer", "", "of this customer")
	f.StringVar(&q.Object, "object", "", "kind of object: operation, customer, session, …")
	f.StringVar(&q.ID, "id", "", "an object, or an item of it")
	f.StringVar(&q.Event, "event", "", "name of the event; with * at its end the beginning of names")
	f.StringVar(&phase, "phase", "", "intent, outcome or note")
	f.StringVar(&from, "from", "", "at or after")
	f.StringVar(&until, "until", "", "before")
	f.Int64Var(&q.Before, "before", 0, "records with a smaller number: the next page")
	f.IntVar(&q.Limit, "limit", 100, "records, 1 to 1000")
	return cmd
}

func phaseOf(s string) (audit.Phase, error) {
	switch p := audit.Phase(s); p {
	case "", audit.PhaseIntent, audit.PhaseOutcome, audit.PhaseNote:
		return p, nil
	}
	return "", usage("--phase must be intent, outcome or note, not %q", s)
}

// when reads a moment or how long ago it was; "" is the zero time.
func when(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	if d, err := time.ParseDuration(s); err == nil && d > 0 {
		return now.Add(-d), nil
	}
	return time.Time{}, usage("%q is no moment; write 2026-01-31, 2026-01-31T12:00:00Z, or 2h for two hours ago", s)
}

func (r *root) printRecords(page audit.Page) error {
	t := &table{head: []string{"SEQ", "AT", "WHO", "VIA", "EVENT", "PHASE", "OUTCOME", "OBJECT", "ID", "ITEM", "WHAT"}, right: map[int]bool{0: true}}
	raws := make([]json.RawMessage, 0, len(page.Entries))
	for _, e := range page.Entries {
		what := said(e.Summary)
		for _, s := range []string{e.Reason, e.Error, e.Detail} {
			if s = said(s); s != "" && what != "" {
				what += "; " + s
			} else {
				what += s
			}
		}
		if e.Damaged {
			what = strings.TrimSuffix("DAMAGED: "+e.Why+"; "+what, "; ")
		}
		t.add(strconv.FormatInt(e.Seq, 10), e.At.UTC().Format("2006-01-02 15:04:05.000"), said(e.Actor.Who()), said(e.Via), said(e.Event), string(e.Phase),
			string(e.Outcome), said(e.Object), said(e.ID), said(e.Item), what)
		raws = append(raws, recordJSON(e))
	}
	if page.Next != 0 && r.output == "table" {
		defer r.say("There are older ones: --before %d", page.Next)
	}
	return r.list(t, map[string]any{"next": page.Next, "items": raws}, toAny(raws))
}

// said is a text of a record as one safe line.
func said(s string) string { return audit.Unquote(s).Line(300) }

// recordJSON is a record with its hash; one that is damaged may be no JSON.
func recordJSON(e audit.Entry) json.RawMessage {
	v := map[string]any{"hash": e.Hash, "damaged": e.Damaged, "record": json.RawMessage(e.Raw)}
	if e.Damaged {
		v["record"], v["why"] = e.Record, e.Why
	}
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}

func (r *root) auditExport() *cobra.Command {
	var from, to int64
	var operation, customer string
	cmd := &cobra.Command{Use: "export", Long: "Writes the records as JSON lines with their hashes, or with --operation or --customer the\n" +
		"evidence pack of that object. Nothing is overwritten; without FILE it goes to standard output.\n" +
		"The export is itself recorded. opdeck audit verify checks it anywhere.",
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			if operation != "" && customer != "" {
				return usage("--operation and --customer do not go together")
			}
			if from < 0 || to < 0 || to > 0 && to < from {
				return usage("--from and --to are numbers of records, and --to is not below --from")
			}
			if err := api.Need(ctx, "export the audit trail", api.MayAuditOut); err != nil {
				return err
			}
			return r.toFile(args, func(w io.Writer) error {
				switch {
				case operation != "":
					return a.Audit.Extract(ctx, w, "operation", operation)
				case customer != "":
					return a.Audit.Extract(ctx, w, "customer", customer)
				}
				n, err := a.Audit.Export(ctx, w, from, to)
				if err == nil {
					r.say("%d records.", n)
				}
				return err
			})
		})}
	f := cmd.Flags()
	f.Int64Var(&from, "from", 0, "number of the first record")
	f.Int64Var(&to, "to", 0, "number of the last record (0: the end)")
	f.StringVar(&operation, "operation", "", "evidence about this operation")
	f.StringVar(&customer, "customer", "", "evidence about this customer")
	return cmd
}

func (r *root) auditKey() *cobra.Command {
	return &cobra.Command{Use: "key", Long: "Prints the public key twice: as PEM, and as tools for signed notes read it (one line that names\n" +
		"this log; a witness and [audit] keys of other hosts take that line). --pub takes either.",
		RunE: r.do(func(ctx context.Context, a *app.App, _ []string) error {
			key, _, err := audit.OpenKey(a.AuditKeyFile())
			if err != nil {
				return &api.Error{Kind: api.BadConfig, Public: "The audit key cannot be read: " + err.Error(), Err: err}
			}
			file, err := a.Audit.CheckpointFile(ctx)
			if err != nil {
				return err
			}
			chain, err := a.Audit.Chain(ctx)
			if err != nil {
				return err
			}
			line := ""
			if chain != "" {
				line = key.VerifierKey(chain)
			}
			if r.env.App != nil {
				file = "" // over SSH: where files are is the host's business
			}
			if r.output == "json" {
				return r.printJSON(map[string]string{"fingerprint": audit.Fingerprint(key.Public()), "public_key": key.PublicPEM(), "verifier_key": line, "checkpoints": file})
			}
			if file != "" {
				r.say("Checkpoints: %s", file)
			}
			if line == "" {
				r.say("The trail is empty: the line for signed notes names the log and comes with its first record.")
			} else {
				line += "\n"
			}
			_, err = io.WriteString(r.env.Out, line+key.PublicPEM())
			return err
		})}
}

func (r *root) auditSettle() *cobra.Command {
	var note string
	cmd := &cobra.Command{Use: "settle", RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
		if note == "" {
			return usage("--note is needed: what did you find?")
		}
		if err := api.Need(ctx, "settle an act", api.MayAudit); err != nil {
			return err
		}
		if err := a.Trail().Settle(ctx, api.ActorOf(ctx), args[0], note); err != nil {
			return err
		}
		r.say("Settled. Its outcome stays unknown in the trail, with your note.")
		if r.output == "json" {
			return r.printJSON(map[string]string{"ref": args[0], "note": note})
		}
		return nil
	})}
	cmd.Flags().StringVar(&note, "note", "", "what you found")
	return cmd
}

// printReport prints a verification; its exit code is the verdict's.
func (r *root) printReport(rep audit.Report) error {
	if r.output == "json" {
		if err := r.printJSON(rep); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(r.env.Out, oneLine(rep.Summary()))
		for _, p := range rep.Problems {
			at := ""
			switch {
			case p.Seq > 0 && p.Line > 0:
				at = fmt.Sprintf("record %d, line %d: ", p.Seq, p.Line)
			case p.Seq > 0:
				at = fmt.Sprintf("record %d: ", p.Seq)
			}
			fmt.Fprintf(r.env.Out, "✗ %s%s: %s\n", at, p.Kind, oneLine(p.Text))
		}
		for _, d := range rep.Unsettled {
			fmt.Fprintf(r.env.Out, "! record %d has no outcome: %s %s %s by %s (%s)\n", d.Seq, said(d.Event), said(d.Object), said(d.ID), said(d.Actor), d.UID)
		}
		for _, w := range rep.Warnings {
			fmt.Fprintln(r.env.Out, "! "+oneLine(w))
		}
		for _, w := range rep.Witnesses {
			if w.Checkpoints > 0 {
				fmt.Fprintf(r.env.Out, "witness %s has signed %d checkpoints, the newest for %d records at %s\n", oneLine(w.Name), w.Checkpoints, w.Covered, w.At.Format("2006-01-02 15:04:05 UTC"))
			}
		}
		for _, c := range rep.ClockSteps {
			fmt.Fprintf(r.env.Out, "! before record %d the clock went back by %s\n", c.Seq, c.Back)
		}
	}
	if code := rep.Exit(); code != audit.ExitIntact {
		return exitError(code)
	}
	return nil
}
