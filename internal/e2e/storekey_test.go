//go:build linux

package e2e

import (
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
)

// TestADeletedKey: the key that seals the store is deleted, emptied or replaced under running processes. They go on with
// the key that they have in memory; no other process starts, makes a key or logs in, and each says why. A person who gives
// the tokens up gets a new key at the price of one login, and the process with the old one stops.
func TestADeletedKey(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	var logins atomic.Int64
	s.up.answers(func(w http.ResponseWriter, r *http.Request) {
		if isLogin(r) {
			logins.Add(1)
		}
		good(w, r)
	})
	s.lends()
	s.serves()
	s.borrows()
	key := s.file("state/opdeck.db.key")
	right, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spoil func() error
		says  string
	}{
		"deleted": {func() error { return os.Remove(key) }, "The key file " + key + " is missing."},
		"emptied": {func() error { return os.Truncate(key, 0) }, "is empty"},
		"replaced": {func() error { return os.WriteFile(key, []byte(strings.Repeat("0123456789abcdef", 4)), 0o600) },
			"The key file " + key + " holds another key"},
	} {
		if err := c.spoil(); err != nil {
			t.Fatal(err)
		}
		spoilt, _ := os.ReadFile(key)
		for _, one := range []struct {
			args []string
			code int
		}{{theCall, 2}, {theCall, 2}, {[]string{"session", "status"}, 2}, {[]string{"session", "login", "--yes"}, 2},
			{[]string{"session", "reset", "--yes"}, 2}, {[]string{"check"}, 2}, {[]string{"check", "--all"}, 2},
			{[]string{"session", "status", "--check"}, 2}, {[]string{"doctor"}, 1}} {
			if got := s.run(one.args...); got.code != one.code || !strings.Contains(got.out+got.err, c.says) ||
				!strings.Contains(got.out+got.err, "opdeck session reset --new-key") {
				t.Errorf("%s: opdeck %s ends with %d: %s%s", name, strings.Join(one.args, " "), got.code, got.out, got.err)
			}
		}
		s.borrows() // the server goes on
		s.until(patience, func() string { return name + ": the server does not say it" }, func() bool {
			_, body := s.get("/healthz")
			return strings.Contains(body, "_held")
		})
		if now, _ := os.ReadFile(key); string(now) != string(spoilt) || logins.Load() != 1 {
			t.Errorf("%s: %d logins; the file became %q", name, logins.Load(), now)
		}
		if err := os.WriteFile(key, right, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := s.run(theCall...); got.code != 0 || logins.Load() != 1 {
			t.Errorf("%s, after the file is back: %d logins, %s", name, logins.Load(), got.err)
		}
	}
	if got := s.run("session", "reset", "--new-key", "--yes"); got.code != 2 || !strings.Contains(got.err, "fits the store") {
		t.Errorf("a key that fits is given up: %d, %s", got.code, got.err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if got := s.run("session", "reset", "--new-key"); got.code != 2 {
		t.Errorf("without --yes: %d, %s", got.code, got.err)
	}
	if _, err := os.Lstat(key); err == nil {
		t.Error("a key was made without a confirmation")
	}
	s.does("session", "reset", "--new-key", "--yes")
	if made, err := os.ReadFile(key); err != nil || string(made) == string(right) {
		t.Errorf("no new key: %v", err)
	}
	s.does(theCall...)
	if err := s.served.Wait(); err == nil {
		t.Error("the server with the old key ends well")
	}
	if got := s.log.String(); !strings.Contains(got, "they were given up for another key") {
		t.Errorf("the server does not say why it ends: %s", got)
	}
	if n := logins.Load(); n != 2 {
		t.Errorf("%d logins", n)
	}
}
