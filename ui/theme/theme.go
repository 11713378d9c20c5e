// Package theme maps meanings to terminal styles. Only the palette file names
// colours; all other code uses a meaning: th.Tone(theme.Bad), th.Dim,
// th.Locked. Colour is never the only sign of a meaning: there is also a word or a sign
// (see Status and Signs).
//
// Styles come from one lipgloss renderer per output, so that several terminals
// of different abilities can be served by one process and tests get plain text.
package theme

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

	"opdeck/api/untrusted"
	"opdeck/internal/present"
)

// Tone is the meaning of a piece of text.
type Tone = present.Tone

// The tones. Plain is the terminal's own colour.
const (
	Plain  = present.Plain
	Dim    = present.Dim
	Accent = present.Accent
	Good   = present.Good
	Warn   = present.Warn
	Bad    = present.Bad
	Info   = present.Info
	Strong = present.Strong

	tones = Strong + 1
)

// Style is a ready SGR prefix and suffix. Its zero value draws text unchanged.
type Style struct{ open, shut string }

// Render returns s in this style. s must not hold styled parts (an inner reset
// would end the outer colour): join rendered parts instead.
func (s Style) Render(t string) string {
	if t == "" || s.open == "" {
		return t
	}
	return s.open + t + s.shut
}

// Theme holds every style of one output. Make one per terminal. Only the shell that
// owns it replaces what it holds, in its loop; what draws elsewhere has a copy
// (ui.Env.Snapshot).
type Theme struct {
	Name  string
	Signs Signs
	// OnlyASCII is set by ASCII: Finish then replaces what signs are left in a line
	// (see Spell).
	OnlyASCII bool
	// Linear is set by Words: labels and values are one sentence, not columns.
	Linear bool

	Dim, Accent, Good, Warn, Bad, Info, Strong Style
	Title                                      Style // bold accent
	Rule                                       Style // lines that separate
	Key                                        Style // key names in hints
	Locked                                     Style
	Production, Test, Sandbox, ReadOnly        Style // badges: text on a ground
	Cursor                                     Style // the cell of a text cursor
	Code                                       Style // QR codes: their light parts are light on every ground

	text     Style // of what no other style draws; zero: the terminal's own
	tone     [tones]Style
	selected [tones]Style
}

// New makes the styles of palette p for renderer r (its colour profile decides
// the depth). The signs are Unicode; see ASCII.
func New(r *lipgloss.Renderer, p Palette) *Theme {
	fg := func(c Color) lipgloss.Style { return r.NewStyle().Foreground(c.terminal()) }
	plain := r.NewStyle()
	th := &Theme{Name: p.Name, Signs: Unicode(), text: take(fg(p.Text))}
	th.tone = [tones]Style{
		Plain: {}, Dim: take(fg(p.Dim)), Accent: take(fg(p.Accent)), Good: take(fg(p.Good)),
		Warn: take(fg(p.Warn)), Bad: take(fg(p.Bad).Background(p.BadGround.terminal())), Info: take(fg(p.Info)),
		Strong: take(plain.Bold(true)),
	}
	rule := fg(p.Rule)
	if p.Reverse {
		rule = plain.Faint(true)
		th.tone[Dim], th.tone[Bad] = take(rule), take(fg(p.Bad).Bold(true))
		th.tone[Accent] = take(plain.Bold(true))
	}
	badge := func(c Pair) Style {
		if c == (Pair{}) {
			return take(plain.Reverse(true).Bold(true))
		}
		return take(fg(c.Text).Background(c.Ground.terminal()).Bold(true))
	}
	th.Production, th.Test, th.Sandbox, th.ReadOnly = badge(p.Production), badge(p.Test), badge(p.Sandbox),
		badge(p.ReadOnly)
	for t := range th.selected {
		th.selected[t] = selectedStyle(r, p, Tone(t))
	}
	th.Dim, th.Accent, th.Good, th.Warn = th.tone[Dim], th.tone[Accent], th.tone[Good], th.tone[Warn]
	th.Bad, th.Info, th.Strong = th.tone[Bad], th.tone[Info], th.tone[Strong]
	th.Title, th.Rule, th.Key = take(fg(p.Accent).Bold(true)), take(rule), th.tone[Accent]
	th.Locked, th.Cursor = th.tone[Warn], take(plain.Reverse(true))
	if p.Name != monoPalette.Name {
		th.Code = take(fg(codePair.Text).Background(codePair.Ground.terminal()))
	}
	return th
}

func selectedStyle(r *lipgloss.Renderer, p Palette, t Tone) Style {
	st := r.NewStyle()
	if p.Reverse {
		return take(st.Reverse(true).Bold(t == Strong || t == Bad))
	}
	c := p.Select.Text
	if t == Dim {
		c = p.SelectDim
	}
	return take(st.Foreground(c.terminal()).Background(p.Select.Ground.terminal()).Bold(t == Strong || t == Bad))
}

// take reads the escape sequences of a lipgloss style.
func take(st lipgloss.Style) Style {
	open, shut, ok := strings.Cut(st.Render("x"), "x")
	if !ok {
		return Style{}
	}
	return Style{open, shut}
}

// Tone returns the style of a meaning.
func (th *Theme) Tone(t Tone) Style {
	if t >= tones {
		return Style{}
	}
	return th.tone[t]
}

// Selected returns the style of a meaning on the row under the cursor.
func (th *Theme) Selected(t Tone) Style {
	if t >= tones {
		t = Plain
	}
	return th.selected[t]
}

// Finishes reports whether drawn lines go through Finish.
func (th *Theme) Finishes() bool { return th.OnlyASCII || th.text.open != "" }

// Finish gives a drawn line the palette's colour for text wherever no other is named:
// in high contrast primary text must be stronger than secondary text, whatever grey
// the terminal has for it. Where th is ASCII only, it spells the signs.
func (th *Theme) Finish(line string) string {
	if th.text.open != "" && line != "" {
		line = th.text.open + strings.ReplaceAll(line, th.text.shut, th.text.shut+th.text.open) + th.text.shut
	}
	return th.Spell(line)
}

// ASCII makes th draw with ASCII signs only (TERM=dumb, linux console) and
// returns it. Call it before the theme is shared.
func (th *Theme) ASCII() *Theme { th.Signs, th.OnlyASCII = ascii(), true; return th }

var spelling = strings.NewReplacer("…", "~", "–", "-", "·", ".", "•", "*", "›", ">", "‹", "<", "“", `"`, "”", `"`,
	"↑", "^", "↓", "v", "←", "<", "→", ">", "│", "|", "─", "-", "✓", "+", "✗", "x", "◌", "~", "▌", ">", "●", "*")

// Spell writes the console's own signs in s as ASCII, cell for cell, when th is
// ASCII only. Text of the service keeps its letters.
func (th *Theme) Spell(s string) string {
	if !th.OnlyASCII {
		return s
	}
	return spelling.Replace(s)
}

// For makes the theme of one output from what is known of its environment:
// name is the config's theme; noColor is --no-color or NO_COLOR (colours go,
// bold and reverse stay); term is TERM. r's colour profile must be set already.
func For(r *lipgloss.Renderer, name string, darkGround, noColor bool, term string) *Theme {
	p, _ := Pick(name, darkGround)
	dumb := term == "" || term == "dumb"
	switch {
	case dumb:
		r.SetColorProfile(termenv.Ascii)
	case noColor:
		p = Mono()
		r.SetColorProfile(termenv.ANSI) // attributes only: Mono names no colour
	}
	th := New(r, p)
	if dumb || term == "linux" {
		th.ASCII()
	}
	return th
}

// Color is one colour in the three depths a terminal may have. An empty field
// leaves the terminal's own colour at that depth.
type Color struct {
	Hex  string // 24 bit, "#rrggbb"
	C256 string // xterm number, "0".."255"
	C16  string // "0".."15"
}

func (c Color) terminal() lipgloss.TerminalColor {
	if c == (Color{}) {
		return lipgloss.NoColor{}
	}
	full := c.Hex
	if c.Hex == numbered(c.C256) { // the same colour in half the bytes
		full = c.C256
	}
	return lipgloss.CompleteColor{TrueColor: full, ANSI256: c.C256, ANSI: c.C16}
}

// numbered is what xterm's number 16 to 255 looks like; "" for others, which
// every terminal draws as it likes.
func numbered(c string) string {
	n, err := strconv.Atoi(c)
	switch {
	case err != nil || n < 16 || n > 255:
		return ""
	case n >= 232:
		v := 8 + 10*(n-232)
		return fmt.Sprintf("#%02x%02x%02x", v, v, v)
	}
	level := [6]int{0, 0x5f, 0x87, 0xaf, 0xd7, 0xff}
	n -= 16
	return fmt.Sprintf("#%02x%02x%02x", level[n/36], level[n/6%6], level[n%6])
}

// Pair is text on a ground of our own.
type Pair struct{ Text, Ground Color }

// Palette is the only place that names colours. Screens do not use it; they
// use the meanings of a Theme.
type Palette struct {
	Name    string
	Dark    bool     // made for a dark ground
	Grounds []string // the terminal grounds ("#rrggbb") it must be readable on

	Text                                     Color // text without a meaning of its own; empty: the terminal's
	Dim, Accent, Good, Warn, Bad, Info, Rule Color
	BadGround                                Color // of errors; empty: the terminal's
	Select                                   Pair  // the row under the cursor
	SelectDim                                Color // secondary text on it
	Production, Test, Sandbox, ReadOnly      Pair  // badges
	Reverse                                  bool  // selection by reverse video, secondary text faint
}

// Text colours are chosen from xterm's numbers: they look the same everywhere and
// take half the bytes, which over a slow line is half the wait.

// codePair is for codes that a camera reads: light on dark whatever the terminal's
// ground, since many cameras read no inverted ones.
var codePair = Pair{Color{"#ffffff", "231", "15"}, Color{"#000000", "16", "0"}}

// nightPalette is for dark terminals.
var nightPalette = Palette{
	Name: "dark", Dark: true, Grounds: []string{"#000000", "#1e1e2e", "#282c34"},
	Dim:        Color{"#a8a8a8", "248", "7"},
	Accent:     Color{"#87afff", "111", "14"},
	Good:       Color{"#87d787", "114", "10"},
	Warn:       Color{"#ffd787", "222", "11"},
	Bad:        Color{"#ff8787", "210", "9"},
	Info:       Color{"#87d7d7", "116", "14"},
	Rule:       Color{"#949494", "246", "7"},
	Select:     Pair{Color{"#ffffff", "231", "15"}, Color{"#2b3a55", "237", "4"}},
	SelectDim:  Color{"#ffffff", "231", "15"},
	Production: Pair{Color{"#ffffff", "231", "15"}, Color{"#b3001b", "124", "1"}},
	Test:       Pair{Color{"#1b1400", "16", "0"}, Color{"#e5b75a", "179", "3"}},
	Sandbox:    Pair{Color{"#00181a", "16", "0"}, Color{"#7cc4c0", "116", "6"}},
	ReadOnly:   Pair{Color{"#101418", "16", "0"}, Color{"#c3cad8", "252", "7"}},
}

// dayPalette is for light terminals.
var dayPalette = Palette{
	Name: "light", Grounds: []string{"#ffffff", "#fafafa", "#f2f2f2"},
	Dim:        Color{"#585858", "240", ""},
	Accent:     Color{"#005faf", "25", "4"},
	Good:       Color{"#005f00", "22", ""},
	Warn:       Color{"#875f00", "94", ""},
	Bad:        Color{"#af0000", "124", "1"},
	Info:       Color{"#005f5f", "23", "4"},
	Rule:       Color{"#626262", "241", ""},
	Select:     Pair{Color{"#0b1a33", "16", "15"}, Color{"#d6e4f8", "189", "4"}},
	SelectDim:  Color{"#0b1a33", "16", "15"},
	Production: Pair{Color{"#ffffff", "231", "15"}, Color{"#b3001b", "124", "1"}},
	Test:       Pair{Color{"#1b1400", "16", "0"}, Color{"#e5b75a", "179", "3"}},
	Sandbox:    Pair{Color{"#00181a", "16", "0"}, Color{"#7cc4c0", "116", "6"}},
	ReadOnly:   Pair{Color{"#ffffff", "231", "15"}, Color{"#3f4854", "238", "0"}},
}

// brightPalette is high contrast on a dark ground.
var brightPalette = Palette{
	Name: "high-contrast", Dark: true, Grounds: []string{"#000000", "#1e1e1e"},
	Text:       Color{"#ffffff", "231", "15"},
	Dim:        Color{"#c6c6c6", "251", "7"},
	Accent:     Color{"#00ffff", "51", "14"},
	Good:       Color{"#5fff5f", "83", "10"},
	Warn:       Color{"#ffff00", "226", "11"},
	Bad:        Color{"#ffffff", "231", "15"}, // no red that is bright enough to read is as strong as yellow
	BadGround:  Color{"#9b0018", "88", "1"},
	Info:       Color{"#87ffff", "123", "14"},
	Rule:       Color{"#ffffff", "231", "15"},
	Select:     Pair{Color{"#000000", "16", "0"}, Color{"#ffffff", "231", "15"}}, // yellow is of warnings
	SelectDim:  Color{"#000000", "16", "0"},
	Production: Pair{Color{"#ffffff", "231", "15"}, Color{"#9b0018", "88", "1"}},
	Test:       Pair{Color{"#000000", "16", "0"}, Color{"#ffd75f", "221", "11"}},
	Sandbox:    Pair{Color{"#000000", "16", "0"}, Color{"#87ffff", "123", "14"}},
	ReadOnly:   Pair{Color{"#000000", "16", "0"}, Color{"#ffffff", "231", "15"}},
}

// inkPalette is high contrast on a light ground.
var inkPalette = Palette{
	Name: "high-contrast", Grounds: []string{"#ffffff", "#f2f2f2"},
	Text:       Color{"#000000", "16", "0"},
	Dim:        Color{"#444444", "238", "0"},
	Accent:     Color{"#00308f", "18", "4"},
	Good:       Color{"#004d1a", "22", "0"},
	Warn:       Color{"#5c3300", "52", "0"},
	Bad:        Color{"#ffffff", "231", "15"},
	BadGround:  Color{"#9b0018", "88", "1"},
	Info:       Color{"#00474d", "17", "0"},
	Rule:       Color{"#000000", "16", "0"},
	Select:     Pair{Color{"#ffffff", "231", "15"}, Color{"#000000", "16", "0"}},
	SelectDim:  Color{"#ffffff", "231", "15"},
	Production: Pair{Color{"#ffffff", "231", "15"}, Color{"#9b0018", "88", "1"}},
	Test:       Pair{Color{"#000000", "16", "0"}, Color{"#ffd75f", "221", "11"}},
	Sandbox:    Pair{Color{"#000000", "16", "0"}, Color{"#87ffff", "123", "14"}},
	ReadOnly:   Pair{Color{"#ffffff", "231", "15"}, Color{"#000000", "16", "0"}},
}

// ownPalette is for every terminal: of its own sixteen colours only those for text that can be read on black and on
// white. Green, yellow and cyan are pale on white, blue is dark on black; a status has its sign and word besides.
var ownPalette = Palette{
	Name: "auto", Dark: true, Reverse: true,
	Warn:       Color{"5", "5", "5"},
	Bad:        Color{"1", "1", "1"},
	Production: Pair{Color{"15", "15", "15"}, Color{"1", "1", "1"}},
	Test:       Pair{Color{"0", "0", "0"}, Color{"3", "3", "3"}},
	Sandbox:    Pair{Color{"0", "0", "0"}, Color{"6", "6", "6"}},
}

// monoPalette has no colour at all: bold, faint and reverse only.
var monoPalette = Palette{Name: "mono", Dark: true, Reverse: true}

// Own, Night, Day, Bright, Ink and Mono return the built-in palettes: the terminal's own colours, dark, light,
// high contrast on dark, high contrast on light, and no colour.
func Own() Palette    { return ownPalette }
func Night() Palette  { return nightPalette }
func Day() Palette    { return dayPalette }
func Bright() Palette { return brightPalette }
func Ink() Palette    { return inkPalette }
func Mono() Palette   { return monoPalette }

// Names are the names that Pick knows besides auto.
func Names() []string { return []string{"dark", "light", "mono", "high-contrast"} }

// Pick returns the palette for a name of the config ("auto", "dark", "light",
// "mono", "high-contrast"); darkGround is what is known of the terminal and
// decides for high-contrast. Unknown names give auto and false.
func Pick(name string, darkGround bool) (Palette, bool) {
	switch name {
	case "dark":
		return Night(), true
	case "light":
		return Day(), true
	case "mono":
		return Mono(), true
	case "high-contrast":
		if darkGround {
			return Bright(), true
		}
		return Ink(), true
	}
	return Own(), name == "auto" || name == ""
}

// Signs are the characters beside words; each is one cell wide.
type Signs struct {
	Cursor, Mark, Locked, Good, Bad, Wait, Warn, Unknown, Off, Info string
	Sep, Crumb, Before, Parent, Hidden, Up, Down, More              string
	Light, Heavy, Dotted                                            string // rules: test, production, sandbox
	TopLeft, TopRight, BottomLeft, BottomRight, Side                string // dialog frame
	Full, Empty                                                     string // gauges
	Spark                                                           [8]string
}

// Unicode returns the usual signs.
func Unicode() Signs {
	return Signs{
		Cursor: "▌", Mark: "●", Locked: "▣", Good: "✓", Bad: "✗", Wait: "◌", Warn: "!", Unknown: "?", Off: "–", Info: "•",
		Sep: "·", Crumb: "›", Before: "‹", Parent: "┬", Hidden: "◇", Up: "▲", Down: "▼", More: "…",
		Light: "─", Heavy: "━", Dotted: "┄",
		TopLeft: "╭", TopRight: "╮", BottomLeft: "╰", BottomRight: "╯", Side: "│",
		Full: "█", Empty: "░", Spark: [8]string(strings.Split("▁▂▃▄▅▆▇█", "")),
	}
}

func ascii() Signs {
	return Signs{
		Cursor: ">", Mark: "*", Locked: "#", Good: "+", Bad: "x", Wait: "~", Warn: "!", Unknown: "?", Off: "-", Info: "o",
		Sep: ".", Crumb: ">", Before: "<", Parent: "&", Hidden: "%", Up: "^", Down: "v", More: "~",
		Light: "-", Heavy: "=", Dotted: ".",
		TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+", Side: "|",
		Full: "#", Empty: ".", Spark: [8]string(strings.Split("_.:-=+*#", "")),
	}
}

// Sign returns the sign whose shape has the meaning of the tone's colour.
func (th *Theme) Sign(t Tone) string {
	switch t {
	case Good:
		return th.Signs.Good
	case Warn:
		return th.Signs.Warn
	case Bad:
		return th.Signs.Bad
	}
	return th.Signs.Sep
}

// Status is how a state word is drawn: never by colour alone.
type Status struct {
	Sign string // one cell
	Tone Tone
}

// Look is sign and tone of a look.
func (th *Theme) Look(l present.Look) Status { return Status{th.SignOf(l.Sign), l.Tone} }

// SignOf is the character of a sign.
func (th *Theme) SignOf(sign present.Sign) string {
	s := th.Signs
	switch sign {
	case present.SignGood:
		return s.Good
	case present.SignBad:
		return s.Bad
	case present.SignWait:
		return s.Wait
	case present.SignWarn:
		return s.Warn
	case present.SignUnknown:
		return s.Unknown
	case present.SignOff:
		return s.Off
	case present.SignInfo:
		return s.Info
	case present.SignNext:
		return th.Signs.Crumb
	case present.SignLocked:
		return s.Locked
	}
	return ""
}

// Status is sign and tone of a status word of the service.
func (th *Theme) Status(word string) Status { return th.Look(present.StatusOf(untrusted.Text(word))) }

// Words is the theme of the plain mode: no styles, and words for the signs that
// say what no word beside them does.
func Words() *Theme {
	return &Theme{Name: "plain", Linear: true, Signs: Signs{Warn: "attention:", Mark: "marked", Up: "ascending",
		Down: "descending", More: "and"}}
}
