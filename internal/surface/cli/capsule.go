package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/capsule"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/present"
)

var capsuleCommands = commands{act.CapsuleShow: capsuleShowCommand}

func capsuleCommand(r *root) *cobra.Command {
	var since time.Duration
	var log string
	cmd := &cobra.Command{Long: "Writes what another person needs to examine an incident to one new file,\n" +
		"mode 0600: the verdict with its evidence, versions, settings, the history of the session, budgets, answers of\n" +
		"calls, rejected deliveries, the sync, the end of the audit trail, writes with an unknown\n" +
		"outcome, and lines of the log file. It sends no call. Texts of the service, names, paths, accounts, amounts and " +
		"secrets\n" +
		"stay out; ids, hosts, processes and people are digests under a key that is kept nowhere.\n" +
		"opdeck capsule show prints it.",
		RunE: r.do(func(ctx context.Context, a *app.App, args []string) error {
			if since <= 0 || since > 30*24*time.Hour {
				return usage("--since must be above zero and at most 720h")
			}
			from := a.Now().Add(-since)
			e := app.CollectEvidence(ctx, a, from)
			if log != "" {
				lines, err := logLines(log, from)
				if err != nil {
					return err
				}
				for _, l := range lines {
					e.Records = append(e.Records, capsule.Record{Kind: "log", Data: l})
				}
			}
			note := api.Event{Name: audit.EventCapsule, Object: "capsule", Detail: "of the last " + since.String()}
			if err := a.Audit.Note(ctx, api.ActorOf(ctx), note); err != nil && e.Verdict.Of(verdict.PartStore) == verdict.Good {
				return &api.Error{Kind: api.Unavailable, Public: "The audit trail cannot be written.", Err: err}
			}
			return r.toFile(args, func(w io.Writer) error { return capsule.Write(w, capsuleSummary(e, from), e.Records) })
		})}
	cmd.Flags().DurationVar(&since, "since", 2*time.Hour, "how far back")
	cmd.Flags().StringVar(&log, "log", "", "also the lines of this log of opdeck (--log-file)")
	return cmd
}

func logLines(path string, since time.Time) ([]capsule.LogLine, error) {
	f, err := os.Open(path)
	if err == nil {
		defer f.Close()
		var lines []capsule.LogLine
		if lines, err = capsule.Log(f, since); err == nil {
			return lines, nil
		}
	}
	return nil, &api.Error{Kind: api.Usage, Public: "The log cannot be read: " + path + ".", Err: err}
}

// capsuleSummary is the part of a capsule that people read first.
func capsuleSummary(e app.Evidence, since time.Time) string {
	var b strings.Builder
	o := present.Options{Now: e.Verdict.At, Zone: time.UTC, Sign: textSign}
	fmt.Fprintf(&b, "opdeck capsule: %s to %s\n\n%s\n", moment(since), moment(e.Verdict.At),
		present.VerdictLine(o, e.Verdict).Line(o))
	for _, s := range present.Findings(o, e.Verdict) {
		b.WriteString("\n")
		for _, f := range s.Facts {
			fmt.Fprintf(&b, "  %s: %s\n", f.Label, f.Value)
		}
	}
	b.WriteString("\n")
	for _, p := range verdict.Parts() {
		fmt.Fprintf(&b, "  %s: %s\n", p, e.Verdict.Of(p))
	}
	counts := map[string]int{}
	var kinds []string
	for _, one := range e.Records {
		if counts[one.Kind]++; counts[one.Kind] == 1 {
			kinds = append(kinds, one.Kind)
		}
	}
	b.WriteString("\nRecords:\n")
	for _, kind := range kinds {
		fmt.Fprintf(&b, "  %s %d\n", kind, counts[kind])
	}
	return b.String()
}

// capsuleJSON is a capsule of another person. A record's data are as they were written.
type capsuleJSON struct {
	Summary []string     `json:"summary"`
	Records []recordLine `json:"records"`
}

type recordLine struct {
	Kind string         `json:"kind"`
	Data map[string]any `json:"data"`
}

// Bounds of what is printed of a summary, which comes from another person.
const (
	summaryLines = 500
	summaryWidth = 1000
)

func capsuleShowCommand(r *root) *cobra.Command {
	return alone(r, &cobra.Command{Long: "Prints the summary of a capsule; -o json also prints its records. The file\n" +
		"may come from anyone: opdeck limits how much it reads, uses no name in it as a path, and cleans its text."},
		func(_ context.Context, args []string, out one[capsuleJSON]) error {
			c, err := readCapsule(args[0])
			if err != nil {
				return err
			}
			v := capsuleJSON{Summary: untrusted.Text(c.Summary).Block(summaryLines, summaryWidth)}
			for _, one := range c.Records {
				data, _ := one.Data.(map[string]any)
				v.Records = append(v.Records, recordLine{one.Kind, data})
			}
			return out.text(v, strings.Join(v.Summary, "\n")+"\n")
		})
}

func readCapsule(path string) (capsule.Capsule, error) {
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return capsule.Capsule{}, &api.Error{Kind: api.Usage, Public: "The file cannot be read: " + path + ".", Err: err}
	}
	f, err := os.Open(path)
	if err != nil {
		return capsule.Capsule{}, &api.Error{Kind: api.Usage, Public: "The file cannot be read: " + path + ".", Err: err}
	}
	defer f.Close()
	c, err := capsule.Read(f)
	if err != nil {
		return c, &api.Error{Kind: api.Usage, Public: "The file is not a capsule, or is larger than one may be: " + path +
			".",
			Err: err}
	}
	return c, nil
}
