// Package seal encrypts tokens at rest: the key file, and the sealing that binds a token to its row.
package seal

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"opdeck/internal/store"
	"opdeck/internal/store/files"
	"opdeck/internal/system/wholefile"
)

// keySize is the length of the master key in bytes.
const keySize = 32

// maxKeyFile bounds a key file, in bytes; a larger file is something else.
const maxKeyFile = 4096

// Key is the master key that seals tokens at rest. Only its methods can read it, so that formatting a struct does not
// print it.
type Key struct{ master func() []byte }

// newKey wraps 32 bytes.
func newKey(master []byte) Key { return Key{func() []byte { return master }} }

// derive derives a 32-byte key for one purpose.
func (k Key) derive(purpose string) []byte {
	out, err := hkdf.Key(sha256.New, k.master(), nil, purpose, keySize)
	if err != nil {
		panic(err) // only for lengths that hkdf does not support
	}
	return out
}

// Check identifies the key without revealing it: two hosts with the same key have the same one.
func (k Key) Check() string { return hex.EncodeToString(k.derive("opdeck key check")[:16]) }

// KeyFileError is why a key file is not used. It never holds the key.
type KeyFileError struct{ Path, Reason string }

// Error is a sentence with the fix.
func (e *KeyFileError) Error() string { return "store: key file " + e.Path + " " + e.Reason }

// OpenKey reads the key in file ([store] key_file). With an empty name the key is beside core's SQLite file and is
// created if missing; a database in memory gets a random one; PostgreSQL needs a named file, the same on every host.
// Errors are a *KeyFileError or the system's.
func OpenKey(file string, core *store.DB) (Key, error) {
	switch {
	case file != "":
		return ReadKey(file)
	case core.Engine() == store.Postgres:
		return Key{}, &KeyFileError{"(none)",
			`is needed with PostgreSQL: make one with "openssl rand -hex 32", mode 0600, ` +
				`and name it in [store] key_file on every host`}
	case core.Path() == "":
		return newKey(randomBytes(keySize)), nil
	}
	file = Beside(core.Path())
	if _, err := os.Lstat(file); errors.Is(err, fs.ErrNotExist) {
		if err := wholefile.Create(file, []byte(hex.EncodeToString(randomBytes(keySize))+"\n")); err != nil &&
			!errors.Is(err, fs.ErrExist) {
			return Key{}, fmt.Errorf("store: %w", err)
		}
	}
	return ReadKey(file)
}

// Beside is the key file beside a SQLite file, for an empty [store] key_file.
func Beside(core string) string { return core + ".key" }

// ReadKey reads the key from a regular file of ours that no one else can read, with 64 hex digits and at most one
// line end. Errors are a *KeyFileError.
func ReadKey(file string) (Key, error) {
	f, err := files.OpenNoFollow(file)
	if err != nil {
		return Key{}, keyOpenError(file, err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return Key{}, &KeyFileError{file, "cannot be read: " + reason(err)}
	}
	switch {
	case !info.Mode().IsRegular():
		return Key{}, &KeyFileError{file, "is not a plain file"}
	case files.Ours(file, info) != nil:
		return Key{}, &KeyFileError{file, "belongs to another user"}
	case files.ReadableByOthers(info):
		return Key{}, &KeyFileError{file,
			fmt.Sprintf("is open to others (mode %04o): run chmod 600 on it, and make a new key if others may have read it",
				info.Mode().Perm())}
	case info.Size() > maxKeyFile:
		return Key{}, &KeyFileError{file, "is too large for a key"}
	}
	text, err := io.ReadAll(io.LimitReader(f, maxKeyFile))
	if err != nil {
		return Key{}, &KeyFileError{file, "cannot be read: " + reason(err)}
	}
	text = bytes.TrimSuffix(bytes.TrimSuffix(text, []byte("\n")), []byte("\r"))
	master := make([]byte, hex.DecodedLen(len(text)))
	if _, err := hex.Decode(master, text); err != nil || len(master) != keySize {
		return Key{}, &KeyFileError{file, "does not contain 64 hex digits (32 random bytes)"}
	}
	return newKey(master), nil
}

func keyOpenError(file string, err error) error {
	if info, e := os.Lstat(file); e == nil && info.Mode()&fs.ModeSymlink != 0 {
		return &KeyFileError{file, "is a symbolic link: name the real file"}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &KeyFileError{file, `is missing: make one with "openssl rand -hex 32" and mode 0600`}
	}
	return &KeyFileError{file, "cannot be read: " + reason(err)}
}

// reason is the system's text of an error, without the path.
func reason(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}
