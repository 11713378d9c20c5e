package store_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"opdeck/internal/store"
	"opdeck/internal/store/files"
	"opdeck/internal/store/storetest"
)

func openFile(dir string) error {
	s, err := store.Open(context.Background(), store.Options{URL: "sqlite", Dir: dir})
	if err == nil {
		err = s.Close()
	}
	return err
}

func unixOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("access lists decide there")
	}
}

func TestUnsafePathsAreRefused(t *testing.T) {
	unixOnly(t)
	for _, c := range []struct {
		name, want string
		spoil      func(t *testing.T, dir string) error
	}{
		{"writable by all", "chmod 700", func(_ *testing.T, dir string) error { return os.Chmod(dir, 0o777) }},
		{"writable by the group", "chmod 700", func(_ *testing.T, dir string) error { return os.Chmod(dir, 0o770) }},
		{"symbolic link", "symbolic link", func(t *testing.T, dir string) error {
			return errors.Join(os.Remove(dir), os.Symlink(t.TempDir(), dir))
		}},
		{"a file", "not a folder", func(_ *testing.T, dir string) error {
			return errors.Join(os.Remove(dir), os.WriteFile(dir, nil, 0o600))
		}},
		{"another owner", "belongs to user 4321", func(t *testing.T, dir string) error {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a folder away")
			}
			return os.Chown(dir, 4321, 4321)
		}},
		{"database is a link", "symbolic link", func(_ *testing.T, dir string) error {
			return os.Symlink(filepath.Join(dir, "else"), filepath.Join(dir, "opdeck.db"))
		}},
		{"database is a folder", "not a plain file", func(_ *testing.T, dir string) error {
			return os.Mkdir(filepath.Join(dir, "opdeck.db"), 0o700)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "state")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := c.spoil(t, dir); err != nil {
				t.Fatal(err)
			}
			err := openFile(dir)
			var unsafe *files.UnsafePathError
			if !errors.As(err, &unsafe) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want an UnsafePathError with %q", err, c.want)
			}
		})
	}
}

func TestOpenFilesLoseTheirLooseMode(t *testing.T) {
	unixOnly(t)
	dir := t.TempDir() + "/state"
	if err := openFile(dir); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "opdeck.db")
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := openFile(dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestNetworkDiskIsRefusedUntouched(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	asked := ""
	opt := store.Options{URL: "sqlite", Dir: dir}.WithSystem(func(d string) (string, error) {
		asked = d
		return "NFS", nil
	})
	_, err := store.Open(context.Background(), opt)
	var disk *files.NetworkDiskError
	if !errors.As(err, &disk) || disk.System != "NFS" || !strings.Contains(err.Error(), "PostgreSQL") {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was created: %v", err)
	}
	if asked != filepath.Dir(dir) {
		t.Errorf("asked about %q, want the nearest existing folder %q", asked, filepath.Dir(dir))
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "opdeck.db")
	if err := os.WriteFile(file, []byte("of another host"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := store.Open(context.Background(), opt); !errors.As(err, &disk) {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(file)
	left, err2 := os.ReadDir(dir)
	if string(text) != "of another host" || len(left) != 1 || errors.Join(err, err2) != nil {
		t.Errorf("the folder was touched: %q, %v, %v", text, left, errors.Join(err, err2))
	}
}

func TestDamagedFileIsNamedAndKept(t *testing.T) {
	for name, content := range map[string][]byte{
		"text":           []byte("dear diary, this is not a database\n"),
		"long text":      bytes.Repeat([]byte("not a database "), 1000),
		"header only":    []byte("SQLite format 3\x00"),
		"broken content": append([]byte("SQLite format 3\x00"), bytes.Repeat([]byte{0xa5}, 8192)...),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "opdeck.db")
			if err := os.WriteFile(file, content, 0o600); err != nil {
				t.Fatal(err)
			}
			err := openFile(dir)
			if !store.IsKind(err, store.Damaged) || !strings.Contains(err.Error(), file) {
				t.Errorf("%v; want Damaged with the file's name", err)
			}
			if now, err := os.ReadFile(file); err != nil || !bytes.Equal(now, content) {
				t.Errorf("the file was changed: %v", err)
			}
		})
	}
}

// TestADamagedIndexIsMadeAnew: found at opening or by a read, it blocks no later process; the old file stays, and while
// another process has it open nothing is moved.
func TestADamagedIndexIsMadeAnew(t *testing.T) {
	spoil := func(t *testing.T, path string, from int64) {
		t.Helper()
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			_, err = f.WriteAt(bytes.Repeat([]byte{0xa5}, 64<<10), from)
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, from := range map[string]int64{"its header": 0, "a page": 4096, "a folder": -1} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			index := filepath.Join(dir, "opdeck-index.db")
			var said []string
			open := func() (*store.Store, error) {
				return store.Open(t.Context(), store.Options{URL: "sqlite", Dir: dir, Notice: func(s string) { said = append(said, s) }})
			}
			s, err := open()
			if err == nil {
				err = s.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			if from >= 0 {
				spoil(t, index, from)
			} else if err := errors.Join(os.Remove(index), os.Mkdir(index, 0o700)); err != nil {
				t.Fatal(err)
			}
			if s, err = open(); err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if _, err := os.Stat(index + ".damaged"); err != nil || !store.DamagedSince(index).IsZero() {
				t.Error("the old file is gone, or the mark is there:", err)
			}
			if len(said) != 1 || !strings.Contains(said[0], "moved it to "+index+".damaged") {
				t.Errorf("%q", said)
			}
			var n int
			if err := s.Bulk.QueryRow(t.Context(), "SELECT COUNT(*) FROM index_op").Scan(&n); err != nil || n != 0 {
				t.Error(n, err)
			}
		})
	}
}

func TestNewerTablesAreRefused(t *testing.T) {
	for _, e := range []store.Engine{store.SQLite, store.Postgres} {
		t.Run(e.String(), func(t *testing.T) {
			ctx, url := context.Background(), storetest.URL(t, e)
			s := storetest.OpenURL(t, url)
			if err := s.Core.Exec(ctx, "INSERT INTO opdeck_core_version (version_id, is_applied) VALUES (9001, ?)", e == store.Postgres); err != nil {
				t.Fatal(err)
			}
			_, err := store.Open(ctx, store.Options{URL: url})
			if !store.IsKind(err, store.Newer) || !strings.Contains(err.Error(), "version 9001") || strings.Count(err.Error(), "version ") != 2 {
				t.Errorf("%v; want Newer with both versions", err)
			}
		})
	}
}

// TestAMissingRightNamesItsGrant: a user who may create no tables is told the statement, and with it the store opens.
func TestAMissingRightNamesItsGrant(t *testing.T) {
	at := storetest.Bare(t, store.Postgres)
	run := func(statement string) {
		t.Helper()
		conn, err := pgx.Connect(context.Background(), at)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.Exec(context.Background(), statement); err != nil {
			t.Fatal(statement, err)
		}
	}
	run("CREATE ROLE newcomer LOGIN")
	run("REVOKE CREATE ON SCHEMA public FROM PUBLIC") // what PostgreSQL 15 and newer begin with
	t.Cleanup(func() { run("DROP OWNED BY newcomer"); run("DROP ROLE newcomer") })
	to, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	to.User = url.User("newcomer")
	_, err = store.Open(context.Background(), store.Options{URL: to.String()})
	_, grant, said := strings.Cut(store.Says(err), "gives the right: ")
	if !store.IsKind(err, store.NoRight) || !said || !strings.HasPrefix(grant, "GRANT ") {
		t.Fatalf("%v, %q", err, store.Says(err))
	}
	run(grant)
	s, err := store.Open(context.Background(), store.Options{URL: to.String()})
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
}

func TestUnreachableServerIsNamedWithoutSecrets(t *testing.T) {
	for _, url := range []string{
		"postgres://me:hunter2@127.0.0.1:1/db?sslmode=disable",
		"postgres://me:hunter2@/db?host=/nowhere",
	} {
		_, err := store.Open(context.Background(), store.Options{URL: url})
		if !store.IsKind(err, store.Unavailable) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "me:") {
			t.Errorf("%v; want Unavailable without user and password", err)
		}
	}
	_, err := store.Open(context.Background(), store.Options{URL: "mysql://me:hunter2@host/db"})
	if err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("unknown scheme: %v", err)
	}
}

func TestBusyIsNamed(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	url := storetest.URL(t, store.SQLite)
	one, two := storetest.OpenURL(t, url), storetest.OpenURL(t, url)
	err := one.Core.Write(context.Background(), func(*store.Tx) error {
		return two.Core.Write(ctx, func(*store.Tx) error { return nil })
	})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a writer that waits longer than its context: %v", err)
	}
	if err := two.Core.Write(context.Background(), func(*store.Tx) error { return nil }); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}

func write(ctx context.Context, db *store.DB, v string) error {
	return db.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Exec(ctx, "CREATE TABLE IF NOT EXISTS probe (v TEXT)"); err != nil {
			return err
		}
		err := tx.Exec(ctx, "INSERT INTO probe (v) VALUES (?)", v)
		return err
	})
}

func checkIntegrity(t testing.TB, db *store.DB) {
	t.Helper()
	var said string
	if err := db.QueryRow(context.Background(), "PRAGMA integrity_check").Scan(&said); err != nil || said != "ok" {
		t.Errorf("integrity_check: %q, %v", said, err)
	}
}
