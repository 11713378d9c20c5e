// Package paint draws the frames of a Bubble Tea program when they change, and
// owns the modes of the terminal while the program runs.
//
// Bubble Tea's own renderer draws on a clock: a key waits half a frame on
// average and an idle program is woken hundreds of times a second. [Run] keeps
// Bubble Tea's loop, messages and commands, switches its renderer off and draws
// with a [Painter] instead: at once after a change, never otherwise.
//
// # Effects of the option WithoutRenderer
//
// Without a renderer Bubble Tea 1.3 neither enters raw mode nor learns the size
// of the terminal, and its alternate screen, cursor, paste, mouse, title and
// clear-screen commands do nothing. Its suspension would stop the process
// without restoring anything. Reading and decoding keys, the loop, commands and
// filters work as usual. Run does the rest: raw mode, modes, first size, size
// changes, signals, suspension, panics, the end of input, and restoring the terminal.
//
// # Supported commands
//
// tea.Quit, tea.Suspend, tea.Interrupt, tea.Batch, tea.Sequence, tea.Tick work.
// tea.ClearScreen, tea.SetWindowTitle, tea.Println, the mouse, cursor, paste and
// alternate screen commands have no effect; [CopyMsg] copies to the
// clipboard. tea.Exec is not supported: it would run with the modes set.
//
// # Output
//
// A view is lines of text with SGR sequences, nothing else. Anything else in it
// (controls, C1, format characters, other sequences, broken UTF-8) is drawn as a
// visible mark and never reaches the terminal. The bytes written are exactly:
//
//	text                  printable characters; CR LF only in the message of a panic
//	CSI n G               cursor to a column
//	CSI r ; c H           cursor to a position
//	CSI K                 erase to the end of the line
//	CSI 2 J               erase all (first frame and after a change of size)
//	CSI n L, CSI n M      insert, delete lines
//	CSI t ; b r, CSI r    scroll region, always taken back within the frame
//	CSI … m               0-5 7 9 22-25 27 29 30-39 40-49 90-97 100-107, 38/48;5;n, 38/48;2;r;g;b
//	CSI ? 2026 h/l        around each frame: synchronized output
//	CSI ? 1049 7 25 2004 1002 1006 h/l    on entering and leaving
//	CSI ? 1 6 5 9 1000 1002-1006 1015 1016 2031 2048 9001 l, CSI 4 l, CSI > 4 m, CSI = 0 u, ESC > ( B, SI
//	                      together, on entering: another program may have left them set
//	CSI 22;2 t, CSI 23;2 t, OSC 2 ; title BEL    only with a title
//	OSC 52 ; c ; base64 BEL                      only for a copy
//
// Package painttest reads a byte stream and reports the first thing outside this list.
// Lines move with IL and DL instead of SU and SD because the Linux console knows
// only those; blanks of a coloured background are written as spaces because not
// every terminal erases with the background colour; REP is not used.
package paint

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"runtime/debug"
	"sync"
	"time"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/paint/quiet"
)

// ErrStuck is returned when the terminal does not take the last bytes in time.
var ErrStuck = errors.New("the terminal has stopped reading")

// PainterOptions are the settings of a [Painter] for its terminal.
type PainterOptions struct {
	Title string      // set on entering, a constant of the program; "" leaves the title alone
	Mouse bool        // report clicks, drags and the wheel
	Idle  func()      // called on the painter's goroutine after each write
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
	changed chan struct{} // holds one token: todo has changed
	done    chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	todo    work
	writing bool  // a frame
	err     error // why nothing is drawn any more

	screen *screen // the goroutine's own
}

// work is what the goroutine does next.
type work struct {
	to       state
	enter    bool // the modes are set, also when they are set already
	view     []string
	w, h     int
	draw     bool // view has not been drawn
	full     bool // all of it is drawn
	copy     []osc52.Sequence
	farewell string          // written after leaving
	reached  []chan struct{} // closed when all of that is written
}

// New starts a painter. It writes nothing before Enter.
func New(out io.Writer, opt PainterOptions) *Painter {
	p := &Painter{
		out: out, opt: opt, screen: &screen{},
		modes:   modes{title: opt.Title, mouse: opt.Mouse},
		changed: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go p.run()
	return p
}

// change changes what is to be done next.
func (p *Painter) change(f func(w *work)) {
	p.mu.Lock()
	f(&p.todo)
	p.mu.Unlock()
	notify(p.changed)
}

// Frame draws the lines of a view on a terminal of w by h cells, or as much as
// fits; the caller must not change them afterwards. It does not
// block: during a write the newest view replaces the waiting
// one.
func (p *Painter) Frame(view []string, w, h int) {
	p.change(func(todo *work) { todo.view, todo.w, todo.h, todo.draw = view, w, h, true })
}

// Invalidate draws the screen in full with the next frame: the size has changed,
// or something else has written to the terminal.
func (p *Painter) Invalidate() { p.change(func(todo *work) { todo.full = true }) }

// Copy writes a copy to the clipboard between two frames. On a slow terminal
// a newer one replaces the waiting one.
func (p *Painter) Copy(text []osc52.Sequence) { p.change(func(todo *work) { todo.copy = text }) }

// Busy reports whether a frame is being written or waits.
func (p *Painter) Busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.writing || p.todo.draw && p.todo.to == inside
}

// Err returns why the painter no longer draws; nil if it does.
func (p *Painter) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Enter sets up the terminal and draws the last frame, if there is one. If the painter had not left it, another
// program may have used the terminal in the meantime: Enter does all of it once more. It does not wait.
func (p *Painter) Enter() {
	p.change(func(todo *work) { todo.to, todo.enter = max(todo.to, inside), true })
}

// Leave restores the terminal; the painter keeps frames without writing them until Enter. It
// waits at most d until the bytes are written, and returns ErrStuck if they
// are not.
func (p *Painter) Leave(d time.Duration) error { return p.reach(outside, "", d) }

// Close restores the terminal permanently, writes the farewell behind it, and ends the painter's goroutine. It
// waits like Leave. If it returns ErrStuck, the goroutine is still blocked in Write and
// ends as soon as that returns. A second Close has no effect.
func (p *Painter) Close(farewell string, d time.Duration) error { return p.reach(closed, farewell, d) }

func (p *Painter) reach(to state, farewell string, d time.Duration) error {
	reached := make(chan struct{})
	p.change(func(todo *work) {
		if todo.to != closed {
			todo.to, todo.farewell = to, farewell
		}
		todo.reached = append(todo.reached, reached)
	})
	select {
	case <-reached:
	case <-p.done:
	case <-time.After(d):
		return ErrStuck
	}
	return p.Err()
}

// run writes until the painter is closed.
func (p *Painter) run() {
	defer close(p.done)
	for at, broken := outside, false; at != closed; {
		<-p.changed
		p.mu.Lock()
		w := p.todo
		p.writing = w.draw && w.to == inside
		p.todo.reached = nil
		if w.to == inside {
			p.todo.enter, p.todo.draw, p.todo.full, p.todo.copy = false, false, false, nil
		}
		p.mu.Unlock()
		if b := p.compose(at, w); len(b) > 0 && !broken {
			if _, err := p.out.Write(b); err != nil {
				broken = true // it takes nothing, not even the way back
				p.fail(fmt.Errorf("write to the terminal: %w", err))
			}
		}
		at = w.to
		for _, reached := range w.reached {
			close(reached)
		}
		p.mu.Lock()
		p.writing = false
		p.mu.Unlock()
		if p.opt.Idle != nil {
			p.opt.Idle()
		}
	}
}

// compose returns the bytes of one piece of work. A panic in here is a bug of the painter; it ends
// the drawing, not the way back out.
func (p *Painter) compose(at state, w work) (b []byte) {
	defer func() {
		if r := recover(); r != nil {
			p.fail(&PanicError{Value: r, Stack: debug.Stack()})
			b = nil
		}
	}()
	if w.to != inside {
		if at == inside {
			b = p.modes.leave(b)
		}
		return append(b, w.farewell...) // also of a program that ends before its first frame
	}
	if w.enter {
		b = p.modes.enter(b)
	}
	for _, s := range w.copy {
		b = append(b, s.String()...)
	}
	if w.enter || w.full {
		p.screen.invalidate()
	}
	if !w.draw && !w.enter || w.w <= 0 || w.h <= 0 || p.Err() != nil {
		return b
	}
	start := len(b) + len(beginSync)
	drawn := p.screen.draw(append(b, beginSync...), w.view, w.w, w.h)
	if len(drawn) == start {
		return b
	}
	return append(drawn, endSync...)
}

// fail notes why nothing can be drawn any more.
func (p *Painter) fail(err error) {
	p.mu.Lock()
	first := p.err == nil
	if first {
		p.err = err
	}
	p.mu.Unlock()
	if first && p.opt.Fail != nil {
		p.opt.Fail(err)
	}
}

// guard makes a command report a panic instead of ending the process, for itself
// and for the commands of a batch or a sequence that it returns.
func guard(cmd tea.Cmd, caught func(any, []byte)) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (msg tea.Msg) {
		defer func() {
			if r := recover(); r != nil {
				caught(r, debug.Stack())
				msg = nil
			}
		}()
		return guardAll(cmd(), caught)
	}
}

var commands = reflect.TypeFor[[]tea.Cmd]()

// guardAll guards the commands inside a message. Bubble Tea does not export the
// type of a sequence, so any slice of commands is taken for one.
func guardAll(msg tea.Msg, caught func(any, []byte)) tea.Msg {
	if msg == nil {
		return nil
	}
	v := reflect.ValueOf(msg)
	if v.Kind() != reflect.Slice || !v.CanConvert(commands) {
		return msg
	}
	out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	for i := range v.Len() {
		out.Index(i).Set(reflect.ValueOf(guard(v.Index(i).Interface().(tea.Cmd), caught)))
	}
	return out.Interface()
}

// ErrInputClosed is returned by [Run] when no more keys can come: the terminal hung
// up or the SSH client closed its channel.
var ErrInputClosed = errors.New("the terminal has been closed")

// PanicError is returned by [Run] after a panic in Update, View, a command or the painter
// itself. Its text contains neither the value nor the stack, because these may contain
// text from outside or secrets.
type PanicError struct {
	Value any
	Stack []byte
}

func (e *PanicError) Error() string { return "the program stopped because of an internal error" }

// SignalError is returned by [Run] when a signal ended the program.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return fmt.Sprintf("ended by a signal: %s", e.Signal) }

// Bubble Tea is initialised by now and has not asked the terminal anything.
func init() { quiet.Restore() }

// CopyMsg asks the painter to write a copy between two frames, see [Painter.Copy]. The model does not get this message.
type CopyMsg []osc52.Sequence
