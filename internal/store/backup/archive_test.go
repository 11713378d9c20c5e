package backup

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"filippo.io/age"
)

// sealed makes a snapshot of two small files.
func sealed(t *testing.T) (text []byte, m Manifest, id *age.X25519Identity) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{CoreFile: "core", BulkFile: "bulk", StoreKey: "key"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m = Manifest{Format: Format, ID: NewID(), Taken: time.Unix(1_700_000_000, 0).UTC()}
	var err error
	if m.Files, err = List(context.Background(), dir); err != nil {
		t.Fatal(err)
	}
	if id, err = age.GenerateX25519Identity(); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(context.Background(), &out, dir, m, id.Recipient()); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), m, id
}

// TestSnapshotIsRead: what was written comes back, with mode 0600.
func TestSnapshotIsRead(t *testing.T) {
	text, m, id := sealed(t)
	dir := t.TempDir()
	got, err := Read(context.Background(), bytes.NewReader(text), dir, id)
	if err != nil || got.ID != m.ID || len(got.Files) != 3 {
		t.Fatalf("%+v, %v", got, err)
	}
	b, err := os.ReadFile(filepath.Join(dir, CoreFile))
	if err != nil || string(b) != "core" {
		t.Errorf("%q, %v", b, err)
	}
	if info, err := os.Stat(filepath.Join(dir, StoreKey)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// TestChangedSnapshotIsRefused: each byte that differs, and each length that is missing.
func TestChangedSnapshotIsRefused(t *testing.T) {
	text, _, id := sealed(t)
	refused := func(what string, b []byte) {
		t.Helper()
		_, err := Read(context.Background(), bytes.NewReader(b), "", id)
		var wrong *FileError
		if !errors.As(err, &wrong) && !errors.Is(err, ErrSealed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for at := range text {
		b := bytes.Clone(text)
		b[at] ^= 1
		refused("changed", b)
		refused("cut", text[:at])
	}
	refused("longer", append(bytes.Clone(text), 0))
}

// TestOtherIdentity: a wrong passphrase is named as such.
func TestOtherIdentity(t *testing.T) {
	text, _, _ := sealed(t)
	other, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Read(context.Background(), bytes.NewReader(text), "", other); !errors.Is(err, ErrSealed) {
		t.Error(err)
	}
}

// TestManifestNamesAreBound: no name leads out of the folder.
func TestManifestNamesAreBound(t *testing.T) {
	for name, want := range map[string]bool{CoreFile: true, "checkpoints/audit-1.jsonl": true, "jobs/replace-1": true,
		"../opdeck.db": false, "checkpoints/../../x": false, "/etc/passwd": false, "other": false, "jobs/a/b": false,
		"jobs/.hidden": false, "manifest.json": false} {
		if allowed(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
