package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	_ "opdeck/ui/paint" // keeps Bubble Tea from asking the terminal for its colours
)

// floorVar makes this program the measured one for the floor.
const floorVar = "OPDECK_BENCH_FLOOR"

// floorRow is the number of bytes that the console writes for a cursor movement.
const floorRow = 327

// floorPage is the number of bytes that it writes for a page.
const floorPage = 3486

// floorKeys answers every key at once with as many bytes as the console would: a
// read, one hand-over between goroutines, a write. What it costs is the machine's,
// its terminal's and the Go runtime's. It reads as the console does, through the
// runtime's poller: a read that holds a thread keeps the runtime's monitor awake
// for 10 ms, which costs more than all the rest (0.74 instead of 0.34 ms a key).
func floorKeys(in *os.File, out io.Writer) error {
	old, err := term.MakeRaw(int(in.Fd()))
	if err != nil {
		return err
	}
	defer func() { _ = term.Restore(int(in.Fd()), old) }()
	polled, err := os.OpenFile("/dev/tty", os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = polled.Close() }()
	read := make(chan string)
	go func() {
		defer close(read)
		buf := make([]byte, 256)
		for {
			n, err := polled.Read(buf)
			if err != nil {
				return
			}
			read <- string(buf[:n])
		}
	}()
	n := 0
	frame := func(size int) error {
		n++
		head := fmt.Sprintf("\x1b[?2026h\x1b[H%06d ", n)
		const tail = "\x1b[?2026l"
		// Attributes, as most of a frame is: they move nothing.
		fill := strings.Repeat("\x1b[1m", (size-len(head)-len(tail))/4)
		_, err := io.WriteString(out, head+fill+tail)
		return err
	}
	if err := frame(floorRow); err != nil {
		return err
	}
	for k := range read {
		size := floorRow
		switch k {
		case "q":
			return nil
		case keyPage:
			size = floorPage
		}
		if err := frame(size); err != nil {
			return err
		}
	}
	return nil
}

// floor measures the same keys on a program that only echoes.
func (b *bench) floor() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	w := *b.w
	w.bin = self
	w.extra = []string{floorVar + "=1"}
	r, err := start(&w)
	if err != nil {
		return err
	}
	defer r.stop()
	if _, err := r.shows("000001", 5*time.Second); err != nil {
		return err
	}
	for _, k := range []struct{ name, key string }{{"a row", keyDown}, {"a page", keyPage}} {
		p, err := b.timed(r, func(int) string { return k.key }, b.apart)
		if err != nil {
			return err
		}
		what := "a program that only writes as much: " + k.name
		b.report(what+", p50", percentile(p.took, 50), "ms")
		b.report(what+", p99", percentile(p.took, 99), "ms")
		b.report(what+", CPU a key", p.cpu, "ms")
	}
	return nil
}
