package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := flag.String("out", filepath.Join("docs", "pictures"), "folder for the pictures")
	only := flag.String("only", "", "only scenes whose name holds this")
	text := flag.Bool("text", false, "print the screens instead of writing pictures")
	flag.Parse()
	if err := run(ctx, *out, *only, *text); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// run makes the pictures of the scenes whose name holds only.
func run(ctx context.Context, out, only string, text bool) error {
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // documentation
		return err
	}
	for _, sc := range scenes() {
		if !strings.Contains(sc.name, only) {
			continue
		}
		for _, g := range grounds {
			f, err := play(ctx, sc, g.theme)
			if err != nil {
				return err
			}
			if text {
				fmt.Println(f.text())
				break
			}
			name := filepath.Join(out, sc.name+"-"+g.name+".svg")
			if err := os.WriteFile(name, []byte(svg(f, g, "opdeck: "+sc.title)), 0o644); err != nil { //nolint:gosec // documentation
				return err
			}
		}
	}
	return nil
}
