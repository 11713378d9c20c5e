// Command drill serves the built-in service with faults, for drills: an exercise on call, or a try of a fault by hand.
//
//	go run ./internal/tools/drill -fault 'later=remove:4s/502'
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"opdeck/internal/sandbox/faulty"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	opt := faulty.Options{}
	opt.Fresh = true
	addr := flag.String("addr", "127.0.0.1:8787", "address to listen on")
	faults := flag.String("fault", "", "misbehave, in the grammar below")
	flag.StringVar(&opt.Path, "data", "", "file that keeps the data; empty: memory")
	flag.IntVar(&opt.Operations, "operations", 0, "sample operations of a new file (default 500)")
	flag.DurationVar(&opt.AccessTTL, "access-ttl", 0, "lifetime of access tokens (default 5m)")
	flag.DurationVar(&opt.RefreshTTL, "refresh-ttl", 0, "lifetime of refresh tokens (default 15m)")
	flag.StringVar(&opt.HookURL, "hook-url", "", "send webhooks to this address")
	flag.BoolVar(&opt.HardLimits, "hard-limits", false, "answer 429 above the recommended rates")
	flag.DurationVar(&opt.Activity, "activity", 0, "an operation changes this often (default never)")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "Serves the built-in service with faults. Flags:")
		flag.PrintDefaults()
		fmt.Fprint(flag.CommandLine.Output(), "\n", faulty.FaultHelp)
	}
	flag.Parse()
	var err error
	if opt.Faults, err = faulty.ParseFaults(*faults); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := faulty.Open(ctx, opt)
	if err != nil {
		return err
	}
	return errors.Join(s.Serve(ctx, *addr, os.Stdout), s.Close())
}
