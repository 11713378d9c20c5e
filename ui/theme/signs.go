package theme

import (
	"strings"

	"opdeck/api/untrusted"
	"opdeck/internal/present"
)

// Signs are the characters beside words; each is one cell wide.
type Signs struct {
	Cursor, Mark, Locked, Good, Bad, Wait, Warn, Unknown, Off, Info string
	Sep, Crumb, Before, Parent, Hidden, Up, Down, More              string
	Light, Heavy, Dotted                                            string // rules: test, production, sandbox
	TopLeft, TopRight, BottomLeft, BottomRight, Side                string // dialog frame
	Full, Empty                                                     string // gauges
	Spark                                                           []string
}

// Unicode returns the usual signs.
func Unicode() Signs {
	return Signs{
		Cursor: "▌", Mark: "●", Locked: "▣", Good: "✓", Bad: "✗", Wait: "◌", Warn: "!", Unknown: "?", Off: "–", Info: "•",
		Sep: "·", Crumb: "›", Before: "‹", Parent: "┬", Hidden: "◇", Up: "▲", Down: "▼", More: "…",
		Light: "─", Heavy: "━", Dotted: "┄",
		TopLeft: "╭", TopRight: "╮", BottomLeft: "╰", BottomRight: "╯", Side: "│",
		Full: "█", Empty: "░", Spark: strings.Split("▁▂▃▄▅▆▇█", ""),
	}
}

func ascii() Signs {
	return Signs{
		Cursor: ">", Mark: "*", Locked: "#", Good: "+", Bad: "x", Wait: "~", Warn: "!", Unknown: "?", Off: "-", Info: "o",
		Sep: ".", Crumb: ">", Before: "<", Parent: "&", Hidden: "%", Up: "^", Down: "v", More: "~",
		Light: "-", Heavy: "=", Dotted: ".",
		TopLeft: "+", TopRight: "+", BottomLeft: "+", BottomRight: "+", Side: "|",
		Full: "#", Empty: ".", Spark: strings.Split("_.:-=+*#", ""),
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
