package main

import (
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"opdeck/api"
	"opdeck/internal/app"
	"opdeck/internal/surface/console"
)

// wire signals to a benchmark that the console has written a frame.
type wire struct{ frames chan int }

func (w wire) Write(b []byte) (int, error) {
	w.frames <- len(b)
	return len(b), nil
}

// inside runs the console in this process, so that it can be profiled, and
// returns a function that presses a key and waits for its frame; the key "" waits until nothing more is written.
// OPDECK_BENCH_DIR keeps its state; OPDECK_BENCH_CONFIG is the config of another service.
func inside(b testing.TB, rows int) (press func(string)) {
	b.Helper()
	dir := os.Getenv("OPDECK_BENCH_DIR")
	if dir == "" {
		dir = b.TempDir()
	}
	where := app.Options{ConfigFlag: os.Getenv("OPDECK_BENCH_CONFIG"), StateFlag: dir, Getenv: os.Getenv}
	if where.ConfigFlag == "" {
		w, err := newWorld(b.Context(), "", dir, rows)
		if err != nil {
			b.Fatal(err)
		}
		where = app.Options{ConfigFlag: w.config(), StateFlag: w.state(), Getenv: func(string) string { return "" }}
	}
	a, err := app.Open(b.Context(), where)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(api.WithActor(context.Background(), a.LocalActor("console")))
	in, keys := io.Pipe()
	out := wire{make(chan int, 1000)}
	env := map[string]string{"TERM": "xterm-256color", "COLORTERM": "truecolor"}
	done := make(chan error, 1)
	go func() {
		done <- console.Run(ctx, a, console.Options{In: in, Out: out, Getenv: func(k string) string { return env[k] },
			Size: func() (int, int) { return cols, lines }})
	}()
	b.Cleanup(func() {
		cancel()
		_ = keys.Close()
		<-done
		_ = a.Close()
	})
	quiet := func() {
		for {
			select {
			case <-out.frames:
			case <-time.After(500 * time.Millisecond):
				return
			}
		}
	}
	<-out.frames
	quiet()
	return func(k string) {
		if k == "" {
			quiet()
			return
		}
		_, _ = io.WriteString(keys, k)
		<-out.frames
	}
}

// BenchmarkKey is one key from the terminal to the terminal, drawn.
func BenchmarkKey(b *testing.B) {
	rows := 20_000
	for name, way := range map[string]string{"down": "", "scroll": strings.Repeat(keyDown, lines), "page": keyHome} {
		b.Run(name, func(b *testing.B) {
			press := inside(b, rows)
			if way != "" && way != keyHome { // down and home at once may change nothing
				press(keyDown + way)
				press("")
			}
			i := 0
			for b.Loop() {
				k := keyDown
				switch {
				case way == "" && i%2 == 1:
					k = keyUp
				case way == keyHome && i%500 == 499, i%15_000 == 14_999: // before the list ends
					k = keyHome
				case way == keyHome:
					k = keyPage
				}
				press(k)
				i++
			}
		})
	}
}
