package ui

import (
	"errors"
	"fmt"
	"strings"

	"github.com/aymanbagabas/go-osc52/v2"
	tea "github.com/charmbracelet/bubbletea"

	"opdeck/internal/format"
)

// ClipMode is the multiplexer between the console and the terminal.
type ClipMode uint8

// The modes.
const (
	ClipPlain ClipMode = iota
	ClipTmux
	ClipScreen
	ClipOff // no clipboard: plain or recorded sessions, or by role
)

// Clip describes how to send text to the terminal's clipboard.
type Clip struct {
	Mode ClipMode
	Max  int // bytes of text; 0: 55,000, the limit of xterm and tmux for one sequence
}

const clipMax = 55_000

// ClipFrom reads the mode from the environment (TMUX, STY, TERM).
func ClipFrom(getenv func(string) string) Clip {
	switch {
	case getenv("TMUX") != "":
		return Clip{Mode: ClipTmux}
	case getenv("STY") != "", strings.HasPrefix(getenv("TERM"), "screen"):
		return Clip{Mode: ClipScreen}
	case getenv("TERM") == "dumb":
		return Clip{Mode: ClipOff}
	}
	return Clip{}
}

// ErrNoClip means that there is no clipboard.
var ErrNoClip = errors.New("this terminal has no clipboard")

// Sequence is the OSC 52 sequence for a text, wrapped for tmux or screen. A
// text that is too long is an error, so that no copy is truncated.
func (c Clip) Sequence(s string) (string, error) {
	limit := c.Max
	if limit <= 0 {
		limit = clipMax
	}
	switch {
	case c.Mode == ClipOff:
		return "", ErrNoClip
	case len(s) > limit:
		return "", fmt.Errorf("%s is too long to copy; the limit is %s", format.Size(int64(len(s))),
			format.Size(int64(limit)))
	}
	seq := osc52.New(s)
	switch c.Mode {
	case ClipTmux:
		seq = seq.Tmux()
	case ClipScreen:
		seq = seq.Screen()
	}
	return seq.String(), nil
}

// copiedMsg is the result of writing the sequence.
type copiedMsg struct {
	what string
	err  error
}

// copy returns a command that sends text to the terminal.
func (s *statusLine) copy(c Copy) tea.Cmd {
	if s.win.opt.Report != nil {
		s.win.opt.Report(c)
		return nil
	}
	seq, err := s.win.opt.Clip.Sequence(c.Text)
	if err == nil && s.win.opt.Copy == nil {
		err = ErrNoClip
	}
	if err != nil {
		return s.notify(Error, "Not copied: "+err.Error()+".")
	}
	write, what := s.win.opt.Copy, c.What
	return func() tea.Msg { return copiedMsg{what, write(seq)} }
}

// copied shows the notice. It does not claim success, because the terminal does not answer.
func (s *statusLine) copied(m copiedMsg) tea.Cmd {
	if m.err != nil {
		return s.notify(Error, "Not copied: "+m.err.Error()+".")
	}
	what := m.what
	if what == "" {
		what = "text"
	}
	return s.notify(Success, "Sent "+what+" to the terminal's clipboard.")
}
