package theme

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/charmbracelet/lipgloss"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(hex, "#"), 16, 32)
	if err != nil || len(hex) != 7 {
		t.Fatalf("colour %q", hex)
	}
	lin := func(b uint64) float64 {
		c := float64(b&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*lin(n>>16) + 0.7152*lin(n>>8) + 0.0722*lin(n)
}

func contrast(t *testing.T, a, b string) float64 {
	x, y := luminance(t, a), luminance(t, b)
	if x < y {
		x, y = y, x
	}
	return (x + 0.05) / (y + 0.05)
}

// xterm's sixteen colours, as most terminals start with.
var sixteen = []string{"#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
	"#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff"}

func xterm(t *testing.T, c string) string {
	n, err := strconv.Atoi(c)
	if err != nil {
		t.Fatalf("colour number %q", c)
	}
	if n < 16 {
		return sixteen[n]
	}
	h := func(v int) string { return string("0123456789abcdef"[v>>4]) + string("0123456789abcdef"[v&15]) }
	if n >= 232 {
		v := h(8 + 10*(n-232))
		return "#" + v + v + v
	}
	step := []int{0, 95, 135, 175, 215, 255}
	n -= 16
	return "#" + h(step[n/36]) + h(step[n/6%6]) + h(step[n%6])
}

// sgr is the text and ground that a style sets, as "#rrggbb"; empty where it leaves
// the terminal's own.
func sgr(t *testing.T, st Style) (text, ground string) {
	t.Helper()
	p := strings.Split(strings.TrimSuffix(strings.TrimPrefix(st.open, "\x1b["), "m"), ";")
	number := func(i int) int { n, _ := strconv.Atoi(p[i]); return n }
	for i := 0; i < len(p); i++ {
		set, n := &text, number(i)
		switch {
		case n == 38 || n == 48:
			if n == 48 {
				set = &ground
			}
			if p[i+1] == "5" {
				*set, i = xterm(t, p[i+2]), i+2
			} else {
				*set, i = fmt.Sprintf("#%02x%02x%02x", number(i+2), number(i+3), number(i+4)), i+4
			}
		case n >= 30 && n < 38, n >= 90 && n < 98:
			*set = sixteen[n%10+8*(n/90)]
		case n >= 40 && n < 48:
			ground = sixteen[n-40]
		case n >= 100 && n < 108:
			ground = sixteen[n-100+8]
		}
	}
	return text, ground
}

// styles are all meanings of a theme by name.
func styles(th *Theme) map[string]Style {
	out := map[string]Style{"text": th.text}
	v := reflect.ValueOf(*th)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() && f.Type == reflect.TypeFor[Style]() {
			out[f.Name] = v.Field(i).Interface().(Style)
		}
	}
	for i := range tones {
		out["tone "+strconv.Itoa(int(i))] = th.Tone(i)
		out["selected "+strconv.Itoa(int(i))] = th.Selected(i)
	}
	return out
}

// Every meaning of every theme can be read on every ground that the theme is for, in
// the colours that a terminal of each depth is sent.
func TestContrast(t *testing.T) {
	for _, p := range []Palette{Night(), Day(), Bright(), Ink()} {
		least, own := 4.5, map[bool]string{true: "#ffffff", false: "#000000"}[p.Dark]
		for _, depth := range []termenv.Profile{termenv.TrueColor, termenv.ANSI256, termenv.ANSI} {
			grounds := p.Grounds
			if p.Name == "high-contrast" {
				least = 7
			}
			if depth == termenv.ANSI { // what the sixteen look like is the terminal's choice
				grounds, least = grounds[:1], 4.5
			}
			for name, st := range styles(New(renderer(depth), p)) {
				text, ground := sgr(t, st)
				on := grounds
				if ground != "" {
					on = []string{ground}
				}
				for _, g := range on {
					check(t, fmt.Sprintf("%s (dark %v), %s, depth %d", p.Name, p.Dark, name, depth), cmp.Or(text, own), g, least)
				}
			}
		}
	}
}

// TestOwnColours: the default names only colours of the terminal, at each depth the same, and each can be read on black
// and on white in the colours of xterm, of VGA, of Windows and of Ubuntu.
func TestOwnColours(t *testing.T) {
	red := []string{"#cd0000", "#aa0000", "#c50f1f", "#cc0000"}
	magenta := []string{"#cd00cd", "#aa00aa", "#881798", "#75507b"}
	for _, depth := range []termenv.Profile{termenv.TrueColor, termenv.ANSI256, termenv.ANSI} {
		th := New(renderer(depth), Own())
		for name, st := range styles(th) {
			if open := st.open; strings.Contains(open, "38;") && name != "Code" {
				t.Errorf("depth %d, %s: %q is no colour of the terminal", depth, name, open)
			}
		}
		if warn, bad := th.Warn.open, th.Bad.open; warn != "\x1b[35m" || bad != "\x1b[1;31m" {
			t.Errorf("depth %d: warnings %q, errors %q", depth, warn, bad)
		}
		if th.Selected(Plain).open != "\x1b[7m" || th.Production.open != "\x1b[1;97;41m" {
			t.Errorf("depth %d: selected %q, production %q", depth, th.Selected(Plain).open, th.Production.open)
		}
	}
	for _, c := range slices.Concat(red, magenta) {
		check(t, "own", c, "#ffffff", 3)
		check(t, "own", c, "#000000", 2.4)
	}
}

// In high contrast text without a meaning is stronger than secondary text, and no
// weaker than any other, whatever colour the terminal has for it.
func TestPrimaryTextIsStrongest(t *testing.T) {
	for _, p := range []Palette{Bright(), Ink()} {
		for _, depth := range []termenv.Profile{termenv.TrueColor, termenv.ANSI256} {
			th := New(renderer(depth), p)
			text, _ := sgr(t, th.text)
			dim, _ := sgr(t, th.Dim)
			for _, g := range p.Grounds {
				if primary, secondary := contrast(t, text, g), contrast(t, dim, g); primary <= secondary {
					t.Errorf("dark %v, depth %d: primary text has %.1f on %s, secondary %.1f", p.Dark, depth, primary, g, secondary)
				}
			}
			line := th.Finish("a" + th.Dim.Render("b") + "c")
			for _, part := range []string{th.text.open + "a", th.Dim.Render("b") + th.text.open + "c"} {
				if !strings.Contains(line, part) {
					t.Errorf("%q has no %q", line, part)
				}
			}
			if !strings.HasSuffix(line, th.text.shut) || ansi.Strip(line) != "abc" {
				t.Errorf("finished: %q", line)
			}
		}
	}
	for _, p := range []Palette{Night(), Day(), Mono()} {
		if th := New(renderer(termenv.TrueColor), p); th.Finish("a") != "a" || th.Finishes() {
			t.Errorf("%s names a colour for plain text", p.Name)
		}
	}
}

// In high contrast errors are on a ground of their own, which neither warnings nor the cursor have.
func TestErrorsAreStrongest(t *testing.T) {
	for _, p := range []Palette{Bright(), Ink()} {
		for _, depth := range []termenv.Profile{termenv.TrueColor, termenv.ANSI256, termenv.ANSI} {
			th := New(renderer(depth), p)
			_, ground := sgr(t, th.Bad)
			warn, _ := sgr(t, th.Warn)
			_, cursor := sgr(t, th.Selected(Plain))
			if ground == "" || ground == cursor || p.Dark && warn == cursor {
				t.Errorf("dark %v, depth %d: errors on %q, warnings %q, cursor %q", p.Dark, depth, ground, warn, cursor)
			}
		}
	}
}

func check(t *testing.T, name, text, ground string, least float64) {
	t.Helper()
	if c := contrast(t, text, ground); c < least {
		t.Errorf("%s: %s on %s has contrast %.2f", name, text, ground, c)
	}
}

func renderer(p termenv.Profile) *lipgloss.Renderer {
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(p)
	return r
}

func TestProfiles(t *testing.T) {
	for _, c := range []struct {
		p    termenv.Profile
		want string
	}{
		{termenv.TrueColor, "\x1b[38;5;114m"}, {termenv.ANSI256, "\x1b[38;5;"}, {termenv.ANSI, "\x1b[9"},
	} {
		if got := New(renderer(c.p), Night()).Good.Render("ok"); !strings.HasPrefix(got, c.want) || ansi.Strip(got) != "ok" {
			t.Errorf("profile %v: %q", c.p, got)
		}
	}
	if got := New(renderer(termenv.TrueColor), Night()).Selected(Plain).open; !strings.Contains(got, "48;2;43;58;85") {
		t.Errorf("a colour without a number of its own: %q", got)
	}
	if got := New(renderer(termenv.Ascii), Night()).Production.Render("x"); got != "x" {
		t.Errorf("plain output holds escapes: %q", got)
	}
}

func TestNoColorKeepsAttributes(t *testing.T) {
	th := For(renderer(termenv.TrueColor), "dark", true, true, "xterm")
	for _, s := range []Style{th.Good, th.Bad, th.Production, th.Selected(Plain), th.Title, th.Dim} {
		got := s.Render("x")
		if strings.Contains(got, "38;") || strings.Contains(got, "48;") || strings.Contains(got, "[9") || strings.Contains(got, "[3") {
			t.Errorf("a colour without being asked for: %q", got)
		}
	}
	if th.Selected(Plain).Render("x") == "x" || th.Production.Render("x") == "x" {
		t.Error("selection and badge are invisible without colour")
	}
	for _, term := range []string{"dumb", ""} {
		for _, noColor := range []bool{false, true} {
			if got := For(renderer(termenv.TrueColor), "dark", true, noColor, term); got.Bad.Render("x") != "x" || got.Selected(Plain).Render("x") != "x" || got.Signs.Heavy != "=" || got.Spell("a…›") != "a~>" {
				t.Errorf("terminal %q gets escapes or line art", term)
			}
		}
	}
	if got := For(renderer(termenv.ANSI), "dark", true, false, "linux"); got.Bad.Render("x") == "x" || got.Signs.Heavy != "=" {
		t.Error("the Linux console has colours and no line art")
	}
}

func TestSignsAreOneCell(t *testing.T) {
	for _, s := range []Signs{Unicode(), ascii()} {
		v := reflect.ValueOf(s)
		for i := range v.NumField() {
			var list []string
			if l, ok := v.Field(i).Interface().([8]string); ok {
				list = l[:]
			} else {
				list = []string{v.Field(i).String()}
			}
			for _, g := range list {
				if ansi.StringWidth(g) != 1 {
					t.Errorf("%s %q is %d cells", v.Type().Field(i).Name, g, ansi.StringWidth(g))
				}
			}
		}
	}
}

func TestStatus(t *testing.T) {
	th := New(renderer(termenv.Ascii), Night())
	seen := map[string]string{}
	for _, w := range []string{"PENDING", "PROCESSING", "SUCCESS", "FAILED", "CANCELED", "SOMETHING_NEW"} {
		s := th.Status(w)
		if other, ok := seen[s.Sign]; ok {
			t.Errorf("%s and %s have the same sign", w, other)
		}
		seen[s.Sign] = w
	}
	if th.Status("completed") != th.Status("SUCCESS") {
		t.Error("words of one meaning look different")
	}
}

func TestPick(t *testing.T) {
	for name, want := range map[string]bool{"auto": true, "": true, "dark": true, "light": true, "mono": true, "high-contrast": true, "pink": false} {
		if p, ok := Pick(name, true); ok != want || p.Name == "" {
			t.Errorf("%q: %v %q", name, ok, p.Name)
		}
	}
}

// A camera reads light on dark: the code has both colours on every ground, and
// none where colours are off.
func TestCodesBringTheirGround(t *testing.T) {
	for _, p := range []Palette{Night(), Day(), Bright(), Ink(), Mono()} {
		for _, depth := range []termenv.Profile{termenv.TrueColor, termenv.ANSI256, termenv.ANSI} {
			r := lipgloss.NewRenderer(io.Discard)
			r.SetColorProfile(depth)
			open := New(r, p).Code.open
			fg, bg := strings.Contains(open, "38;5;231") || strings.Contains(open, "97"), strings.Contains(open, "48;5;16") || strings.Contains(open, "40")
			if want := !p.Reverse; fg != want || bg != want {
				t.Errorf("%s at depth %d: %q", p.Name, depth, open)
			}
		}
	}
}
