package backup

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"filippo.io/age"

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
