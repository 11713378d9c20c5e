package paint

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	uv "github.com/charmbracelet/ultraviolet"
)

// list is a screen as the console draws it: a head, rows with a selected one, a
// line of hints.
type list struct {
	w, h, top, cur int
	lines          map[int]string
}

func newList(w, h int) *list { return &list{w: w, h: h, lines: map[int]string{}} }

func (l *list) view() []string {
	out := []string{"\x1b[1m" + pad("id      time                 status     kind               name                    amount", l.w) + "\x1b[0m"}
	for y := range max(0, l.h-2) {
		out = append(out, l.line(l.top+y, l.top+y == l.cur))
	}
	return append(out, fmt.Sprintf("row %d of 100000", l.cur+1))
}

func (l *list) line(i int, selected bool) string {
	key := 2 * i
	if selected {
		key++
	}
	s, ok := l.lines[key]
	if !ok {
		status := []string{"\x1b[32msucceeded\x1b[0m", "\x1b[1;31mfailed   \x1b[0m", "\x1b[33mpending  \x1b[0m"}[i%3]
		if selected {
			status = []string{"succeeded", "failed   ", "pending  "}[i%3]
		}
		s = fmt.Sprintf("%06d  2026-11-%02d 10:%02d:%02d  %s  payment-%-10d Kunde Müller %-10d %12d.00", i, i%28+1, i%60, i*7%60, status, i*31, i*17%5000, i*7919%1000000)
		if selected {
			s = "\x1b[1;38;5;229;48;5;57m" + pad(s, l.w) + "\x1b[0m"
		}
		l.lines[key] = s
	}
	return s
}

func pad(s string, w int) string {
	if n := w - len([]rune(s)); n > 0 {
		s += strings.Repeat(" ", n)
	}
	return s
}

// benchFrame is what a key changes on a list of 120x40.
type benchFrame struct {
	name  string
	start list
	key   func(l *list, i int) // nil: the screen is drawn in full each time
	limit int                  // bytes a frame on average
}

var benchFrames = []benchFrame{
	{"down", list{cur: 10}, func(l *list, i int) { l.cur = 10 + i%2 }, 350},
	{"scroll", list{cur: 37}, func(l *list, i int) { l.top, l.cur = i%1000, 37+i%1000 }, 400},
	{"page", list{}, func(l *list, i int) { l.top, l.cur = i%100*38, i%100*38 }, 4095},
	{"same", list{}, func(*list, int) {}, 0},
	{"resize", list{}, nil, 6000},
}

// views are a thousand frames.
func (c benchFrame) views() [][]string {
	l := newList(120, 40)
	l.top, l.cur = c.start.top, c.start.cur
	var out [][]string
	for i := range 1000 {
		if c.key != nil {
			c.key(l, i)
		}
		out = append(out, l.view())
	}
	return out
}

// BenchmarkFrame draws the frames, with the bytes that go to the terminal.
func BenchmarkFrame(b *testing.B) {
	for _, c := range benchFrames {
		b.Run(c.name, func(b *testing.B) {
			views := c.views()
			s := &screen{}
			buf := s.draw(nil, views[len(views)-1], 120, 40)
			total, n := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				if c.key == nil {
					s.invalidate()
				}
				buf = s.draw(buf[:0], views[n%len(views)], 120, 40)
				total += len(buf)
				n++
			}
			b.ReportMetric(float64(total)/float64(n), "bytes/frame")
			if total/n > c.limit {
				b.Errorf("%d bytes a frame, at most %d are allowed", total/n, c.limit)
			}
		})
	}
}

// BenchmarkUltraviolet draws the same frames with the renderer of ultraviolet
// (docs/decisions/0017-painter-and-ultraviolet.md).
func BenchmarkUltraviolet(b *testing.B) {
	for _, c := range benchFrames {
		b.Run(c.name, func(b *testing.B) {
			views := c.views()
			var out bytes.Buffer
			r := uv.NewTerminalRenderer(&out, []string{"TERM=xterm-256color", "COLORTERM=truecolor", "TTY_FORCE=1"})
			r.SetFullscreen(true)
			r.SetRelativeCursor(false)
			r.SetScrollOptim(true)
			r.Resize(120, 40)
			screen := uv.NewScreenBuffer(120, 40)
			draw := func(view []string) {
				uv.NewStyledString(strings.Join(view, "\r\n")).Draw(screen, screen.Bounds())
				r.Render(screen.RenderBuffer)
				if err := r.Flush(); err != nil {
					b.Fatal(err)
				}
			}
			draw(views[len(views)-1])
			total, n := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				if c.key == nil {
					r.Erase()
				}
				out.Reset()
				draw(views[n%len(views)])
				total += out.Len()
				n++
			}
			b.ReportMetric(float64(total)/float64(n), "bytes/frame")
		})
	}
}
