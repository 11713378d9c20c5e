package paint

import (
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"sync"
	"time"
)

// ErrStuck is returned when the terminal does not take the last bytes in time.
var ErrStuck = errors.New("the terminal has stopped reading")

// PainterOptions are the settings of a [Painter] for its terminal.
type PainterOptions struct {
	Title string      // set on entering; "" leaves the title alone
	Mouse bool        // report clicks, drags and the wheel
	Idle  func()      // called on the painter's goroutine when there is nothing left to write
	Fail  func(error) // called once when writing has failed
}

// state is the state of the terminal's modes.
type state int

const (
	outside state = iota // the terminal has its own modes
	inside               // the painter's modes are set; frames are written
	closed               // outside permanently; the goroutine ends
)

// Painter draws frames on one terminal. Its own goroutine does all
// writing, so that only Leave and Close wait for the terminal.
// While it writes, a newer frame replaces the waiting one; it compares the next frame
// with the one that was really written. All methods may be called from any
// goroutine.
type Painter struct {
	out     io.Writer
	opt     PainterOptions
	modes   modes
	changed chan struct{} // holds one token: something below has changed
	done    chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	target  state
	current state
	arrived chan struct{} // closed when current == target; nil if no one waits
	view    []string
	w, h    int
	pending bool // view has not been drawn
	invalid bool // the next frame is drawn in full
	reenter bool // the modes are set once more
	raw     string
	busy    bool
	err     error
	broken  bool // the terminal takes nothing any more

	screen *screen // the goroutine's own
	buf    []byte  // the goroutine's own
}

// New starts a painter. It writes nothing before Enter.
func New(out io.Writer, opt PainterOptions) *Painter {
	p := &Painter{
		out: out, opt: opt, screen: newScreen(),
		modes:   modes{title: cleanTitle(opt.Title), mouse: opt.Mouse},
		changed: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go p.run()
	return p
}

// Frame draws the lines of a view on a terminal of w by h cells, or as much as
// fits; the caller must not change them afterwards. It does not
// block: during a write the newest view replaces the waiting
// one.
func (p *Painter) Frame(view []string, w, h int) {
	if w <= 0 || h <= 0 {
		return
	}
	p.mu.Lock()
	p.view, p.w, p.h, p.pending = view, w, h, true
	if p.target == inside {
		p.busy = true
	}
	p.mu.Unlock()
	p.notify()
}

// Invalidate draws the screen in full with the next frame: the size has changed,
// or something else has written to the terminal.
func (p *Painter) Invalidate() {
	p.mu.Lock()
	p.invalid = true
	p.mu.Unlock()
}

// Reenter sets up the terminal like Enter. If the painter had not left it, Reenter sets the
// modes and draws everything once more, because another program may have used the terminal
// in the meantime. In both cases it sets up the terminal once.
func (p *Painter) Reenter() {
	p.mu.Lock()
	p.reenter = p.target == inside
	p.mu.Unlock()
	p.Enter()
}

// Passthrough writes a sequence between two frames. It accepts only an
// OSC 52 copy and returns ErrSequence for anything else. On a slow terminal
// a newer sequence replaces the waiting one.
func (p *Painter) Passthrough(seq string) error {
	if !isCopy(seq) {
		return ErrSequence
	}
	p.mu.Lock()
	p.raw = seq
	p.mu.Unlock()
	p.notify()
	return nil
}

// Busy reports whether a frame is being written or waits.
func (p *Painter) Busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.busy
}

// Err returns why the painter no longer writes; nil if it does.
func (p *Painter) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Enter sets up the terminal and draws the last frame, if there is one. It
// does not wait.
func (p *Painter) Enter() { p.setTarget(inside) }

// Leave restores the terminal; the painter keeps frames without writing them until Enter. It
// waits at most d until the bytes are written, and returns ErrStuck if they
// are not.
func (p *Painter) Leave(d time.Duration) error { return p.await(p.setTarget(outside), d) }

// Close restores the terminal permanently and ends the painter's goroutine. It
// waits like Leave. If it returns ErrStuck, the goroutine is still blocked in Write and
// ends as soon as that returns. A second Close has no effect.
func (p *Painter) Close(d time.Duration) error {
	p.setTarget(closed)
	return p.await(p.done, d)
}

// setTarget sets the state to reach and returns a channel that is closed then.
func (p *Painter) setTarget(to state) <-chan struct{} {
	p.mu.Lock()
	defer p.notify()
	defer p.mu.Unlock()
	if p.target == closed {
		return p.done
	}
	p.target = to
	if p.arrived == nil {
		p.arrived = make(chan struct{})
	}
	return p.arrived
}

func (p *Painter) await(arrived <-chan struct{}, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-arrived:
	case <-p.done:
	case <-t.C:
		return ErrStuck
	}
	return p.Err()
}

func (p *Painter) notify() {
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

// run writes until the painter is closed.
func (p *Painter) run() {
	defer close(p.done)
	for {
		b, then := p.next()
		if len(b) > 0 {
			if _, err := p.out.Write(b); err != nil {
				p.fail(fmt.Errorf("write to the terminal: %w", err), true)
			}
		}
		switch then {
		case end:
			return
		case sleep:
			if p.opt.Idle != nil {
				p.opt.Idle()
			}
			<-p.changed
		}
	}
}

// step is what comes after the bytes of next are written.
type step int

const (
	more step = iota
	sleep
	end
)

// next is what to write now. A panic in here is a bug of the painter; it ends
// the drawing, not the way back out.
func (p *Painter) next() (b []byte, then step) {
	p.mu.Lock()
	job := p.nextJob()
	p.mu.Unlock()
	defer func() {
		if r := recover(); r != nil {
			p.fail(&PanicError{Value: r, Stack: debug.Stack()}, false)
			b, then = nil, more
		}
	}()
	b = p.buf[:0]
	switch {
	case job.enter:
		b = p.modes.enter(b)
		p.screen.invalidate()
	case job.leave:
		b = p.modes.leave(b)
	}
	b = p.compose(b, job)
	p.buf = b
	return b, job.then
}

// nextJob decides what to do next. p.mu is held.
func (p *Painter) nextJob() job {
	from, to := p.current, p.target
	j := job{then: more}
	if from == to {
		if p.arrived != nil { // what came before is written
			close(p.arrived)
			p.arrived = nil
		}
		switch {
		case to == closed:
			j.then = end
		case to == outside || !p.pending && p.raw == "" && !p.reenter:
			j.then = sleep
		}
	}
	p.current = to
	p.busy = false
	if p.broken || j.then != more {
		if j.then == more && from == to {
			j.then = sleep
		}
		return j
	}
	switch {
	case to == inside:
		j.enter = from != inside || p.reenter
		j.raw = p.raw
		if p.err == nil && (p.pending || j.enter) && p.w > 0 {
			j.draw, j.view, j.w, j.h, j.invalid = true, p.view, p.w, p.h, p.invalid
			p.invalid, p.busy = false, true
		}
		p.pending, p.reenter, p.raw = false, false, ""
	case from == inside:
		j.leave = true
	}
	return j
}

// job is one piece of work.
type job struct {
	enter, leave  bool
	raw           string
	draw, invalid bool
	view          []string
	w, h          int
	then          step
}

// compose appends the bytes of one frame and of a sequence that waits.
func (p *Painter) compose(b []byte, f job) []byte {
	b = append(b, f.raw...)
	if !f.draw {
		return b
	}
	if f.invalid {
		p.screen.invalidate()
	}
	start := len(b)
	b = append(b, beginSync...)
	body := len(b)
	b = p.screen.draw(b, f.view, f.w, f.h)
	if len(b) == body {
		return b[:start]
	}
	return append(b, endSync...)
}

// fail notes why nothing can be drawn any more; broken when the terminal
// takes nothing at all, not even the way back.
func (p *Painter) fail(err error, broken bool) {
	p.mu.Lock()
	first := p.err == nil
	if first {
		p.err = err
	}
	p.broken = p.broken || broken
	p.mu.Unlock()
	if first && p.opt.Fail != nil {
		p.opt.Fail(err)
	}
}
