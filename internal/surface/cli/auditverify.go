package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
)

// auditFiles are the inputs of an offline verification.
type auditFiles struct {
	logs, checkpoints, keys, against []string
	evidence, proof                  string
}

func auditVerifyCommand(r *root) *cobra.Command {
	var in auditFiles
	cmd := &cobra.Command{Long: "Checks the trail in the store against its checkpoints. --against also compares it with " +
		"a checkpoint of\n" +
		"opdeck audit checkpoint that was kept elsewhere; more may follow as FILE, and - is standard\n" +
		"input.\n\n" +
		"With --file (an export, or several one after the other), --evidence (a pack) or --proof (of opdeck\n" +
		"audit prove) it checks a copy anywhere: no config, no store, no network. --pub is the public key\n" +
		"that opdeck audit key prints, kept apart from the copy; --checkpoints is a checkpoint file or a\n" +
		"folder of them.\n\n" +
		"Exit 0: intact. 1: changed, or not proven to be complete. 2: older than a checkpoint of --against, or another\n" +
		"trail; or it could not be read."}
	report, proven := also[audit.Report](r, cmd, ""), also[provenJSON](r, cmd, "--proof")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && len(in.against) == 0 {
			return usage("FILE goes with --against; an export is checked with --file")
		}
		in.against = append(in.against, args...)
		switch kinds := in.kinds(); {
		case kinds > 1:
			return usage("--file, --evidence and --proof cannot be combined")
		case len(in.against) > 0 && in.evidence+in.proof != "":
			return usage("--against goes with the stored trail or with --file")
		case kinds == 1:
			return unreadableInput(r, verifyFiles(r, in, report, proven))
		case len(in.checkpoints)+len(in.keys) > 0:
			return usage("--checkpoints and --pub go with --file, --evidence or --proof")
		}
		return r.with(cmd.Context(), "command", func(ctx context.Context, a *app.App) error {
			notes, err := keptNotes(r, in.against)
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
			return printReport(r, rep, report)
		})
	}
	f := cmd.Flags()
	f.StringArrayVar(&in.logs, "file", nil, "an export (- is standard input); may be given several times, in order")
	f.StringArrayVar(&in.against, "against", nil, "a kept checkpoint to compare with; may be given several times")
	f.StringArrayVar(&in.checkpoints, "checkpoints", nil,
		"a checkpoint file or a folder of them; may be given several times")
	f.StringArrayVar(&in.keys, "pub", nil, "file of public keys, or a key as one line; may be given several times")
	f.StringVar(&in.evidence, "evidence", "", "an evidence pack instead of an export")
	f.StringVar(&in.proof, "proof", "", "a proof instead of an export")
	return cmd
}

// kinds is the number of kinds of input.
func (in auditFiles) kinds() int {
	n := 0
	for _, given := range []bool{len(in.logs) > 0, in.evidence != "", in.proof != ""} {
		if given {
			n++
		}
	}
	return n
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

func verifyFiles(r *root, in auditFiles, report one[audit.Report], proven one[provenJSON]) error {
	keys, err := publicKeys(r, in.keys)
	if err != nil {
		return err
	}
	if in.proof != "" {
		return verifyProof(r, in.proof, keys, proven)
	}
	points, err := checkpointFiles(r, in.checkpoints)
	if err != nil {
		return err
	}
	notes, err := keptNotes(r, in.against)
	if err != nil {
		return err
	}
	names := in.logs
	if in.evidence != "" {
		names = []string{in.evidence}
	}
	copies, done, err := openAll(r, names)
	defer done()
	if err != nil {
		return err
	}
	var rep audit.Report
	if in.evidence != "" {
		rep, err = audit.VerifyEvidence(copies, points, keys...)
	} else {
		rep, err = audit.VerifyLog(copies, audit.VerifyInput{Checkpoints: points, Keys: keys, Against: notes})
	}
	if err != nil {
		return err
	}
	return printReport(r, rep, report)
}

// publicKeys reads keys from arguments, or from files named by them.
func publicKeys(r *root, names []string) ([]ed25519.PublicKey, error) {
	var keys []ed25519.PublicKey
	for _, name := range names {
		if key, _, err := audit.ReadVerifierKey(name); err == nil {
			keys = append(keys, key)
			continue
		}
		b, err := r.read(name, unbounded, "")
		if err != nil {
			return nil, err
		}
		more, err := audit.ReadPublic(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	return keys, nil
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

// checkpointFiles opens checkpoint files, and those in folders.
func checkpointFiles(r *root, names []string) ([]io.Reader, error) {
	var points []io.Reader
	for _, name := range names {
		list := []string{name}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			if list, err = filepath.Glob(filepath.Join(name, "audit-*.jsonl")); err != nil || len(list) == 0 {
				return nil, &api.Error{Kind: api.Usage, Public: "There is no checkpoint file in " + name + "."}
			}
		}
		for _, name := range list {
			b, err := r.read(name, unbounded, "")
			if err != nil {
				return nil, err
			}
			points = append(points, bytes.NewReader(b))
		}
	}
	return points, nil
}

func auditProveCommand(r *root) *cobra.Command {
	var from int64
	cmd := &cobra.Command{Long: "Writes the record with the hashes that lead from it to the newest checkpoint (RFC " +
		"6962), about\n" +
		"two kilobytes. opdeck audit verify --proof FILE --pub KEY checks it anywhere. The first line is the\n" +
		"record; the rest is a c2sp.org/tlog-proof, which other tools check too. With --consistency M it\n" +
		"proves instead that the checkpoint for SEQ records (0: the newest) continues that for M records.\n" +
		"Nothing is overwritten; without FILE it goes to standard output. The proof is itself recorded."}
	prints(r, cmd, func(ctx context.Context, a *app.App, args []string, out one[audit.ProofJSON]) error {
		seq, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || seq < 0 || from < 0 || seq == 0 && from == 0 {
			return usage("a record number is required; opdeck audit list shows it")
		}
		var p audit.Proof
		if from > 0 {
			p, err = a.Audit.Prover.ProveConsistency(ctx, from, seq)
		} else {
			p, err = a.Audit.Prover.Prove(ctx, seq)
		}
		if err != nil {
			return err
		}
		return r.toFile(args[1:], func(w io.Writer) error { return out.to(w).text(p.JSON(), string(p.Text())) })
	})
	cmd.Flags().Int64Var(&from, "consistency", 0, "number of records of an older checkpoint that SEQ continues")
	return cmd
}

// provenJSON is the result of a proof, or why it is invalid.
type provenJSON struct {
	Proof  *audit.Proven `json:"proof,omitempty"`
	Proven bool          `json:"proven"`
	Why    string        `json:"why,omitempty"`
}

// verifyProof verifies a proof and prints the result.
func verifyProof(r *root, name string, keys []ed25519.PublicKey, out one[provenJSON]) error {
	if len(keys) == 0 {
		return usage("a proof cannot be checked without --pub")
	}
	b, err := r.read(name, unbounded, "")
	if err != nil {
		return err
	}
	shown, err := audit.VerifyProof(b, keys)
	if err != nil {
		if err := out.data(provenJSON{Why: err.Error()}, "NOT proven: "+err.Error()); err != nil {
			return err
		}
		return exitError(audit.ExitBroken)
	}
	line := fmt.Sprintf("Record %d is in trail %s, by its checkpoint for %d records of %s, signed by key %s.", shown.Seq,
		oneLine(shown.Log), shown.Records, moment(shown.At), shown.Key)
	if shown.From > 0 {
		line = fmt.Sprintf("The checkpoint for %d records of %s, signed by key %s, continues that for %d records.",
			shown.Records, moment(shown.At), shown.Key, shown.From)
	}
	if len(shown.Record) > 0 {
		line += "\n" + oneLine(string(shown.Record))
	}
	return out.text(provenJSON{Proof: &shown, Proven: true}, line+"\n")
}
