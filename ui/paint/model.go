package paint

import (
	"strings"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// mergeFor is the longest delay of a frame while more keys wait.
const mergeFor = 8 * time.Millisecond

// drawMsg makes the loop call View again for a frame that was put off.
type drawMsg struct{}

// suspendMsg is a suspension by a signal.
type suspendMsg struct{}

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
	now     func() time.Time
	held    []tea.Msg // AfterFrame messages that wait for a deferred frame
	drawn   []tea.Msg // those whose frame has been drawn

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
	case RawMsg:
		_ = m.painter.Passthrough(msg.Seq) // refused: nothing is written
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

// AfterFrame is a message that the program gets only after the painter has drawn the frame that
// was due when the message came.
type AfterFrame interface{ AfterFrame() }

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

// Liner is a model that returns its view in lines. Unchanged lines must be
// the same strings as in the previous frame; they are neither copied nor parsed again.
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
	if keys && m.deferred && m.now().Sub(m.deferredSince) > mergeFor {
		keys = false
	}
	if keys || m.painter.Busy() {
		if !m.deferred {
			m.deferred, m.deferredSince = true, m.now()
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
func (m *model) askFrame() {
	select {
	case m.redraw <- struct{}{}:
	default:
	}
}
