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
// alternate screen commands have no effect; [Raw] copies to the
// clipboard. tea.Exec is not supported: it would run with the modes set.
//
// # Output
//
// A view is lines of text with SGR sequences, nothing else. Anything else in it
// (controls, C1, format characters, other sequences, broken UTF-8) is drawn as a
// visible mark and never reaches the terminal. The bytes written are exactly:
//
//	text       printable characters, CR, LF
//	CSI n A B C D G       cursor by steps, to a column
//	CSI r ; c H           cursor to a position
//	CSI K, CSI n X        erase to the end of the line, n cells
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
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"opdeck/ui/paint/quiet"
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

// MaxCopy is the largest text that can be copied, in bytes: what xterm and tmux
// accept in one sequence.
const MaxCopy = 55_000

// ErrSequence is the error for a sequence that may not be passed through.
var ErrSequence = errors.New("only a clipboard sequence may bypass the painter")

// RawMsg asks the painter to write Seq between two frames, if
// [Painter.Passthrough] accepts it. The model does not get this message.
type RawMsg struct{ Seq string }

// Raw returns a command that writes a sequence between two frames, see RawMsg.
func Raw(seq string) tea.Cmd { return func() tea.Msg { return RawMsg{Seq: seq} } }

// copyForms are an OSC 52 copy, and the same one wrapped behind it so that tmux or screen hands it on to the terminal
// outside: tmux takes one wrapper with the escape doubled, screen one wrapper for each piece, since it takes no long
// ones.
var copyForms = regexp.MustCompile(`^\x1b\]52;c;([\w+/]*=*)\a(?:\x1bPtmux;\x1b\x1b\]52;c;([\w+/]*=*)\a\x1b\\|` +
	`\x1bP\x1b\]52;c;((?:[\w+/=]|\x1b\\\x1bP)*)\a\x1b\\)?$`)

// isCopy is true for a whole copy of at most MaxCopy bytes and nothing else.
func isCopy(seq string) bool {
	m := copyForms.FindStringSubmatch(seq)
	if m == nil {
		return false
	}
	text, again := m[1], strings.ReplaceAll(m[2]+m[3], "\x1b\\\x1bP", "")
	if again != "" && again != text {
		return false
	}
	_, err := base64.StdEncoding.Strict().DecodeString(text)
	return err == nil && len(text) <= base64.StdEncoding.EncodedLen(MaxCopy)
}
