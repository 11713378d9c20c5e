package widget

import (
	"opdeck/ui/draw"
	"opdeck/ui/theme"
)

// Plot draws values as columns in h lines of at most w cells, the newest at the right edge of what is drawn; top fills
// a column. usual is the tone of a column, full that of one that reaches top.
func Plot(th *theme.Theme, values []int, top, w, h int, usual, full theme.Tone) []string {
	if w <= 0 || h <= 0 || top <= 0 {
		return make([]string, max(h, 0))
	}
	values = values[max(len(values)-w, 0):]
	levels := len(th.Signs.Spark)
	out := make([]string, h)
	for line := range out {
		below := (h - 1 - line) * levels // what the lines below show of a column
		var p pen
		for _, v := range values {
			style, level := th.Tone(usual), min(max(v, 0), top)*h*levels/top
			if v >= top {
				style = th.Tone(full)
			}
			if level == 0 && v > 0 {
				level = 1
			}
			switch over := level - below; {
			case over > 0:
				p.write(style, th.Signs.Spark[min(over, levels)-1])
			case line == h-1:
				p.write(th.Dim, th.Signs.Light)
			default:
				p.write(th.Dim, " ")
			}
		}
		p.end()
		out[line] = draw.Cut(string(p.b), w)
	}
	return out
}
