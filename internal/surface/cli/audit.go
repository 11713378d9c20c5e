package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/evidence"
	"opdeck/internal/act/remedy"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/auditfilter"
	"opdeck/internal/domain/followup"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/present"
)

func auditListCommand(r *root) *cobra.Command {
	var q audit.Query
	var phase, from, until, operation, customer, expr string
	cmd := &cobra.Command{Long: "Lists the records of the trail, newest first. --from and --until take a time as " +
		"filters do: 2026-01-31, 2026-01-31T12:00Z, monday, \"26 Nov\", or how long ago (2h, 30m)."}
	type records = view[recordsJSON, recordJSON]
	prints(r, lists(cmd), func(ctx context.Context, a *app.App, _ []string) (out records, err error) {
		if q.From, q.Until, err = r.between(from, until, a.Now()); err != nil {
			return out, err
		}
		q.Phase = audit.Phase(phase)
		if !slices.Contains([]audit.Phase{"", audit.PhaseIntent, audit.PhaseOutcome, audit.PhaseNote}, q.Phase) {
			return out, usage("--phase must be intent, outcome or note, not %q", phase)
		}
		if q.Limit < 1 || q.Limit > 1000 {
			return out, usage("--limit must be from 1 to 1000")
		}
		if operation != "" {
			q.Object, q.ID = "operation", operation
		}
		if customer != "" {
			q.Object, q.ID = "customer", customer
		}
		f, err := auditfilter.Parse(expr)
		if err != nil {
			return out, usage("%s", err)
		}
		found, err := auditfilter.Find(ctx, a.Audit.Reader, q, f.In(r.zone), a.Now())
		all := mapped(found.Entries, recordOf)
		out = list(recordsJSON{all, found.Next}, all, listed(r.options(ctx, a), present.AuditListed, found.Entries))
		if found.Next != 0 {
			out = out.says("For older records: --before %d", found.Next)
		}
		return out, err
	})
	f := cmd.Flags()
	f.StringVar(&expr, "filter", "", "only what matches this filter (docs/filter.md)")
	f.StringVar(&q.Actor, "person", "", "records of this person")
	f.StringVar(&operation, "operation", "", "of this operation")
	f.StringVar(&customer, "customer", "", "of this customer")
	f.StringVar(&q.Object, "object", "", "kind of object: operation, customer, session, …")
	f.StringVar(&q.ID, "id", "", "an object, or an item of it")
	f.StringVar(&q.Event, "event", "", "name of the event; a * at the end matches any rest")
	f.StringVar(&phase, "phase", "", "intent, outcome or note")
	f.StringVar(&from, "from", "", "records written at this time or later")
	f.StringVar(&until, "until", "", "before")
	f.Int64Var(&q.Before, "before", 0, "records with a smaller number: the next page")
	f.IntVar(&q.Limit, "limit", 100, "records, 1 to 1000")
	return cmd
}

// between reads --from and --until. Times in the wrong order are an error: nothing is between them.
func (r *root) between(from, until string, now time.Time) (first, end time.Time, err error) {
	if first, err = r.when("from", from, now); err == nil {
		end, err = r.when("until", until, now)
	}
	if err == nil && !first.IsZero() && !end.IsZero() && !first.Before(end) {
		err = usage("--until %s is not after --from %s; exchange the two", oneLine(until), oneLine(from))
	}
	return first, end, err
}

// when reads the time that a flag names, as filters read it; "" is the zero time.
func (r *root) when(flag, s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	t, err := filter.ReadTime(s, now, r.zone)
	if err != nil {
		err = usage("--%s: %s", flag, err)
	}
	return t, err
}

// recordsJSON is a page of records; next is the value of --before for the next page, 0 for none.
type recordsJSON struct {
	Items []recordJSON `json:"items"`
	Next  int64        `json:"next"`
}

// recordJSON is a record unchanged, with its hash; of a damaged one, which may not be JSON, what can be read.
type recordJSON struct {
	Damaged bool               `json:"damaged"`
	Hash    string             `json:"hash"`
	Record  sent[audit.Record] `json:"record"`
	Why     string             `json:"why,omitempty"` // what is damaged
}

func recordOf(e audit.Entry) recordJSON {
	out := recordJSON{Damaged: e.Damaged, Hash: e.Hash, Record: sent[audit.Record]{e.Raw}}
	if !e.Damaged {
		return out
	}
	b, err := json.Marshal(e.Record)
	if err != nil {
		b = []byte("null")
	}
	out.Record, out.Why = sent[audit.Record]{b}, e.Why
	return out
}

func auditExportCommand(r *root) *cobra.Command {
	var from, to int64
	cmd := &cobra.Command{Long: "Writes the records as JSON lines with their hashes. Nothing is overwritten; without " +
		"FILE it goes to standard output. The export is itself recorded.",
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			if from < 0 || to < 0 || to > 0 && to < from {
				return usage("--from and --to are record numbers, and --to must not be below --from")
			}
			return r.toFile(args, func(w io.Writer) error {
				n, err := a.Audit.Reader.Export(ctx, w, from, to)
				if err == nil {
					r.say("%d records.", n)
				}
				return err
			})
		})}
	f := cmd.Flags()
	f.Int64Var(&from, "from", 0, "number of the first record")
	f.Int64Var(&to, "to", 0, "number of the last record (0: the end)")
	return cmd
}

// checkpointJSON is a newly signed checkpoint; note is the text to keep.
type checkpointJSON struct {
	Log         string    `json:"log"`
	Records     int64     `json:"records"`
	At          time.Time `json:"at"`
	Note        string    `json:"note"`
	VerifierKey string    `json:"verifier_key"` // this host's public key
}

func auditCheckpointCommand(r *root) *cobra.Command {
	cmd := prints(r, &cobra.Command{Long: "Signs the end of the trail and prints the checkpoint, a signed note " +
		"(c2sp.org/tlog-checkpoint): how many records there are, when, and hashes. Keep it where the owner of the store " +
		"cannot write: opdeck audit verify --against FILE then detects a trail that was rolled back or replaced. This " +
		"host's public key goes to standard error, as the line that [audit] keys of other hosts take.\n\n" +
		"--new-key creates a key where there is none: on a new host of a shared store, or when the key is lost for good. " +
		"The trail records it. Keep the checkpoints of a lost key and its line in [audit] keys."},
		func(ctx context.Context, a *app.App, _ []string) (out record[checkpointJSON], err error) {
			s, err := a.Audit.Prover.NewestNote(ctx)
			if err != nil {
				return out, err
			}
			key := a.Audit.Prover.VerifierKey(s.Chain)
			out = value(checkpointJSON{s.Chain, s.N, s.At, s.Note, key}).says("The key of this host: %s", key)
			out.lines = s.Note
			return out, nil
		})
	cmd.Flags().BoolVar(&r.newKey, "new-key", false, "create the key of this host, where the trail began without it")
	return cmd
}

// settledJSON is an act settled by a person.
type settledJSON struct {
	Note string `json:"note"`
	Ref  string `json:"ref"`
}

func auditSettleCommand(r *root) *cobra.Command {
	var note string
	cmd := prints(r, &cobra.Command{}, func(ctx context.Context, a *app.App, args []string) (record[settledJSON], error) {
		if note == "" {
			return record[settledJSON]{}, usage("--note is required: write what you found")
		}
		return value(settledJSON{note, args[0]}).says("Settled. The trail keeps the outcome as unknown, with your note."),
			a.Trail().Settle(ctx, api.ActorOf(ctx), args[0], note)
	})
	cmd.Flags().StringVar(&note, "note", "", "what you found")
	return cmd
}

// verified is a verification; its exit code is the verdict's.
func verified(rep audit.Report) record[audit.Report] {
	o, out := present.Options{Sign: textSign}, value(rep)
	verdict, _, found := present.Verified(o, rep)
	out.lines = verdict.Text + "\n"
	for _, c := range rep.Against {
		sign := present.SignBad
		switch c.Result {
		case audit.Continues:
			sign = present.SignGood
		case audit.Restored:
			sign = present.SignWarn
		}
		out.lines += textSign(sign) + " " + oneLine(fmt.Sprintf("%s: a checkpoint for %d records of %s: %s", c.File,
			c.Records, moment(c.At), c.Text)) + "\n"
	}
	for _, f := range found {
		if len(f.Lines) > 0 {
			out.lines += f.Title + ":\n"
		}
		for _, l := range f.Lines {
			out.lines += "  " + l.Line(o) + "\n"
		}
	}
	if code := rep.Exit(); code != audit.ExitIntact {
		out.exit = exitError(code)
		if len(rep.Problems) > 0 || len(rep.Unknown) == 0 {
			out = out.says("Do not change the store or the checkpoint files, and tell the administrator.")
		}
	}
	return out
}

func auditUnsettledCommand(r *root) *cobra.Command {
	var settle bool
	cmd := &cobra.Command{Long: "Lists the writes that were sent and have no answer of their own: until [writes] " +
		"late_after they may still arrive, also where a read shows the wanted state (seen). It also lists those of the " +
		"last day that no read showed in time. Consoles and opdeck serve keep checking them; --settle checks now. With " +
		"--settle the exit code is 7 while one may still arrive, else 0."}
	prints(r, lists(cmd), func(ctx context.Context, a *app.App, _ []string) (out listOf[unsettledJSON], err error) {
		var looked error
		if settle {
			looked = a.Follow.Look(ctx, true)
		}
		pending, err := a.Follow.Pending(ctx)
		open := false
		for _, row := range pending {
			evidence.Note(ctx, row.Why())
			open = open || row.State != followup.NotSeen
		}
		out = items(mapped(pending, unsettledOf), listed(r.options(ctx, a), present.UnsettledListed, pending).
			none("No writes with an unknown outcome."))
		if len(pending) > 0 {
			out = out.says("Where no read can prove the outcome: check the object, then run opdeck audit settle REF --note " +
				"\"what you found\".")
		}
		if out.exit = looked; settle && looked == nil && open {
			out.exit = exitError(api.UnknownOutcome.Exit())
		}
		return out, err
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

func auditVerifyCommand(r *root) *cobra.Command {
	var against []string
	cmd := &cobra.Command{Long: "Checks the trail in the store against its checkpoints. --against also compares it " +
		"with a checkpoint of opdeck audit checkpoint that was kept elsewhere; more may follow as FILE, and - is standard " +
		"input.\n\n" +
		"Exit 0: intact. 1: changed, or not proven to be complete. 2: older than a checkpoint of --against, or another " +
		"trail; or it could not be read."}
	report := also[audit.Report, audit.Report](r, cmd, "")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && len(against) == 0 {
			return usage("FILE goes with --against")
		}
		against := append(against, args...)
		return r.with(cmd.Context(), "command", func(ctx context.Context, a *app.App) error {
			notes, err := keptNotes(r, against)
			if err != nil {
				return unreadableInput(r, err)
			}
			rep, err := a.Audit.Prover.VerifyAgainst(ctx, notes)
			if err != nil {
				return unreadableInput(r, err)
			}
			if len(notes) == 0 { // a note of another trail says nothing about this one
				app.NoteAudit(ctx, a, rep)
			}
			return report(verified(rep))
		})
	}
	cmd.Flags().StringArrayVar(&against, "against", nil, "a kept checkpoint to compare with; may be given several times")
	return cmd
}

// unreadableInput is the error of an impossible verification: exit 2, except for missing permission.
func unreadableInput(r *root, err error) error {
	var code exitError
	if err == nil || errors.As(err, &code) || api.KindOf(err) == api.Refused {
		return err
	}
	e := *asError(err)
	if e.Kind.Exit() == audit.ExitUnreadable {
		return &e
	}
	r.printError(&e)
	return exitError(audit.ExitUnreadable)
}

// keptNotes reads kept notes; an unreadable one is an error.
func keptNotes(r *root, names []string) ([]audit.KeptNote, error) {
	var notes []audit.KeptNote
	for _, name := range names {
		b, err := r.read(name, maxNote, "Too large for a checkpoint of opdeck audit checkpoint: "+name+".")
		if err != nil {
			return nil, err
		}
		notes = append(notes, audit.KeptNote{File: name, Text: b})
	}
	return notes, nil
}

// maxNote bounds a note's file, in bytes.
const maxNote = 16 << 10
