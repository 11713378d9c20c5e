//go:build unix

package scenario

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"opdeck/internal/e2e/racedetector"
	"opdeck/internal/surface/cli"
)

// roleEnv makes the test binary play another part.
const roleEnv = "OPDECK_SCENARIO_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleEnv); role {
	case "":
		flag.Parse()
		if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
			_ = flag.Set("test.parallel", "28") // scenarios mostly wait for time to pass
		}
		os.Exit(m.Run())
	case "service":
		playServices()
	case "worker":
		playWorker()
	case "opdeck":
		os.Exit(playOpdeck())
	default:
		fmt.Fprintf(os.Stderr, "no role %q\n", role)
		os.Exit(2)
	}
}

// playOpdeck is the program's main with the same handling of signals.
func playOpdeck() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return cli.Run(ctx, cli.Env{Args: os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Version: "test"})
}

// childEnv is the environment of another part: under the race detector a process
// would otherwise linger for a second when it ends.
func childEnv() []string { return append(os.Environ(), "GORACE=atexit_sleep_ms=0") }

// full reports whether the long versions run.
func full() bool { return os.Getenv("OPDECK_TEST_LONG") == "1" }

// pick is short, or long in the full run.
func pick[T any](short, long T) T {
	if full() {
		return long
	}
	return short
}

// unlessRace is usual, or raced under the race detector, where everything takes
// ten times the work.
func unlessRace[T any](usual, raced T) T {
	if racedetector.Enabled {
		return raced
	}
	return usual
}
