package cli

import (
	"context"
	"errors"
	"os"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/format"
)

// backupKeys are the flags that say how a snapshot is sealed.
type backupKeys struct {
	passphraseFile, identity string
	recipients               []string
}

// leastPassphrase is the least length of a passphrase that seals keys, in bytes.
const leastPassphrase = 12

func backupCommand(r *root) *cobra.Command {
	var keys backupKeys
	cmd := &cobra.Command{Long: "Writes one consistent snapshot of both stores, the keys, the checkpoints, the archive " +
		"of " +
		"the\n" +
		"audit trail and the jobs to a new file, while other processes use them. It holds no tokens. SQLite\n" +
		"checks both files and opdeck verifies the audit trail before the file gets its name.\n\n" +
		"The file is sealed (age): for [backup] recipients or --recipient, else with a passphrase from\n" +
		"--passphrase-file, [backup] passphrase_file, passphrase_command or passphrase_env, else typed. With\n" +
		"a passphrase opdeck reads the whole file back; for a recipient it compares the bytes, because only\n" +
		"the identity opens it.\n\n" +
		"Exit 1 if the snapshot was written and its audit trail is not intact, as the store's is not."}
	prints(r, cmd, func(ctx context.Context, a *app.App, args []string, out one[app.Backup]) error {
		key, err := sealing(r, ctx, a.Config.Backup, keys)
		if err != nil {
			return err
		}
		done, err := app.TakeBackup(ctx, a, args[0], key)
		if err != nil {
			return err
		}
		if err := out.report(done, "%s", snapshotTaken(done)); err != nil {
			return err
		}
		if n := done.Snapshot.Trail.Problems; n > 0 {
			r.say("The audit trail is not intact: %s; the first: %s. opdeck audit verify lists them.",
				format.Plural(n, "problem", "problems"), done.Snapshot.Trail.First)
			return exitError(api.Unavailable.Exit())
		}
		return nil
	})
	f := cmd.Flags()
	f.StringVar(&keys.passphraseFile, "passphrase-file", "", "file of mode 0600 with the passphrase")
	f.StringArrayVar(&keys.recipients, "recipient", nil, "public key of age (age1…) that may open the file; may be given "+
		"several times")
	return cmd
}

func snapshotTaken(b app.Backup) string {
	read := "read back and compared with its manifest"
	if !b.ReadBack {
		read = "its bytes read back; only the identity opens it"
	}
	m := b.Snapshot
	return "Snapshot " + m.ID + " of " + moment(m.Taken) + ": " + b.File + ", " + format.Size(b.Bytes) + ", " +
		format.Plural(len(m.Files), "file", "files") + ", " + format.Plural(int(m.Trail.Records), "audit record",
		"audit records") + "; " + read + "."
}

// sealing is the key for a new snapshot.
func sealing(r *root, ctx context.Context, conf config.Backup, keys backupKeys) (key app.BackupKey, err error) {
	names := keys.recipients
	if len(names) == 0 && keys.passphraseFile == "" {
		names = conf.Recipients
	}
	for _, name := range names {
		to, err := age.ParseX25519Recipient(name)
		if err != nil {
			return key, usage("--recipient takes a public key of age (age1…)")
		}
		key.Recipients = append(key.Recipients, to)
	}
	if len(names) > 0 {
		return key, nil
	}
	pass, typed, err := passphrase(r, ctx, conf, keys)
	if err != nil {
		return key, err
	}
	if len(pass.Reveal()) < leastPassphrase {
		return key, usage("the passphrase seals the keys: it needs at least %d characters", leastPassphrase)
	}
	if typed {
		again, err := r.env.Secret("Once more: ")
		if err != nil || again != pass.Reveal() {
			return key, usage("the passphrases differ; nothing was written")
		}
	}
	to, err := age.NewScryptRecipient(pass.Reveal())
	if err != nil {
		return key, err
	}
	from, err := age.NewScryptIdentity(pass.Reveal())
	return app.BackupKey{Recipients: []age.Recipient{to}, Identities: []age.Identity{from}}, err
}

// opening is the key for an existing snapshot.
func opening(r *root, ctx context.Context, conf config.Backup, keys backupKeys) (key app.BackupKey, err error) {
	if keys.identity != "" {
		f, err := os.Open(keys.identity)
		if err != nil {
			return key, usage("the identity %s cannot be read", keys.identity)
		}
		key.Identities, err = age.ParseIdentities(f)
		if err := errors.Join(err, f.Close()); err != nil {
			return key, usage("%s contains no identity as age-keygen writes it", keys.identity)
		}
		return key, nil
	}
	pass, _, err := passphrase(r, ctx, conf, keys)
	if err != nil {
		return key, err
	}
	from, err := age.NewScryptIdentity(pass.Reveal())
	if err == nil {
		key.Identities = append(key.Identities, from)
	}
	return key, err
}

// passphrase reads the passphrase of snapshots; typed: at the terminal.
func passphrase(r *root, ctx context.Context, conf config.Backup, keys backupKeys) (pass secret.Value, typed bool,
	err error) {
	if keys.passphraseFile != "" {
		pass, err = config.SecretFile(keys.passphraseFile)
	} else {
		pass, err = conf.Passphrase(ctx, r.env.Getenv)
	}
	if err != nil {
		return pass, false, &api.Error{Kind: api.Usage, Public: "The passphrase cannot be read: " + err.Error() + ".",
			Err: err}
	}
	if pass.Empty() && r.env.InTTY && r.env.Secret != nil {
		text, err := r.env.Secret("Passphrase of the snapshot (not shown): ")
		if err != nil {
			return pass, true, err
		}
		pass, typed = secret.New(strings.TrimRight(text, "\r\n")), true
	}
	if pass.Empty() {
		return pass, typed, &api.Error{Kind: api.Usage, Public: "A snapshot contains the keys, so it must be sealed, and " +
			"there is " +
			"no " +
			"passphrase.", Hint: "Use --passphrase-file, set [backup] passphrase_file, or put it in $OPDECK_BACKUP_PASSPHRASE."}
	}
	return pass, typed, nil
}
