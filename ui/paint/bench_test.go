package paint

import (
	"fmt"
	"strings"
	"testing"
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

// BenchmarkFrame draws what keys change on a list of 120x40, with the bytes that
// go to the terminal.
func BenchmarkFrame(b *testing.B) {
	for _, c := range []struct {
		name  string
		start list
		key   func(l *list, i int)
		limit int
	}{
		{"down", list{cur: 10}, func(l *list, i int) { l.cur = 10 + i%2 }, 350},
		{"scroll", list{cur: 37}, func(l *list, i int) { l.top, l.cur = i%1000, 37+i%1000 }, 400},
		{"page", list{}, func(l *list, i int) { l.top, l.cur = i%100*38, i%100*38 }, 5000},
		{"same", list{}, func(*list, int) {}, 0},
		{"resize", list{}, nil, 6000},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := newList(120, 40)
			l.top, l.cur = c.start.top, c.start.cur
			var views [][]string
			for i := range 1000 {
				if c.key != nil {
					c.key(l, i)
				}
				views = append(views, l.view())
			}
			s := newScreen()
			buf := s.draw(nil, views[len(views)-1], l.w, l.h)
			total, n := 0, 0
			b.ReportAllocs()
			for b.Loop() {
				if c.key == nil {
					s.invalidate()
				}
				buf = s.draw(buf[:0], views[n%len(views)], l.w, l.h)
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
