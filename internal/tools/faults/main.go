// Command faults plants faults in a scratch copy of this checkout, one at a time, and says which test finds each. A
// fault that no test finds is a missing test.
//
//	go run ./internal/tools/faults [-list] [-all] [-only TEXT] [-scratch DIR] [-table]
//
// The checkout itself is never changed. The exit status is 1 if a fault was missed or could not be tried.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var opt options
	list := flag.Bool("list", false, "print the faults and try none")
	flag.BoolVar(&opt.all, "all", false, "run the tests of all packages instead of those that a fault names")
	flag.StringVar(&opt.only, "only", "", "only faults whose name contains one of these texts, separated by commas")
	flag.StringVar(&opt.scratch, "scratch", "", "folder for the copy, which is kept, so that the next run compiles less "+
		"(default: a temporary one)")
	flag.BoolVar(&opt.table, "table", false, "print rows of the table of docs/faults.md")
	flag.Parse()
	chosen := choose(faults(), opt.only)
	if *list {
		for _, f := range chosen {
			fmt.Printf("%-34s %-38s %s\n", f.Name, f.File, f.Breaks)
		}
		return
	}
	found, err := run(ctx, chosen, opt, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
	}
	if err != nil || !found {
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	all, table    bool
	only, scratch string
}

// choose returns the faults whose name contains one of the texts in only, all if it is empty.
func choose(all []Fault, only string) []Fault {
	if only == "" {
		return all
	}
	var out []Fault
	for _, f := range all {
		for text := range strings.SplitSeq(only, ",") {
			if strings.Contains(f.Name, text) {
				out = append(out, f)
				break
			}
		}
	}
	return out
}
