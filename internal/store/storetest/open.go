// Package storetest opens empty stores for tests: SQLite in a folder of the
// test's own, PostgreSQL in a database of its own.
//
// The PostgreSQL server is the one that $OPDECK_TEST_POSTGRES names (a URL of a
// user who may create databases), else a throw-away cluster that the first test
// of a process starts and that ends with the process, whatever becomes of it.
// Without either the test is skipped, or fails when $OPDECK_TEST_REQUIRE names
// postgres.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"opdeck/internal/store"
)

// Open returns an empty, migrated store that is closed when t ends.
func Open(t testing.TB, e store.Engine) *store.Store {
	t.Helper()
	return OpenURL(t, URL(t, e))
}

// URL returns the address of a database without content that is removed when t
// ends, or with the throw-away server. Any number of handles, also of other
// processes, may be opened on it.
func URL(t testing.TB, e store.Engine) string {
	t.Helper()
	if e == store.Postgres {
		return postgresDatabase(t, template(t))
	}
	url := Bare(t, e)
	files, err := migratedFiles()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(strings.TrimPrefix(url, "sqlite:"))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return url
}

// migratedFiles are the files of a SQLite store without content, made once per process: a copy takes a twentieth of
// the work of the migrations.
var migratedFiles = sync.OnceValues(func() (map[string][]byte, error) {
	dir, err := os.MkdirTemp("", "opdeck-store-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	s, err := store.Open(context.Background(), store.Options{URL: "sqlite:" + filepath.Join(dir, "state", "opdeck.db")})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	made, err := os.ReadDir(filepath.Join(dir, "state"))
	files := make(map[string][]byte)
	for _, f := range made {
		if err == nil {
			files[f.Name()], err = os.ReadFile(filepath.Join(dir, "state", f.Name()))
		}
	}
	return files, err
})

// Bare is URL for a database without tables.
func Bare(t testing.TB, e store.Engine) string {
	t.Helper()
	if e == store.SQLite {
		return "sqlite:" + t.TempDir() + "/state/opdeck.db"
	}
	return postgresDatabase(t, "")
}

// OpenURL opens a store at url, an answer of URL, until t ends.
func OpenURL(t testing.TB, url string) *store.Store {
	t.Helper()
	return OpenAt(t, url, nil)
}

// OpenAt is OpenURL with a clock of the test's own; nil: the store's.
func OpenAt(t testing.TB, url string, now func() time.Time) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{URL: url, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// Each runs run once per engine, as a subtest with an empty store.
func Each(t *testing.T, run func(t *testing.T, s *store.Store)) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) { run(t, Open(t, e)) })
	}
}

// postgresDatabase creates a database, a copy of template unless that is empty.
// On a server that is not ours it is dropped when t ends, with the connections
// that are left on it.
func postgresDatabase(t testing.TB, template string) string {
	t.Helper()
	server, ours := Server(t), os.Getenv("OPDECK_TEST_POSTGRES") == ""
	name := "opdeck_test_" + token()
	create := "CREATE DATABASE " + name
	if template != "" {
		create += " TEMPLATE " + template + " STRATEGY FILE_COPY"
	}
	if err := admin(server, create); err != nil {
		t.Fatal(err)
	}
	if !ours {
		t.Cleanup(func() {
			if err := admin(server, "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
				t.Error(err)
			}
		})
	}
	to, err := on(server, name)
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// on is server's database name.
func on(server, name string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", errors.New("$OPDECK_TEST_POSTGRES is no URL")
	}
	u.Path = "/" + name
	return u.String(), nil
}

// migrated makes the database that others are copied from, once per process.
var migrated = sync.OnceValues(func() (string, error) {
	server, err := cluster()
	if err != nil {
		return "", err
	}
	const name = "opdeck_template"
	if err := admin(server.at, "CREATE DATABASE "+name); err != nil {
		return "", err
	}
	at, err := on(server.at, name)
	if err != nil {
		return "", err
	}
	s, err := store.Open(context.Background(), store.Options{URL: at})
	if err != nil {
		return "", err
	}
	return name, s.Close()
})

// template names a database with all tables; none on a server that is not ours.
func template(t testing.TB) string {
	t.Helper()
	Server(t)
	if os.Getenv("OPDECK_TEST_POSTGRES") != "" {
		return ""
	}
	name, err := migrated()
	if err != nil {
		t.Fatal(err)
	}
	return name
}

// admin runs one statement on server. It waits while the template is in use:
// connections take a moment to end.
func admin(server, statement string) error {
	ctx := context.Background()
	c, err := pgx.Connect(ctx, server)
	if err != nil {
		return fmt.Errorf("PostgreSQL for tests: %w", err)
	}
	defer func() { _ = c.Close(ctx) }()
	for range 100 {
		_, err = c.Exec(ctx, statement)
		var state *pgconn.PgError
		if !errors.As(err, &state) || state.Code != "55006" { // object_in_use
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", strings.Fields(statement)[0], err)
	}
	return nil
}
