package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := flag.String("out", "", "folder for all pictures; without it those that a page shows are written to "+kept)
	only := flag.String("only", "", "only scenes whose name holds this")
	text := flag.Bool("text", false, "print the screens instead of writing pictures")
	flag.Parse()
	if err := run(ctx, *out, *only, *text); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// kept is the folder of the pictures that the repository holds.
var kept = filepath.Join("docs", "pictures")

// shown are the files in kept that the README and the pages of docs show.
func shown(root string) (map[string]bool, error) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		return nil, err
	}
	names := map[string]bool{}
	for _, page := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		for _, m := range picture.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
	}
	return names, nil
}

var picture = regexp.MustCompile(`\]\([a-z/]*pictures/([a-z0-9-]+\.svg)\)`)

// run makes the pictures of the scenes whose name holds only.
func run(ctx context.Context, out, only string, text bool) error {
	names, err := shown(".")
	if err != nil {
		return err
	}
	all := out != "" || text
	if out == "" {
		out = kept
	}
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // documentation
		return err
	}
	for _, sc := range scenes() {
		if !strings.Contains(sc.name, only) {
			continue
		}
		for _, g := range grounds {
			file := sc.name + "-" + g.name + ".svg"
			if !all && !names[file] {
				continue
			}
			f, err := play(ctx, sc, g.theme)
			if err != nil {
				return err
			}
			if text {
				fmt.Println(f.text())
				break
			}
			if err := os.WriteFile(filepath.Join(out, file), []byte(svg(f, g, "opdeck: "+sc.title)), 0o644); err != nil { //nolint:gosec // documentation
				return err
			}
		}
	}
	return nil
}
