package main

import (
	"fmt"
	"html"
	"regexp"
	"strings"

	uv "github.com/charmbracelet/ultraviolet"
)

// Measures of a picture, in SVG units. A monospaced character is about three
// fifths as wide as high; textLength holds each run to its cells in any font.
const (
	cellW, cellH = 8.4, 18.0
	fontSize     = 14
	margin       = 12.0
	baseline     = 13.5
)

// ground is a terminal's colours.
type ground struct{ name, theme, text, paper string }

// grounds are the two colour schemes of every picture.
var grounds = []ground{
	{"dark", "dark", "#d8dee9", "#1e1e2e"},
	{"light", "light", "#24292f", "#fafafa"},
}

// look is the style of a cell.
type look struct {
	fg, bg    string
	bold      bool
	faint     bool
	underline bool
}

func (g ground) look(c uv.Cell) look {
	l := look{fg: g.text, bg: g.paper, bold: c.Style.Attrs&uv.AttrBold != 0, faint: c.Style.Attrs&uv.AttrFaint != 0,
		underline: c.Style.Underline != 0}
	if c.Style.Fg != nil {
		l.fg = hex(c.Style.Fg)
	}
	if c.Style.Bg != nil {
		l.bg = hex(c.Style.Bg)
	}
	if c.Style.Attrs&uv.AttrReverse != 0 {
		l.fg, l.bg = l.bg, l.fg
	}
	return l
}

// svg draws a frame.
func svg(f frame, g ground, title string) string {
	w, h := float64(f.w)*cellW+2*margin, float64(f.h)*cellH+2*margin
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" height="%.0f" `+
		`role="img" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,`+
		`'DejaVu Sans Mono','Liberation Mono',monospace" font-size="%d">`+"\n", w, h, w, h, fontSize)
	fmt.Fprintf(&b, "<title>%s</title>\n<desc>\n%s\n</desc>\n<rect width=\"100%%\" height=\"100%%\" rx=\"8\" "+
		"fill=\"%s\"/>\n", html.EscapeString(title), html.EscapeString(plain(f)), g.paper)
	for y, row := range f.cells {
		g.grounds(&b, row, y)
		g.texts(&b, row, y)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// varying matches what differs between runs: current times, this host, bars of remaining time.
var varying = []struct {
	re *regexp.Regexp
	to string
}{
	{regexp.MustCompile(`(on|of) \S+, process \d+`), "$1 HOST"},
	{regexp.MustCompile(`^ *\S+ +process \d+ .*$`), "HOST"},
	{regexp.MustCompile(`\S+/\d{2,}$|\S+/\d{3,}`), "HOST"},
	{regexp.MustCompile(`after \d+(\.\d+)?(ms|s)`), "after …"},
	{regexp.MustCompile(`(status \d+)  \S+$`), "$1  HOST"},
	{regexp.MustCompile(`, \d+s ago`), ", now"},
	{regexp.MustCompile(`; \d+(\.\d+)?m?s\b`), ""},
	{regexp.MustCompile(`\d+m( \d+s)? of \d+m`), "…"},
	{regexp.MustCompile(`(access) \d+\S*( \d+s)?`), "$1 …"},
	{regexp.MustCompile(`\d+:\d\d(:\d\d)?( of \d+:\d\d)?`), "…"},
	{regexp.MustCompile(`[█░▁▂▃▄▅▆▇]+`), "▁"},
	{regexp.MustCompile(`[┄─ ]{2,}`), "  "},
}

// plain is the text of a frame without what differs between runs: the picture's alternative text, and for the test
// that it is up to date.
func plain(f frame) string {
	var out []string
	for _, l := range f.lines() {
		for _, v := range varying {
			l = v.re.ReplaceAllString(l, v.to)
		}
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, l)
		}
	}
	return strings.Join(out, "\n")
}

// grounds draws the backgrounds of a row.
func (g ground) grounds(b *strings.Builder, row []uv.Cell, y int) {
	for x := 0; x < len(row); {
		bg, end := g.look(row[x]).bg, x+1
		for end < len(row) && (row[end].Width == 0 || g.look(row[end]).bg == bg) {
			end++
		}
		if bg != g.paper {
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"/>`+"\n", margin+float64(x)*cellW,
				margin+float64(y)*cellH, float64(end-x)*cellW, cellH, bg)
		}
		x = end
	}
}

// texts draws the runs of a row: cells of the same style, without surrounding blanks.
func (g ground) texts(b *strings.Builder, row []uv.Cell, y int) {
	for x := 0; x < len(row); {
		if blank(row[x]) {
			x++
			continue
		}
		l, end, gap := g.look(row[x]), x, 0
		var s strings.Builder
		for end < len(row) && gap < 2 && g.sameText(row[end], l) {
			c := row[end].Content
			if blank(row[end]) {
				c = " "
				gap++
			} else {
				gap = 0
			}
			s.WriteString(c)
			end += max(row[end].Width, 1)
		}
		t := strings.TrimRight(s.String(), " ")
		n := end - x - gap
		attrs := ""
		if l.bold {
			attrs += ` font-weight="bold"`
		}
		if l.faint {
			attrs += ` opacity="0.7"`
		}
		if l.underline {
			attrs += ` text-decoration="underline"`
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%.1f" fill="%s"%s textLength="%.1f" `+
			`lengthAdjust="spacingAndGlyphs" xml:space="preserve">%s</text>`+"\n",
			margin+float64(x)*cellW, margin+float64(y)*cellH+baseline, l.fg, attrs, float64(n)*cellW, html.EscapeString(t))
		x = end
	}
}

func blank(c uv.Cell) bool { return c.Content == "" || c.Content == " " }

// sameText reports whether a cell continues a run; a blank continues any with its background.
func (g ground) sameText(c uv.Cell, l look) bool {
	k := g.look(c)
	return k == l || blank(c) && k.bg == l.bg && !k.underline && !l.underline
}
