// Package backup makes and reads sealed snapshots of a SQLite store: a tar archive, compressed with gzip and encrypted
// with age, so that age and tar can open one without opdeck. It also prepares the copy of a store for its next life:
// no token pair, no holders, and what may have happened since as in doubt.
package backup

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"opdeck/internal/store"
	"opdeck/internal/system/wholefile"
)

// FileError is why a file is not used as a snapshot. Reason continues a sentence that begins with the file's name.
type FileError struct{ Reason string }

func (e *FileError) Error() string { return "backup: the file " + e.Reason }

// ErrSealed: the passphrase or the identity does not open the file.
var ErrSealed = errors.New("backup: the passphrase or the identity is another one")

// maxManifest bounds the manifest, in bytes.
const maxManifest = 16 << 20

// Write seals the files of m, which are in dir, for the recipients.
func Write(ctx context.Context, w io.Writer, dir string, m Manifest, recipients ...age.Recipient) error {
	sealed, err := age.Encrypt(w, recipients...)
	if err != nil {
		return err
	}
	packed, err := gzip.NewWriterLevel(sealed, gzip.BestSpeed)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(packed)
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	if err := archive.WriteHeader(&tar.Header{Name: manifestName, Mode: 0o600, Size: int64(len(text)),
		ModTime: m.Taken}); err != nil {
		return err
	}
	if _, err := archive.Write(text); err != nil {
		return err
	}
	for _, f := range m.Files {
		if err := errors.Join(ctx.Err(), add(archive, filepath.Join(dir, filepath.FromSlash(f.Name)), f, m)); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), packed.Close(), sealed.Close())
}

func add(archive *tar.Writer, path string, f File, m Manifest) error {
	if err := archive.WriteHeader(&tar.Header{Name: f.Name, Mode: 0o600, Size: f.Size, ModTime: m.Taken}); err != nil {
		return err
	}
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(archive, in)
	return errors.Join(err, in.Close())
}

// Read opens a snapshot and checks each of its bytes. With dir it writes the files there, with mode 0600; "" only
// checks. Errors are ErrSealed, a *FileError or the system's.
func Read(ctx context.Context, r io.Reader, dir string, identities ...age.Identity) (m Manifest, err error) {
	open, err := age.Decrypt(bufio.NewReaderSize(r, 1<<16), identities...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return m, ErrSealed
	}
	if err != nil {
		return m, &FileError{"is not a snapshot of opdeck, or its beginning is damaged"}
	}
	source := &reader{r: open}
	m, err = unpack(ctx, source, dir)
	if source.err != nil { // the seal is broken: what is wrong inside follows from that
		return m, &FileError{"was changed or is not complete"}
	}
	return m, err
}

// reader keeps the error of a broken seal or of the system.
type reader struct {
	r   io.Reader
	err error
}

func (r *reader) Read(b []byte) (int, error) {
	n, err := r.r.Read(b)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

func unpack(ctx context.Context, r io.Reader, dir string) (m Manifest, err error) {
	broken := &FileError{"is not a snapshot of opdeck"}
	packed, err := gzip.NewReader(r)
	if err != nil {
		return m, broken
	}
	archive := tar.NewReader(packed)
	h, err := archive.Next()
	if err != nil || h.Name != manifestName || h.Size > maxManifest {
		return m, broken
	}
	if err := json.NewDecoder(archive).Decode(&m); err != nil {
		return m, broken
	}
	if err := m.check(); err != nil {
		return m, err
	}
	for _, f := range m.Files {
		h, err := archive.Next()
		if err != nil || h.Name != f.Name || h.Size != f.Size || h.Typeflag != tar.TypeReg {
			return m, &FileError{"does not hold what its manifest lists"}
		}
		if err := errors.Join(ctx.Err(), extract(archive, f, dir)); err != nil {
			return m, err
		}
	}
	if _, err := archive.Next(); !errors.Is(err, io.EOF) {
		return m, &FileError{"holds more than its manifest lists"}
	}
	_, err = io.Copy(io.Discard, io.MultiReader(packed, r)) // up to the end of the seal
	return m, err
}

// extract checks one file, and writes it below dir unless that is "".
func extract(r io.Reader, f File, dir string) error {
	h := sha256.New()
	if dir == "" {
		if _, err := io.Copy(h, r); err != nil {
			return err
		}
	} else {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return err
		}
		if err := wholefile.Write(path, func(w io.Writer) error {
			_, err := io.Copy(io.MultiWriter(w, h), r)
			return err
		}); err != nil {
			return err
		}
	}
	if hex.EncodeToString(h.Sum(nil)) != f.SHA256 {
		return &FileError{"holds a changed " + f.Name}
	}
	return nil
}

// Format is the version of the archive that this program writes and reads.
const Format = 1

// Names of files and folders in an archive.
const (
	manifestName = "manifest.json"
	CoreFile     = "opdeck.db"
	BulkFile     = "opdeck-index.db"
	StoreKey     = "store.key"
	AuditKey     = "audit.key"
	Checkpoints  = "checkpoints"   // folder
	Archive      = "audit-archive" // folder
	Jobs         = "jobs"          // folder
)

// Manifest says what a snapshot holds. It is the first file of the archive.
type Manifest struct {
	Format  int       `json:"format"`
	ID      string    `json:"id"` // random
	Program string    `json:"program"`
	Host    string    `json:"host"`
	Taken   time.Time `json:"taken"` // by the host's clock, UTC
	Core    int64     `json:"core_version"`
	Bulk    int64     `json:"index_version"`
	Trail   Trail     `json:"trail"`
	Files   []File    `json:"files"`
}

// Trail is the end of the audit trail in a snapshot.
type Trail struct {
	Chain    string    `json:"chain"`
	Records  int64     `json:"records"`
	Head     string    `json:"head"` // hash of the last record
	At       time.Time `json:"at,omitzero"`
	Problems int       `json:"problems"`          // of its verification, when the snapshot was taken
	First    string    `json:"problem,omitempty"` // the first of them
}

// File is one file of a snapshot.
type File struct {
	Name   string `json:"name"` // with slashes
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Size is the total size of the files in bytes.
func (m Manifest) Size() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// Has reports whether the snapshot holds a file.
func (m Manifest) Has(name string) bool {
	return slices.ContainsFunc(m.Files, func(f File) bool { return f.Name == name })
}

// NewID is the id of a new snapshot.
func NewID() string {
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// List returns all files of a folder with their digests.
func List(ctx context.Context, dir string) (list []File, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		f := File{Name: filepath.ToSlash(name)}
		if !allowed(f.Name) {
			return nil // a lock file of SQLite
		}
		if f.Size, f.SHA256, err = digest(path); err != nil {
			return err
		}
		list = append(list, f)
		return ctx.Err()
	})
	return list, err
}

// allowed reports whether a snapshot may hold a file with that name.
func allowed(name string) bool {
	if slices.Contains([]string{CoreFile, BulkFile, StoreKey, AuditKey}, name) {
		return true
	}
	folder, file, ok := strings.Cut(name, "/")
	return ok && slices.Contains([]string{Checkpoints, Archive, Jobs}, folder) && filepath.IsLocal(file) &&
		!strings.ContainsAny(file, "/\\") && !strings.HasPrefix(file, ".")
}

// digest is the size and the SHA-256 of a file.
func digest(path string) (int64, string, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return n, hex.EncodeToString(h.Sum(nil)), err
}

// check refuses a manifest that this program cannot use.
func (m Manifest) check() error {
	if m.Format != Format {
		return &FileError{fmt.Sprintf("has format %d, but this program reads format %d; use the newer program", m.Format,
			Format)}
	}
	for i, f := range m.Files {
		if !allowed(f.Name) || f.Size < 0 || slices.ContainsFunc(m.Files[:i], func(g File) bool { return g.Name == f.Name }) {
			return &FileError{fmt.Sprintf("lists %q, which is no file of a snapshot", f.Name)}
		}
	}
	for _, name := range []string{CoreFile, BulkFile} {
		if !m.Has(name) {
			return &FileError{"has no " + name}
		}
	}
	return nil
}

// DropTokens removes from the copy of a store what only the running processes may use: the token pairs, so that the
// next call of each account logs in, the leases and the marks of processes.
func DropTokens(ctx context.Context, s *store.Store) error {
	if err := s.Core.Tune(ctx, "PRAGMA secure_delete = ON"); err != nil { // no token stays in a free page
		return err
	}
	err := s.Core.Write(ctx, func(tx *store.Tx) error {
		for _, q := range []string{
			`UPDATE session SET incarnation = lower(hex(randomblob(16))), pair_state = 'none', sealed_access = NULL,
				sealed_refresh = NULL, access_until_ns = 0, refresh_until_ns = 0, fence = fence + 1, owner = '{}',
				phase = 'free', has_lock = 0, lease_boot = '', lease_for_ns = 0, lease_until_ns = 0, routes = '[]'`,
			`DELETE FROM session_instance`, `DELETE FROM presence`,
			`DELETE FROM observation WHERE scope <> '' AND part <> 'lock'`,
			`UPDATE turn SET owner = '', until_us = 0`,
		} {
			if err := tx.Exec(ctx, q); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.Bulk.Exec(ctx, `UPDATE index_meta SET owner = '', until_us = 0 WHERE owner <> ''`)
}

// Renewed counts what a restored store has in doubt.
type Renewed struct {
	Writes   int64 `json:"writes"`    // with an unknown outcome
	Jobs     int64 `json:"jobs"`      // unfinished replacements
	Requests int64 `json:"approvals"` // requests for approval that lapsed
}

// Renew prepares the copy of a SQLite store that is about to be used again, though it is as old as taken. Writes in
// doubt and unfinished jobs say so, are looked up as if they were sent now, and stay in doubt; requests for approval
// lapse, since one may have been used.
func Renew(ctx context.Context, core *store.DB, taken time.Time) (n Renewed, err error) {
	mark := taken.Format(time.RFC3339Nano)
	err = core.Write(ctx, func(tx *store.Tx) error {
		now, err := tx.Now(ctx)
		if err != nil {
			return err
		}
		at := now.UnixMicro()
		n.Writes, err = store.Affected(tx.Result(ctx, `UPDATE unsettled SET body = json_set(body, '$.restored', ?),
			until_us = MAX(until_us, ? + until_us - sent_us), next_us = ?, looks = 0 WHERE state <> 'not_seen'`, mark, at, at))
		if err != nil {
			return err
		}
		n.Jobs, err = store.Affected(tx.Result(ctx,
			`UPDATE job SET body = json_set(body, '$.restored', ?) WHERE done = 0`, mark))
		if err != nil {
			return err
		}
		n.Requests, err = store.Affected(tx.Result(ctx, `UPDATE approval SET state = 'lapsed',
			body = json_set(body, '$.state', 'lapsed', '$.ended', 'a backup of the store was restored')
			WHERE state IN ('open', 'approved')`))
		if err != nil {
			return err
		}
		return tx.Exec(ctx, `UPDATE approval_version SET n = n + 1`)
	})
	return n, err
}
