package paint

import (
	"os/exec"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// lendMsg asks for the terminal.
type lendMsg struct {
	cmd   *exec.Cmd
	ended func(error) tea.Msg
}

// returnedMsg tells that the program has ended.
type returnedMsg struct {
	err   error
	ended func(error) tea.Msg
}

// Lend is a command that hands the terminal to another program: the screen is left as
// when the console ends, nothing is read or drawn, and the program runs in the
// foreground with the terminal as its output, and as its input unless cmd.Stdin says
// otherwise. Signals of its keys go to it alone; when it is stopped, this program stops
// with it. The loop goes on meanwhile. When the program has ended, however it did, the
// terminal is taken back, drawn anew, and the model gets what ended returns: of nil, of
// an *ExitError, of why it could not be started, ErrLent or ErrNotLent. It does not get
// keys that were typed at the program.
//
// A console that has to end meanwhile ends the program first. Only with Options.Signals
// and on a terminal of this process; cmd must not have been started.
func Lend(cmd *exec.Cmd, ended func(error) tea.Msg) tea.Cmd {
	return func() tea.Msg { return lendMsg{cmd, ended} }
}

// leave gives the terminal back as on the way out.
func (s *session) leave(painter func(time.Duration) error) {
	_ = painter(s.opt.CloseWithin)
	_ = s.tty.restore()
}

// lend hands the terminal over. It runs on the loop's goroutine.
func (s *session) lend(msg lendMsg) tea.Msg {
	switch {
	case s.lent:
		return msg.ended(ErrLent)
	case !s.opt.Signals || s.tty.in == nil || s.tty.out == nil || !s.input.pause():
		return msg.ended(ErrNotLent)
	}
	s.lent = true
	s.leave(s.painter.Lend)
	s.workers.Go(func() { s.program.Send(returnedMsg{s.runChild(msg.cmd), msg.ended}) })
	return nil
}

// takeBack takes the terminal again. It runs on the loop's goroutine.
func (s *session) takeBack(msg returnedMsg) tea.Msg {
	s.lent = false
	_ = s.tty.restore() // whatever settings the program has left
	s.tty.flush()       // what was typed at the program and it did not read
	s.resume()
	s.input.resume()
	return msg.ended(msg.err)
}
