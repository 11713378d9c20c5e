package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"opdeck/api"
	"opdeck/internal/host/release"
)

// Build is what a program was built from.
type Build struct {
	Release string // "1.4.0", or "dev"
	Commit  string // in full, ".dirty" behind it when there were changes; empty: not known
	Built   string // RFC 3339; empty: not known
	Key     string // public key of releases, NAME+HASH+BASE64; empty: none is built in
}

// word is release and short commit as one word: "1.4.0+0123456789ab".
func (b Build) word() string {
	if b.Commit == "" {
		return b.Release
	}
	rev, dirty, _ := strings.Cut(b.Commit, ".")
	if dirty != "" {
		dirty = "." + dirty
	}
	return b.Release + "+" + rev[:min(len(rev), 12)] + dirty
}

// about tells the build in one line.
func (b Build) about(version string) string {
	line := "opdeck " + version
	if b.Commit != "" {
		line += ", commit " + b.Commit
	}
	if b.Built != "" {
		line += ", built " + b.Built
	}
	return line + ", " + runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH
}

// buildJSON is what this program was built from.
type buildJSON struct {
	Arch    string `json:"arch"`
	Built   string `json:"built"`
	Commit  string `json:"commit"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Version string `json:"version"`
}

func (r *root) version() *cobra.Command {
	var file, sums, pub string
	cmd := &cobra.Command{Long: "Prints version, commit and build. With --verify FILE it checks, without a network, that FILE is one of a release:\n" +
		"the signed list " + release.FileName + " beside it (or --sums) must hold its SHA-256 sum, and the release key must have signed the list."}
	verified := also[releaseJSON](r, cmd, "--verify")
	alone(r, cmd, func(_ context.Context, _ []string, out one[buildJSON]) error {
		if file != "" {
			return r.verifyRelease(file, sums, pub, verified)
		}
		b := r.env.Build
		return out.data(buildJSON{runtime.GOARCH, b.Built, b.Commit, runtime.Version(), runtime.GOOS, r.env.Version}, b.about(r.env.Version))
	})
	cmd.Flags().StringVar(&file, "verify", "", "check that `FILE` belongs to a release")
	cmd.Flags().StringVar(&sums, "sums", "", "the release's signed list `FILE` (default: "+release.FileName+" beside the file)")
	cmd.Flags().StringVar(&pub, "pub", "", "the release's public `KEY` NAME+HASH+BASE64, or a file that holds it (default: the one built in)")
	return cmd
}

func (r *root) completion() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{ValidArgs: shells,
		Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		Long: "Prints a script that completes commands, flags, contexts and ids. For example:\n\n" +
			"  bash:  source <(opdeck completion bash)\n  zsh:   opdeck completion zsh > \"${fpath[1]}/_opdeck\"\n" +
			"  fish:  opdeck completion fish > ~/.config/fish/completions/opdeck.fish",
		RunE: func(cmd *cobra.Command, args []string) error {
			top, out := cmd.Root(), r.env.Out
			return map[string]func() error{
				"bash": func() error { return top.GenBashCompletionV2(out, true) }, "zsh": func() error { return top.GenZshCompletion(out) },
				"fish": func() error { return top.GenFishCompletion(out, true) }, "powershell": func() error { return top.GenPowerShellCompletionWithDesc(out) },
			}[args[0]]()
		}}
}

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
