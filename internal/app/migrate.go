package app

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"filippo.io/age"

	"opdeck/api"
	"opdeck/internal/app/config"
	"opdeck/internal/store"
	"opdeck/internal/store/backup"
	"opdeck/internal/store/seal"
)

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
	if store.IsKind(err, store.Older) && a.Config.Store.Migrate == config.AutoMigrate {
		var snapshot string
		if snapshot, err = snapshotBefore(ctx, a.Config, a.State, a.Version); err == nil {
			if snapshot != "" {
				at.Notice("The store is migrated to the version of this program. Snapshot of the old one: " + snapshot)
			}
			at.KeepVersion = false
			st, err = store.Open(ctx, at)
		}
	}
	if err != nil {
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
	Needed   bool   `json:"needed"`   // the store was of an older version
	Snapshot string `json:"snapshot"` // of the old store; "": none
	Core     int64  `json:"core_version"`
	Bulk     int64  `json:"index_version"`
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

// Migrate takes a snapshot of an older store and migrates it. With SQLite no other process may use it.
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
	if done.Snapshot, err = snapshotBefore(ctx, cfg, state, opt.Version); err != nil {
		return done, err
	}
	st, err := store.Open(ctx, store.Options{URL: cfg.Store.URL, Dir: state, Upgrading: opt.Upgrading, Notice: opt.Notice,
		Migrations: opt.migrations})
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

// snapshotBefore saves both files of a SQLite store before a migration, sealed with the key of the store, and returns
// the name of the file; "" for PostgreSQL. opdeck restore reads it.
func snapshotBefore(ctx context.Context, cfg config.Config, state, version string) (file string, err error) {
	at := placesOf(cfg, state)
	if at.core == "" {
		return "", nil
	}
	fail := func(err error) (string, error) {
		return "", backupError("The snapshot before the migration cannot be taken, so nothing was migrated", err)
	}
	dir, remove, err := workFolder(filepath.Dir(at.core))
	if err != nil {
		return fail(err)
	}
	defer remove()
	st, err := store.OpenAsIs(ctx, at.core)
	if err != nil {
		return fail(err)
	}
	m := backup.Manifest{Format: backup.Format, ID: backup.NewID(), Program: version, Host: HostName(),
		Taken: time.Now().UTC()}
	key, err := seal.OpenKey(ctx, cfg.Store.KeyFile, st.Core)
	if err == nil {
		err = copyOlder(ctx, st, dir, at, &m)
	}
	if err := errors.Join(err, st.Close()); err != nil {
		return fail(err)
	}
	to, err := age.NewScryptRecipient(key.SnapshotKey())
	if err != nil {
		return fail(err)
	}
	to.SetWorkFactor(snapshotWork)
	from, err := age.NewScryptIdentity(key.SnapshotKey())
	if err != nil {
		return fail(err)
	}
	file = filepath.Join(filepath.Dir(at.core), "before-migration-"+m.Taken.Format("20060102T150405Z")+"-"+m.ID+".opdeck")
	_, _, err = sealInto(ctx, file, dir, m, BackupKey{Recipients: []age.Recipient{to}, Identities: []age.Identity{from}})
	if err != nil {
		return fail(err)
	}
	return file, nil
}

// snapshotWork is the work factor of a snapshot that a random key seals: a guess at it is hopeless anyway.
const snapshotWork = 10

func copyOlder(ctx context.Context, st *store.Store, dir string, at places, m *backup.Manifest) (err error) {
	if m.Core, m.Bulk, err = st.Versions(ctx); err != nil {
		return err
	}
	if err := st.CopyTo(ctx, dir); err != nil {
		return err
	}
	for from, to := range map[string]string{at.core: backup.CoreFile, at.bulk: backup.BulkFile} {
		if err := os.Rename(filepath.Join(dir, filepath.Base(from)), filepath.Join(dir, to)); err != nil {
			return err
		}
	}
	m.Files, err = backup.List(ctx, dir)
	return err
}
