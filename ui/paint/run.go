package paint

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"golang.org/x/term"
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
	// connection; nil watches SIGWINCH. Sizes below
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
	s, err := newSession(ctx, m, opt)
	if err != nil {
		return m, err
	}
	return s.run()
}

// session is one run of a program.
type session struct {
	opt     Options
	tty     *tty
	painter *Painter
	input   *input
	model   *model
	program *tea.Program
	ctx     context.Context // ends when the loop is to end, or has ended
	stop    func(error)     // ends the loop from outside; the first cause counts
	workers sync.WaitGroup  // ends with ctx

	signals   chan os.Signal
	resized   chan os.Signal
	stoppable bool // there is a shell that could continue us
}

func newSession(ctx context.Context, m tea.Model, opt Options) (*session, error) {
	if opt.In == nil {
		opt.In = os.Stdin
	}
	if opt.Out == nil {
		opt.Out = os.Stdout
	}
	if opt.CloseWithin <= 0 {
		opt.CloseWithin = time.Second
	}
	s := &session{
		opt: opt, tty: newTTY(opt.In, opt.Out),
		signals: make(chan os.Signal, 8), resized: make(chan os.Signal, 1),
	}
	s.ctx, s.stop = context.WithCancelCause(ctx)
	s.catchSignals()
	if err := s.tty.raw(); err != nil {
		signal.Stop(s.signals)
		signal.Stop(s.resized)
		return nil, err
	}
	s.model = &model{
		inner: m, redraw: make(chan struct{}, 1), caught: s.caught,
		first: func(msg tea.Msg) tea.Msg { return s.filter(s.model, msg) },
	}
	s.input = newInput(opt.In, opt.Mouse, s.model.flushDeferred, func() { s.stop(ErrInputClosed) })
	s.painter = New(opt.Out, PainterOptions{Title: opt.Title, Mouse: opt.Mouse,
		Idle: s.model.flushDeferred, Fail: s.stop})
	s.model.waiting, s.model.painter = s.input.busy.Load, s.painter
	s.model.size = sizeMsg(s.size())
	s.program = tea.NewProgram(s.model, tea.WithoutRenderer(), tea.WithInput(s.input), tea.WithOutput(io.Discard),
		tea.WithContext(s.ctx), tea.WithoutSignalHandler(), tea.WithoutCatchPanics(),
		tea.WithFilter(s.filter))
	return s, nil
}

// run is the life of a session.
func (s *session) run() (tea.Model, error) {
	s.painter.Enter()
	s.workers.Go(s.sendRedraws)
	s.workers.Go(s.watchSizes)
	if s.opt.Signals {
		s.workers.Go(s.watchSignals)
	}
	err := s.loop()
	if cause := context.Cause(s.ctx); cause != nil {
		err = cause
	} else if errors.Is(err, tea.ErrInterrupted) {
		err = tea.ErrInterrupted
	}
	s.stop(nil)
	s.input.close()
	s.workers.Wait()
	var p *PanicError
	farewell := ""
	if errors.As(err, &p) {
		farewell = panicMessage
	}
	_ = s.painter.Close(farewell, s.opt.CloseWithin) // a terminal that does not read cannot be helped
	err = cmp.Or(err, s.tty.restore())
	signal.Stop(s.signals) // from here on they do what they did before
	signal.Stop(s.resized)
	if p != nil && s.opt.OnPanic != nil {
		s.opt.OnPanic(p.Value, p.Stack)
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

func (s *session) caught(value any, stack []byte) {
	s.stop(&PanicError{Value: value, Stack: stack})
}

// sendRedraws sends a drawMsg to the program when a frame is due.
func (s *session) sendRedraws() {
	for {
		select {
		case <-s.model.redraw:
			s.program.Send(drawMsg{})
		case <-s.ctx.Done():
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
	case tea.SuspendMsg:
		s.suspend()
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

// mergeFor is the longest delay of a frame while more keys wait.
const mergeFor = 8 * time.Millisecond

// drawMsg makes the loop call View again for a frame that was put off.
type drawMsg struct{}

// model wraps the program's model for Bubble Tea's loop. The loop calls
// View after every message. model calls the program's View only if a frame can be drawn
// now: not while more keys wait (for at most mergeFor), and not while the painter
// still writes the previous frame. The end of such a state requests the deferred
// frame. All methods except flushDeferred run on the loop's goroutine.
type model struct {
	inner   tea.Model
	painter *Painter
	waiting func() bool   // keys wait
	redraw  chan struct{} // holds one token: a deferred frame is due
	caught  func(any, []byte)
	size    tea.WindowSizeMsg
	first   func(tea.Msg) tea.Msg // the program's filter, for the first size
	held    []tea.Msg             // AfterFrame messages that wait for a deferred frame
	drawn   []tea.Msg             // those whose frame has been drawn

	mu            sync.Mutex
	deferred      bool // a frame is deferred
	deferredSince time.Time
}

// Init runs the program's Init and sends it the size before the first frame.
func (m *model) Init() tea.Cmd {
	cmd := guard(m.inner.Init(), m.caught)
	if msg := m.first(m.size); msg != nil {
		_, more := m.Update(msg)
		cmd = tea.Batch(cmd, more)
	}
	return cmd
}

// Update handles the painter's messages and passes on all others.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case drawMsg:
		return m, m.release()
	case AfterFrame:
		if m.isDeferred() {
			m.held = append(m.held, msg)
			return m, nil
		}
	case CopyMsg:
		m.painter.Copy(msg)
		return m, nil
	case tea.WindowSizeMsg:
		m.size = msg
		m.painter.Invalidate() // what a terminal keeps when it is resized is its own affair
	}
	var cmd tea.Cmd
	m.inner, cmd = m.inner.Update(msg)
	return m, guard(cmd, m.caught)
}

// View passes a frame to the painter if it can be drawn now.
func (m *model) View() string {
	if m.deferFrame() {
		return ""
	}
	m.painter.Frame(linesOf(m.inner), m.size.Width, m.size.Height)
	if len(m.held) > 0 {
		m.drawn, m.held = append(m.drawn, m.held...), nil
		m.askFrame()
	}
	return ""
}

// AfterFrame is a message with the number of a frame of the program, which gets it only after the painter has drawn the
// frame that was due when the message came.
type AfterFrame uint64

// release delivers the messages whose frame has been drawn.
func (m *model) release() tea.Cmd {
	var cmds []tea.Cmd
	for _, msg := range m.drawn {
		var cmd tea.Cmd
		m.inner, cmd = m.inner.Update(msg)
		cmds = append(cmds, guard(cmd, m.caught))
	}
	m.drawn = nil
	return tea.Batch(cmds...)
}

// Liner is a model that returns its view in lines.
type Liner interface{ Lines() []string }

func linesOf(m tea.Model) []string {
	if l, ok := m.(Liner); ok {
		return l.Lines()
	}
	return strings.Split(m.View(), "\n")
}

// deferFrame decides whether the frame can wait.
func (m *model) deferFrame() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := m.waiting()
	if keys && m.deferred && time.Since(m.deferredSince) > mergeFor {
		keys = false
	}
	if keys || m.painter.Busy() {
		if !m.deferred {
			m.deferred, m.deferredSince = true, time.Now()
		}
		return true
	}
	m.deferred = false
	return false
}

func (m *model) isDeferred() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.deferred
}

// flushDeferred requests the deferred frame from the loop, if there is one.
func (m *model) flushDeferred() {
	if m.isDeferred() {
		m.askFrame()
	}
}

// askFrame makes the loop handle a drawMsg.
func (m *model) askFrame() { notify(m.redraw) }

// modes writes the sequences that set up and restore a terminal.
type modes struct {
	title string // "" for none
	mouse bool
}

// Every frame is wrapped in synchronized output (mode 2026) without asking the
// terminal first. Terminals ignore private modes that they do not know, and a
// question would cost a round trip at the start, the answer could arrive among the
// keys, and a mute client would never give one.
const (
	beginSync = "\x1b[?2026h"
	endSync   = "\x1b[?2026l"
)

// enter switches to the alternate screen, takes back what another program has left set, and hides the cursor.
func (m modes) enter(b []byte) []byte {
	if m.title != "" {
		b = append(b, "\x1b[22;2t\x1b]2;"...)
		b = append(b, m.title...)
		b = append(b, '\a')
	}
	b = append(b, "\x1b[?1049h"+reset+"\x1b[?7l\x1b[?25l\x1b[?2004h"...)
	if m.mouse {
		b = append(b, "\x1b[?1002h\x1b[?1006h"...)
	}
	return b
}

// reset takes back what another program may have left set and enter does not set itself: keys and keypad of an
// application, insert and origin mode, a scroll region, reverse video, line drawing characters, mouse, focus, colour
// and size reports, keys in other forms. It comes behind the switch to the alternate screen, which has a keyboard of
// its own in kitty, and before the mouse is switched on: xterm has one mouse mode, which each of these ends. A soft
// reset would do less, and lose the place of the cursor that leave goes back to.
const reset = "\x1b[?1l\x1b>\x1b[4l\x1b[?6l\x1b[r\x1b[?5l\x1b(B\x0f" +
	"\x1b[?9l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1004l\x1b[?1005l\x1b[?1006l\x1b[?1015l\x1b[?1016l" +
	"\x1b[?2031l\x1b[?2048l\x1b[?9001l\x1b[>4m\x1b[=0u\x1b[m"

// leave reverts enter in the opposite order, also after a truncated
// frame.
func (m modes) leave(b []byte) []byte {
	b = append(b, "\x1b[m\x1b[r"...)
	b = append(b, endSync...)
	if m.mouse {
		b = append(b, "\x1b[?1006l\x1b[?1002l"...)
	}
	b = append(b, "\x1b[?2004l\x1b[?25h\x1b[?7h\x1b[?1049l"...)
	if m.title != "" {
		b = append(b, "\x1b[23;2t"...)
	}
	return b
}

// notify puts a token into a channel that holds one.
func notify(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// watchSizes sends every new size to the model.
func (s *session) watchSizes() {
	resizes := s.opt.Resizes
	for {
		var z Size
		ok := false
		select {
		case z, ok = <-resizes:
			if !ok {
				resizes = nil // never read a closed channel in a loop
			}
		case <-s.resized:
			z, ok = s.tty.size()
		case <-s.ctx.Done():
			return
		}
		if z, is := z.clamp(); ok && is {
			s.program.Send(sizeMsg(z))
		}
	}
}

// resume takes the terminal again.
func (s *session) resume() {
	if err := s.tty.raw(); err != nil {
		s.stop(err)
		return
	}
	s.painter.Enter()
	s.program.Send(sizeMsg(s.size())) // it may have changed while we were away
	s.program.Send(tea.ResumeMsg{})
}

// tty is the local terminal, if there is one.
type tty struct {
	in, out *os.File
	saved   *term.State // how it was; nil when raw was not called or not needed
}

func newTTY(in io.Reader, out io.Writer) *tty {
	t := &tty{}
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		t.in = f
	}
	if f, ok := out.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		t.out = f
	}
	return t
}

// raw enters raw mode. The state of the first call is the one that is restored.
func (t *tty) raw() error {
	if t.in == nil {
		return nil
	}
	st, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return errors.Join(errors.New("cannot put the terminal into raw mode"), err)
	}
	if t.saved == nil {
		t.saved = st
	}
	return nil
}

// restore goes back to the state before raw.
func (t *tty) restore() error {
	if t.saved == nil {
		return nil
	}
	return term.Restore(int(t.in.Fd()), t.saved)
}

// size asks the terminal.
func (t *tty) size() (Size, bool) {
	for _, f := range []*os.File{t.out, t.in} {
		if f == nil {
			continue
		}
		if w, h, err := term.GetSize(int(f.Fd())); err == nil {
			return Size{w, h}.clamp()
		}
	}
	return Size{}, false
}
