package storetest

import (
	"io/fs"
	"path"
	"testing"
	"testing/fstest"

	"opdeck/internal/store"
)

// engines are the folders of a set's migrations.
var engines = []string{"sqlite", "postgres"}

// Newer are the migrations of a newer program, for store.Options: one more of the core tables, in both engines.
func Newer(t testing.TB, sql string) fs.FS {
	t.Helper()
	all := some(t, func(string, string) bool { return true })
	for _, engine := range engines {
		all["migrations/core/"+engine+"/0099_newer.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + sql + "\n")}
	}
	return all
}

// FirstRelease are the migrations of the first release: core tables of version 15, bulk tables of version 9.
func FirstRelease(t testing.TB) fs.FS {
	t.Helper()
	return Before(t, "0016", "0010")
}

// Before are the migrations of an older program: of each set those before a number of four digits.
func Before(t testing.TB, core, bulk string) fs.FS {
	t.Helper()
	return some(t, func(set, name string) bool {
		return set == "core" && name < core || set == "bulk" && name < bulk
	})
}

// some are the program's migrations that want selects by their set of tables and name.
func some(t testing.TB, want func(set, name string) bool) fstest.MapFS {
	t.Helper()
	all := fstest.MapFS{}
	known := store.Migrations()
	err := fs.WalkDir(known, ".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !want(path.Base(path.Dir(path.Dir(file))), path.Base(file)) {
			return err
		}
		b, err := fs.ReadFile(known, file)
		all[file] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
