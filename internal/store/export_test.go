package store

import (
	"io/fs"
	"testing/fstest"
	"time"
)

// WithMigration adds a migration of the core tables, in both engines, to those of
// the program.
func (o Options) WithMigration(name, sql string) Options {
	all := fstest.MapFS{}
	err := fs.WalkDir(migrations, ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var b []byte
			b, err = migrations.ReadFile(path)
			all[path] = &fstest.MapFile{Data: b}
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	for _, e := range []Engine{SQLite, Postgres} {
		all["migrations/core/"+e.dir()+"/"+name] = &fstest.MapFile{Data: []byte(sql)}
	}
	o.migrations = all
	return o
}

// WithSystem fakes the file system that folders are on.
func (o Options) WithSystem(name func(dir string) (string, error)) Options {
	o.system = name
	return o
}

// ForgetCheck makes the next use look at the file's name, as it does a second later.
func (db *DB) ForgetCheck() {
	db.identity.mu.Lock()
	defer db.identity.mu.Unlock()
	db.identity.checked = time.Time{}
}
