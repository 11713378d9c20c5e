package paint

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	"go.uber.org/goleak"

	"opdeck/ui/paint/painttest"
)

// gate is a terminal that reads only on request.
type gate struct {
	entered chan struct{} // a Write has begun
	open    chan struct{} // one Write may return; closed: all may
	mu      sync.Mutex
	writes  [][]byte
}

func newGate() *gate { return &gate{entered: make(chan struct{}, 100), open: make(chan struct{})} }

func (g *gate) Write(b []byte) (int, error) {
	g.mu.Lock()
	g.writes = append(g.writes, bytes.Clone(b))
	g.mu.Unlock()
	g.entered <- struct{}{}
	<-g.open
	return len(b), nil
}

func (g *gate) all() []byte {
	g.mu.Lock()
	defer g.mu.Unlock()
	return bytes.Join(g.writes, nil)
}

const patience = 30 * time.Second

// settle waits until the painter has drawn the last frame.
func settle(t *testing.T, p *Painter) {
	t.Helper()
	for end := time.Now().Add(patience); p.Busy(); {
		if time.Now().After(end) {
			t.Fatal("the painter does not come to rest")
		}
		time.Sleep(50 * time.Microsecond)
	}
}

// While the terminal does not read, frames replace each other; then the newest is
// drawn as the difference to what was really written.
func TestNewestFrameWins(t *testing.T) {
	defer goleak.VerifyNone(t)
	g := newGate()
	p := New(g, PainterOptions{})
	p.Enter()
	p.Frame([]string{"first"}, 20, 2)
	<-g.entered
	start := time.Now()
	for i := range 1000 {
		p.Frame([]string{fmt.Sprintf("frame %d", i)}, 20, 2)
	}
	if d := time.Since(start); d > patience {
		t.Errorf("Frame waited for the terminal: %v", d)
	}
	if !p.Busy() {
		t.Error("not busy while a frame waits")
	}
	close(g.open)
	settle(t, p)
	if err := p.Close("", patience); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(g.all()), "frame 5") {
		t.Error("a frame that was replaced has been written")
	}
	if n := len(g.writes); n > 4 {
		t.Errorf("%d writes for the two frames that could be shown", n)
	}
	if err := painttest.Check(g.all()); err != nil {
		t.Error(err)
	}
	e := newTerminal(t, 20, 2)
	for i, b := range g.writes {
		if i < len(g.writes)-1 { // the last one leaves
			e.feed(b)
		}
	}
	if got := e.text(0); got != "frame 999" {
		t.Errorf("shown %q", got)
	}
}

func TestCloseHasADeadline(t *testing.T) {
	defer goleak.VerifyNone(t)
	g := newGate()
	p := New(g, PainterOptions{})
	p.Enter()
	<-g.entered
	if err := p.Close("", 20*time.Millisecond); !errors.Is(err, ErrStuck) {
		t.Errorf("Close with a terminal that does not read: %v", err)
	}
	close(g.open)
	if err := p.Close("", patience); err != nil {
		t.Error(err)
	}
	if got := strings.Count(string(g.all()), "\x1b[?1049l"); got != 1 {
		t.Errorf("left %d times", got)
	}
}

func TestLeaveAndEnterAgain(t *testing.T) {
	defer goleak.VerifyNone(t)
	var out bytes.Buffer
	p := New(&out, PainterOptions{Title: "opdeck", Mouse: true})
	if err := p.Leave(patience); err != nil || out.Len() > 0 {
		t.Fatalf("Leave before Enter: %v, wrote %q", err, out.Bytes())
	}
	p.Enter()
	p.Frame([]string{"hello"}, 10, 1)
	settle(t, p)
	if err := p.Leave(patience); err != nil {
		t.Fatal(err)
	}
	before := out.Len()
	p.Frame([]string{"while away"}, 10, 1)
	p.Enter()
	settle(t, p)
	if err := p.Close("", patience); err != nil {
		t.Fatal(err)
	}
	again := string(out.Bytes()[before:])
	if strings.Count(again, "\x1b[?1049h") != 1 || !strings.HasSuffix(again, "\x1b[?1049l\x1b[23;2t") {
		t.Errorf("entering again wrote %q", again)
	}
	if err := (painttest.Checker{Title: "opdeck"}).Check(out.Bytes()); err != nil {
		t.Error(err)
	}
	if err := painttest.Check(out.Bytes()); err == nil {
		t.Error("a title passes a check that allows none")
	}
	if err := p.Close("", patience); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

type brokenWriter struct{}

var errBroken = errors.New("broken")

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestBrokenTerminalIsReportedOnce(t *testing.T) {
	defer goleak.VerifyNone(t)
	failed := make(chan error, 9)
	p := New(brokenWriter{}, PainterOptions{Fail: func(err error) { failed <- err }})
	p.Enter()
	if err := <-failed; !errors.Is(err, errBroken) {
		t.Errorf("reported %v", err)
	}
	p.Frame([]string{"x"}, 5, 5)
	if err := p.Close("", patience); !errors.Is(err, errBroken) {
		t.Errorf("Close: %v", err)
	}
	if len(failed) > 0 {
		t.Error("reported twice")
	}
	if p.Busy() {
		t.Error("busy for ever")
	}
}

func TestCopy(t *testing.T) {
	defer goleak.VerifyNone(t)
	long := strings.Repeat("long ", 400)
	for _, copied := range [][]osc52.Sequence{{osc52.New("Grüße")}, {osc52.New("Grüße"), osc52.New("Grüße").Tmux()},
		{osc52.New(long), osc52.New(long).Screen()}, {osc52.New("x\a\x1b]0;y\a")}} {
		var out bytes.Buffer
		p := New(&out, PainterOptions{})
		p.Enter()
		p.Copy(copied)
		p.Frame([]string{"x"}, 5, 5)
		settle(t, p)
		if err := p.Close("", patience); err != nil {
			t.Fatal(err)
		}
		for _, c := range copied {
			if !strings.Contains(out.String(), c.String()) {
				t.Errorf("not written: %q", out.String())
			}
		}
		if err := (painttest.Checker{Copy: true}).Check(out.Bytes()); err != nil {
			t.Error(err)
		}
		if err := painttest.Check(out.Bytes()); err == nil {
			t.Error("a copy passes a check that allows none")
		}
	}
}

// A bug of the painter ends the drawing, not the way back out.
func TestPanicWhileDrawingStillLeaves(t *testing.T) {
	defer goleak.VerifyNone(t)
	var out bytes.Buffer
	failed := make(chan error, 1)
	p := New(&out, PainterOptions{Fail: func(err error) { failed <- err }})
	p.screen = nil
	p.Enter()
	p.Frame([]string{"x"}, 5, 5)
	if err := <-failed; !isPanic(err) {
		t.Fatalf("reported %v", err)
	}
	if err := p.Close("", patience); !isPanic(err) {
		t.Errorf("Close: %v", err)
	}
	if b := out.String(); !strings.HasSuffix(b, "\x1b[?1049l") {
		t.Errorf("the terminal is left as %q", b)
	}
}

func TestCheckFindsWhatIsNotOurs(t *testing.T) {
	for _, bad := range []string{
		"\x1b]0;t\a", "\x1b]8;;http://x\a", "\x1bPq\x1b\\", "\x1b_x\x1b\\", "\x1b[21t", "\x1b[6n", "\x1b[c", "\x1b[3J", "\x1b[?1003h",
		"\x1b[>c", "\x1bc", "\x1b", "\x1b[", "\x1b[1", "\a", "\b", "\t", "\x00", "\x7f", "\u009b", "\x9b", "\u202e", "\u200d", "\ufeff", "\u2028",
		"\x1b[8m", "\x1b[38;5m", "\x1b[38;5;256m", "\x1b[4:3m", "\x1b[1 q", "\x1b[!p", "\x1b[2K", "\x1b[1;2;3H", "\x1b[S",
	} {
		var e *painttest.CheckError
		if err := painttest.Check([]byte("ok" + bad)); !errors.As(err, &e) || e.Offset != 2 {
			t.Errorf("%q: %v", bad, err)
		}
	}
	good := modes{title: "t", mouse: true}.leave(modes{title: "t", mouse: true}.enter(nil))
	if err := (painttest.Checker{Title: "t"}).Check(good); err != nil {
		t.Error(err)
	}
}
