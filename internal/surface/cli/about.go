package cli

import (
	"bytes"
	"context"
	"os"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

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

// Word is release and short commit as one word: "1.4.0+0123456789ab".
func (b Build) Word() string {
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

func (r *root) man() *cobra.Command {
	return &cobra.Command{RunE: func(cmd *cobra.Command, args []string) error {
		top := cmd.Root()
		top.DisableAutoGenTag = true
		head := &doc.GenManHeader{Title: "OPDECK", Section: "1", Source: "opdeck " + r.env.Version, Manual: "opdeck"}
		if len(args) == 0 {
			var page bytes.Buffer
			if err := doc.GenMan(top, head, &page); err != nil {
				return err
			}
			_, err := r.env.Out.Write(page.Bytes())
			return err
		}
		if err := os.MkdirAll(args[0], 0o755); err != nil {
			return &api.Error{Kind: api.Usage, Public: "The folder for the pages cannot be made.", Err: err}
		}
		head.Title = ""
		return doc.GenManTree(top, head, args[0])
	}}
}
