package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"time"

	"opdeck/api/session"
	"opdeck/internal/app/config"
	"opdeck/internal/domain/index"
	"opdeck/internal/domain/index/filter"
	"opdeck/internal/domain/index/indextest"
	"opdeck/internal/store"
	"opdeck/internal/store/opindex"
)

// settings keep the background quiet: the index counts as fresh, so that no call and no session is made.
const settings = "[index]\nmax_age = \"24h\"\n"

// world is the environment of the programs under test.
type world struct {
	bin  string
	dir  string // state folder, config and home
	rows int

	extra []string // added to the environment
}

// build compiles a program into dir.
func build(ctx context.Context, dir, pkg string) (string, error) {
	bin := filepath.Join(dir, path.Base(pkg))
	out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, pkg).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build: %w\n%s", err, out)
	}
	return bin, nil
}

// newWorld makes a state folder whose index holds rows operations.
func newWorld(ctx context.Context, bin, dir string, rows int) (*world, error) {
	w := &world{bin: bin, dir: dir, rows: rows}
	if err := os.MkdirAll(w.state(), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(w.config(), []byte(settings), 0o600); err != nil {
		return nil, err
	}
	return w, w.fill(ctx)
}

func (w *world) state() string  { return filepath.Join(w.dir, "state") }
func (w *world) config() string { return filepath.Join(w.dir, "config.toml") }

// environ is the environment of the programs: a home of their own, a terminal of
// many colours.
func (w *world) environ() []string {
	return append([]string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8", "TZ=UTC", "TERM=xterm-256color",
		"COLORTERM=truecolor", "OPDECK_STATE=" + w.state(), "OPDECK_CONFIG=" + w.config()}, w.extra...)
}

// command runs the program as a command, not as a console.
func (w *world) command(ctx context.Context, args ...string) (string, error) {
	c := exec.CommandContext(ctx, w.bin, append([]string{"--still"}, args...)...)
	c.Env = w.environ()
	out, err := c.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("opdeck %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// fill fills the index with w.rows operations and marks it as just read.
func (w *world) fill(ctx context.Context) (err error) {
	st, err := store.Open(ctx, store.Options{URL: "sqlite", Dir: w.state()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	c := config.SandboxContext()
	key, err := session.NormalKey(c.BaseURL, c.Login)
	if err != nil {
		return err
	}
	x, err := opindex.New(ctx, st.Bulk, key.BaseURL, key.Account)
	if err != nil {
		return err
	}
	have, err := x.Count(ctx, filter.OperationExpr{}, time.Now())
	if err != nil {
		return err
	}
	seen := time.Now().Add(-73 * time.Hour) // "3d ago" stays that for the time of a measurement
	made := indextest.Options{Raw: true}
	for n := int(have); n < w.rows; {
		var batch []index.Entry
		for range min(10_000, w.rows-n) {
			batch = append(batch, index.Entry{Op: made.Make(n), Origin: index.List, Seen: seen})
			n++
		}
		if _, err := x.Put(ctx, index.Batch{Entries: batch}); err != nil {
			return err
		}
	}
	now, err := x.Now(ctx)
	if err != nil {
		return err
	}
	name, progress, err := indextest.Whole(now, int64(w.rows), now)
	if err != nil {
		return err
	}
	return x.SetMeta(ctx, name, progress)
}
