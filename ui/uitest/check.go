package uitest

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"opdeck/ui/draw"
)

// CheckFrame says what is wrong with a frame for a window of w by h cells: more
// or fewer lines, a line too wide, a control character or a sequence that is
// not SGR, an invisible or direction character, broken UTF-8. Nil when nothing.
func CheckFrame(view string, w, h int) error {
	lines := strings.Split(view, "\n")
	if len(lines) != h {
		return fmt.Errorf("%d lines instead of %d", len(lines), h)
	}
	for i, l := range lines {
		if n := draw.Width(l); n > w {
			return fmt.Errorf("line %d has %d cells of %d: %q", i+1, n, w, l)
		}
		if err := CheckLine(l); err != nil {
			return fmt.Errorf("line %d: %w", i+1, err)
		}
	}
	return nil
}

// CheckLine is the part of CheckFrame about characters, for one line.
func CheckLine(l string) error {
	if !utf8.ValidString(l) {
		return fmt.Errorf("broken UTF-8: %q", l)
	}
	for i := 0; i < len(l); {
		if l[i] == 0x1b {
			n := sgr(l[i:])
			if n == 0 {
				return fmt.Errorf("a sequence other than SGR: %q", l[i:])
			}
			i += n
			continue
		}
		r, n := utf8.DecodeRuneInString(l[i:])
		if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) {
			return fmt.Errorf("character %U: %q", r, l)
		}
		i += n
	}
	return nil
}

// sgr is the length of the SGR sequence that s begins with; 0 when it does not.
func sgr(s string) int {
	if !strings.HasPrefix(s, "\x1b[") {
		return 0
	}
	for i := 2; i < len(s); i++ {
		switch c := s[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}

// Renderer makes a lipgloss renderer of a colour depth that writes nowhere.
func Renderer(p termenv.Profile) *lipgloss.Renderer {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(p)
	r.SetHasDarkBackground(true)
	return r
}
