package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"
	"github.com/creack/pty"
)

// The screen of the marks.
const (
	cols  = 120
	lines = 40
)

const (
	lastKept = 256 << 10       // bytes of output for an error
	dumpWait = 2 * time.Second // for more of the goroutines
)

// chunk is output with its time of arrival.
type chunk struct {
	at   time.Time
	data []byte
}

// run is a running console with its terminal.
type run struct {
	cmd    *exec.Cmd
	pty    *os.File
	emu    *vt.Emulator
	chunks chan chunk
	began  time.Time
	ended  chan struct{}

	drained chan struct{} // closed when the emulator's answers are no longer read

	w, h   int
	bytes  int // written by the program so far
	inSync bool
	tail   []byte // the end of the last chunk, for marks cut in two
	last   []byte // the end of what was written, for people
}

// start runs the program's console, on a service without changes unless args say otherwise.
func start(w *world, args ...string) (*run, error) {
	r := &run{cmd: exec.Command(w.bin, append([]string{"--still"}, args...)...), chunks: make(chan chunk, 4096),
		ended: make(chan struct{}), w: cols, h: lines, emu: vt.NewEmulator(cols, lines)}
	r.cmd.Env = w.environ()
	r.drained = make(chan struct{})
	// the console queries nothing, so answers are discarded
	go func() { defer close(r.drained); _, _ = io.Copy(io.Discard, r.emu) }()
	r.began = time.Now()
	f, err := pty.StartWithSize(r.cmd, &pty.Winsize{Cols: cols, Rows: lines})
	if err != nil {
		return nil, fmt.Errorf("start in a pseudo-terminal: %w", err)
	}
	r.pty = f
	go r.read()
	return r, nil
}

// read records the time of output.
func (r *run) read() {
	defer close(r.chunks)
	buf := make([]byte, 256<<10)
	for {
		n, err := r.pty.Read(buf)
		if n > 0 {
			r.chunks <- chunk{time.Now(), bytes.Clone(buf[:n])}
		}
		if err != nil {
			return
		}
	}
}

// stop ends the program and waits for it.
func (r *run) stop() {
	_ = r.cmd.Process.Signal(syscall.SIGTERM)
	done := make(chan struct{})
	var once sync.Once
	go func() { _ = r.cmd.Wait(); once.Do(func() { close(done) }) }()
	go func() {
		for range r.chunks { // the way back out
		}
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Second):
		_ = r.cmd.Process.Kill()
		<-done
	}
	_ = r.pty.Close()
	// The emulator's Close must not run during a Read: end that first.
	if pipe, ok := r.emu.InputPipe().(io.Closer); ok {
		_ = pipe.Close()
		<-r.drained
	}
	_ = r.emu.Close()
}

var (
	beginSync = []byte("\x1b[?2026h")
	endSync   = []byte("\x1b[?2026l")
)

// take passes a chunk to the emulator.
func (r *run) take(c chunk) {
	r.bytes += len(c.data)
	if r.last = append(r.last, c.data...); len(r.last) > 2*lastKept {
		r.last = bytes.Clone(r.last[len(r.last)-lastKept:])
	}
	_, _ = r.emu.Write(c.data)
	seen := append(r.tail, c.data...)
	if b, e := bytes.LastIndex(seen, beginSync), bytes.LastIndex(seen, endSync); b >= 0 || e >= 0 {
		r.inSync = b > e
	}
	r.tail = bytes.Clone(seen[max(len(seen)-len(beginSync)+1, 0):])
}

var errOver = errors.New("the program has ended")

// errLate: the expected output did not arrive in time.
var errLate = errors.New("nothing came in time")

// next returns the next output, or fails after d.
func (r *run) next(d time.Duration) (chunk, error) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case c, ok := <-r.chunks:
		if !ok {
			return c, errOver
		}
		r.take(c)
		return c, nil
	case <-t.C:
		return chunk{}, errLate
	}
}

// until reads output until ok is true for a whole frame, and returns when it arrived.
func (r *run) until(d time.Duration, ok func() bool) (time.Time, error) {
	end := time.Now().Add(d)
	if ok() {
		return time.Now(), nil
	}
	for {
		c, err := r.next(time.Until(end))
		if err != nil {
			return time.Time{}, err
		}
		if !r.inSync && ok() {
			return c.at, nil
		}
	}
}

// quiet reads output until none came for d, and returns when the last came.
func (r *run) quiet(d time.Duration) (last time.Time, err error) {
	for {
		c, err := r.next(d)
		if errors.Is(err, errLate) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
		last = c.at
	}
}

// key writes keys and returns when.
func (r *run) key(keys string) (time.Time, error) {
	at := time.Now()
	_, err := io.WriteString(r.pty, keys)
	return at, err
}

// press writes keys and waits until the screen differs; it returns the latency.
func (r *run) press(keys string, d time.Duration) (time.Duration, error) {
	before := r.cells()
	at, err := r.key(keys)
	if err != nil {
		return 0, err
	}
	changed, err := r.until(d, func() bool { return !r.same(before) })
	return changed.Sub(at), err
}

func (r *run) resize(w, h int) error {
	r.w, r.h = w, h
	r.emu.Resize(w, h)
	return pty.Setsize(r.pty, &pty.Winsize{Cols: uint16(w), Rows: uint16(h)}) //nolint:gosec // below 1000
}

// cells copies the screen.
func (r *run) cells() []uv.Cell {
	out := make([]uv.Cell, 0, r.w*r.h)
	for y := range r.h {
		for x := range r.w {
			out = append(out, r.cell(x, y))
		}
	}
	return out
}

func (r *run) cell(x, y int) uv.Cell {
	if c := r.emu.CellAt(x, y); c != nil {
		return *c
	}
	return uv.EmptyCell
}

func (r *run) same(before []uv.Cell) bool {
	for y := range r.h {
		for x := range r.w {
			if c := r.cell(x, y); !c.Equal(&before[y*r.w+x]) {
				return false
			}
		}
	}
	return true
}

// line is the text of one line of the screen.
func (r *run) line(y int) string {
	var b strings.Builder
	for x := range r.w {
		c := r.cell(x, y)
		switch {
		case c.Content != "":
			b.WriteString(c.Content)
		case c.Width > 0:
			b.WriteByte(' ')
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// goroutines ends a program that does not respond and returns the end of its output, with its goroutines.
func (r *run) goroutines() string {
	_ = r.cmd.Process.Signal(syscall.SIGQUIT)
	for {
		if _, err := r.next(dumpWait); err != nil {
			return strings.ReplaceAll(string(r.last), "\x1b", "^[")
		}
	}
}

// text is the whole screen.
func (r *run) text() string {
	out := make([]string, r.h)
	for y := range r.h {
		out[y] = r.line(y)
	}
	return strings.Join(out, "\n")
}

// shows waits for text on the screen.
func (r *run) shows(what string, d time.Duration) (time.Time, error) {
	at, err := r.until(d, func() bool { return strings.Contains(r.text(), what) })
	if err != nil {
		screen, wrote := r.text(), r.bytes
		return at, fmt.Errorf("waiting %v for %q: %w; the screen after %d bytes:\n%s\nwhat it wrote last, with its "+
			"goroutines:\n%s", d, what, err, wrote, screen, r.goroutines())
	}
	return at, nil
}
