package theme

import (
	"io"
	"math"
	"reflect"
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

func TestContrast(t *testing.T) {
	const least = 4.5
	for _, p := range []Palette{Night(), Day(), Bright(), Ink()} {
		v := reflect.ValueOf(p)
		for i := range v.NumField() {
			name := p.Name + "." + v.Type().Field(i).Name
			switch c := v.Field(i).Interface().(type) {
			case Color:
				grounds := p.Grounds
				if v.Type().Field(i).Name == "SelectDim" {
					grounds = []string{p.Select.Ground.Hex}
					pairAtDepths(t, name, Pair{c, p.Select.Ground}, least)
				}
				for _, g := range grounds {
					check(t, name, c.Hex, g, least)
					check(t, name+" in 256", xterm(t, c.C256), g, least)
				}
				if c.C16 != "" && len(grounds) > 1 {
					check(t, name+" in 16", xterm(t, c.C16), map[bool]string{true: "#000000", false: "#ffffff"}[p.Dark], least)
				}
			case Pair:
				pairAtDepths(t, name, c, least)
			}
		}
	}
}

func pairAtDepths(t *testing.T, name string, c Pair, least float64) {
	check(t, name, c.Text.Hex, c.Ground.Hex, least)
	check(t, name+" in 256", xterm(t, c.Text.C256), xterm(t, c.Ground.C256), least)
	check(t, name+" in 16", xterm(t, c.Text.C16), xterm(t, c.Ground.C16), least)
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
	if got := New(renderer(termenv.TrueColor), Night()).Selected(Plain).Open(); !strings.Contains(got, "48;2;43;58;85") {
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
			if l, ok := v.Field(i).Interface().([]string); ok {
				list = l
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
	if !th.Status("completed").End || th.Status("PENDING").End || th.Status("SOMETHING_NEW").End {
		t.Error("end states")
	}
}

func TestPick(t *testing.T) {
	for name, want := range map[string]bool{"auto": true, "": true, "dark": true, "light": true, "mono": true, "high-contrast": true, "pink": false} {
		if p, ok := Pick(name, true); ok != want || p.Name == "" {
			t.Errorf("%q: %v %q", name, ok, p.Name)
		}
	}
	if p, _ := Pick("auto", false); p.Dark {
		t.Error("auto on a light ground is dark")
	}
}

// A camera reads light on dark: the code has both colours on every ground, and
// none where colours are off.
func TestCodesBringTheirGround(t *testing.T) {
	for _, p := range []Palette{Night(), Day(), Bright(), Ink(), Mono()} {
		for _, depth := range []termenv.Profile{termenv.TrueColor, termenv.ANSI256, termenv.ANSI} {
			r := lipgloss.NewRenderer(io.Discard)
			r.SetColorProfile(depth)
			open := New(r, p).Code.Open()
			fg, bg := strings.Contains(open, "38;5;231") || strings.Contains(open, "97"), strings.Contains(open, "48;5;16") || strings.Contains(open, "40")
			if want := !p.Reverse; fg != want || bg != want {
				t.Errorf("%s at depth %d: %q", p.Name, depth, open)
			}
		}
	}
}
