package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"filippo.io/age"
	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/api/secret"
	"opdeck/internal/act"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/audit"
	"opdeck/internal/format"
	"opdeck/internal/present"
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
	cmd := &cobra.Command{Long: "Writes one consistent snapshot of both stores, the keys, the checkpoints and the jobs " +
		"to a new file, while other processes use them. It holds no tokens. SQLite checks both files and opdeck verifies " +
		"the audit trail before the file gets its name.\n\n" +
		"The file is sealed (age): for [backup] recipients or --recipient, else with a passphrase from --passphrase-file, " +
		"[backup] passphrase_file or $OPDECK_BACKUP_PASSPHRASE, else typed. With a passphrase opdeck reads the whole file " +
		"back; for a recipient it compares the bytes, because only the identity opens it.\n\n" +
		"Exit 1 if the snapshot was written and its audit trail is not intact, as the store's is not."}
	prints(r, cmd, func(ctx context.Context, a *app.App, args []string) (out record[app.Backup], err error) {
		if err := app.Backable(a.Config); err != nil {
			return out, err
		}
		key, err := sealing(r, ctx, a.Config.Backup, keys)
		if err != nil {
			return out, err
		}
		done, err := app.TakeBackup(ctx, a, args[0], key)
		out = value(done).says("%s", snapshotTaken(done))
		if n := done.Snapshot.Trail.Problems; n > 0 {
			out.exit = exitError(api.Unavailable.Exit())
			out = out.says("The audit trail is not intact: %s; the first: %s. opdeck audit verify lists them.",
				format.Plural(n, "problem", "problems"), done.Snapshot.Trail.First)
		}
		return out, err
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
		pass, err = conf.Passphrase(r.env.Getenv)
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

func restoreCommand(r *root) *cobra.Command {
	var keys backupKeys
	var check bool
	var against []string
	cmd := &cobra.Command{Long: "Opens and verifies a snapshot of opdeck backup, asks, and replaces the store with it: " +
		"all of it or nothing, also if it is killed. No other process may use the store. The replaced files are kept " +
		"beside the new ones.\n\n" +
		"No token of the snapshot is used: the first call logs in, once. Writes with an unknown outcome and unfinished " +
		"replacements stay so, and requests for approval lapse. The audit trail records the restore with --reason; where " +
		"the context asks for a second person, the command without FILE records it after the approval.\n\n" +
		"Without FILE it replaces nothing and records a restore by other means (pg_restore, copied files): the trail is " +
		"then older than the checkpoints that were signed since, and opdeck signs nothing until the restore is recorded. " +
		"A trail that was changed or forked is refused. --against names checkpoints of opdeck audit checkpoint that are " +
		"newer than the trail: needed where the checkpoint files were restored too.\n\n" +
		"--check opens and verifies the file and changes nothing."}
	out := also[*app.Restoring, *app.Restoring](r, cmd, "")
	recorded := also[audit.Restore, audit.Restore](r, cmd, "without FILE")
	record := r.asks(func(ctx context.Context, a *app.App, _ []string) (asked, func(context.Context) error, error) {
		return recordsRestore(r, ctx, a, against, recorded)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if r.env.App != nil {
			return usage("restore is not a command of a server")
		}
		if len(args) == 0 && check {
			return usage("--check needs FILE")
		}
		if len(args) > 0 && len(against) > 0 {
			return usage("--against goes without FILE: it is for a restore by other means")
		}
		if len(args) == 0 {
			if strings.TrimSpace(r.reason) == "" {
				return usage("FILE is missing; to record a restore by other means, write --reason WHY")
			}
			r.row.Words = act.Restored.Words
			return record(cmd, args)
		}
		conf, err := app.BackupConfig(r.appOptions())
		if err != nil {
			return err
		}
		if !check && strings.TrimSpace(r.reason) == "" {
			return usage("--reason is required: write why a backup is restored")
		}
		if check {
			r.yes = true // nothing is asked
		}
		if err := r.askable(); err != nil {
			return err
		}
		return restore(r, cmd.Context(), args[0], conf, keys, check, out)
	}
	f := cmd.Flags()
	f.StringVar(&keys.passphraseFile, "passphrase-file", "", "file of mode 0600 with the passphrase")
	f.StringVar(&keys.identity, "identity", "", "file with the identity of age that opens the snapshot")
	f.StringVar(&r.reason, "reason", "", "why a backup is restored; the audit trail keeps it")
	f.BoolVar(&check, "check", false, "verify the snapshot and change nothing")
	f.StringArrayVar(&against, "against", nil,
		"without FILE: a kept checkpoint that is newer than the trail; may be given several times")
	return cmd
}

// recordsRestore records a restore that the trail shows, or that waited for a second person.
func recordsRestore(r *root, ctx context.Context, a *app.App, against []string,
	out func(record[audit.Restore]) error) (w asked, send func(context.Context) error, err error) {
	notes, err := keptNotes(r, against)
	if err != nil {
		return w, nil, err
	}
	shown, err := app.Restorable(ctx, a, notes)
	if err != nil {
		return w, nil, err
	}
	w.object.ID, err = a.Audit.Signer.Chain(ctx)
	w.facts = []present.Fact{{Label: "restore", Value: shown.Sentence()}, {Label: "reason", Value: r.reason}}
	return w, func(ctx context.Context) error {
		done, err := a.RecordRestore(ctx, notes)
		if err != nil {
			return err
		}
		return out(value(done).says("Recorded as record %d: %s.", done.Seq, done.Sentence()))
	}, err
}

// local is the context of the person at this terminal, for a command that does not open an App.
func local(r *root, ctx context.Context) func(config.Context) context.Context {
	return func(x config.Context) context.Context {
		who := r.env.Actor
		if who.Name == "" {
			who = app.LocalActor(x, "command")
		}
		return api.WithActor(ctx, who)
	}
}

func restore(r *root, ctx context.Context, file string, conf config.Backup, keys backupKeys, check bool,
	out func(record[*app.Restoring]) error) (err error) {
	key, err := opening(r, ctx, conf, keys)
	if err != nil {
		return err
	}
	ctx, snapshot, err := app.OpenBackup(ctx, r.appOptions(), file, key, !check, local(r, ctx))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	if check {
		v := value(snapshot).says("The snapshot is complete and unchanged.%s", factLines(snapshotFacts(snapshot)))
		if snapshot.Problems > 0 {
			v.exit = exitError(api.Unavailable.Exit())
		}
		return out(v)
	}
	facts := append(snapshotFacts(snapshot), replacedFacts(snapshot)...)
	if err := r.confirm(ctx, asked{object: act.Object{ID: snapshot.Snapshot.ID}, typed: snapshot.Snapshot.ID,
		facts: facts}); err != nil {
		return err
	}
	if err := snapshot.Apply(ctx); err != nil {
		return err
	}
	consent := api.Consent{Reason: r.reason}
	recordErr := snapshot.Record(api.WithConsent(ctx, consent))
	v := value(snapshot).says("Restored: snapshot %s of %s.%s", snapshot.Snapshot.ID, moment(snapshot.Snapshot.Taken),
		factLines(restoredFacts(snapshot)))
	if recordErr == nil {
		return out(v.says("Recorded as record %d: %s.", snapshot.Recorded.Seq, snapshot.Recorded.Sentence()))
	}
	if err := out(v); err != nil {
		return err
	}
	r.say("The store is restored, but the audit trail does not record it yet: opdeck restore --reason …")
	return recordErr
}

// factLines are facts below a sentence.
func factLines(facts []present.Fact) string {
	var b strings.Builder
	for _, f := range facts {
		b.WriteString("\n  " + f.Label + ": " + f.Value)
	}
	return b.String()
}

func migrateCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "A newer version of opdeck does not change the tables of an older version's store by " +
		"itself: commands that need the store say so and end with exit 1. This command updates the tables. With SQLite it " +
		"first copies both files, with names that hold before-migration; no other process may use the store. Save " +
		"PostgreSQL with pg_dump before, and stop every opdeck."}
	return alone(r, cmd, func(ctx context.Context, _ []string) (out record[app.Migration], err error) {
		if r.env.App != nil {
			return out, usage("migrate is not a command of a server")
		}
		ctx, needed, err := app.Older(ctx, r.appOptions(), local(r, ctx))
		switch {
		case err != nil:
			return out, err
		case !needed:
			return value(app.Migration{}).says("The store has the version of this program. Nothing was changed."), nil
		}
		if err := r.askable(); err != nil {
			return out, err
		}
		if err := r.confirm(ctx, asked{}); err != nil {
			return out, err
		}
		done, err := app.Migrate(ctx, r.appOptions())
		out = value(done).says("Updated: core tables to version %d, index tables to version %d.", done.Core, done.Bulk)
		if done.Copy != "" {
			out = out.says("Copy of the old store: %s", done.Copy)
		}
		return out, err
	})
}

// snapshotFacts say what a verified snapshot is.
func snapshotFacts(x *app.Restoring) []present.Fact {
	m := x.Snapshot
	trail := format.Plural(int(m.Trail.Records), "record", "records") + ", intact"
	if x.Problems > 0 {
		trail = fmt.Sprintf("%s, NOT intact: %s; the first: %s", format.Plural(int(m.Trail.Records), "record", "records"),
			format.Plural(x.Problems, "problem", "problems"), x.First)
	}
	return present.Texts("snapshot", m.ID, "taken", moment(m.Taken)+" on "+m.Host, "by", "opdeck "+m.Program,
		"holds", format.Plural(len(m.Files), "file", "files")+", "+format.Size(m.Size()), "audit trail", trail)
}

// replacedFacts say what is known of the store that is replaced.
func replacedFacts(x *app.Restoring) []present.Fact {
	is, records := x.Replaced, format.Plural(int(x.Replaced.Records), "record", "records")
	unknown, replaces := "", fmt.Sprintf("a store with %s, the last of %s: %s missing afterwards",
		format.Plural(int(is.Records), "audit record", "audit records"), moment(is.At),
		format.Plural(int(is.Missing), "record is", "records are"))
	switch n := len(is.InDoubt); {
	case !is.There:
		replaces = "nothing: there is no store"
	case !is.Readable:
		replaces = "a store that cannot be read (" + is.Why + "), so what happened since the snapshot is not known"
	case is.Missing < 0:
		replaces = "a store with another audit trail, of " + records
	case n > 0:
		unknown = format.Plural(n, "write", "writes") + " of the replaced store with an unknown outcome, which the " +
			"snapshot does not know: " + strings.Join(is.InDoubt, ", ")
	}
	return present.Texts("replaces", replaces, "unknown", unknown)
}

// restoredFacts say what the restored store does not know, and where the replaced files are.
func restoredFacts(x *app.Restoring) []present.Fact {
	counted := func(n int64, one, many, what string) string {
		if n == 0 {
			return ""
		}
		return format.Plural(int(n), one, many) + what
	}
	kept := ""
	if x.Replaced.There {
		kept = x.Aside
	}
	n := x.InDoubt
	return present.Texts("session", "none; the first call logs in, once",
		"unknown", counted(n.Writes, "outcome of a write", "outcomes of writes",
			" of the snapshot; opdeck audit unsettled lists them"),
		"unfinished", counted(n.Jobs, "replacement", "replacements", " of documents; opdeck document resume lists them"),
		"lapsed", counted(n.Requests, "request", "requests", " for approval"), "kept", kept)
}
