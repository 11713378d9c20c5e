package paint

import (
	"strings"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// mergeFor is how long a frame may be put off because more keys wait.
const mergeFor = 8 * time.Millisecond

// drawMsg makes the loop call View again for a frame that was put off.
type drawMsg struct{}

// suspendMsg is a suspension from outside.
type suspendMsg struct{}

// model is between Bubble Tea's loop and the program's model. The loop calls
// View after every message; model passes that on only when a frame can be drawn
// now: not while more keys wait, for at most mergeFor, and not while the painter
// still writes the frame before. What ends such a state asks for the deferred
// frame. All but flushDeferred run on the loop's goroutine.
type model struct {
	inner   tea.Model
	painter *Painter
	waiting func() bool   // keys wait
	redraw  chan struct{} // holds one token: a deferred frame is due
	caught  func(any, []byte)
	size    tea.WindowSizeMsg
	first   func(tea.Msg) tea.Msg // the program's filter, for the first size
	now     func() time.Time
	held    []tea.Msg // AfterFrame messages behind a frame that was put off
	drawn   []tea.Msg // those whose frame has been drawn since

	mu            sync.Mutex
	deferred      bool // a frame was put off
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

// Update handles what is the painter's and passes on the rest.
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

// View hands a frame to the painter when it is time for one.
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

// AfterFrame is a message that the program gets only after the frame was drawn that
// was due when the message came.
type AfterFrame interface{ AfterFrame() }

// release hands over the messages whose frame has been drawn.
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

// Liner is a model that has its view in lines. Those that stay as they were are
// the same strings from frame to frame; they are not copied, nor read again.
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

// flushDeferred asks the loop for the frame that was put off, if there is one.
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
