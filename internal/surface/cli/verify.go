package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"opdeck/api"
	"opdeck/internal/host/release"
)

// releaseJSON is a file that belongs to a release.
type releaseJSON struct {
	Name     string `json:"name"`
	Release  string `json:"release"`
	SHA256   string `json:"sha256"`
	SignedBy string `json:"signed_by"`
}

// verifyRelease checks that a file is one of a release that the release key has
// signed. It exits with 5 when it is not, and with 2 when there is nothing to
// check it against.
func (r *root) verifyRelease(file, sums, pub string, out one[releaseJSON]) error {
	const op = "verify"
	sums = cmp.Or(sums, filepath.Join(filepath.Dir(file), release.FileName))
	pub, err := r.releaseKey(pub)
	if err != nil {
		return err
	}
	signed, err := os.ReadFile(sums)
	if err != nil {
		return &api.Error{Op: op, Kind: api.Usage, Public: "The signed list of the release cannot be read: " + fileReason(err) + ".",
			Hint: "Download " + release.FileName + " of the same release beside the file, or name it with --sums.", Err: err}
	}
	list, key, err := release.Open(signed, pub)
	switch {
	case errors.Is(err, release.ErrKey):
		return &api.Error{Op: op, Kind: api.Usage, Public: "The release key is " + err.Error() + ".", Err: err}
	case err != nil:
		return &api.Error{Op: op, Kind: api.Refused, Public: "The list of the release is not signed by the release key; trust no file beside it.",
			Hint: "Download both again from a source that you trust.", Err: err}
	}
	f, err := os.Open(file)
	if err != nil {
		return &api.Error{Op: op, Kind: api.Usage, Public: "The file cannot be read: " + fileReason(err) + ".", Err: err}
	}
	defer f.Close()
	sum, err := release.SumOf(f)
	if err != nil {
		return &api.Error{Op: op, Kind: api.Usage, Public: "The file cannot be read: " + fileReason(err) + ".", Err: err}
	}
	found, ok := list.Find(sum)
	if !ok {
		return &api.Error{Op: op, Kind: api.Refused, Public: fmt.Sprintf("The file is not one of release %s: no file of it has the SHA-256 sum %x.", list.Version, sum),
			Hint: "Do not run it. Download it again and check once more."}
	}
	return out.data(releaseJSON{found.Name, list.Version, fmt.Sprintf("%x", sum), key}, fmt.Sprintf("%s of release %s, signed by %s", found.Name, list.Version, key))
}

// releaseKey returns the public key to check with: the flag's, a file's that the
// flag names, or the one built in.
func (r *root) releaseKey(pub string) (string, error) {
	switch {
	case pub == "" && r.env.Build.Key == "":
		return "", &api.Error{Op: "verify", Kind: api.Usage, Public: "This build holds no release key.", Hint: "Name the release's public key with --pub."}
	case pub == "":
		return r.env.Build.Key, nil
	case strings.Contains(pub, "+"):
		return pub, nil
	}
	b, err := os.ReadFile(pub)
	if err != nil {
		return "", &api.Error{Op: "verify", Kind: api.Usage, Public: "The key file cannot be read: " + fileReason(err) + ".", Err: err}
	}
	return string(b), nil
}

// fileReason is the short reason of a failed file access, without the path.
func fileReason(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}
