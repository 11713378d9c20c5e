package app

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBorrowerFingerprint: the fingerprint of a borrower's key is the same in all processes of a store, another one in
// another store, and no plain hash of the key, which could be compared with a guess.
func TestBorrowerFingerprint(t *testing.T) {
	const key = "a key that somebody may guess 1"
	dir := t.TempDir()
	conf := filepath.Join(dir, "config.toml")
	text := "[contexts.box]\nsandbox = true\n[lend.borrowers.nightly]\nkey_env = \"K\"\nrole = \"viewer\"\n"
	if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	shown := func(state string) string {
		t.Helper()
		a, err := Open(t.Context(), Options{ConfigFlag: conf, StateFlag: filepath.Join(dir, state)})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = a.Close() }()
		keys, err := a.BorrowerKeys(func(string) string { return key })
		if err != nil {
			t.Fatal(err)
		}
		b, ok := keys.Find(key)
		if !ok || b.Who.Key == "" {
			t.Fatalf("%+v", b)
		}
		return b.Who.Key
	}
	got, sum := shown("one"), sha256.Sum256([]byte(key))
	if got != shown("one") || got == shown("two") {
		t.Errorf("%s does not depend on the store alone", got)
	}
	for _, plain := range []string{hex.EncodeToString(sum[:]), base64.RawStdEncoding.EncodeToString(sum[:]), key} {
		if strings.Contains(got, plain) {
			t.Errorf("%s shows %s", got, plain)
		}
	}
}
