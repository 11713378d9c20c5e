// Package seal encrypts tokens at rest: the key file, and the sealing that binds a token to its row.
package seal

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"opdeck/api/secret"
	"opdeck/api/session"
	"opdeck/internal/store"
	"opdeck/internal/store/files"
	"opdeck/internal/system/wholefile"
)

// errUnsealed: a sealed token is not the one stored there, because of another key, row or generation, or changed
// bytes.
var errUnsealed = errors.New("store: a stored token cannot be unsealed")

// sealVersion is part of the associated data.
const sealVersion = 1

// Sealer seals tokens with AES-256-GCM under random nonces.
type Sealer struct {
	key  Key
	aead cipher.AEAD
}

// New returns a sealer with keys derived from key.
func New(key Key) (*Sealer, error) {
	if key.master == nil {
		return nil, errors.New("store: sessions need a key")
	}
	block, err := aes.NewCipher(key.derive("opdeck session tokens v1"))
	if err != nil {
		return nil, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return nil, err
	}
	return &Sealer{key: key, aead: aead}, nil
}

// Place identifies the row of a token; the seal opens nowhere else.
type Place struct {
	Token       string // access or refresh
	Key         session.Key
	Incarnation string
	Gen         int64
}

// data is the associated data: every part with its length.
func (p Place) data() []byte {
	b := []byte{sealVersion}
	for _, part := range []string{p.Token, p.Key.BaseURL, p.Key.Account, p.Incarnation} {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return binary.AppendVarint(b, p.Gen)
}

// Seal returns nil for an empty token.
func (s *Sealer) Seal(v secret.Value, at Place) []byte {
	if v.Empty() {
		return nil
	}
	return s.aead.Seal(nil, nil, []byte(v.Reveal()), at.data())
}

// Open returns the token, empty for a nil one.
func (s *Sealer) Open(sealed []byte, at Place) (secret.Value, error) {
	if sealed == nil {
		return secret.Value{}, nil
	}
	text, err := s.aead.Open(nil, nil, sealed, at.data())
	if err != nil || len(text) == 0 {
		return secret.Value{}, errUnsealed
	}
	return secret.New(string(text)), nil
}

// Digests are the digests of secrets that people may see: the same for all hosts of a store.
func (k Key) Digests() secret.Digests {
	return secret.NewDigests(k.derive("opdeck digests of secrets v1"))
}

// Pepper keys the fingerprints of passwords of one session.
func (s *Sealer) Pepper(key session.Key) secret.Value {
	return secret.New(hex.EncodeToString(s.key.derive("opdeck fingerprints v1\x00" + key.BaseURL + "\x00" + key.Account)))
}

// keySize is the length of the master key in bytes.
const keySize = 32

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

// Fault is why the key of a store cannot be used.
type Fault string

// The faults of a key file.
const (
	Missing  Fault = "missing"
	Unusable Fault = "unusable" // it holds no key, or others may have read it
	Other    Fault = "other"    // it holds another key than the one that seals the data of the store
)

// KeyFileError is why a key file is not used. It never holds the key.
type KeyFileError struct {
	Path, Reason string
	Fault        Fault
	Sealed       bool // the store has data that a key seals: no other one takes its place by itself
}

// Error is a sentence; of a new store with the fix.
func (e *KeyFileError) Error() string {
	out := "store: key file " + e.Path + " " + e.Reason
	if e.Fault == Missing && !e.Sealed {
		out += `: for a new store, make one with "openssl rand -hex 32" and mode 0600`
	}
	return out
}

// ErrGivenUp is for a process whose key no longer seals the data of the store, because a person gave that data up.
var ErrGivenUp = fmt.Errorf("store: another key seals the data of the store by now (%w)", session.ErrStoreLost)

// OpenKey reads the key in file ([store] key_file) and compares it with the one that seals the data of core. With an
// empty name the key is beside core's SQLite file and is created if missing, unless core has sealed data; a database in
// memory gets a random one; PostgreSQL needs a named file, the same on every host. Errors are a *KeyFileError or those
// of the store and the system.
func OpenKey(ctx context.Context, file string, core *store.DB) (Key, error) {
	switch {
	case file != "":
	case core.Engine() == store.Postgres:
		return Key{}, &KeyFileError{Path: "(none)", Fault: Missing,
			Reason: "is needed with PostgreSQL: name it in [store] key_file on every host"}
	case core.Path() == "":
		return newKey(randomBytes(keySize)), nil
	}
	of, err := sealing(ctx, core)
	if err != nil {
		return Key{}, err
	}
	at := File(file, core)
	key, err := ReadKey(at)
	var bad *KeyFileError
	switch {
	case errors.As(err, &bad) && bad.Fault == Missing && file == "" && !of.sealed:
		return create(at)
	case errors.As(err, &bad):
		bad.Sealed = of.sealed
		return Key{}, bad
	case err != nil:
		return Key{}, err
	}
	return key, of.fits(key, at)
}

// ErrFits is why no key takes the place of the one in the file.
var ErrFits = errors.New("store: the key file fits the data of the store")

// NewKey is the key that takes the place of one that is lost: that of the file if it holds one, else, for a missing
// file beside a SQLite file, a new one that Save writes. ErrFits if the file holds the key of the store.
func NewKey(ctx context.Context, file string, core *store.DB) (key Key, made bool, err error) {
	_, err = OpenKey(ctx, file, core)
	var bad *KeyFileError
	at := File(file, core)
	switch {
	case err == nil:
		return Key{}, false, fmt.Errorf("%w: %s", ErrFits, at)
	case !errors.As(err, &bad):
		return Key{}, false, err
	case bad.Fault == Missing && file == "":
		return newKey(randomBytes(keySize)), true, nil
	case bad.Fault == Other:
		key, err = ReadKey(at)
	}
	return key, false, err
}

// Save writes a new key to a file that does not exist.
func (k Key) Save(file string) error {
	if err := wholefile.Create(file, []byte(hex.EncodeToString(k.master())+"\n")); err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return nil
}

// create makes a key file, unless another process was faster.
func create(file string) (Key, error) {
	if err := newKey(randomBytes(keySize)).Save(file); err != nil && !errors.Is(err, fs.ErrExist) {
		return Key{}, err
	}
	return ReadKey(file)
}

// File is the key file of a store; "" for one in memory.
func File(file string, core *store.DB) string {
	if file == "" && core.Path() != "" {
		return Beside(core.Path())
	}
	return file
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
		return Key{}, &KeyFileError{Path: file, Fault: Unusable, Reason: "cannot be read: " + reason(err)}
	}
	switch {
	case !info.Mode().IsRegular():
		return Key{}, &KeyFileError{Path: file, Fault: Unusable, Reason: "is not a plain file"}
	case files.Ours(file, info) != nil:
		return Key{}, &KeyFileError{Path: file, Fault: Unusable, Reason: "belongs to another user"}
	case files.ReadableByOthers(info):
		return Key{}, &KeyFileError{Path: file, Fault: Unusable,
			Reason: fmt.Sprintf("is open to others (mode %04o): run chmod 600 on it, and make a new key if others may have "+
				"read it",
				info.Mode().Perm())}
	case info.Size() > secret.MaxWritten:
		return Key{}, &KeyFileError{Path: file, Fault: Unusable, Reason: "is too large for a key"}
	}
	text, err := io.ReadAll(io.LimitReader(f, secret.MaxWritten))
	if err != nil {
		return Key{}, &KeyFileError{Path: file, Fault: Unusable, Reason: "cannot be read: " + reason(err)}
	}
	written, err := secret.Written(text, 1)
	if err != nil {
		return Key{}, &KeyFileError{Path: file, Fault: Unusable, Reason: err.Error()}
	}
	master, err := hex.DecodeString(written.Reveal())
	if err != nil || len(master) != keySize {
		return Key{}, &KeyFileError{Path: file, Fault: Unusable, Reason: "does not contain 64 hex digits (32 random bytes)"}
	}
	return newKey(master), nil
}

func keyOpenError(file string, err error) error {
	if info, e := os.Lstat(file); e == nil && info.Mode()&fs.ModeSymlink != 0 {
		return &KeyFileError{Path: file, Fault: Unusable, Reason: "is a symbolic link: name the real file"}
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &KeyFileError{Path: file, Fault: Missing, Reason: "is missing"}
	}
	return &KeyFileError{Path: file, Fault: Unusable, Reason: "cannot be read: " + reason(err)}
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

// use is the note in a store of the key that seals its data. An earlier version kept it for PostgreSQL only.
type use struct {
	Check string `json:"check"` // Key.Check
	Host  string `json:"host"`  // on which it was first used

	sealed bool // the store has data that a key seals
	tokens []sealedToken
}

type sealedToken struct {
	sealed []byte
	at     Place
}

const noteWhere = " WHERE scope = '' AND part = 'key_file' AND name = 'check'"

// noted reads the note; an empty one if there is none.
func noted(ctx context.Context, q store.Querier) (of use, err error) {
	var body []byte
	err = q.QueryRow(ctx, "SELECT body FROM observation"+noteWhere).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return use{}, nil
	}
	if err == nil {
		err = json.Unmarshal(body, &of)
	}
	return of, err
}

// sealing is the note of a store of any version, and the tokens in it where there is no note.
func sealing(ctx context.Context, core *store.DB) (of use, err error) {
	if core.Engine() == store.SQLite { // before a migration
		var tables int
		err = core.QueryRow(ctx, "SELECT COUNT(*) FROM sqlite_master WHERE name IN ('session', 'observation')").Scan(&tables)
		if err != nil || tables == 0 {
			return use{}, err
		}
		if tables == 2 {
			of, err = noted(ctx, core)
		}
	} else {
		of, err = noted(ctx, core)
	}
	if err != nil || of.Check != "" {
		of.sealed = err == nil
		return of, err
	}
	of.tokens, err = store.List(ctx, core, func(scan store.Scan) (t sealedToken, err error) {
		err = scan(&t.at.Key.BaseURL, &t.at.Key.Account, &t.at.Incarnation, &t.at.Gen, &t.sealed)
		t.at.Token = "access"
		return t, err
	}, "SELECT base_url, account, incarnation, gen, sealed_access FROM session WHERE sealed_access IS NOT NULL")
	of.sealed = len(of.tokens) > 0
	return of, err
}

// fits returns a *KeyFileError unless key is the one that seals the store's data. Without a note it is if it opens a
// token.
func (of use) fits(key Key, file string) error {
	other := &KeyFileError{Path: file, Fault: Other, Sealed: true, Reason: "holds another key than the one that " +
		"seals the data of the store"}
	switch {
	case of.Check == key.Check(), !of.sealed:
		return nil
	case of.Check != "":
		return other
	}
	s, err := New(key)
	for _, t := range of.tokens {
		if _, closed := s.Open(t.sealed, t.at); closed == nil {
			return err
		}
	}
	return other
}

// Claim notes that k seals the data of core from now on, unless there is a note; one of another key is a *KeyFileError
// about file.
func (k Key) Claim(ctx context.Context, core *store.DB, file, host string) error {
	of, err := noted(ctx, core)
	if err == nil && of.Check == "" {
		if err = core.Write(ctx, func(tx *store.Tx) error { return k.note(ctx, tx, host, "NOTHING") }); err == nil {
			of, err = noted(ctx, core)
		}
	}
	if err != nil {
		return err
	}
	of.sealed = true
	return of.fits(k, file)
}

// Take notes in tx that the key of s seals the data of the store from now on: the caller removes what another key has
// sealed.
func (s *Sealer) Take(ctx context.Context, tx *store.Tx, host string) error {
	return s.key.note(ctx, tx, host, "UPDATE SET body = excluded.body, seen_us = excluded.seen_us")
}

func (k Key) note(ctx context.Context, tx *store.Tx, host, conflict string) error {
	now, err := tx.Now(ctx)
	if err != nil {
		return err
	}
	body, err := json.Marshal(use{Check: k.Check(), Host: host})
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}
	return tx.Exec(ctx, `INSERT INTO observation (scope, part, name, body, seen_us) VALUES ('', 'key_file', 'check', ?, ?)
ON CONFLICT (scope, part, name) DO `+conflict, string(body), now.UnixMicro())
}

// InUse returns ErrGivenUp if another key than that of s seals the data of the store by now. It is for what s cannot
// open, and before something new is sealed.
func (s *Sealer) InUse(ctx context.Context, q store.Querier) error {
	of, err := noted(ctx, q)
	if err == nil && of.Check != "" && of.Check != s.key.Check() {
		return ErrGivenUp
	}
	return err
}
