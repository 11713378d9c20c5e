package paint

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// Size is the size of a terminal in cells.
type Size struct{ W, H int }

// The largest size that is believed. A client may claim any; memory and work grow
// with it.
const (
	MaxWidth  = 1000
	MaxHeight = 500
)

// Options say which terminal a program runs on and how.
type Options struct {
	// In is where keys come from; nil is os.Stdin. A terminal is put into raw
	// mode. A reader that is not a file cannot be interrupted: one goroutine
	// stays in its Read until the caller closes it.
	In io.Reader
	// Out is where frames go; nil is os.Stdout.
	Out io.Writer
	// Size is the first size in cells; nil asks the terminal (80x24 when it does
	// not say).
	Size func() (w, h int)
	// Resizes delivers later sizes, for a terminal at the other end of a
	// connection; nil watches SIGWINCH. It is always read at once. Sizes below
	// 1x1 are ignored, larger ones than MaxWidth x MaxHeight are cut.
	Resizes <-chan Size
	// Title of the window while the program runs; "" leaves it alone. It must be
	// a constant of the program.
	Title string
	// Mouse enables clicks, drags and the wheel.
	Mouse bool
	// Signals handles SIGINT, SIGTERM, SIGHUP (end, as *SignalError), SIGTSTP and
	// ctrl+z (suspend) and SIGCONT (set up again) of this process. For a program
	// that owns its terminal; off for SSH, where suspending does nothing.
	Signals bool
	// OnPanic is called after a panic, when the terminal has been restored.
	OnPanic func(value any, stack []byte)
	// Filter gets every message first, as with tea.WithFilter. It runs on the
	// loop's goroutine.
	Filter func(tea.Model, tea.Msg) tea.Msg
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// CloseWithin bounds the wait for a terminal that has stopped reading, on the
	// way out and when suspending; 0 is one second.
	CloseWithin time.Duration
}

// Message that a person sees after a panic, on the restored terminal.
const panicMessage = "The console stopped because of an internal error. Your terminal is restored.\r\n"

// Run runs a program until it quits and returns its last model. However it ends,
// the terminal is restored exactly once before Run returns: on quit, error,
// cancelled context, panic in Update, View or a command, signal, end of input
// and failed output. A panic in a goroutine that the program started by itself
// cannot be caught.
//
// The error is nil after tea.Quit, tea.ErrInterrupted after tea.Interrupt, the
// cause of ctx, a *SignalError, a *PanicError, ErrInputClosed, or what the
// terminal said to a write.
func Run(ctx context.Context, m tea.Model, opt Options) (tea.Model, error) {
	s, err := newSession(m, opt)
	if err != nil {
		return m, err
	}
	return s.run(ctx)
}

// session is one run of a program.
type session struct {
	opt     Options
	tty     *tty
	painter *Painter
	input   *input
	model   *model
	program *tea.Program
	ended   chan struct{}  // closed when the loop has ended
	workers sync.WaitGroup // ends with the session

	firstSize Size
	signals   chan os.Signal
	stoppable bool          // there is a shell that could continue us
	ownStop   atomic.Bool   // the SIGTSTP to come is of our own making
	owedCont  atomic.Bool   // the SIGCONT to come ends our own stop
	continued chan struct{} // that it came

	stopped chan struct{} // closed when cause is set
	mu      sync.Mutex
	cause   error // why the program was stopped from outside
}

func newSession(m tea.Model, opt Options) (*session, error) {
	if opt.In == nil {
		opt.In = os.Stdin
	}
	if opt.Out == nil {
		opt.Out = os.Stdout
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.CloseWithin <= 0 {
		opt.CloseWithin = time.Second
	}
	s := &session{
		opt: opt, tty: newTTY(opt.In, opt.Out), ended: make(chan struct{}), stopped: make(chan struct{}),
		signals: make(chan os.Signal, 8), continued: make(chan struct{}, 1),
	}
	if opt.Signals {
		s.catchSignals()
	}
	if err := s.tty.raw(); err != nil {
		signal.Stop(s.signals)
		return nil, err
	}
	s.model = &model{
		inner: m, redraw: make(chan struct{}, 1), caught: s.caught, now: opt.Now,
		first: func(msg tea.Msg) tea.Msg { return s.filter(s.model, msg) },
	}
	s.input = newInput(opt.In, opt.Mouse, s.model.flushDeferred, func(error) { s.stop(ErrInputClosed) })
	s.painter = New(opt.Out, PainterOptions{Title: opt.Title, Mouse: opt.Mouse,
		Idle: s.model.flushDeferred, Fail: s.stop})
	s.model.waiting, s.model.painter = s.input.waiting, s.painter
	s.firstSize = s.size()
	s.model.size = sizeMsg(s.firstSize)
	s.program = tea.NewProgram(s.model, tea.WithoutRenderer(), tea.WithInput(s.input), tea.WithOutput(io.Discard),
		tea.WithoutSignalHandler(), tea.WithoutCatchPanics(), tea.WithFilter(s.filter))
	return s, nil
}

// run is the life of a session.
func (s *session) run(ctx context.Context) (tea.Model, error) {
	unwatch := context.AfterFunc(ctx, func() { s.stop(context.Cause(ctx)) })
	s.painter.Enter()
	s.workers.Go(s.sendRedraws)
	s.workers.Go(s.sendSizes)
	if s.opt.Signals {
		s.workers.Go(s.watchSignals)
	}
	err := s.loop()
	unwatch()
	close(s.ended)
	s.input.close()
	s.workers.Wait()
	closed := s.painter.Close(s.opt.CloseWithin) // a terminal that does not read cannot be helped
	restored := s.tty.restore()
	signal.Stop(s.signals) // from here on they do what they did before

	if cause := s.reason(); cause != nil {
		err = cause
	} else if errors.Is(err, tea.ErrInterrupted) {
		err = tea.ErrInterrupted
	} else if err == nil {
		err = restored
	}
	var p *PanicError
	if errors.As(err, &p) {
		s.report(p, closed == nil || errors.As(closed, new(*PanicError)))
	}
	return s.model.inner, err
}

// loop runs Bubble Tea's loop.
func (s *session) loop() (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.caught(r, debug.Stack())
		}
	}()
	_, err = s.program.Run()
	return err
}

// stop ends the loop from outside; the first cause counts.
func (s *session) stop(cause error) {
	s.mu.Lock()
	if s.cause == nil {
		s.cause = cause
		close(s.stopped)
	}
	s.mu.Unlock()
	s.program.Kill()
}

func (s *session) reason() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cause
}

func (s *session) caught(value any, stack []byte) {
	s.stop(&PanicError{Value: value, Stack: stack})
}

// report reports on a panic, on a terminal that is restored if it still reads.
func (s *session) report(p *PanicError, reads bool) {
	if reads {
		said := make(chan struct{})
		go func() {
			defer close(said)
			_, _ = io.WriteString(s.opt.Out, panicMessage)
		}()
		t := time.NewTimer(s.opt.CloseWithin)
		defer t.Stop()
		select {
		case <-said:
		case <-t.C:
		}
	}
	if s.opt.OnPanic != nil {
		s.opt.OnPanic(p.Value, p.Stack)
	}
}

// sendRedraws sends a drawMsg to the program when a frame is due.
func (s *session) sendRedraws() {
	for {
		select {
		case <-s.model.redraw:
			s.program.Send(drawMsg{})
		case <-s.ended:
			return
		}
	}
}

// filter handles the painter's own messages and passes all others to the program's
// filter.
func (s *session) filter(_ tea.Model, msg tea.Msg) tea.Msg {
	switch msg := msg.(type) {
	case drawMsg:
		return msg
	case suspendMsg, tea.SuspendMsg:
		s.suspend()
		return nil
	case resumeMsg:
		s.resume()
		return nil
	case tea.KeyMsg:
		if s.opt.Signals && msg.Type == tea.KeyCtrlZ {
			s.suspend()
			return nil
		}
	}
	if s.opt.Filter != nil {
		return s.opt.Filter(s.model.inner, msg)
	}
	return msg
}

// size is the terminal's size now, or as far as it is known.
func (s *session) size() Size {
	if s.opt.Size != nil {
		w, h := s.opt.Size()
		if z, ok := (Size{w, h}).clamp(); ok {
			return z
		}
	}
	if z, ok := s.tty.size(); ok {
		return z
	}
	return Size{80, 24}
}

func sizeMsg(z Size) tea.WindowSizeMsg { return tea.WindowSizeMsg{Width: z.W, Height: z.H} }

// clamp cuts a size that is too large; ok is false for one that is none.
func (z Size) clamp() (Size, bool) {
	return Size{min(z.W, MaxWidth), min(z.H, MaxHeight)}, z.W > 0 && z.H > 0
}
