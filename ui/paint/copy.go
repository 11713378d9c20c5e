package paint

import (
	"encoding/base64"
	"errors"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// MaxCopy is the largest text that can be copied, in bytes: what xterm and tmux
// accept in one sequence.
const MaxCopy = 55_000

// ErrSequence is returned for a sequence that may not be passed through.
var ErrSequence = errors.New("only a copy to the clipboard may be written past the painter")

// RawMsg asks the painter to write Seq between two frames. Only what
// [Painter.Passthrough] takes is written. The model does not see it.
type RawMsg struct{ Seq string }

// Raw is a command that writes a sequence between two frames, see RawMsg.
func Raw(seq string) tea.Cmd { return func() tea.Msg { return RawMsg{Seq: seq} } }

const copyPrefix = "\x1b]52;c;"

// How tmux and screen are asked to hand a sequence on to the terminal outside:
// tmux by one wrapper with the escape doubled, screen by one wrapper for each
// piece, since it takes no long ones.
const (
	tmuxOpen, tmuxShut     = "\x1bPtmux;\x1b", "\x1b\\"
	screenOpen, screenShut = "\x1bP", "\x1b\\"
)

// copyLen is the length of the OSC 52 copy that s starts with, plain or wrapped
// for tmux or screen, 0 if it does not.
func copyLen(s string) int {
	if rest, ok := strings.CutPrefix(s, tmuxOpen); ok {
		n := plainCopyLen(rest)
		if n == 0 || !strings.HasPrefix(rest[n:], tmuxShut) {
			return 0
		}
		return len(tmuxOpen) + n + len(tmuxShut)
	}
	rest, ok := strings.CutPrefix(s, screenOpen)
	if !ok {
		return plainCopyLen(s)
	}
	end := strings.Index(rest, "\a"+screenShut)
	if end < 0 {
		return 0
	}
	inner := strings.ReplaceAll(rest[:end+1], screenShut+screenOpen, "")
	if n := plainCopyLen(inner); n == 0 || n != len(inner) {
		return 0
	}
	return len(screenOpen) + end + 1 + len(screenShut)
}

// plainCopyLen is copyLen for a copy without a wrapper.
func plainCopyLen(s string) int {
	if !strings.HasPrefix(s, copyPrefix) {
		return 0
	}
	end := strings.IndexByte(s, '\a')
	if end < 0 || end-len(copyPrefix) > base64.StdEncoding.EncodedLen(MaxCopy) {
		return 0
	}
	if _, err := base64.StdEncoding.Strict().DecodeString(s[len(copyPrefix):end]); err != nil || strings.ContainsAny(s[:end], "\r\n") {
		return 0
	}
	return end + 1
}
