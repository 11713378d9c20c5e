package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
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

func (r *root) version() *cobra.Command {
	var file, sums, pub string
	cmd := &cobra.Command{Use: "version", Long: "Prints version, commit and build. With --verify FILE it checks, without a network, that FILE is one of a release:\n" +
		"the signed list " + release.FileName + " beside it (or --sums) must hold its SHA-256 sum, and the release key must have signed the list.",
		RunE: func(*cobra.Command, []string) error {
			if file != "" {
				return r.verifyRelease(file, sums, pub)
			}
			b := r.env.Build
			if r.output == "json" {
				return r.printJSON(map[string]string{"version": r.env.Version, "commit": b.Commit, "built": b.Built,
					"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH})
			}
			_, err := fmt.Fprintln(r.env.Out, oneLine(b.about(r.env.Version)))
			return err
		}}
	cmd.Flags().StringVar(&file, "verify", "", "check that `FILE` belongs to a release")
	cmd.Flags().StringVar(&sums, "sums", "", "the release's signed list `FILE` (default: "+release.FileName+" beside the file)")
	cmd.Flags().StringVar(&pub, "pub", "", "the release's public `KEY` NAME+HASH+BASE64, or a file that holds it (default: the one built in)")
	return cmd
}

func (r *root) completion() *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{Use: "completion SHELL", Short: "Completion script for bash, zsh, fish or powershell", ValidArgs: shells,
		Args: cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		Long: "Prints a script that completes commands, flags, contexts and ids. For example:\n\n" +
			"  bash:  source <(opdeck completion bash)\n  zsh:   opdeck completion zsh > \"${fpath[1]}/_opdeck\"\n" +
			"  fish:  opdeck completion fish > ~/.config/fish/completions/opdeck.fish",
		RunE: func(cmd *cobra.Command, args []string) error {
			top := cmd.Root()
			switch args[0] {
			case "bash":
				return top.GenBashCompletionV2(r.env.Out, true)
			case "zsh":
				return top.GenZshCompletion(r.env.Out)
			case "fish":
				return top.GenFishCompletion(r.env.Out, true)
			}
			return top.GenPowerShellCompletionWithDesc(r.env.Out)
		}}
}

func (r *root) man() *cobra.Command {
	return &cobra.Command{Use: "man", RunE: func(cmd *cobra.Command, args []string) error {
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

// contextNames completes --context.
func (r *root) contextNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	cfg, err := config.Load(config.Path(r.config, r.env.Getenv))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	names := slices.Sorted(maps.Keys(cfg.Contexts))
	if !slices.Contains(names, "sandbox") {
		names = append(names, "sandbox")
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// complete registers what flags can be.
func (r *root) complete(cmd *cobra.Command) error {
	r.completeIDs(cmd)
	words := func(list ...string) cobra.CompletionFunc {
		return cobra.FixedCompletions(list, cobra.ShellCompDirectiveNoFileComp)
	}
	return errors.Join(r.completeFlags(cmd), cmd.RegisterFlagCompletionFunc("context", r.contextNames),
		cmd.RegisterFlagCompletionFunc("output", words(outputs...)))
}

// operationIDs completes an opid with what the index holds; nothing is asked of
// the service.
func (r *root) operationIDs(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 && cmd.Name() != "get" {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var found []string
	err := r.with(cmd.Context(), "completion", func(ctx context.Context, a *app.App) error {
		expr := ""
		if typed != "" {
			expr = "id:" + typed
		}
		f, err := filter.Parse(expr)
		if err != nil {
			return err
		}
		w, err := a.Index.Window(ctx, index.Query{Filter: f, After: 20}, a.Now())
		for _, row := range w.Rows {
			found = append(found, row.Op.OPID.Line(64)+"\t"+row.Op.Status.Line(20)+" "+money(row.Op.SourceAmount.Sum))
		}
		return err
	})
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

// completeIDs lets the commands about one operation complete its id.
func (r *root) completeIDs(top *cobra.Command) {
	for _, path := range [][]string{{"operation", "get"}, {"operation", "tree"}, {"operation", "history"}, {"document", "list"},
		{"document", "remove"}, {"document", "restore"}, {"document", "attach"}, {"document", "replace"}} {
		if cmd, _, err := top.Find(path); err == nil {
			cmd.ValidArgsFunction = r.operationIDs
		}
	}
}
