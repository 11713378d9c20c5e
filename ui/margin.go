package ui

import "opdeck/ui/draw"

// indented is the screen's lines of the last frame behind their margin; unchanged lines are the same strings.
type indented struct {
	by      int
	in, out []string
}

// lines returns h lines, each by cells from the left.
func (m *indented) lines(in []string, by, h int) []string {
	out := make([]string, h)
	for i := range min(h, len(in)) {
		switch {
		case in[i] == "" || by == 0:
			out[i] = in[i]
		case by == m.by && i < len(m.in) && i < len(m.out) && m.in[i] == in[i]:
			out[i] = m.out[i]
		default:
			out[i] = draw.Space(by) + in[i]
		}
	}
	m.by, m.in, m.out = by, append(m.in[:0], in...), append(m.out[:0], out...)
	return out
}
