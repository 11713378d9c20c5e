package paint

import (
	"fmt"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
	"github.com/charmbracelet/x/vt"

	"opdeck/ui/draw"
)

// terminal is an emulator with what a test asks of it.
type terminal struct {
	*vt.Emulator
	w, h int
}

func newTerminal(t testing.TB, w, h int) *terminal {
	e := vt.NewEmulator(w, h)
	e.SetScrollbackSize(1)
	t.Cleanup(func() { _ = e.Close() })
	return &terminal{Emulator: e, w: w, h: h}
}

func (e *terminal) feed(b []byte) { _, _ = e.Write(b) }

func (e *terminal) resize(w, h int) {
	e.Resize(w, h)
	e.w, e.h = w, h
}

// look is what a person sees of a cell: what cannot be seen on a blank is left out.
func (e *terminal) look(x, y int) uv.Cell {
	c := uv.EmptyCell
	if p := e.CellAt(x, y); p != nil {
		c = *p
	}
	if c.Content == " " || c.Content == "" && c.Width == 1 {
		c.Content = " "
		s := c.Style
		s.Attrs &^= uv.AttrBold | uv.AttrFaint | uv.AttrItalic
		if s.Attrs == 0 && s.Underline == 0 {
			s.Fg = nil
		}
		c.Style = s
	}
	if c.Width == 0 { // second half of a wide character
		c = uv.Cell{}
	}
	return c
}

// text is row y without trailing blanks.
func (e *terminal) text(y int) string {
	var b strings.Builder
	for x := range e.w {
		if c := e.look(x, y); c.Width > 0 {
			b.WriteString(c.Content)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

// reference shows a view the plain way: every line written from its start in the default style, and each character whose width is not sure
// at its place.
func reference(t testing.TB, view string, w, h int) *terminal {
	e := newTerminal(t, w, h)
	e.feed([]byte("\x1b[?7l"))
	for y, line := range strings.Split(view, "\n") {
		if y >= h {
			break
		}
		e.feed(fmt.Appendf(nil, "\x1b[m\x1b[%d;1H", y+1))
		for x := 0; line != ""; {
			if n := sgrLen(line); n > 0 {
				e.feed([]byte(line[:n]))
				line = line[n:]
				continue
			}
			cluster, cells, sure := draw.Cluster(line)
			if !sure && x+cells <= w {
				e.feed(fmt.Appendf(nil, "%s\x1b[%dG", draw.Space(cells), x+1))
			}
			e.feed([]byte(cluster))
			if x += cells; !sure {
				e.feed(fmt.Appendf(nil, "\x1b[%dG", x+1))
			}
			line = line[len(cluster):]
		}
	}
	return e
}

// differ returns the first difference in what two terminals show.
func differ(got, want *terminal) error {
	for y := range want.h {
		for x := range want.w {
			g, w := got.look(x, y), want.look(x, y)
			if !g.Equal(&w) {
				return fmt.Errorf("cell %d,%d is %s, want %s\nrow got  %q\nrow want %q", x, y, describe(g), describe(w), got.text(y), want.text(y))
			}
		}
	}
	return nil
}

func describe(c uv.Cell) string {
	return fmt.Sprintf("%q w%d fg%v bg%v attr%x ul%v", c.Content, c.Width, c.Style.Fg, c.Style.Bg, c.Style.Attrs, c.Style.Underline)
}
