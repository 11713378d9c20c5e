package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
)

// auditFiles are the inputs of an offline verification.
type auditFiles struct {
	logs, checkpoints, keys, against []string
}

func auditVerifyCommand(r *root) *cobra.Command {
	var in auditFiles
	cmd := &cobra.Command{Long: "Checks the trail in the store against its checkpoints. --against also compares it with " +
		"a checkpoint of\n" +
		"opdeck audit checkpoint that was kept elsewhere; more may follow as FILE, and - is standard\n" +
		"input.\n\n" +
		"With --file (an export, or several one after the other) it checks a copy anywhere: no config, no\n" +
		"store, no network. --pub is the public key that opdeck audit checkpoint prints, kept apart from the\n" +
		"copy; --checkpoints is a checkpoint file or a folder of them.\n\n" +
		"Exit 0: intact. 1: changed, or not proven to be complete. 2: older than a checkpoint of --against, or another\n" +
		"trail; or it could not be read."}
	report := also[audit.Report](r, cmd, "")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 && len(in.against) == 0 {
			return usage("FILE goes with --against; an export is checked with --file")
		}
		in.against = append(in.against, args...)
		switch {
		case len(in.logs) > 0:
			return unreadableInput(r, verifyFiles(r, in, report))
		case len(in.checkpoints)+len(in.keys) > 0:
			return usage("--checkpoints and --pub go with --file")
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

func verifyFiles(r *root, in auditFiles, report one[audit.Report]) error {
	keys, err := publicKeys(r, in.keys)
	if err != nil {
		return err
	}
	points, err := checkpointFiles(r, in.checkpoints)
	if err != nil {
		return err
	}
	notes, err := keptNotes(r, in.against)
	if err != nil {
		return err
	}
	copies, done, err := openAll(r, in.logs)
	defer done()
	if err != nil {
		return err
	}
	rep, err := audit.VerifyLog(copies, audit.VerifyInput{Checkpoints: points, Keys: keys, Against: notes})
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
