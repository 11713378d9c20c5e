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
	cmd := &cobra.Command{Long: "Checks the trail in the store against its checkpoints. With --file (an export, or several one\n" +
		"after the other), --evidence (a pack) or --proof (of opdeck audit prove) it checks a copy\n" +
		"anywhere: no config, no store, no network. --pub is the public key that opdeck audit key prints,\n" +
		"kept apart from the copy; --checkpoints is a checkpoint file or a folder of them; --witness is\n" +
		"the key of a witness whose signatures shall be counted.\n\n" +
		"Exit 0: intact. 1: changed, or not to be proven whole. 2: it could not be read."}
	report, proven := also[audit.Report](r, cmd, ""), also[provenJSON](r, cmd, "--proof")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		switch kinds := in.kinds(); {
		case kinds > 1:
			return usage("--file, --evidence and --proof do not go together")
		case kinds == 1:
			return r.unreadable(r.verifyFiles(in, report, proven))
		case len(in.checkpoints)+len(in.keys)+len(in.witnesses) > 0:
			return usage("--checkpoints, --pub and --witness go with --file, --evidence or --proof")
		}
		return r.with(cmd.Context(), "command", func(ctx context.Context, a *app.App) error {
			rep, err := a.Audit.Verify(ctx)
			if err != nil {
				return r.unreadable(err)
			}
			return r.printReport(rep, report)
		})
	}
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

func (r *root) verifyFiles(in auditFiles, report one[audit.Report], proven one[provenJSON]) error {
	keys, err := keysOf(r, in.keys, func(line string) (ed25519.PublicKey, error) {
		key, _, err := audit.ReadVerifierKey(line)
		return key, err
	}, func(b []byte) ([]ed25519.PublicKey, error) { return audit.ReadPublic(bytes.NewReader(b)) })
	if err != nil {
		return err
	}
	witnesses, err := keysOf(r, in.witnesses, audit.ReadCosigner, readCosigners)
	if err != nil {
		return err
	}
	if in.proof != "" {
		return r.verifyProof(in.proof, keys, witnesses, proven)
	}
	points, err := r.checkpointFiles(in.checkpoints)
	if err != nil {
		return err
	}
	names := in.logs
	if in.evidence != "" {
		names = []string{in.evidence}
	}
	copies, done, err := r.openAll(names)
	defer done()
	if err != nil {
		return err
	}
	var rep audit.Report
	if in.evidence != "" {
		rep, err = audit.VerifyEvidence(copies, points, keys...)
	} else {
		rep, err = audit.VerifyLog(copies, audit.VerifyInput{Checkpoints: points, Keys: keys, Witnesses: witnesses})
	}
	if err != nil {
		return err
	}
	return r.printReport(rep, report)
}

// keysOf reads keys that stand on the command line, or in files that it names.
func keysOf[K any](r *root, names []string, line func(string) (K, error), file func([]byte) ([]K, error)) ([]K, error) {
	var keys []K
	for _, name := range names {
		if key, err := line(name); err == nil {
			keys = append(keys, key)
			continue
		}
		b, err := r.read(name, unbounded, "")
		if err != nil {
			return nil, err
		}
		more, err := file(b)
		if err != nil {
			return nil, err
		}
		keys = append(keys, more...)
	}
	return keys, nil
}

// readCosigners reads keys of witnesses, one a line.
func readCosigners(b []byte) (keys []*audit.Cosigner, err error) {
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
			b, err := r.read(name, unbounded, "")
			if err != nil {
				return nil, err
			}
			points = append(points, bytes.NewReader(b))
		}
	}
	return points, nil
}
