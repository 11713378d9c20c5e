// Package theme maps meanings to terminal styles. Only the palette file names
// colours; all other code uses a meaning: th.Tone(theme.Bad), th.Dim,
// th.Locked. Colour is never the only sign of a meaning: there is also a word or a sign
// (see Status and Signs).
//
// Styles come from one lipgloss renderer per output, so that several terminals
// of different abilities can be served by one process and tests get plain text.
package theme

import (
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"

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

// Open and Shut are the two halves of Render, for builders that write parts.
func (s Style) Open() string { return s.open }

// Shut ends what Open began.
func (s Style) Shut() string { return s.shut }

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
	if p.Reverse {
		th.tone[Dim], th.tone[Bad] = take(plain.Faint(true)), take(plain.Bold(true))
		th.tone[Accent] = take(plain.Bold(true))
	}
	badge := func(c Pair) Style {
		if p.Reverse {
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
	th.Title, th.Rule, th.Key = take(fg(p.Accent).Bold(true)), take(fg(p.Rule)), th.tone[Accent]
	th.Locked, th.Cursor = th.tone[Warn], take(plain.Reverse(true))
	if !p.Reverse {
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
