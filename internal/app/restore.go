package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"opdeck/api"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/followup"
	"opdeck/internal/store"
	"opdeck/internal/store/backup"
	"opdeck/internal/store/journal"
	"opdeck/internal/system/wholefile"
)

// Restoring is a snapshot that was opened and verified, and may take the place of the store.
type Restoring struct {
	Snapshot backup.Manifest `json:"snapshot"`
	Replaced Replaced        `json:"replaced"`
	InDoubt  backup.Renewed  `json:"in_doubt"`
	Problems int             `json:"problems"` // of the snapshot's audit trail
	First    string          `json:"problem,omitempty"`
	Aside    string          `json:"kept"`     // the folder with the replaced files; "": none
	Recorded *audit.Restore  `json:"recorded"` // null: not yet

	opt Options
	cfg config.Config
	at  places
	dir string // with the files of the snapshot
}

// Replaced is what is known of the store that a restore replaces.
type Replaced struct {
	There    bool      `json:"there"`
	Readable bool      `json:"readable"`
	Why      string    `json:"why,omitempty"` // why it is not readable
	Records  int64     `json:"records"`       // of its audit trail
	At       time.Time `json:"at,omitzero"`   // of the last record
	// Missing is how many records of the trail the snapshot lacks; -1: another trail, or not known.
	Missing int64    `json:"missing"`
	InDoubt []string `json:"in_doubt"` // writes in doubt that the snapshot does not know

	notes []string // its checkpoints
}

// OpenBackup reads and verifies a snapshot beside the store of the config, and changes nothing. The caller must close
// the Restoring. person gets the context of the config. compare: also with the store that is there, for Apply.
func OpenBackup(ctx context.Context, opt Options, file string, key BackupKey, compare bool,
	person func(config.Context) context.Context) (_ context.Context, r *Restoring, err error) {
	opt = opt.filled()
	ctx, cfg, state, err := alone(ctx, opt, "restore", person)
	if err != nil {
		return ctx, nil, err
	}
	if err := Backable(cfg); err != nil {
		return ctx, nil, err
	}
	r = &Restoring{opt: opt, cfg: cfg, at: placesOf(cfg, state)}
	defer func() {
		if err != nil {
			err = errors.Join(backupError("The snapshot cannot be used", err), r.Close())
		}
	}()
	if err := store.OwnFolderOf(r.at.core); err != nil {
		return ctx, r, err
	}
	if compare { // a store in use is not replaced: that is no question
		if err := held(store.Held(r.at.core)); err != nil {
			return ctx, r, err
		}
	}
	if r.dir, err = wholefile.TempDir(filepath.Dir(r.at.core)); err != nil {
		return ctx, r, err
	}
	return ctx, r, r.read(ctx, file, key, compare)
}

// BackupConfig is [backup] of the config that Open would read.
func BackupConfig(opt Options) (config.Backup, error) {
	_, cfg, _, err := alone(context.Background(), opt.filled(), "", nil)
	return cfg.Backup, err
}

// Close removes what was prepared.
func (r *Restoring) Close() error { return os.RemoveAll(r.dir) }

// read extracts and verifies the snapshot.
func (r *Restoring) read(ctx context.Context, file string, key BackupKey, compare bool) error {
	f, err := os.Open(file)
	if err != nil {
		return &api.Error{Kind: api.Usage, Public: "The file cannot be read: " + file + ".", Err: err}
	}
	defer func() { _ = f.Close() }()
	r.Snapshot, err = backup.Read(ctx, f, r.dir, key.Identities...)
	if errors.Is(err, backup.ErrSealed) {
		return &api.Error{Kind: api.AuthFailed, Public: "The passphrase or the identity does not open " + file + ".",
			Err: err}
	}
	if err != nil {
		return err
	}
	return r.verify(ctx, compare)
}

func (r *Restoring) staged(name string) string { return filepath.Join(r.dir, filepath.FromSlash(name)) }

// open opens the prepared store, migrated to the version of this program.
func (r *Restoring) open(ctx context.Context) (*store.Store, error) {
	return store.Open(ctx, store.Options{URL: "sqlite:" + r.staged(backup.CoreFile), Migrations: r.opt.migrations})
}

// verify checks both files and the trail, and compares with the store that is there.
func (r *Restoring) verify(ctx context.Context, compare bool) error {
	st, err := r.open(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	if err := checkCopy(ctx, st); err != nil {
		return err
	}
	if r.Problems, r.First, err = verifyCopy(ctx, st, r.dir, r.cfg.Audit.Keys, r.opt.Now); err != nil {
		return err
	}
	if r.Replaced = (Replaced{Missing: -1, InDoubt: []string{}}); compare {
		r.Replaced = r.compare(ctx, st)
	}
	return nil
}

// compare reads the store that is there without changing it.
func (r *Restoring) compare(ctx context.Context, snapshot *store.Store) Replaced {
	out := Replaced{Missing: -1, InDoubt: []string{}}
	if _, err := os.Lstat(r.at.core); err != nil {
		return out
	}
	out.There = true
	st, err := store.OpenAsIs(ctx, r.at.core)
	if err == nil {
		err = errors.Join(out.read(ctx, st, snapshot, r.Snapshot.Trail), st.Close())
	}
	if out.Readable = err == nil; err != nil {
		out.Why = err.Error()
	}
	return out
}

func (out *Replaced) read(ctx context.Context, st, snapshot *store.Store, trail backup.Trail) error {
	there := journal.NewAudit(st.Core)
	head, err := there.Head(ctx)
	if err != nil {
		return err
	}
	out.Records, out.At = head.N, head.At
	if head.Chain == trail.Chain {
		out.Missing = max(0, head.N-trail.Records)
	}
	points, err := there.Checkpoints(ctx)
	if err != nil {
		return err
	}
	for _, p := range points {
		out.notes = append(out.notes, p.Note)
	}
	known, err := journal.UnsettledRefs(ctx, snapshot.Core)
	if err != nil {
		return err
	}
	doubt, err := journal.UnsettledRefs(ctx, st.Core)
	for _, ref := range doubt {
		if !slices.Contains(known, ref) {
			out.InDoubt = append(out.InDoubt, ref)
		}
	}
	return err
}

// Apply puts the snapshot in place of the store: all of it, or nothing if it returns an error. The old tokens are not
// in it, and what may have happened since is in doubt.
func (r *Restoring) Apply(ctx context.Context) error {
	if err := store.Held(r.at.core); err != nil {
		return held(err)
	}
	st, err := r.open(ctx)
	if err == nil {
		err = errors.Join(r.renew(ctx, st), st.Close())
	}
	if err != nil {
		return backupError("The snapshot cannot be prepared", err)
	}
	list, err := r.placed()
	if err == nil {
		aside := r.at.core + ".replaced-" + r.opt.Now().UTC().Format("20060102T150405Z") + "-" + backup.NewID()[:6]
		err = store.Replace(ctx, r.at.core, r.dir, aside, list)
		if _, none := os.Lstat(aside); none == nil {
			r.Aside = aside
		}
	}
	switch refused := held(err); {
	case refused != nil:
		return refused
	case err != nil:
		return backupError("The store cannot be replaced with the snapshot", err)
	}
	return nil
}

// held words a HeldError; nil for another error.
func held(err error) error {
	var h *store.HeldError
	if !errors.As(err, &h) {
		return nil
	}
	who := "another process"
	if h.PID > 0 {
		who = "process " + strconv.Itoa(h.PID)
	}
	return &api.Error{Kind: api.Refused, Public: "The store is in use by " + who + "; nothing was changed.", Err: err,
		Hint: "Stop every opdeck process (opdeck serve, consoles), then run it again."}
}

// renew prepares the extracted store for its use.
func (r *Restoring) renew(ctx context.Context, st *store.Store) (err error) {
	if err := backup.DropTokens(ctx, st); err != nil {
		return err
	}
	if r.InDoubt, err = backup.Renew(ctx, st.Core, r.Snapshot.Taken); err != nil {
		return err
	}
	if err := r.doubtIntents(ctx, st); err != nil {
		return err
	}
	return checkCopy(ctx, st)
}

// doubtIntents puts in doubt the writes of the snapshot that had not been sent when it was taken: they may have been
// sent since.
func (r *Restoring) doubtIntents(ctx context.Context, st *store.Store) error {
	trail, err := audit.New(audit.Options{Store: journal.NewAudit(st.Core), Now: r.opt.Now, Grace: time.Nanosecond})
	if err != nil {
		return err
	}
	open, _, err := trail.Intents.OpenIntents(ctx)
	if err != nil {
		return err
	}
	known, err := journal.UnsettledRefs(ctx, st.Core)
	if err != nil {
		return err
	}
	for _, e := range open {
		if slices.Contains(known, e.UID) {
			continue
		}
		rows := journal.NewUnsettled(st.Core, e.Context.BaseURL+" "+e.Context.Account)
		is, err := followup.Restored(ctx, rows, e, r.Snapshot.Taken, r.cfg.Writes.LateAfter.D())
		if err != nil {
			return err
		}
		if is {
			r.InDoubt.Writes++
		}
	}
	return nil
}

// note is the text of the file that says what was put in place, until the trail records it.
func (r *Restoring) note() ([]byte, error) {
	return json.Marshal(audit.FromBackup{ID: r.Snapshot.ID, Taken: r.Snapshot.Taken, Notes: r.Replaced.notes})
}

// Record records the restore in the audit trail, through the gate.
func (r *Restoring) Record(ctx context.Context) (err error) {
	opt := r.opt
	opt.Notice = nil // of a restore that is not recorded
	a, err := Open(ctx, opt)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	done, err := a.RecordRestore(api.WithTrail(ctx, a.Audit), nil)
	if err == nil {
		r.Recorded = &done
	}
	return err
}

// Restorable says which restore the trail shows, see audit.Prover.
func Restorable(ctx context.Context, a *App, notes []audit.KeptNote) (audit.Restore, error) {
	from, err := placed(a)
	if err != nil {
		return audit.Restore{}, err
	}
	return a.Audit.Prover.Restorable(ctx, notes, from)
}

// RecordRestore records a restore that the trail shows, or that opdeck restore has made. It passes the gate: a second
// person approves it where the context asks for one.
func (a *App) RecordRestore(ctx context.Context, notes []audit.KeptNote) (audit.Restore, error) {
	from, err := placed(a)
	if err != nil {
		return audit.Restore{}, err
	}
	found, err := a.Audit.Prover.Restorable(ctx, notes, from)
	if err != nil {
		return found, err
	}
	chain, err := a.Audit.Signer.Chain(ctx)
	if err != nil {
		return found, err
	}
	reason := api.ConsentOf(ctx).Reason
	act := api.Act{Kind: api.ActAuditRestored, Object: "audit", ID: chain, Summary: "Record that " + found.Sentence(),
		Reason: reason, Seen: api.HashHex([]byte(strconv.FormatInt(found.To, 10) + " " + found.Head))}
	err = a.Gate.Own(ctx, api.MayAuditOut, act, func(approval string) (err error) {
		second := ""
		if approval != "" {
			q, err := a.Approvals.Show(ctx, approval)
			if err == nil && q.Decider != nil {
				second = q.Decider.String()
			}
		}
		found, err = a.Audit.Prover.AcceptRestore(ctx, notes, from, reason, second)
		return err
	})
	if err == nil && from != nil {
		err = os.Remove(placesOf(a.Config, a.State).restoredFile())
	}
	return found, err
}

// placed is the snapshot that opdeck restore put in place and that no record names yet; nil for none.
func placed(a *App) (*audit.FromBackup, error) {
	if a.Store.Core.Path() == "" {
		return nil, nil
	}
	text, err := os.ReadFile(placesOf(a.Config, a.State).restoredFile())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	from := &audit.FromBackup{}
	if err == nil {
		err = json.Unmarshal(text, from)
	}
	if err != nil {
		return nil, &api.Error{Kind: api.Unavailable, Err: err,
			Public: "The note about the restored snapshot cannot be read: " + err.Error() + "."}
	}
	return from, nil
}

// placed lists the files of the snapshot that take a place. A key or a job that is there with the same content stays,
// and so does a checkpoint file that continues from that of the snapshot: it shows what is missing.
func (r *Restoring) placed() (list []store.Placed, err error) {
	note, err := r.note()
	if err == nil {
		err = wholefile.Create(r.staged("restored"), note)
	}
	add := func(name, path string, stays func(old, new string) (bool, error)) {
		if err != nil {
			return
		}
		stay := false
		if stays != nil {
			stay, err = stays(path, r.staged(name))
		}
		if err == nil && !stay {
			list = append(list, store.Placed{Name: name, Path: path})
		}
	}
	add(backup.BulkFile, r.at.bulk, nil)
	add(backup.StoreKey, r.at.storeKey, sameContent)
	add(backup.AuditKey, r.at.auditKey, sameContent)
	add("restored", r.at.restoredFile(), nil)
	for _, f := range r.Snapshot.Files {
		switch folder, name, _ := strings.Cut(f.Name, "/"); folder {
		case backup.Checkpoints:
			add(f.Name, filepath.Join(r.at.checkpoints, name), goesOn)
		case backup.Jobs:
			add(f.Name, filepath.Join(r.at.jobs, name), sameContent)
		}
	}
	add(backup.CoreFile, r.at.core, nil)
	return list, err
}

// sameContent reports whether both files exist and are equal.
func sameContent(old, new string) (bool, error) {
	a, b, err := readBoth(old, new)
	return a != nil && bytes.Equal(a, b), err
}

// goesOn reports whether the old file exists and does not end before the new one: it begins with it, or differs.
func goesOn(old, new string) (bool, error) {
	a, b, err := readBoth(old, new)
	return a != nil && !(len(a) < len(b) && bytes.HasPrefix(b, a)), err
}

// readBoth reads both files; a is nil if the old one is missing.
func readBoth(old, new string) (a, b []byte, err error) {
	f, err := os.Open(old)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	a, err = io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, nil, err
	}
	if b, err = os.ReadFile(new); err != nil {
		return nil, nil, err
	}
	return a, b, nil
}
