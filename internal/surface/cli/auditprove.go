package cli

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/witness"
)

func (r *root) auditProve() *cobra.Command {
	var from int64
	cmd := &cobra.Command{Long: "Writes the record with the hashes that lead from it to the newest checkpoint (RFC 6962), about\n" +
		"two kilobytes: opdeck audit verify --proof FILE --pub KEY checks it anywhere, and so do tools for\n" +
		"c2sp.org/tlog-proof: the first line is the record, the rest is such a proof. With --consistency M it\n" +
		"proves instead that the checkpoint for SEQ records (0: the newest) continues that for M records.\n" +
		"Nothing is overwritten; without FILE it goes to standard output. The proof is itself recorded."}
	prints(r, cmd, func(ctx context.Context, a *app.App, args []string, out one[audit.ProofJSON]) error {
		seq, err := strconv.ParseInt(args[0], 10, 64)
		if err != nil || seq < 0 || from < 0 || seq == 0 && from == 0 {
			return usage("the number of a record is needed, as opdeck audit list shows it")
		}
		var p audit.Proof
		if from > 0 {
			p, err = a.Audit.ProveConsistency(ctx, from, seq)
		} else {
			p, err = a.Audit.Prove(ctx, seq)
		}
		if err != nil {
			return err
		}
		return r.toFile(args[1:], func(w io.Writer) error { return out.to(w).text(p.JSON(), string(p.Text())) })
	})
	cmd.Flags().Int64Var(&from, "consistency", 0, "number of records of an older checkpoint that SEQ continues")
	return cmd
}

// provenJSON is what a proof shows, or why it shows nothing.
type provenJSON struct {
	Proof  *audit.Proven `json:"proof,omitempty"`
	Proven bool          `json:"proven"`
	Why    string        `json:"why,omitempty"`
}

// verifyProof checks a proof and says what it shows.
func (r *root) verifyProof(name string, keys []ed25519.PublicKey, witnesses []*audit.Cosigner, out one[provenJSON]) error {
	if len(keys) == 0 {
		return usage("a proof cannot be checked without --pub")
	}
	b, err := r.read(name, unbounded, "")
	if err != nil {
		return err
	}
	shown, err := audit.VerifyProof(b, keys, witnesses)
	if err != nil {
		if err := out.data(provenJSON{Why: err.Error()}, "NOT proven: "+err.Error()); err != nil {
			return err
		}
		return exitError(audit.ExitBroken)
	}
	line := fmt.Sprintf("Record %d stands in log %s, by its checkpoint for %d records of %s, signed by key %s.", shown.Seq, oneLine(shown.Log), shown.Records, moment(shown.At), shown.Key)
	if shown.From > 0 {
		line = fmt.Sprintf("The checkpoint for %d records of %s, signed by key %s, continues that for %d records.", shown.Records, moment(shown.At), shown.Key, shown.From)
	}
	for _, name := range shown.Cosigned {
		line += "\nWitness " + oneLine(name) + " has signed that checkpoint."
	}
	if len(shown.Record) > 0 {
		line += "\n" + oneLine(string(shown.Record))
	}
	return out.text(provenJSON{Proof: &shown, Proven: true}, line+"\n")
}

func (r *root) auditWitness() *cobra.Command {
	var opt witness.Options
	var listen, cert, key string
	cmd := &cobra.Command{Long: "Runs a witness (c2sp.org/tlog-witness) until it is interrupted: it signs the checkpoints that\n" +
		"opdeck submits, as long as each continues the one before. Run it on another host, under another\n" +
		"account than opdeck. --log is the line that opdeck audit key prints there; the line that this\n" +
		"command prints goes into [audit] witnesses there. Its folder holds its key and what it saw:\n" +
		"keep it, or the witness forgets.",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if len(opt.Logs) == 0 {
				return usage("--log is needed: the line of opdeck audit key that begins with opdeck.audit/")
			}
			if (cert == "") != (key == "") {
				return usage("--tls-cert and --tls-key go together")
			}
			opt.Dir = cmp.Or(opt.Dir, filepath.Join(config.StateDir(r.state, r.env.Getenv), "witness"))
			opt.Name = cmp.Or(opt.Name, app.HostName())
			w, err := witness.Open(opt)
			if err != nil {
				return &api.Error{Kind: api.BadConfig, Public: "The witness cannot be opened: " + err.Error(), Err: err}
			}
			ln, err := new(net.ListenConfig).Listen(cmd.Context(), "tcp", listen)
			if err != nil {
				return &api.Error{Kind: api.Unavailable, Public: "The address cannot be listened at: " + listen + ".", Err: err}
			}
			scheme := "http"
			if cert != "" {
				if ln, err = witness.TLS(ln, cert, key); err != nil {
					return &api.Error{Kind: api.BadConfig, Public: "The certificate cannot be used: " + err.Error(), Err: err}
				}
				scheme = "https"
			}
			fmt.Fprintf(r.env.Out, "url %s://%s\nkey %s\n", scheme, ln.Addr(), w.Key())
			return w.Serve(cmd.Context(), ln)
		}}
	f := cmd.Flags()
	f.StringVar(&listen, "listen", "127.0.0.1:8790", "address to listen at")
	f.StringVar(&opt.Dir, "dir", "", "folder for its key and what it saw (default: witness in the state folder)")
	f.StringVar(&opt.Name, "name", "", "name in its signatures (default: this host's)")
	f.StringArrayVar(&opt.Logs, "log", nil, "key of a log; may be given several times")
	f.StringVar(&cert, "tls-cert", "", "certificate, to serve https")
	f.StringVar(&key, "tls-key", "", "its key")
	return cmd
}
