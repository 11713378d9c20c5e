package paint

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"
	"go.uber.org/goleak"

	"opdeck/ui/paint/painttest"
)

// counter is a small program: it counts keys and shows the count.
type counter struct {
	keys, views int
	sizes       []tea.WindowSizeMsg
	onKey       func(c *counter, k tea.KeyMsg) tea.Cmd
	onSize      func(z tea.WindowSizeMsg)
	init        tea.Cmd
	onView      func()
	seen        chan int // the count after every key
}

func (c *counter) Init() tea.Cmd { return c.init }

func (c *counter) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		c.sizes = append(c.sizes, msg)
		if c.onSize != nil {
			c.onSize(msg)
		}
	case tea.KeyMsg:
		c.keys++
		if c.seen != nil {
			c.seen <- c.keys
		}
		if msg.String() == "q" {
			return c, tea.Quit
		}
		if c.onKey != nil {
			return c, c.onKey(c, msg)
		}
	}
	return c, nil
}

func (c *counter) View() string {
	c.views++
	if c.onView != nil {
		c.onView()
	}
	return fmt.Sprintf("%d keys", c.keys)
}

// record is an output that can be waited on.
type record struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{}
}

func newRecord() *record { return &record{changed: make(chan struct{}, 1)} }

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.b.Write(b)
	select {
	case r.changed <- struct{}{}:
	default:
	}
	return len(b), nil
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.b.String()
}

// until waits for text in what was written.
func (r *record) until(t *testing.T, text string) {
	t.Helper()
	r.times(t, text, 1)
}

// times waits until text was written n times.
func (r *record) times(t *testing.T, text string, n int) {
	t.Helper()
	late := time.After(patience)
	for strings.Count(r.String(), text) < n {
		select {
		case <-r.changed:
		case <-late:
			t.Fatalf("%q is not written %d times: %q", text, n, r.String())
		}
	}
}

type result struct {
	m   tea.Model
	err error
}

// start runs a program over pipes, as over SSH.
func start(t *testing.T, ctx context.Context, m tea.Model, opt Options) (keys *io.PipeWriter, out *record, done chan result) {
	t.Helper()
	r, w := io.Pipe()
	out = newRecord()
	opt.In = r
	if opt.Out == nil {
		opt.Out = out
	}
	if opt.Size == nil {
		opt.Size = func() (int, int) { return 40, 5 }
	}
	done = make(chan result, 1)
	go func() {
		m, err := Run(ctx, m, opt)
		_ = r.Close()
		done <- result{m, err}
	}()
	t.Cleanup(func() { _ = w.Close() })
	return w, out, done
}

func finish(t *testing.T, done chan result) result {
	t.Helper()
	select {
	case r := <-done:
		return r
	case <-time.After(patience):
		t.Fatal("Run does not return")
	}
	return result{}
}

// wantRestored checks that the terminal was entered and left once, with nothing
// of ours behind it but the message of a panic; or not at all, by a program that
// ended before that.
func wantRestored(t *testing.T, out string) {
	t.Helper()
	if out == "" || out == panicMessage {
		return
	}
	out = strings.TrimSuffix(out, panicMessage)
	if err := painttest.Check([]byte(out)); err != nil {
		t.Error(err)
	}
	body, ok := strings.CutSuffix(out, "\x1b[?2004l\x1b[?25h\x1b[?7h\x1b[?1049l")
	if !ok || strings.Count(out, "\x1b[?1049h") != 1 || strings.Contains(body, "\x1b[?1049l") {
		t.Errorf("not restored once: %q", out)
	}
}

func TestRunQuits(t *testing.T) {
	defer goleak.VerifyNone(t)
	keys, out, done := start(t, context.Background(), &counter{}, Options{})
	out.until(t, "0 keys")
	_, _ = io.WriteString(keys, "a")
	out.until(t, "\x1b[H1")
	_, _ = io.WriteString(keys, "q")
	r := finish(t, done)
	if c := r.m.(*counter); r.err != nil || c.keys != 2 || len(c.sizes) != 1 || c.sizes[0] != (tea.WindowSizeMsg{Width: 40, Height: 5}) {
		t.Errorf("ended with %+v, %v", r.m, r.err)
	}
	wantRestored(t, out.String())
}

func TestRunEnds(t *testing.T) {
	boom := func() tea.Msg { panic("secret \x1b[2J") }
	cause := errors.New("the server is going down")
	for name, c := range map[string]struct {
		key   string
		model *counter
		want  func(error) bool
	}{
		"context":          {"", &counter{}, func(err error) bool { return errors.Is(err, cause) }},
		"end of input":     {"EOF", &counter{}, func(err error) bool { return errors.Is(err, ErrInputClosed) }},
		"interrupt":        {"x", &counter{onKey: func(*counter, tea.KeyMsg) tea.Cmd { return tea.Interrupt }}, func(err error) bool { return err == tea.ErrInterrupted }},
		"panic in Update":  {"x", &counter{onKey: func(*counter, tea.KeyMsg) tea.Cmd { boom(); return nil }}, isPanic},
		"panic in command": {"x", &counter{onKey: func(*counter, tea.KeyMsg) tea.Cmd { return boom }}, isPanic},
		"panic in batch": {"x", &counter{onKey: func(*counter, tea.KeyMsg) tea.Cmd {
			return tea.Sequence(func() tea.Msg { return nil }, tea.Batch(func() tea.Msg { return nil }, tea.Sequence(boom, nil)))
		}}, isPanic},
		"panic in first command": {"", &counter{init: boom}, isPanic},
		"panic in View":          {"", &counter{onView: func() { boom() }}, isPanic},
	} {
		t.Run(name, func(t *testing.T) {
			defer goleak.VerifyNone(t)
			ctx, cancel := context.WithCancelCause(context.Background())
			defer cancel(nil)
			reported := ""
			out := newRecord()
			keys, _, done := start(t, ctx, c.model, Options{Out: out, OnPanic: func(v any, stack []byte) {
				reported = fmt.Sprint(v)
				if !strings.HasSuffix(out.String(), panicMessage) || !bytes.Contains(stack, []byte("paint.TestRunEnds")) {
					t.Errorf("OnPanic before the terminal is restored, or without the stack: %s", stack)
				}
			}})
			switch {
			case c.key == "EOF":
				_ = keys.Close()
			case c.key != "":
				_, _ = io.WriteString(keys, c.key)
			case name == "context":
				out.until(t, "0 keys")
				cancel(cause)
			}
			r := finish(t, done)
			if !c.want(r.err) {
				t.Errorf("ended with %v", r.err)
			}
			wantRestored(t, out.String())
			if isPanic(r.err) != (reported != "") || strings.Contains(out.String()+r.err.Error(), "secret") {
				t.Errorf("OnPanic got %q, the terminal %q, the error says %q", reported, out.String(), r.err)
			}
		})
	}
}

func isPanic(err error) bool { return errors.As(err, new(*PanicError)) }

// A hundred keys at once are one frame or a few; each is seen by Update.
func TestBurstIsMerged(t *testing.T) {
	defer goleak.VerifyNone(t)
	keys, out, done := start(t, context.Background(), &counter{}, Options{})
	out.until(t, "0 keys")
	_, _ = io.WriteString(keys, strings.Repeat("\x1b[B", 400))
	_, _ = io.WriteString(keys, "q")
	r := finish(t, done)
	if c := r.m.(*counter); c.keys != 401 || c.views > 60 {
		t.Errorf("%d keys made %d views", c.keys, c.views)
	}
}

// A terminal that has stopped reading delays frames and nothing else: keys are
// handled, the program quits, and Run returns within its bound.
func TestStoppedTerminalDoesNotBlockUpdate(t *testing.T) {
	defer goleak.VerifyNone(t)
	g := newGate()
	c := &counter{seen: make(chan int, 1000)}
	keys, _, done := start(t, context.Background(), c, Options{Out: g, CloseWithin: 30 * time.Millisecond})
	<-g.entered
	for i := 1; i <= 300; i++ {
		_, _ = io.WriteString(keys, "a")
		select {
		case <-c.seen:
		case <-time.After(patience):
			t.Fatalf("key %d waits for the terminal", i)
		}
	}
	_, _ = io.WriteString(keys, "q")
	r := finish(t, done)
	if r.err != nil {
		t.Error(r.err)
	}
	if c.views > 3 {
		t.Errorf("%d views that nobody could see", c.views)
	}
	close(g.open) // as when the channel is closed
}

// Every size reaches the model at last, a closed channel is not read in a loop,
// impossible sizes are ignored and huge ones cut.
func TestResizes(t *testing.T) {
	defer goleak.VerifyNone(t)
	sizes, largest := make(chan Size), make(chan struct{})
	resized := func(z tea.WindowSizeMsg) {
		if z == (tea.WindowSizeMsg{Width: MaxWidth, Height: MaxHeight}) {
			close(largest)
		}
	}
	keys, out, done := start(t, context.Background(), &counter{onSize: resized}, Options{Resizes: sizes})
	out.until(t, "0 keys")
	for i := range 200 {
		sizes <- Size{1 + i*7%300, 1 + i*3%100} // never waits for the loop
	}
	sizes <- Size{0, 0}
	sizes <- Size{-1, 10}
	sizes <- Size{1 << 30, 1 << 30}
	close(sizes)
	select {
	case <-largest:
	case <-time.After(patience):
		t.Fatal("the last size does not arrive")
	}
	_, _ = io.WriteString(keys, "q")
	r := finish(t, done)
	got := r.m.(*counter).sizes
	if last := got[len(got)-1]; last != (tea.WindowSizeMsg{Width: MaxWidth, Height: MaxHeight}) {
		t.Errorf("the last size is %v", last)
	}
	for _, z := range got {
		if z.Width < 1 || z.Height < 1 {
			t.Errorf("the model gets %v", z)
		}
	}
}

// Without Signals (over SSH) nothing can stop the server.
func TestSuspendIsIgnoredOverSSH(t *testing.T) {
	defer goleak.VerifyNone(t)
	keys, out, done := start(t, context.Background(), &counter{onKey: func(_ *counter, k tea.KeyMsg) tea.Cmd {
		if k.Type == tea.KeyCtrlZ {
			return tea.Suspend
		}
		return nil
	}}, Options{})
	out.until(t, "0 keys")
	_, _ = io.WriteString(keys, "\x1a")
	out.until(t, "\x1b[H1")
	_, _ = io.WriteString(keys, "q")
	if r := finish(t, done); r.err != nil || r.m.(*counter).keys != 2 {
		t.Errorf("%+v %v", r.m, r.err)
	}
	wantRestored(t, out.String())
}

func TestCopyAndFilter(t *testing.T) {
	defer goleak.VerifyNone(t)
	vetoed := 0
	keys, out, done := start(t, context.Background(), &counter{onKey: func(_ *counter, k tea.KeyMsg) tea.Cmd {
		switch k.String() {
		case "c":
			return func() tea.Msg { return CopyMsg{osc52.New("OP-1")} }
		}
		return nil
	}}, Options{Filter: func(m tea.Model, msg tea.Msg) tea.Msg {
		if _, ok := m.(*counter); !ok {
			t.Errorf("the filter gets %T", m)
		}
		if _, ok := msg.(tea.QuitMsg); ok && vetoed == 0 {
			vetoed++
			return nil
		}
		return msg
	}})
	out.until(t, "0 keys")
	_, _ = io.WriteString(keys, "c")
	out.until(t, "\x1b]52;c;T1AtMQ==\a")
	_, _ = io.WriteString(keys, "q")
	out.until(t, "\x1b[H2")
	_, _ = io.WriteString(keys, "q")
	if r := finish(t, done); r.err != nil || vetoed != 1 {
		t.Errorf("%v, %d quits vetoed", r.err, vetoed)
	}
	if err := (painttest.Checker{Copy: true}).Check([]byte(out.String())); err != nil {
		t.Error(err)
	}
}

// frames is a program that counts its messages and frames.
type frames struct{ updates, views int }

func (f *frames) Init() tea.Cmd { return nil }
func (f *frames) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	if _, ok := msg.(AfterFrame); ok {
		f.updates++
	}
	return f, nil
}
func (f *frames) View() string { f.views++; return "" }

// What is to come behind a frame does, however long the frame is put off.
func TestAfterFrame(t *testing.T) {
	waiting, f := true, &frames{}
	p := New(io.Discard, PainterOptions{})
	defer func() { _ = p.Close("", time.Second) }()
	m := &model{inner: f, painter: p, waiting: func() bool { return waiting }, redraw: make(chan struct{}, 1),
		caught: func(any, []byte) {}}
	m.View() // keys wait: put off
	m.Update(AfterFrame(1))
	m.Update(drawMsg{})
	if f.views != 0 || f.updates != 0 {
		t.Fatalf("updated %d times, drawn %d times", f.updates, f.views)
	}
	waiting = false
	m.View()
	if f.views != 1 || f.updates != 0 || len(m.redraw) != 1 {
		t.Fatalf("updated %d times, drawn %d times", f.updates, f.views)
	}
	waiting = true
	m.View() // the next frame is put off; the one that counts was drawn
	if m.Update(<-m.redraw); f.updates != 0 {
		t.Fatal("updated by another message")
	}
	if m.Update(drawMsg{}); f.updates != 1 {
		t.Fatalf("updated %d times", f.updates)
	}
	waiting = false
	m.View()
	if m.Update(AfterFrame(1)); f.updates != 2 {
		t.Error("held though no frame was due")
	}
}
