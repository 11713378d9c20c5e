package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
)

func main() {
	if os.Getenv(floorVar) != "" {
		if err := floorKeys(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := command(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	quick   bool
	million bool
	rows    int
	bin     string
	dir     string
	only    string
	against string
}

// command runs the measurements and prints the table; an error when they could
// not be taken, not when a mark is missed.
func command(ctx context.Context, args []string, out, log io.Writer) (err error) {
	o := options{}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(log)
	f.BoolVar(&o.quick, "quick", false, "few repetitions and short waits: does it work?")
	f.BoolVar(&o.million, "million", false, "once more with 1,000,000 operations")
	f.IntVar(&o.rows, "rows", 100_000, "operations in the index")
	f.StringVar(&o.bin, "bin", "", "the program to measure; empty: built from this module")
	f.StringVar(&o.dir, "dir", "", "keep state folders here for the next time; empty: a temporary folder")
	f.StringVar(&o.only, "only", "", "only marks whose name holds this")
	f.StringVar(&o.against, "against", "", "only compare keys with this build, each key to both in turn")
	if err := f.Parse(args); err != nil {
		return err
	}
	if runtime.GOOS != "linux" {
		return errors.New("needs Linux: it reads /proc")
	}
	if o.dir == "" {
		if o.dir, err = os.MkdirTemp("", "opdeck-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(o.dir)) }()
	}
	if o.bin == "" {
		if o.bin, err = build(ctx, o.dir, "opdeck"); err != nil {
			return err
		}
	}
	sizes := []int{o.rows}
	if o.million {
		sizes = append(sizes, 1_000_000)
	}
	fmt.Fprintf(out, "%s, %d CPUs, %s, terminal %dx%d\n", machine(), runtime.NumCPU(), runtime.Version(), cols, lines)
	for _, rows := range sizes {
		fmt.Fprintf(log, "preparing %d operations\n", rows)
		w, err := newWorld(ctx, o.bin, filepath.Join(o.dir, fmt.Sprint(rows)), rows)
		if err != nil {
			return err
		}
		table, err := measure(ctx, w, o, log)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "\n%d operations, load of the machine before: %s\n\n%s", rows, load(), table)
	}
	return nil
}

func machine() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	for _, l := range strings.Split(string(b), "\n") {
		if name, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return runtime.GOARCH
}

func load() string {
	b, _ := os.ReadFile("/proc/loadavg")
	if f := strings.Fields(string(b)); len(f) > 0 {
		return f[0]
	}
	return "unknown"
}
