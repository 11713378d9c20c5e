package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"

	"opdeck/api"
	"opdeck/api/endpoint"
	"opdeck/internal/app"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/sandbox/faulty"
	"opdeck/internal/surface/console"
	"opdeck/ui/paint"
	"opdeck/ui/paint/painttest"
)

// settings keep everything in memory.
const settings = `[store]
url = "memory"
[ui]
theme = %q
time_zone = "UTC"
[webhooks]
verify = "jwt"
secret_env = "HOOK"
`

// frame is the terminal's content: cells in rows.
type frame struct {
	w, h  int
	cells [][]uv.Cell
}

// lines is the text of a frame.
func (f frame) lines() []string {
	out := make([]string, f.h)
	for y, row := range f.cells {
		var b strings.Builder
		for _, c := range row {
			switch {
			case c.Content != "":
				b.WriteString(c.Content)
			case c.Width > 0:
				b.WriteByte(' ')
			}
		}
		out[y] = strings.TrimRight(b.String(), " ")
	}
	return out
}

func (f frame) text() string { return strings.Join(f.lines(), "\n") }

// screen is the terminal of the console.
type screen struct {
	mu       sync.Mutex
	emu      *vt.Emulator
	written  time.Time
	w, h     int
	patience time.Duration
}

func newScreen(w, h int) *screen {
	s := &screen{emu: vt.NewEmulator(w, h), w: w, h: h, written: time.Now()}
	s.emu.SetScrollbackSize(1)
	go func() { _, _ = io.Copy(io.Discard, s.emu) }()
	return s
}

// Write implements io.Writer.
func (s *screen) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written = time.Now()
	return s.emu.Write(b)
}

// resize changes the size of the window.
func (s *screen) resize(to paint.Size) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.w, s.h, s.written = to.W, to.H, time.Now()
	s.emu.Resize(to.W, to.H)
}

// still returns the frame if nothing was written for a while.
func (s *screen) still() (frame, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.written) < 120*time.Millisecond {
		return frame{}, false
	}
	f := frame{w: s.w, h: s.h, cells: make([][]uv.Cell, s.h)}
	for y := range s.h {
		for x := range s.w {
			c := uv.EmptyCell
			if p := s.emu.CellAt(x, y); p != nil {
				c = *p
			}
			f.cells[y] = append(f.cells[y], c)
		}
	}
	return f, true
}

// play opens a console, runs the steps of a scene and returns the last frame, followed by those of the window resized
// to each of sizes. Only the scene's own size is checked.
func play(ctx context.Context, sc scene, theme string, sizes ...paint.Size) (frames []frame, err error) {
	var f frame
	dir, err := os.MkdirTemp("", "opdeck-pictures-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	conf := filepath.Join(dir, "config.toml")
	if err := os.WriteFile(conf, fmt.Appendf(nil, sc.more+settings+sc.hooks, theme), 0o600); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "note.txt"), []byte("The contract follows on Friday.\n"),
		0o600); err != nil {
		return nil, err
	}
	env := map[string]string{"HOOK": hookSecret, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
	if sc.env != "" {
		env[sc.env] = "1"
	}
	getenv := func(k string) string { return env[k] }
	a, err := app.Open(ctx, app.Options{ConfigFlag: conf, StateFlag: filepath.Join(dir, "state"), Getenv: getenv,
		Now: clock(), Version: "1.0.0", Around: faulty.New(faulty.Faults{}).Around})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	var ids []string
	if !sc.first {
		if ids, err = fill(ctx, a); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(api.WithTrail(api.WithActor(ctx, cmp.Or(sc.as, ana)), a.Audit))
	defer cancel()
	if sc.before != nil {
		if err := sc.before(ctx, a, ids); err != nil {
			return nil, fmt.Errorf("%s: %w", sc.name, err)
		}
	}
	in, keys := io.Pipe()
	out := newScreen(sc.w, sc.h)
	out.patience = cmp.Or(sc.patience, time.Minute)
	resizes := make(chan paint.Size, 1)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		sc.run(ctx, a, console.Options{In: in, Out: out, Getenv: getenv, Size: func() (int, int) { return sc.w, sc.h },
			Resizes: resizes})
	}()
	defer func() { cancel(); _ = keys.Close(); <-ended }()
	for _, st := range sc.steps {
		if st.key != "" && strings.Contains(painttest.Content(f.text()), st.then) {
			return nil, fmt.Errorf("%s: %q is there before %q is pressed and proves nothing", sc.name, st.then, st.key)
		}
		if err := press(keys, strings.ReplaceAll(st.key, "{dir}", dir)); err != nil {
			return nil, err
		}
		if f, err = out.shows(ctx, st.then); err != nil {
			return nil, fmt.Errorf("%s, after %q: %w", sc.name, st.key, err)
		}
	}
	if err := sc.check(f); err != nil {
		return nil, err
	}
	if !sc.again {
		if f, err = out.shows(ctx, sc.word); err != nil {
			return nil, fmt.Errorf("%s: %w", sc.name, err)
		}
	}
	frames = append(frames, f)
	for _, size := range sizes {
		if sc.plain { // earlier lines are not printed again
			sc.w, sc.h, sc.again = size.W, size.H, true
			again, err := play(ctx, sc, theme)
			if err != nil {
				return nil, err
			}
			frames = append(frames, again...)
			continue
		}
		out.resize(size)
		resizes <- size
		if f, err = out.shows(ctx, ""); err != nil {
			return nil, fmt.Errorf("%s at %dx%d: %w", sc.name, size.W, size.H, err)
		}
		frames = append(frames, f)
	}
	return frames, nil
}

// run runs the console of a scene.
func (sc scene) run(ctx context.Context, a *app.App, opt console.Options) {
	if sc.plain {
		_ = console.RunPlain(ctx, a, console.PlainOptions{In: opt.In, Out: cooked{opt.Out}, Width: sc.w, Getenv: opt.Getenv})
		return
	}
	_ = console.Run(ctx, a, opt)
}

// cooked writes like a terminal driver: a line feed returns to the first column, too.
type cooked struct{ io.Writer }

func (c cooked) Write(b []byte) (int, error) {
	_, err := c.Writer.Write(bytes.ReplaceAll(b, []byte("\n"), []byte("\r\n")))
	return len(b), err
}

// check returns an error unless the frame is of the screen that the scene is about.
func (sc scene) check(f frame) error {
	switch {
	case sc.again:
	case sc.where == "" || sc.word == "":
		return fmt.Errorf("%s: nothing says what it shows", sc.name)
	case !strings.Contains(f.lines()[1], sc.where):
		return fmt.Errorf("%s: this is not %q:\n%s", sc.name, sc.where, f.text())
	}
	return nil
}

// ana has all permissions.
var ana = api.Actor{Name: "ana", Role: api.Admin, Via: "console", From: "desk", UID: "1000", Host: "desk"}

// clock starts at noon.
func clock() func() time.Time {
	began := time.Now()
	return func() time.Time { return noon.Add(time.Since(began)) }
}

// passing are texts that disappear by themselves.
var passing = []string{"loading", "or more", "keys are ignored for a moment", "Looking into"}

// press writes a key, or a text like a person types it: each key waits for the effect of the previous one.
func press(w io.Writer, keys string) error {
	if keys == "" {
		return nil
	}
	_, err := io.WriteString(w, keys)
	return err
}

// fill reads the whole list, like the background sync in some minutes, and returns the ids.
func fill(ctx context.Context, a *app.App) (ids []string, err error) {
	for n := 0; ; n++ {
		page, err := endpoint.Do(ctx, a.Client, endpoint.ListOperations, api.OperationQuery{Page: n, Size: 100})
		if err != nil {
			return nil, err
		}
		for _, op := range page.Items {
			ids = append(ids, string(op.OPID))
		}
		total, err := strconv.ParseInt(string(page.Total), 10, 64)
		if err != nil {
			return nil, err
		}
		if int64(len(ids)) >= total || len(page.Items) == 0 {
			break
		}
	}
	name, progress, err := indextest.Whole(noon, int64(len(ids)), noon)
	if err != nil {
		return nil, err
	}
	return ids, a.Index.Unmasked().SetMeta(ctx, name, progress)
}

// shows waits until text is on a screen that no longer changes.
func (s *screen) shows(ctx context.Context, what string) (frame, error) {
	var f frame
	ctx, cancel := context.WithTimeout(ctx, s.patience)
	defer cancel()
	for {
		if g, ok := s.still(); ok {
			f = g
			t := painttest.Content(f.text())
			rests := !slices.ContainsFunc(passing, func(w string) bool { return strings.Contains(t, w) })
			if rests && strings.Contains(t, what) {
				return f, nil
			}
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return f, fmt.Errorf("%q did not come; the screen:\n%s", what, f.text())
		}
	}
}

// hex is a colour in hex.
func hex(c color.Color) string {
	r, g, b, _ := c.RGBA()
	return fmt.Sprintf("#%02x%02x%02x", r>>8, g>>8, b>>8)
}
