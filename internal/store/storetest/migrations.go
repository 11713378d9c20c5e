package storetest

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"opdeck/internal/store"
)

// Newer are the migrations of a newer program, for store.Options: one more of the core tables, in both engines.
func Newer(t testing.TB, sql string) fs.FS {
	t.Helper()
	all := fstest.MapFS{}
	known := store.Migrations()
	err := fs.WalkDir(known, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := fs.ReadFile(known, path)
		all[path] = &fstest.MapFile{Data: b}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		all["migrations/core/"+engine+"/0099_newer.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + sql + "\n")}
	}
	return all
}
