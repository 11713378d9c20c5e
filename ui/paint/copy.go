package paint

import (
	"encoding/base64"
	"errors"
	"regexp"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

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

// copyForms are an OSC 52 copy, plain or wrapped so that tmux or screen hands it on
// to the terminal outside: tmux takes one wrapper with the escape doubled, screen
// one wrapper for each piece, since it takes no long ones.
var copyForms = regexp.MustCompile(`^(?:\x1b\]52;c;([\w+/]*=*)\a|\x1bPtmux;\x1b\x1b\]52;c;([\w+/]*=*)\a\x1b\\|` +
	`\x1bP\x1b\]52;c;((?:[\w+/=]|\x1b\\\x1bP)*)\a\x1b\\)$`)

// isCopy is true for a whole copy of at most MaxCopy bytes and nothing else.
func isCopy(seq string) bool {
	m := copyForms.FindStringSubmatch(seq)
	if m == nil {
		return false
	}
	text := strings.ReplaceAll(m[1]+m[2]+m[3], "\x1b\\\x1bP", "")
	_, err := base64.StdEncoding.Strict().DecodeString(text)
	return err == nil && len(text) <= base64.StdEncoding.EncodedLen(MaxCopy)
}
