// Package release reads and writes the signed list of a release's files: their
// SHA-256 sums as a signed note (golang.org/x/mod/sumdb/note), so that one file,
// one list and one public key are enough to check a download without a network.
//
// The text of the note is
//
//	opdeck release
//	VERSION
//	HEX  NAME        one line a file, sorted by NAME, as sha256sum writes it
package release

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// FileName is what the signed list is called beside the files of a release.
const FileName = "SHA256SUMS.note"

const title = "opdeck release"

// Errors of Open. An error of note says why a signature does not count.
var (
	ErrKey  = errors.New("not a public key of the form NAME+HASH+BASE64")
	ErrText = errors.New("the signed text is not a list of an opdeck release")
)

// File is one file of a release.
type File struct {
	Name string
	Sum  [sha256.Size]byte
}

// Sums is the list of one release.
type Sums struct {
	Version string
	Files   []File
}

// Sign writes the list as a note that is signed with a private key of the form
// that note.GenerateKey makes.
func (s Sums) Sign(privateKey string) ([]byte, error) {
	signer, err := note.NewSigner(strings.TrimSpace(privateKey))
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	files := slices.SortedFunc(slices.Values(s.Files), func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%s\n", title, s.Version)
	for _, f := range files {
		fmt.Fprintf(&text, "%x  %s\n", f.Sum, f.Name)
	}
	return note.Sign(&note.Note{Text: text.String()}, signer)
}

// Open reads a signed list and returns it with the name of the key that signed
// it. It fails with ErrKey, ErrText or an error of note when the list is not
// signed by publicKey.
func Open(signed []byte, publicKey string) (s Sums, key string, err error) {
	verifier, err := note.NewVerifier(strings.TrimSpace(publicKey))
	if err != nil {
		return Sums{}, "", ErrKey
	}
	n, err := note.Open(signed, note.VerifierList(verifier))
	if err != nil {
		return Sums{}, "", err
	}
	lines := strings.Split(strings.TrimSuffix(n.Text, "\n"), "\n")
	if len(lines) < 2 || lines[0] != title {
		return Sums{}, "", ErrText
	}
	s.Version = lines[1]
	for _, line := range lines[2:] {
		sum, name, ok := strings.Cut(line, "  ")
		f := File{Name: name}
		if n, err := hex.Decode(f.Sum[:], []byte(sum)); !ok || err != nil || n != len(f.Sum) || len(sum) != 2*len(f.Sum) {
			return Sums{}, "", ErrText
		}
		s.Files = append(s.Files, f)
	}
	return s, verifier.Name(), nil
}

// Find returns the file of the release that has this sum; a file may have been
// renamed since.
func (s Sums) Find(sum [sha256.Size]byte) (File, bool) {
	for _, f := range s.Files {
		if f.Sum == sum {
			return f, true
		}
	}
	return File{}, false
}

// SumOf reads r to its end and returns its SHA-256.
func SumOf(r io.Reader) (sum [sha256.Size]byte, err error) {
	h := sha256.New()
	if _, err := io.Copy(h, r); err != nil {
		return sum, fmt.Errorf("release: %w", err)
	}
	return [sha256.Size]byte(h.Sum(nil)), nil
}
