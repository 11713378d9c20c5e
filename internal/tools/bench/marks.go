package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"opdeck/internal/domain/index/indextest"
)

// plan is the size of the measurement.
type plan struct {
	starts, keys, filters int
	idle, held, storm     time.Duration
}

func (o options) plan() plan {
	if o.quick {
		return plan{starts: 2, keys: 6, filters: 1, idle: 2 * time.Second, held: time.Second, storm: 500 * time.Millisecond}
	}
	return plan{starts: 15, keys: 200, filters: 5, idle: time.Minute, held: 10 * time.Second, storm: 10 * time.Second}
}

// bench is a running measurement.
type bench struct {
	result
	w   *world
	p   plan
	rnd *rand.Rand

	other string // the program to compare with
}

// ready is on the screen when the list shows its rows.
func (b *bench) ready() string { return fmt.Sprintf("%s operations", grouped(b.w.rows)) }

// newest is on the screen when there are rows.
func (b *bench) newest() string {
	return indextest.Options{Raw: true}.Make(0).CreatedAt.UTC().Format("2006-01-02 15:04")
}

// grouped writes a number as the screen does.
func grouped(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// mark is one part of the measurement.
type mark struct {
	name string
	take func() error
}

// measure takes every mark.
func measure(ctx context.Context, w *world, o options, log io.Writer) (string, error) {
	b := &bench{w: w, p: o.plan(), rnd: rand.New(rand.NewPCG(1, 2)), other: o.against}
	if err := w.warm(ctx); err != nil {
		return "", err
	}
	marks := []mark{
		{"start", func() error { return b.start(ctx) }}, {"commands", func() error { return b.commands(ctx) }},
		{"keys", b.keys}, {"floor of keys", b.floor}, {"filter", b.filter}, {"held", b.held},
		{"burst", b.burst}, {"storm", b.stormed},
		{"idle", func() error { return b.still(ctx) }},
		{"idle counting", func() error { return b.counting(ctx) }},
		{"idle living", func() error { return b.living(ctx) }},
	}
	if b.other != "" {
		marks = []mark{{"keys in turn", b.turns}}
	}
	for _, m := range marks {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		if !strings.Contains(m.name, o.only) {
			continue
		}
		fmt.Fprintln(log, "measuring:", m.name)
		if err := m.take(); err != nil {
			return "", fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return b.table(), nil
}

// warm runs the console once, which makes the sample service and the keys.
func (w *world) warm(context.Context) error {
	r, err := start(w)
	if err != nil {
		return err
	}
	defer r.stop()
	if _, err := r.shows(grouped(w.rows)+" operations", 2*time.Minute); err != nil {
		return err
	}
	_, err = r.quiet(2 * time.Second)
	return err
}

// open starts a console and waits for the list.
func (b *bench) open() (*run, error) { return b.openOn(b.w) }

func (b *bench) openOn(w *world, args ...string) (*run, error) {
	r, err := start(w, args...)
	if err != nil {
		return nil, err
	}
	if _, err := r.shows(b.ready(), 20*time.Second); err != nil {
		r.stop()
		return nil, err
	}
	_, err = r.quiet(700 * time.Millisecond)
	return r, err
}

// filter types filters; every key that gives another answer is timed until its
// rows are there.
func (b *bench) filter() error {
	r, err := b.open()
	if err != nil {
		return err
	}
	defer r.stop()
	var took []time.Duration
	for range b.p.filters {
		for _, text := range []string{"acme", "status:PENDING", "amount>1000000", "customer:kestrel", "0012345"} {
			if _, err := r.press("/", time.Second); err != nil {
				return err
			}
			for _, c := range text {
				d, err := b.typed(r, string(c))
				if err != nil {
					return fmt.Errorf("filter %q: %w", text, err)
				}
				if d > 0 {
					took = append(took, d)
				}
			}
			if _, err := r.key(keyEsc); err != nil {
				return err
			}
			if _, err := r.shows(b.ready(), 5*time.Second); err != nil {
				return err
			}
			if _, err := r.quiet(200 * time.Millisecond); err != nil {
				return err
			}
		}
	}
	if len(took) == 0 {
		return errors.New("no key changed the rows")
	}
	b.add("filter: key to first matching rows, p95", 50, percentile(took, 95), "ms")
	b.report("filter: key to first matching rows, p50", percentile(took, 50), "ms")
	return nil
}

// typed types one character of a filter and returns the time until the rows below changed; 0 if they did not.
func (b *bench) typed(r *run, key string) (time.Duration, error) {
	rows := func() string {
		all := strings.Split(r.text(), "\n")
		return strings.Join(all[len(all)-12:len(all)-4], "\n") // the suggestions above never move these
	}
	before := rows()
	at, err := r.key(key)
	if err != nil {
		return 0, err
	}
	changed, err := r.until(400*time.Millisecond, func() bool { return rows() != before })
	switch {
	case errors.Is(err, errLate):
		return 0, nil
	case err != nil:
		return 0, err
	}
	_, err = r.quiet(60 * time.Millisecond)
	return changed.Sub(at), err
}

// held holds a key down, 30 a second, each up to 10 ms late.
func (b *bench) held() error {
	r, err := b.open()
	if err != nil {
		return err
	}
	defer r.stop()
	const gap = time.Second / 30
	n := int(b.p.held / gap)
	var took []time.Duration
	behind := 0
	before, err := usage(r.cmd.Process.Pid)
	if err != nil {
		return err
	}
	next := time.Now()
	for range n {
		at := next.Add(time.Duration(b.rnd.IntN(10)) * time.Millisecond)
		time.Sleep(time.Until(at))
		d, err := r.press(keyDown, gap)
		switch {
		case errors.Is(err, errLate):
			behind++
		case err != nil:
			return err
		default:
			took = append(took, d)
		}
		next = next.Add(gap)
	}
	after, err := usage(r.cmd.Process.Pid)
	if err != nil {
		return err
	}
	b.add(fmt.Sprintf("held key, %d at 30 a second: keys more than a frame behind", n), 0, float64(behind), "keys")
	b.report("held key: slowest", percentile(took, 100), "ms")
	b.report("held key: CPU", 100*float64(after.cpu-before.cpu)/float64(b.p.held), "%")
	return nil
}

// burst writes a hundred keys at once.
func (b *bench) burst() error {
	r, err := b.open()
	if err != nil {
		return err
	}
	defer r.stop()
	var took []time.Duration
	for range max(b.p.starts, 3) {
		if _, err := r.key(keyHome); err != nil {
			return err
		}
		if _, err := r.quiet(300 * time.Millisecond); err != nil {
			return err
		}
		at, err := r.key(strings.Repeat(keyDown, 100))
		if err != nil {
			return err
		}
		last, err := r.quiet(300 * time.Millisecond)
		if err != nil {
			return err
		}
		if last.IsZero() {
			return errors.New("nothing was drawn")
		}
		took = append(took, last.Sub(at))
	}
	b.add("100 keys at once: until drawn, p50", 10, percentile(took, 50), "ms")
	b.report("100 keys at once: until drawn, slowest", percentile(took, 100), "ms")
	return nil
}

// stormed resizes the terminal two hundred times and compares the screen before and after.
func (b *bench) stormed() error {
	r, err := b.open()
	if err != nil {
		return err
	}
	defer r.stop()
	before := r.rows()
	const n = 200
	for range n {
		if err := r.resize(1+b.rnd.IntN(300), 1+b.rnd.IntN(100)); err != nil {
			return err
		}
		end := time.Now().Add(b.p.storm / n)
		for {
			_, err := r.next(time.Until(end))
			if errors.Is(err, errLate) {
				break
			}
			if err != nil {
				return fmt.Errorf("it did not live through the sizes: %w", err)
			}
		}
	}
	if err := r.resize(cols, lines); err != nil {
		return err
	}
	if _, err := r.quiet(500 * time.Millisecond); err != nil {
		return err
	}
	if _, err := r.press(keyHome+keyDown, 2*time.Second); err != nil {
		return fmt.Errorf("it does not answer after the storm: %w", err)
	}
	if _, err := r.press(keyHome, 2*time.Second); err != nil {
		return fmt.Errorf("it does not answer after the storm: %w", err)
	}
	if _, err := r.quiet(200 * time.Millisecond); err != nil {
		return err
	}
	wrong := 0
	for i, l := range r.rows() {
		if l != before[i] {
			wrong++
		}
	}
	b.add(fmt.Sprintf("%d sizes in %.0f s: lines that differ afterwards", n, b.p.storm.Seconds()), 0, float64(wrong),
		"lines")
	return nil
}

// rows are the lines of the screen that do not change by time.
func (r *run) rows() []string {
	all := strings.Split(r.text(), "\n")
	return slices.Concat(all[2:3], all[4:])
}
