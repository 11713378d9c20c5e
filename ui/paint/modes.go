package paint

import (
	"strings"
	"unicode/utf8"
)

// modes writes the sequences that set up and restore a terminal.
type modes struct {
	title string // cleaned; "" for none
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

const maxTitle = 80 // characters

// cleanTitle removes characters that are not allowed in a title.
func cleanTitle(s string) string {
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n == maxTitle {
			break
		}
		if printable(r) && r != utf8.RuneError {
			b.WriteRune(r)
			n++
		}
	}
	return b.String()
}
