package accounts_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/accounts"
	"opdeck/internal/store/seal"
	"opdeck/internal/store/storetest"
)

// TestSpoiltTokensCountAsNoPair changes what is stored in every way that a seal
// must notice.
func TestSpoiltTokensCountAsNoPair(t *testing.T) {
	ctx := context.Background()
	other := session.Key{BaseURL: key1.BaseURL, Account: "other@one.example"}
	spoils := map[string]string{
		"bit flip":            "UPDATE session SET sealed_access = ? WHERE account = 'machine@one.example'",
		"older generation":    "UPDATE session SET gen = gen + 1",
		"another incarnation": "UPDATE session SET incarnation = 'ffffffffffffffffffffffffffffffff'",
		"swapped tokens":      "UPDATE session SET sealed_access = sealed_refresh, sealed_refresh = sealed_access",
		"another account":     "UPDATE session SET account = 'other@one.example'",
		"access removed":      "UPDATE session SET sealed_access = NULL",
		"truncated":           "UPDATE session SET sealed_refresh = substr(sealed_refresh, 1, 10)",
		"emptied":             "UPDATE session SET sealed_access = substr(sealed_access, 1, 0)",
	}
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		for name, spoil := range spoils {
			t.Run(name, func(t *testing.T) {
				wipe(t, st)
				s := storeSession(t, st)
				installed(t, s, "the-access-token", "the-refresh-token")
				var args []any
				if strings.Contains(spoil, "?") {
					var sealed []byte
					if err := st.Core.QueryRow(ctx, "SELECT sealed_access FROM session").Scan(&sealed); err != nil {
						t.Fatal(err)
					}
					sealed[len(sealed)/2] ^= 1
					args = append(args, sealed)
				}
				if err := st.Core.Exec(ctx, spoil, args...); err != nil {
					t.Fatal(err)
				}
				key := key1
				if name == "another account" {
					key = other
				}
				wantLogin(t, s, key)
			})
		}
	})
}

// wantLogin checks that the row reads as a pair that may be dead, and that a new
// pair can be installed over it.
func wantLogin(t *testing.T, s *accounts.Store, key session.Key) {
	t.Helper()
	row, err := s.Load(context.Background(), key)
	if err != nil {
		t.Fatal(err)
	}
	if row.State != session.Doubtful || !row.Access.Empty() || !row.Refresh.Empty() {
		t.Errorf("state %s, access empty %v, refresh empty %v", row.State, row.Access.Empty(), row.Refresh.Empty())
	}
	if key != key1 {
		return
	}
	if row = installed(t, s, "new", "newer"); row.State != session.Live || row.Access.Reveal() != "new" {
		t.Errorf("after a login: %s", row.State)
	}
}

func TestAnotherKeyIsNoPair(t *testing.T) {
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		installed(t, storeSession(t, st), "acc", "ref")
		wantLogin(t, storeSession(t, st), key1)
	})
}

// TestAKeyThatSealsIsNotReplaced: once a key seals the data of a store, another one is refused, and none is made, until
// that data is given up. Then the first one is refused.
func TestAKeyThatSealsIsNotReplaced(t *testing.T) {
	ctx := context.Background()
	storetest.Each(t, func(t *testing.T, st *store.Store) {
		file := filepath.Join(t.TempDir(), "key")
		write := func(text string) {
			t.Helper()
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		fault := func(want seal.Fault) {
			t.Helper()
			_, err := seal.OpenKey(ctx, file, st.Core)
			var bad *seal.KeyFileError
			if !errors.As(err, &bad) || bad.Fault != want || !bad.Sealed {
				t.Errorf("%v, not %s", err, want)
			}
		}
		first, second := strings.Repeat("0123456789abcdef", 4), strings.Repeat("fedcba9876543210", 4)
		write(first)
		one, err := seal.OpenKey(ctx, file, st.Core)
		if err != nil {
			t.Fatal(err)
		}
		old := newSession(t, st, one, new(storetest.Shift), "")
		installed(t, old, "acc", "ref")
		for _, claimed := range []bool{false, true} { // at first as an earlier version left it
			if claimed {
				if err := one.Claim(ctx, st.Core, file, "host"); err != nil {
					t.Fatal(err)
				}
			}
			write(second)
			fault(seal.Other)
			write("")
			fault(seal.Unusable)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			fault(seal.Missing)
			write(first)
			if _, err := seal.OpenKey(ctx, file, st.Core); err != nil {
				t.Errorf("the key itself: %v", err)
			}
			if _, _, err := seal.NewKey(ctx, file, st.Core); !errors.Is(err, seal.ErrFits) {
				t.Errorf("a key in place of one that fits: %v", err)
			}
		}
		write(second)
		two, made, err := seal.NewKey(ctx, file, st.Core)
		if err != nil || made {
			t.Fatalf("made %t, %v", made, err)
		}
		other := newSession(t, st, two, new(storetest.Shift), "")
		if _, err := other.Load(ctx, key1); !errors.Is(err, session.ErrStoreLost) {
			t.Errorf("a process with another key reads the pair: %v", err)
		}
		if row, err := old.Load(ctx, key1); err != nil || row.Access.Reveal() != "acc" {
			t.Errorf("the first process: %v, %v", row.State, err)
		}
		if err := other.Reseal(ctx, "host"); err != nil {
			t.Fatal(err)
		}
		row, err := old.Load(ctx, key1)
		if err != nil || row.State != session.None {
			t.Fatalf("%s, %v", row.State, err)
		}
		if wait, err := announce(old, row); !errors.Is(err, session.ErrStoreLost) {
			t.Errorf("a login of the process with the old key: %s, %v", wait, err)
		}
		if err := old.Release(ctx, key1, session.Release{Incarnation: row.Incarnation, Fence: row.Fence + 1}); err != nil {
			t.Error(err)
		}
		installed(t, other, "new", "newer")
		if _, err := old.Load(ctx, key1); !errors.Is(err, session.ErrStoreLost) {
			t.Errorf("the process with the old key reads the new pair: %v", err)
		}
	})
}

// announce takes the lease and marks a login.
func announce(s *accounts.Store, row session.Row) (time.Duration, error) {
	ctx, me := context.Background(), owner("a")
	got, ok, err := s.Acquire(ctx, key1, session.Claim{Incarnation: row.Incarnation, Gen: row.Gen, Fence: row.Fence, Owner: me,
		For: time.Minute})
	if err != nil || !ok {
		return 0, fmt.Errorf("acquired %t: %w", ok, err)
	}
	return s.Mark(ctx, key1, session.Mark{Incarnation: got.Incarnation, Fence: got.Fence, Owner: me.ID, Kind: session.ByLogin,
		For: time.Minute, Rule: limit.Rule{N: 6, Window: time.Minute}})
}

// TestADeletedKeyIsNotMadeAnew: the key beside a SQLite file is made once.
func TestADeletedKeyIsNotMadeAnew(t *testing.T) {
	ctx := context.Background()
	st := storetest.OpenURL(t, storetest.URL(t, store.SQLite))
	file := seal.Beside(st.Core.Path())
	key, err := seal.OpenKey(ctx, "", st.Core)
	if err == nil {
		err = key.Claim(ctx, st.Core, file, "host")
	}
	if err == nil {
		err = os.Remove(file)
	}
	if err != nil {
		t.Fatal(err)
	}
	var bad *seal.KeyFileError
	if _, err = seal.OpenKey(ctx, "", st.Core); !errors.As(err, &bad) || bad.Fault != seal.Missing || !bad.Sealed {
		t.Errorf("%v", err)
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file was made: %v", err)
	}
	next, made, err := seal.NewKey(ctx, "", st.Core)
	if err != nil || !made || next.Check() == key.Check() {
		t.Fatalf("made %t, %v", made, err)
	}
	if err := next.Save(file); err != nil {
		t.Fatal(err)
	}
	if got, err := seal.ReadKey(file); err != nil || got.Check() != next.Check() {
		t.Errorf("%v", err)
	}
}

func TestKeyFiles(t *testing.T) {
	unixOnly(t)
	good := strings.Repeat("0123456789abcdef", 4)
	st := storetest.OpenURL(t, storetest.URL(t, store.SQLite))
	write := func(text string, mode os.FileMode) func(string) error {
		return func(f string) error { return errors.Join(os.WriteFile(f, []byte(text), 0o600), os.Chmod(f, mode)) }
	}
	for _, c := range []struct {
		name string
		make func(file string) error
		want string // "" accepted
	}{
		{"plain", write(good, 0o600), ""},
		{"read only, line end", write(good+"\n", 0o400), ""},
		{"open to the group", write(good, 0o640), "mode 0640"},
		{"open to all", write(good, 0o644), "mode 0644"},
		{"short", write(good[2:], 0o600), "64 hex digits"},
		{"long", write(good+"00", 0o600), "64 hex digits"},
		{"two line ends", write(good+"\n\n", 0o600), "empty line"},
		{"not hex", write(strings.Repeat("zz", 32), 0o600), "64 hex digits"},
		{"empty", write("", 0o600), "is empty"},
		{"huge", write(strings.Repeat("0", 5000), 0o600), "too large"},
		{"missing", func(string) error { return nil }, "is missing: for a new store"},
		{"folder", func(f string) error { return os.Mkdir(f, 0o700) }, "not a plain file"},
		{"fifo", mkfifo, "not a plain file"},
		{"link", func(f string) error {
			return errors.Join(write(good, 0o600)(f+".real"), os.Symlink(f+".real", f))
		}, "symbolic link"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "key")
			if err := c.make(file); err != nil {
				t.Fatal(err)
			}
			key, err := seal.OpenKey(context.Background(), file, st.Core)
			if c.want == "" {
				if err != nil {
					t.Error(err)
				}
				if shown := fmt.Sprintf("%v %+v %#v", key, key, key); strings.Contains(shown, good[:8]) {
					t.Errorf("the key prints itself: %s", shown)
				}
				return
			}
			var bad *seal.KeyFileError
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), good[:8]) {
				t.Errorf("%v; want a KeyFileError with %q", err, c.want)
			}
		})
	}
}

func TestKeyBesideTheDatabase(t *testing.T) {
	st := storetest.OpenURL(t, storetest.URL(t, store.SQLite))
	one, err := seal.OpenKey(context.Background(), "", st.Core)
	if err != nil {
		t.Fatal(err)
	}
	two, err := seal.OpenKey(context.Background(), "", st.Core)
	if err != nil {
		t.Fatal(err)
	}
	shift := new(storetest.Shift)
	installed(t, newSession(t, st, one, shift, ""), "acc", "ref")
	row, err := newSession(t, st, two, shift, "").Load(context.Background(), key1)
	if err != nil || row.Access.Reveal() != "acc" {
		t.Errorf("the key read again does not open the pair: %s, %v", row.State, err)
	}
}

func TestPostgresNeedsAKey(t *testing.T) {
	st := storetest.Open(t, store.Postgres)
	if _, err := seal.OpenKey(context.Background(), "", st.Core); err == nil || !strings.Contains(err.Error(), "key_file") {
		t.Errorf("%v", err)
	}
}

func TestFilesAreOurs(t *testing.T) {
	unixOnly(t)
	dir := filepath.Join(t.TempDir(), "a", "state")
	s := storetest.OpenURL(t, "sqlite:"+dir+"/opdeck.db")
	if _, err := seal.OpenKey(context.Background(), "", s.Core); err != nil {
		t.Fatal(err)
	}
	if err := storeSession(t, s).Beat(context.Background(), key1, owner("a")); err != nil { // so that the WAL exists
		t.Fatal(err)
	}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has mode %04o, want %04o", path, info.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func storeSession(t testing.TB, s *store.Store) *accounts.Store {
	return newSession(t, s, testKey(t), new(storetest.Shift), "")
}
