package theme

import (
	"fmt"
	"strconv"

	"github.com/charmbracelet/lipgloss"
)

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
	Reverse                                  bool  // selection and badges by reverse video instead of colours
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

// monoPalette has no colour at all: bold, faint and reverse only.
var monoPalette = Palette{Name: "mono", Dark: true, Reverse: true}

// Night, Day, Bright, Ink and Mono return the built-in palettes: dark, light,
// high contrast on dark, high contrast on light, and no colour.
func Night() Palette  { return nightPalette }
func Day() Palette    { return dayPalette }
func Bright() Palette { return brightPalette }
func Ink() Palette    { return inkPalette }
func Mono() Palette   { return monoPalette }

// Names are the names that Pick knows besides auto.
func Names() []string { return []string{"dark", "light", "mono", "high-contrast"} }

// Pick returns the palette for a name of the config ("auto", "dark", "light",
// "mono", "high-contrast"); darkGround is what is known of the terminal and
// decides for auto and high-contrast. Unknown names give auto and false.
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
	known := name == "auto" || name == ""
	if darkGround {
		return Night(), known
	}
	return Day(), known
}
