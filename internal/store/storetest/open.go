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
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"opdeck/internal/store"
)

// Open returns an empty, migrated store that is closed when t ends.
func Open(t testing.TB, e store.Engine) *store.Store {
	t.Helper()
	return OpenURL(t, URL(t, e))
}

// URL returns the address of an empty database that is removed when t ends. Any
// number of handles, also of other processes, may be opened on it.
func URL(t testing.TB, e store.Engine) string {
	t.Helper()
	if e == store.SQLite {
		return "sqlite:" + t.TempDir() + "/state/opdeck.db"
	}
	return postgresDatabase(t)
}

// OpenURL opens a store at url, an answer of URL, until t ends.
func OpenURL(t testing.TB, url string) *store.Store {
	t.Helper()
	s, err := store.Open(context.Background(), store.Options{URL: url})
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

// postgresDatabase creates a database and drops it when t ends, together with
// the connections that are left on it.
func postgresDatabase(t testing.TB) string {
	t.Helper()
	server := Server(t)
	name := "opdeck_test_" + token()
	admin(t, server, "CREATE DATABASE "+name)
	t.Cleanup(func() { admin(t, server, "DROP DATABASE "+name+" WITH (FORCE)") })
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String()
}

// admin runs one statement on server.
func admin(t testing.TB, server, statement string) {
	t.Helper()
	ctx := context.Background()
	c, err := pgx.Connect(ctx, server)
	if err != nil {
		t.Fatalf("PostgreSQL for tests: %v", err)
	}
	defer func() { _ = c.Close(ctx) }()
	if _, err := c.Exec(ctx, statement); err != nil {
		t.Fatalf("%s: %v", strings.Fields(statement)[0], err)
	}
}
