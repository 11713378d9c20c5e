package app

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"opdeck/api"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/verdict"
	"opdeck/internal/store"
	"opdeck/internal/store/backup"
	"opdeck/internal/store/files"
	"opdeck/internal/store/journal"
	"opdeck/internal/store/seal"
	"opdeck/internal/system/wholefile"
)

// BackupKey opens and seals snapshots. Identities may be empty if it can only seal.
type BackupKey struct {
	Recipients []age.Recipient
	Identities []age.Identity
}

// Backup is a snapshot that was taken.
type Backup struct {
	File     string          `json:"file"`
	Bytes    int64           `json:"bytes"`
	ReadBack bool            `json:"read_back"` // false: sealed for a recipient, so only its bytes were compared
	Snapshot backup.Manifest `json:"snapshot"`
}

// TakeBackup takes a snapshot of both stores, the keys, the checkpoints and the jobs while other processes use
// them, verifies it and writes it, sealed, to a new file.
func TakeBackup(ctx context.Context, a *App, file string, key BackupKey) (done Backup, err error) {
	at := placesOf(a.Config, a.State)
	if err := Backable(a.Config); err != nil {
		return done, err
	}
	if _, err := os.Lstat(file); err == nil {
		return done, &api.Error{Kind: api.Usage, Public: file + " already exists; nothing was written."}
	}
	id := backup.NewID()
	if err := a.Audit.Note(ctx, api.ActorOf(ctx), api.Event{Name: audit.EventBackup, Object: "store",
		ID: id}); err != nil {
		return done, &api.Error{Kind: api.Refused, Rule: api.RuleAudit, Err: err,
			Public: "The audit trail cannot be written, so no snapshot was made.", Remedy: api.Remedy{Kind: api.CheckStore}}
	}
	dir, err := wholefile.TempDir(filepath.Dir(at.core))
	if err != nil {
		return done, backupError("The snapshot cannot be prepared", err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // else a later process does
	m := backup.Manifest{Format: backup.Format, ID: id, Program: a.Version, Host: HostName(), Taken: time.Now().UTC()}
	if err := a.Store.CopyTo(ctx, filepath.Join(dir, backup.CoreFile), filepath.Join(dir, backup.BulkFile)); err != nil {
		return done, backupError("The store cannot be copied", err)
	}
	if err := fill(ctx, a, dir, at, &m); err != nil {
		return done, backupError("The snapshot cannot be verified", err)
	}
	done = Backup{File: file, Snapshot: m}
	done.Bytes, done.ReadBack, err = sealInto(ctx, file, dir, m, key)
	if err != nil {
		return done, backupError("The snapshot cannot be written to "+file, err)
	}
	return done, nil
}

// Backable refuses stores that are not in SQLite files.
func Backable(cfg config.Config) error {
	_, _, err := store.Files(cfg.Store.URL, "")
	if err == nil {
		return nil
	}
	if cfg.Store.URL == "memory" {
		return &api.Error{Kind: api.Usage, Public: "This store is in memory, so there is nothing to save."}
	}
	return &api.Error{Kind: api.Usage, Public: "This store is in PostgreSQL, which has its own backups.",
		Hint: "To save: pg_dump --format=custom --file=FILE --dbname=URL, with the URL of [store] url, and the files " +
			"[store] key_file, [audit] key_file and [audit] checkpoints of every host. To restore, with no opdeck running: " +
			"pg_restore --clean --if-exists --dbname=URL FILE, then opdeck restore --reason WHY and opdeck session reset."}
}

// backupError words an error of a snapshot; one that is worded already stays.
func backupError(what string, err error) error {
	var worded *api.Error
	var wrong *backup.FileError
	switch {
	case errors.As(err, &worded):
		return err
	case errors.As(err, &wrong):
		return &api.Error{Kind: api.Unavailable, Public: what + ": the file " + wrong.Reason + ".", Err: err}
	case files.NoRoom(err), store.IsKind(err, store.Full):
		return &api.Error{Kind: api.Unavailable, Public: what + ": no space left. Nothing was written.", Err: err,
			Hint: "A snapshot needs disk space for a copy of both files beside the store, and for the sealed file."}
	}
	return &api.Error{Kind: api.Unavailable, Public: what + ": " + err.Error() + ".", Err: err}
}

// fill adds keys, checkpoints and jobs to the copies of both files in dir, verifies all of it and lists it.
func fill(ctx context.Context, a *App, dir string, at places, m *backup.Manifest) error {
	for from, to := range map[string]string{at.storeKey: backup.StoreKey, at.auditKey: backup.AuditKey} {
		if err := copyFile(from, filepath.Join(dir, to)); err != nil {
			return err
		}
	}
	st, err := store.Open(ctx, store.Options{URL: "sqlite:" + filepath.Join(dir, backup.CoreFile), KeepVersion: true})
	if err != nil {
		return err
	}
	if err := errors.Join(complete(ctx, a, st, dir, at, m), st.Close()); err != nil {
		return err
	}
	m.Files, err = backup.List(ctx, dir)
	return err
}

// complete completes and verifies the copy of the store in dir.
func complete(ctx context.Context, a *App, st *store.Store, dir string, at places, m *backup.Manifest) (err error) {
	trail := journal.NewAudit(st.Core)
	head, err := trail.Head(ctx)
	if err != nil {
		return err
	}
	m.Trail = backup.Trail{Chain: head.Chain, Records: head.N, Head: head.Hash, At: head.At}
	if m.Core, m.Bulk, err = st.Versions(ctx); err != nil {
		return err
	}
	if err := copyCheckpoints(ctx, trail, at.checkpoints, filepath.Join(dir, backup.Checkpoints)); err != nil {
		return err
	}
	jobs, err := filepath.Glob(filepath.Join(at.jobs, "replace-*"))
	if err != nil {
		return err
	}
	for _, name := range jobs {
		if err := copyInto(name, filepath.Join(dir, backup.Jobs)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err // one that is missing has just ended
		}
	}
	if m.Trail.Problems, m.Trail.First, err = verifyCopy(ctx, st, dir, a.Config.Audit.Keys, a.Now); err != nil {
		return err
	}
	if err := backup.DropTokens(ctx, st); err != nil {
		return err
	}
	return checkCopy(ctx, st)
}

// verifyCopy verifies the audit trail of a copy with the checkpoints beside it, and returns the number of problems and
// the first of them. It imports the records that an older program had moved out of the store.
func verifyCopy(ctx context.Context, st *store.Store, dir string, keys []string, now func() time.Time) (n int,
	first string, err error) {
	key, err := audit.ReadKey(filepath.Join(dir, backup.AuditKey))
	if err != nil {
		return 0, "", err
	}
	trusted, err := otherHosts(keys)
	if err != nil {
		return 0, "", err
	}
	points := filepath.Join(dir, backup.Checkpoints)
	if err := os.MkdirAll(points, 0o700); err != nil {
		return 0, "", err
	}
	trail, err := audit.New(audit.Options{Store: journal.NewAudit(st.Core), Key: key, Trusted: trusted, Now: now,
		Checkpoints: points})
	if err != nil {
		return 0, "", err
	}
	if _, err := trail.Prover.Import(ctx, filepath.Join(dir, backup.Archive)); err != nil { // what is missing is a problem
		return 0, "", err
	}
	rep, err := trail.Prover.Verify(ctx)
	if len(rep.Problems) > 0 {
		first = rep.Problems[0].Text
	}
	return len(rep.Problems) + rep.More, first, err
}

// checkCopy has SQLite check both files of a copy, and moves their logs into them.
func checkCopy(ctx context.Context, st *store.Store) error {
	for _, db := range []*store.DB{st.Core, st.Bulk} {
		if err := store.Check(ctx, db); err != nil {
			return err
		}
		if err := db.Tune(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			return err
		}
	}
	return nil
}

// sealInto writes a snapshot to a new file and reads it back before the file gets its name. readBack is false if key
// cannot open it: then only the bytes are compared.
func sealInto(ctx context.Context, file, dir string, m backup.Manifest, key BackupKey) (size int64, readBack bool,
	err error) {
	f, err := wholefile.New(file)
	if err != nil {
		return 0, false, err
	}
	wrote, read := sha256.New(), sha256.New()
	in := io.TeeReader(f, read)
	err = backup.Write(ctx, io.MultiWriter(f, wrote), dir, m, key.Recipients...)
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		size, err = f.Seek(0, io.SeekEnd)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if readBack = len(key.Identities) > 0; readBack && err == nil {
		_, err = backup.Read(ctx, in, "", key.Identities...)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, in)
	}
	if err == nil && !bytes.Equal(wrote.Sum(nil), read.Sum(nil)) {
		err = errors.New("the file does not contain what was written to it")
	}
	return size, readBack, f.Finish(err)
}

// copyCheckpoints copies the checkpoint files as of the copied trail: without the checkpoints at their ends that its
// store did not know yet, and with those that the store has and that were not written to the files yet.
func copyCheckpoints(ctx context.Context, trail audit.Store, from, to string) error {
	head, err := trail.Head(ctx)
	if err != nil {
		return err
	}
	stored, err := trail.Checkpoints(ctx)
	if err != nil {
		return err
	}
	newest := map[string]audit.Signed{} // by file name
	for _, p := range stored {
		s, err := audit.ParseCheckpoint(p.Note)
		if err != nil {
			return err
		}
		newest["audit-"+s.Chain+"-"+p.Key+".jsonl"] = s
	}
	names, err := filepath.Glob(filepath.Join(from, "audit-*.jsonl"))
	if err != nil {
		return err
	}
	points := map[string][]audit.Signed{} // by file name
	for _, name := range names {
		until := head.N
		if s, known := newest[filepath.Base(name)]; known {
			until = s.N
		}
		if points[filepath.Base(name)], err = checkpointsUntil(name, until); err != nil {
			return err
		}
	}
	for name, s := range newest {
		if list := points[name]; len(list) == 0 || list[len(list)-1].N < s.N {
			points[name] = append(list, s)
		}
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return err
	}
	for name, list := range points {
		var text []byte
		for _, s := range list {
			text = append(append(text, s.Line...), '\n')
		}
		if err := wholefile.Create(filepath.Join(to, name), text); err != nil {
			return err
		}
	}
	return nil
}

// checkpointsUntil reads a checkpoint file without the checkpoints at its end that are for more records.
func checkpointsUntil(name string, records int64) ([]audit.Signed, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	list, _, err := audit.ReadCheckpoints(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	for len(list) > 0 && list[len(list)-1].N > records {
		list = list[:len(list)-1]
	}
	return list, nil
}

// copyInto copies a file into a folder.
func copyInto(from, folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	return copyFile(from, filepath.Join(folder, filepath.Base(from)))
}

// copyFile copies a file, which gets mode 0600.
func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	return wholefile.Write(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// openStore opens the store. One of an older version is migrated only if the config or opdeck migrate says so.
func (a *App) openStore(ctx context.Context, opt Options) error {
	at := store.Options{URL: a.Config.Store.URL, Dir: a.State, KeepVersion: true, Migrations: opt.migrations,
		Notice: noticeTo(a.Log, opt.Notice), Upgrading: func() {
			a.Log.Info("the store of an older opdeck is updated")
			if opt.Upgrading != nil {
				opt.Upgrading()
			}
		}}
	if a.ownClock || opt.around != nil {
		at.Now = a.Now
	}
	st, err := store.Open(ctx, at)
	if err != nil {
		if a.Config.Path == "" {
			err = unconfigured{err}
		}
		return storeError(err)
	}
	a.Store = st
	a.closers = append(a.closers, st.Close)
	if from, err := placed(a); err != nil || from != nil {
		at.Notice("A snapshot was restored, and the audit trail does not record it yet: opdeck restore --reason …")
	}
	return nil
}

// storeError words an error of opening the store.
func storeError(err error) error {
	e := &api.Error{Kind: api.Unavailable, Public: err.Error(), Err: err}
	storeTrouble(e, err)
	return e
}

// Migration is a migration that was done, or that would be.
type Migration struct {
	Needed bool   `json:"needed"` // the store was of an older version
	Copy   string `json:"copy"`   // of the old core file, that of the index beside it; "": none
	Core   int64  `json:"core_version"`
	Bulk   int64  `json:"index_version"`
}

// Older reports whether the store of the config needs a migration. It changes nothing.
func Older(ctx context.Context, opt Options, person func(config.Context) context.Context) (_ context.Context,
	needed bool,
	err error) {
	ctx, cfg, state, err := alone(ctx, opt.filled(), "migrate", person)
	if err != nil {
		return ctx, false, err
	}
	st, err := store.Open(ctx, store.Options{URL: cfg.Store.URL, Dir: state, KeepVersion: true,
		Migrations: opt.migrations})
	if store.IsKind(err, store.Older) {
		return ctx, true, nil
	}
	if err != nil {
		return ctx, false, storeError(err)
	}
	return ctx, false, st.Close()
}

// Migrate copies an older store and migrates it. With SQLite no other process may use it.
func Migrate(ctx context.Context, opt Options) (done Migration, err error) {
	opt = opt.filled()
	_, cfg, state, err := alone(ctx, opt, "migrate", nil)
	if err != nil {
		return done, err
	}
	if core := placesOf(cfg, state).core; core != "" {
		if err := store.Held(core); err != nil {
			return done, held(err)
		}
	}
	if done.Copy, err = copyBefore(ctx, cfg, state); err != nil {
		return done, err
	}
	st, err := store.Open(ctx, store.Options{URL: cfg.Store.URL, Dir: state, Upgrading: opt.Upgrading, Notice: opt.Notice,
		Migrations: opt.migrations})
	if store.IsKind(err, store.InUse) {
		return done, &api.Error{Kind: api.Refused, Public: "Nothing was migrated: " + err.Error() + ".", Err: err}
	}
	if err != nil {
		return done, storeError(err)
	}
	done.Needed = true
	done.Core, done.Bulk, err = st.Versions(ctx)
	return done, errors.Join(err, st.Close())
}

// alone reads the config for a command that opens the store by itself, and checks the permission of the person, who
// gets the context of the config; nil: it was checked.
func alone(ctx context.Context, opt Options, op string, person func(config.Context) context.Context) (context.Context,
	config.Config, string, error) {
	c, err := choose(opt)
	if err == nil && person != nil {
		ctx = person(c.context)
		err = api.Need(ctx, op, api.MayAuditOut)
	}
	return ctx, c.config, c.state, err
}

// copyBefore copies both files of a SQLite store beside it before a migration, and returns the copy of the core file;
// "" for PostgreSQL.
func copyBefore(ctx context.Context, cfg config.Config, state string) (file string, err error) {
	at := placesOf(cfg, state)
	if at.core == "" {
		return "", nil
	}
	file = strings.TrimSuffix(at.core, ".db") + "-before-migration-" + time.Now().UTC().Format("20060102T150405Z") + ".db"
	_, bulk, err := store.Files("sqlite:"+file, "")
	if err != nil {
		return "", err
	}
	st, err := store.OpenAsIs(ctx, at.core)
	if err == nil {
		err = errors.Join(st.CopyTo(ctx, file, bulk), st.Close())
	}
	if err != nil {
		return "", backupError("The store cannot be copied before the migration, so nothing was migrated", err)
	}
	return file, nil
}

// storeKey is the key that seals the tokens, as this process has it in memory.
type storeKey struct {
	file  string // "": a store in memory
	check string
	lost  bool      // it takes the place of a lost one (Options.NewStoreKey)
	made  *seal.Key // if lost: it is not in the file yet. nil: it is
}

// openKey reads the key that seals the tokens. A store that a key has sealed gets no other one, unless a person gives
// its tokens up (Options.NewStoreKey).
func (a *App) openKey(ctx context.Context, opt Options) (key seal.Key, err error) {
	core := a.Store.Core
	a.key.file = seal.File(a.Config.Store.KeyFile, core)
	if opt.NewStoreKey {
		made := false
		if key, made, err = seal.NewKey(ctx, a.Config.Store.KeyFile, core); made {
			a.key.made = &key
		}
		a.key.lost = err == nil
	} else if key, err = seal.OpenKey(ctx, a.Config.Store.KeyFile, core); err == nil {
		err = key.Claim(ctx, core, a.key.file, HostName())
	}
	var bad *seal.KeyFileError
	switch {
	case errors.Is(err, seal.ErrFits):
		return key, a.keyFits()
	case errors.As(err, &bad) && bad.Sealed:
		refusal := Concluded(err)
		refusal.Kind = api.BadConfig
		return key, refusal
	case err != nil:
		return key, &api.Error{Kind: api.BadConfig, Public: "The session cannot be set up: " + err.Error(), Err: err}
	}
	a.key.check = key.Check()
	return key, nil
}

// keyFits is the error of NewKey for a key that is not lost.
func (a *App) keyFits() error {
	return &api.Error{Kind: api.Usage, Public: "The key in " + a.key.file + " fits the store; nothing was given up.",
		Hint: "To change the key, put another one into the file or move it away, and run the command again."}
}

// NewKey gives up the tokens that a lost key has sealed, of every account in the store: the key of this process takes
// its place. Processes that have the old one stop. The next call logs in.
func (s SharedSession) NewKey(ctx context.Context) error {
	if !s.app.key.lost {
		return s.app.keyFits()
	}
	return s.act(ctx, api.ActSessionReset, func(ctx context.Context) error {
		if made := s.app.key.made; made != nil {
			if err := made.Save(s.app.key.file); err != nil {
				return err
			}
		}
		if err := s.app.reseal(ctx); err != nil {
			return err
		}
		return s.app.Session.Reset(ctx)
	})
}

// keyFault is the fact of an error about the key; known is false for another error.
func keyFault(err error, now time.Time) (f verdict.Fact[verdict.Key], known bool) {
	var bad *seal.KeyFileError
	switch {
	case errors.Is(err, seal.ErrGivenUp):
		return verdict.Known(verdict.Key{Fault: verdict.KeyGivenUp}, "the store's note of the key", now, readHolds), true
	case errors.As(err, &bad) && bad.Sealed:
		return verdict.Known(verdict.Key{File: bad.Path, Fault: verdict.KeyFault(bad.Fault), Says: bad.Reason},
			"reading "+bad.Path, now, readHolds), true
	}
	return f, false
}

// keyFact is what keeps a new process from the key that this one has in memory.
func (a factReader) keyFact(now time.Time) (none verdict.Fact[verdict.Key]) {
	if a.app.key.file == "" {
		return none
	}
	key, err := seal.ReadKey(a.app.key.file)
	var bad *seal.KeyFileError
	if err == nil && key.Check() != a.app.key.check {
		bad = &seal.KeyFileError{Path: a.app.key.file, Fault: seal.Other}
	}
	if bad == nil && !errors.As(err, &bad) {
		return none
	}
	return verdict.Known(verdict.Key{File: bad.Path, Fault: verdict.KeyFault(bad.Fault), Says: bad.Reason, Held: true},
		"reading "+bad.Path, now, readHolds)
}

// lockPart names the observations of documents that the service refused to remove because they are locked. Each is kept
// until a read tells the lock.
const lockPart = "lock"

type refusedLock struct {
	OPID string `json:"opid"`
	GUID string `json:"guid"`
}

func (r refusedLock) name() string { return r.OPID + "\n" + r.GUID }

// onLocked keeps the service's refusal of a removal.
func (a *App) onLocked(ctx context.Context, act api.Act) {
	r := refusedLock{act.ID, act.Item}
	body, err := json.Marshal(r)
	if err == nil {
		err = observations(a).Put(ctx, lockPart, r.name(), body)
	}
	if err != nil {
		a.Log.Error("the refusal of a locked document is not kept", "opid", r.OPID, "document", r.GUID, "err", err)
	}
}

// refusedLocks reads what onLocked kept.
func (a *App) refusedLocks(ctx context.Context) api.RefusedLocks {
	list, _, err := observations(a).All(ctx)
	if err != nil {
		a.Log.Warn("refusals of locked documents cannot be read", "err", err)
	}
	out := api.RefusedLocks{}
	for _, o := range list {
		var r refusedLock
		if o.Part == lockPart && json.Unmarshal(o.Body, &r) == nil {
			out[r.OPID] = append(out[r.OPID], r.GUID)
		}
	}
	return out
}

// knowLocks completes in place the locks that a read of operations does not tell, and forgets refusals of documents
// whose lock it tells.
func (a *App) knowLocks(ctx context.Context, ops []api.Operation) {
	if !slices.ContainsFunc(ops, func(o api.Operation) bool { return len(o.Documents) > 0 }) {
		return
	}
	refused := a.refusedLocks(ctx)
	for _, o := range ops {
		for _, guid := range refused[string(o.OPID)] {
			d, there := o.Document(guid)
			if !there || d.Lock == api.LockUnknown {
				continue
			}
			r := refusedLock{string(o.OPID), guid}
			if err := observations(a).Remove(context.WithoutCancel(ctx), lockPart, r.name()); err != nil {
				a.Log.Warn("the refusal of a locked document is not removed", "err", err)
			}
		}
		copy(o.Documents, refused.In(o))
	}
}
