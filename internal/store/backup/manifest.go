// Package backup makes and reads sealed snapshots of a SQLite store: a tar archive, compressed with gzip and encrypted
// with age, so that age and tar can open one without opdeck. It also prepares the copy of a store for its next life:
// no token pair, no holders, and what may have happened since as in doubt.
package backup

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

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

// In are the names of the files in a folder of the snapshot, without the folder.
func (m Manifest) In(folder string) (names []string) {
	for _, f := range m.Files {
		if name, ok := strings.CutPrefix(f.Name, folder+"/"); ok {
			names = append(names, name)
		}
	}
	return names
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
