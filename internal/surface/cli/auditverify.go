package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/domain/audit"
)

// auditFiles are what an offline verification reads.
type auditFiles struct {
	logs, checkpoints, keys, witnesses []string
	evidence, proof                    string
}

func (r *root) auditVerify() *cobra.Command {
	var in auditFiles
	cmd := &cobra.Command{Use: "verify", Long: "Checks the trail in the store against its checkpoints. With --file (an export, or several one\n" +
		"after the other), --evidence (a pack) or --proof (of opdeck audit prove) it checks a copy\n" +
		"anywhere: no config, no store, no network. --pub is the public key that opdeck audit key prints,\n" +
		"kept apart from the copy; --checkpoints is a checkpoint file or a folder of them; --witness is\n" +
		"the key of a witness whose signatures shall be counted.\n\n" +
		"Exit 0: intact. 1: changed, or not to be proven whole. 2: it could not be read.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch kinds := in.kinds(); {
			case kinds > 1:
				return usage("--file, --evidence and --proof do not go together")
			case kinds == 1:
				return r.unreadable(r.verifyFiles(in))
			case len(in.checkpoints)+len(in.keys)+len(in.witnesses) > 0:
				return usage("--checkpoints, --pub and --witness go with --file, --evidence or --proof")
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
	f.StringArrayVar(&in.checkpoints, "checkpoints", nil, "a checkpoint file or a folder of them; may be given several times")
	f.StringArrayVar(&in.keys, "pub", nil, "file of public keys, or a key as one line; may be given several times")
	f.StringArrayVar(&in.witnesses, "witness", nil, "key of a witness, or a file of such keys; may be given several times")
	f.StringVar(&in.evidence, "evidence", "", "an evidence pack instead of an export")
	f.StringVar(&in.proof, "proof", "", "a proof instead of an export")
	return cmd
}

// kinds is how many kinds of copies were given.
func (in auditFiles) kinds() int {
	n := 0
	for _, given := range []bool{len(in.logs) > 0, in.evidence != "", in.proof != ""} {
		if given {
			n++
		}
	}
	return n
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
	keys, err := r.publicKeys(in.keys)
	if err != nil {
		return err
	}
	witnesses, err := r.witnessKeys(in.witnesses)
	if err != nil {
		return err
	}
	points, err := r.checkpointFiles(in.checkpoints)
	if err != nil {
		return err
	}
	if in.proof != "" {
		return r.verifyProof(in.proof, keys, witnesses)
	}
	if in.evidence != "" {
		b, err := r.readFile(in.evidence)
		if err != nil {
			return err
		}
		rep, err := audit.VerifyEvidence(bytes.NewReader(b), points, keys...)
		if err != nil {
			return err
		}
		return r.printReport(rep)
	}
	logs, done, err := r.openAll(in.logs)
	defer done()
	if err != nil {
		return err
	}
	rep, err := audit.VerifyLog(logs, audit.VerifyInput{Checkpoints: points, Keys: keys, Witnesses: witnesses})
	if err != nil {
		return err
	}
	return r.printReport(rep)
}

// publicKeys reads files of keys, or keys that stand on the command line.
func (r *root) publicKeys(names []string) ([]ed25519.PublicKey, error) {
	var keys []ed25519.PublicKey
	for _, name := range names {
		if key, _, err := audit.ReadVerifierKey(name); err == nil {
			keys = append(keys, key)
			continue
		}
		b, err := r.readFile(name)
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

// witnessKeys reads keys of witnesses, from the command line or from files.
func (r *root) witnessKeys(names []string) ([]*audit.Cosigner, error) {
	var keys []*audit.Cosigner
	for _, name := range names {
		if key, err := audit.ReadCosigner(name); err == nil {
			keys = append(keys, key)
			continue
		}
		b, err := r.readFile(name)
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(b)) {
			if line = strings.TrimSpace(line); line == "" {
				continue
			}
			key, err := audit.ReadCosigner(line)
			if err != nil {
				return nil, err
			}
			keys = append(keys, key)
		}
	}
	return keys, nil
}

// checkpointFiles reads checkpoint files, and those in folders.
func (r *root) checkpointFiles(names []string) ([]io.Reader, error) {
	var points []io.Reader
	for _, name := range names {
		list := []string{name}
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			if list, err = filepath.Glob(filepath.Join(name, "audit-*.jsonl")); err != nil || len(list) == 0 {
				return nil, &api.Error{Kind: api.Usage, Public: "There is no checkpoint file in " + name + "."}
			}
		}
		for _, name := range list {
			b, err := r.readFile(name)
			if err != nil {
				return nil, err
			}
			points = append(points, bytes.NewReader(b))
		}
	}
	return points, nil
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
