package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"os"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/audit"
)

// auditFiles are what an offline verification reads.
type auditFiles struct {
	logs, checkpoints, keys []string
	evidence                string
}

func (r *root) auditVerify() *cobra.Command {
	var in auditFiles
	cmd := &cobra.Command{Use: "verify", Short: "Check that the trail is whole and unchanged", Args: cobra.NoArgs,
		Long: "Checks the trail in the store against its checkpoints. With --file (an export, or several one\n" +
			"after the other) or --evidence (a pack) it checks a copy anywhere: no config, no store, no\n" +
			"network. --pub is the public key that opdeck audit key prints, kept apart from the copy.\n\n" +
			"Exit 0: intact. 1: changed, or not to be proven whole. 2: it could not be read.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(in.logs) > 0 || in.evidence != "" {
				return r.unreadable(r.verifyFiles(in))
			}
			if len(in.checkpoints)+len(in.keys) > 0 {
				return usage("--checkpoints and --pub go with --file or --evidence")
			}
			return r.with(cmd.Context(), "command", func(ctx context.Context, a *app.App) error {
				rep, err := a.Audit.Verify(ctx)
				if err != nil {
					return r.unreadable(err)
				}
				return r.printReport(rep)
			})
		}}
	f := cmd.Flags()
	f.StringArrayVar(&in.logs, "file", nil, "an export (- is standard input); may be given several times, in order")
	f.StringArrayVar(&in.checkpoints, "checkpoints", nil, "a checkpoint file; may be given several times")
	f.StringArrayVar(&in.keys, "pub", nil, "public keys in PEM form; may be given several times")
	f.StringVar(&in.evidence, "evidence", "", "an evidence pack instead of an export")
	return cmd
}

// unreadable is the error of a verification that could not be made: exit 2,
// except for a person who may not.
func (r *root) unreadable(err error) error {
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

func (r *root) verifyFiles(in auditFiles) error {
	var keys []ed25519.PublicKey
	for _, name := range in.keys {
		b, err := r.readFile(name)
		if err != nil {
			return err
		}
		more, err := audit.ReadPublic(bytes.NewReader(b))
		if err != nil {
			return err
		}
		keys = append(keys, more...)
	}
	if in.evidence != "" {
		b, err := r.readFile(in.evidence)
		if err != nil {
			return err
		}
		rep, err := audit.VerifyEvidence(bytes.NewReader(b), nil, keys...)
		if err != nil {
			return err
		}
		return r.printReport(rep)
	}
	var points []io.Reader
	for _, name := range in.checkpoints {
		b, err := r.readFile(name)
		if err != nil {
			return err
		}
		points = append(points, bytes.NewReader(b))
	}
	logs, done, err := r.openAll(in.logs)
	defer done()
	if err != nil {
		return err
	}
	rep, err := audit.Verify(logs, points, keys...)
	if err != nil {
		return err
	}
	return r.printReport(rep)
}

func (r *root) readFile(name string) ([]byte, error) {
	if name == "-" {
		return io.ReadAll(r.env.In)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, &api.Error{Kind: api.Usage, Public: "The file cannot be read: " + name + ".", Err: err}
	}
	return b, nil
}

// openAll reads files one after the other as one; done closes them.
func (r *root) openAll(names []string) (all io.Reader, done func(), err error) {
	var files []io.Reader
	var closers []io.Closer
	done = func() {
		for _, c := range closers {
			_ = c.Close()
		}
	}
	for _, name := range names {
		if name == "-" {
			files = append(files, r.env.In)
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return nil, done, &api.Error{Kind: api.Usage, Public: "The file cannot be read: " + name + ".", Err: err}
		}
		files, closers = append(files, f), append(closers, f)
	}
	return io.MultiReader(files...), done, nil
}

// toFile gives fn standard output, or a new file with mode 0600 that goes away
// again when fn fails.
func (r *root) toFile(args []string, fn func(io.Writer) error) error {
	if len(args) == 0 || args[0] == "-" {
		return fn(r.env.Out)
	}
	f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return &api.Error{Kind: api.Usage, Public: "The file cannot be made, or is there already: " + args[0] + ".", Err: err}
	}
	err = errors.Join(fn(f), f.Close())
	if err != nil {
		_ = os.Remove(args[0])
	}
	return err
}
