package cli

import (
	"context"
	"io"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// Build describes the source of a program.
type Build struct {
	Release string // "1.4.0", or "dev"
	Commit  string // in full, with ".dirty" if there were uncommitted changes; empty: not known
	Built   string // RFC 3339; empty: not known
}

// word is release and short commit: "1.4.0+0123456789ab".
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

// about describes the build in one line.
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

func versionCommand(r *root) *cobra.Command {
	cmd := &cobra.Command{Long: "Prints version, commit and build."}
	return alone(r, cmd, func(_ context.Context, _ []string, out one[buildJSON]) error {
		b := r.env.Build
		return out.data(buildJSON{runtime.GOARCH, b.Built, b.Commit, runtime.Version(), runtime.GOOS, r.env.Version},
			b.about(r.env.Version))
	})
}

func completionCommand(r *root) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{ValidArgs: shells,
		Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		Long: "Prints a script that completes commands, flags, contexts and ids. For example:\n\n" +
			"  bash:  source <(opdeck completion bash)\n  zsh:   opdeck completion zsh > \"${fpath[1]}/_opdeck\"\n" +
			"  fish:  opdeck completion fish > ~/.config/fish/completions/opdeck.fish",
		RunE: func(cmd *cobra.Command, args []string) error {
			top, out := cmd.Root(), r.env.Out
			return map[string]func() error{
				"bash":       func() error { return bashCompletion(top, out) },
				"zsh":        func() error { return top.GenZshCompletion(out) },
				"fish":       func() error { return top.GenFishCompletion(out, true) },
				"powershell": func() error { return top.GenPowerShellCompletionWithDesc(out) },
			}[args[0]]()
		}}
}

// bashWords joins the words that bash splits at = and :, where the package bash-completion, which cobra's script needs,
// is not loaded.
const bashWords = `    if ! declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        local i line=$COMP_LINE
        words=() cword=0
        for ((i = 0; i < ${#COMP_WORDS[@]}; i++)); do
            if ((i == 0)) || [[ $line == [[:space:]]* ]]; then
                words+=("${COMP_WORDS[i]}")
            else
                words[${#words[@]}-1]+=${COMP_WORDS[i]}
            fi
            line=${line#"${line%%[![:space:]]*}"}
            line=${line#"${COMP_WORDS[i]}"}
            ((i == COMP_CWORD)) && cword=$((${#words[@]} - 1))
        done
        cur=${words[cword]} prev=${words[cword > 0 ? cword - 1 : 0]}
        return 0
    fi
`

// bashCompletion writes the script for bash.
func bashCompletion(top *cobra.Command, out io.Writer) error {
	var b strings.Builder
	if err := top.GenBashCompletionV2(&b, true); err != nil {
		return err
	}
	const start = "    COMPREPLY=()\n    _get_comp_words_by_ref"
	script := strings.Replace(b.String(), start, "    COMPREPLY=()\n"+bashWords+"    _get_comp_words_by_ref", 1)
	_, err := io.WriteString(out, script)
	return err
}
