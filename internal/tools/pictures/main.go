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

	"opdeck/ui/paint"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := flag.String("out", "", "folder for all pictures; without it those that a page shows are written to "+kept)
	only := flag.String("only", "", "only scenes whose name holds this")
	text := flag.Bool("text", false, "print the screens instead of writing pictures")
	var sizes sizeList
	flag.Func("sizes", "with -out: more pictures, of the window resized to each of these, as 40x12,160x45", sizes.set)
	contrast := flag.Bool("contrast", false, "with -out: in high contrast on black instead of dark and light")
	flag.Parse()
	if err := run(ctx, *out, *only, *text, *contrast, sizes); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// kept is the folder of the committed pictures.
var kept = filepath.Join("docs", "pictures")

// shown returns the files in kept that the README and docs use.
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

// sizeList is the value of a flag.
type sizeList []paint.Size

func (l *sizeList) set(text string) error {
	for _, word := range strings.Split(text, ",") {
		var s paint.Size
		if _, err := fmt.Sscanf(word, "%dx%d", &s.W, &s.H); err != nil {
			return fmt.Errorf("%q is not a size such as 80x24", word)
		}
		*l = append(*l, s)
	}
	return nil
}

// run makes the pictures of the scenes whose name contains only.
func run(ctx context.Context, out, only string, text, contrast bool, sizes []paint.Size) error {
	names, err := shown(".")
	if err != nil {
		return err
	}
	all := out != "" || text
	themes := grounds
	if contrast && out != "" {
		themes = []ground{{"contrast", "high-contrast", "#ffffff", "#000000"}}
	}
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
		for _, g := range themes {
			file := sc.name + "-" + g.name + ".svg"
			if !all && !names[file] {
				continue
			}
			frames, err := play(ctx, sc, g.theme, sizes...)
			if err != nil {
				return err
			}
			if text {
				for _, f := range frames {
					fmt.Println(f.text())
				}
				break
			}
			for i, f := range frames {
				if i > 0 {
					file = fmt.Sprintf("%s-%dx%d-%s.svg", sc.name, f.w, f.h, g.name)
				}
				//nolint:gosec // documentation
				if err := os.WriteFile(filepath.Join(out, file), []byte(svg(f, g, "opdeck: "+sc.title)), 0o644); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
